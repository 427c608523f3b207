//! The chain as it is written, broken in every way, and cut off from its disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::audit::{
    Audit, AuditError, AuditSettings, Ending, Kind, Principal, Record, Resource, Verdict,
    VerifyError, verify,
};
use crate::clock::SystemClock;
use crate::effect::Effect;
use crate::identity::{Identity, hex};

fn settings(directory: &Path) -> AuditSettings {
    AuditSettings {
        // No test waits for it; a busy machine may sync slowly.
        timeout: std::time::Duration::from_secs(60),
        ..AuditSettings::new(directory, "gateway-1")
    }
}

fn open(settings: &AuditSettings) -> Audit {
    Audit::open(settings, Arc::new(SystemClock)).unwrap()
}

fn record(kind: Kind) -> Record {
    Record::new(kind, Timestamp::UNIX_EPOCH)
}

/// A record with every field, with text that JSON must escape.
fn full(text: &str) -> Record {
    let identity = Identity {
        issuer: "https://idp.example".to_owned(),
        subject: text.to_owned(),
        actor: Some("assistant".to_owned()),
    };
    let mut record = record(Kind::Outcome).with_raw_path(text);
    record.decision_id = Some(Uuid::nil());
    record.row = Some("drones.mission.start".into());
    record.class = Some("write".into());
    record.principal = Some(Principal {
        kind: "Agent".into(),
        identity: Arc::new(identity),
    });
    record.resource = Some(Resource {
        id: "swarm-1".to_owned(),
        kind: "Swarm".into(),
    });
    record.decision = Some(Verdict::Allow);
    record.reasons = vec!["permit.operator".into(), text.to_owned().into()];
    record.bundle = Some("1e6e".into());
    record.registry_generation = Some(42);
    record.operation = Some(Uuid::nil());
    record.body_digest = Some("47DE".to_owned());
    record.effect = Some(Effect::Done);
    record.status = Some(201);
    record.duration_micros = Some(1234);
    record
}

/// A closed log of one intent, one outcome, one read and one refusal.
async fn closed_log(directory: &Path) -> (PathBuf, String) {
    let audit = open(&settings(directory));
    assert!(
        audit
            .require(record(Kind::Intent))
            .await
            .unwrap()
            .is_durable()
    );
    assert!(
        !audit
            .spool(full("a\"\\\u{1f}\u{7f}é\u{2028}😀"))
            .is_durable()
    );
    audit.note(record(Kind::Read));
    audit.note(record(Kind::Refusal).with_raw_path("/nowhere"));
    let head = audit.close().await.unwrap();
    assert_eq!((head.start, head.seq), (1, 5));
    (directory.join("gateway-1.000001.jsonl"), head.hash.clone())
}

#[tokio::test]
async fn a_closed_log_verifies() {
    let directory = tempfile::tempdir().unwrap();
    let (file, head) = closed_log(directory.path()).await;
    for path in [directory.path(), &file] {
        let report = verify(path, Some(&head)).unwrap();
        assert_eq!(report.chains.len(), 1);
        let chain = &report.chains[0];
        assert_eq!((chain.records, chain.ending), (6, Ending::Closed));
        assert_eq!(chain.head, head);
    }
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn any_earlier_head_is_found_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let audit = open(&settings(directory.path()));
    let _ = audit.require(record(Kind::Intent)).await.unwrap();
    let early = audit.head();
    let _ = audit.require(record(Kind::Intent)).await.unwrap();
    audit.close().await.unwrap();
    assert!(verify(directory.path(), Some(&early.hash)).is_ok());
    let other = "0".repeat(64);
    assert!(matches!(
        verify(directory.path(), Some(&other)),
        Err(VerifyError::HeadMissing { .. })
    ));
}

/// Verifies the log after `change` to its lines.
async fn check_lines(change: impl FnOnce(&mut Vec<String>), expected: fn(&VerifyError) -> bool) {
    let directory = tempfile::tempdir().unwrap();
    let (file, head) = closed_log(directory.path()).await;
    let text = fs::read_to_string(&file).unwrap();
    let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    change(&mut lines);
    fs::write(&file, lines.concat()).unwrap();
    let fault = verify(&file, Some(&head)).unwrap_err();
    assert!(expected(&fault), "{fault}");
}

#[tokio::test]
async fn removed_added_and_moved_lines_are_caught() {
    let unlinked = |fault: &VerifyError| matches!(fault, VerifyError::Unlinked { .. });
    for index in 0..5 {
        check_lines(|lines| drop(lines.remove(index)), unlinked).await;
        check_lines(|lines| lines.swap(index, index + 1), unlinked).await;
        check_lines(|lines| lines.insert(index, lines[index].clone()), unlinked).await;
    }
    check_lines(|lines| lines.push(lines[5].clone()), unlinked).await;
}

#[tokio::test]
async fn a_cut_tail_shows_against_the_head() {
    check_lines(
        |lines| drop(lines.pop()),
        |fault| matches!(fault, VerifyError::HeadMissing { .. }),
    )
    .await;
    check_lines(
        |lines| lines[5].truncate(40),
        |fault| matches!(fault, VerifyError::Torn { line: 6, .. }),
    )
    .await;
    check_lines(
        |lines| assert_eq!(lines[5].pop(), Some('\n')),
        |fault| matches!(fault, VerifyError::Torn { line: 6, .. }),
    )
    .await;
    check_lines(Vec::clear, |fault| {
        matches!(fault, VerifyError::WrongStart { .. })
    })
    .await;

    // Without a head, a missing end is all that can be said.
    let directory = tempfile::tempdir().unwrap();
    let (file, _) = closed_log(directory.path()).await;
    let text = fs::read_to_string(&file).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap();
    fs::write(&file, &text.as_bytes()[..=cut]).unwrap();
    let report = verify(&file, None).unwrap();
    assert_eq!(report.chains[0].ending, Ending::Open);
}

#[tokio::test]
async fn changed_lines_are_caught() {
    let changed = |fault: &VerifyError| matches!(fault, VerifyError::Changed { line: 3, .. });
    let unreadable = |fault: &VerifyError| matches!(fault, VerifyError::Unreadable { line: 3, .. });
    let replace = |from: &'static str, to: &'static str| {
        move |lines: &mut Vec<String>| {
            assert!(lines[2].contains(from));
            lines[2] = lines[2].replace(from, to);
        }
    };
    check_lines(replace("\"allow\"", "\"deny\""), changed).await;
    check_lines(replace("\"status\":201", "\"status\":403"), changed).await;
    // The same value, written otherwise.
    check_lines(replace("\"status\":201", "\"status\": 201"), unreadable).await;
    check_lines(replace("\"status\":201", "\"status\":201.0"), unreadable).await;
    check_lines(replace("swarm-1", "swarm\\u002d1"), unreadable).await;
    check_lines(replace("\"class\"", "\"class\":1,\"class\""), unreadable).await;
}

#[tokio::test]
async fn a_changed_line_with_a_new_hash_of_its_own_is_unlinked() {
    let forge = |lines: &mut Vec<String>| {
        let mut line: Value = serde_json::from_str(&lines[2]).unwrap();
        let members = line.as_object_mut().unwrap();
        members["status"] = 403.into();
        members.remove("hash");
        let hash = hex(&Sha256::digest(
            serde_json_canonicalizer::to_vec(&line).unwrap(),
        ));
        line["hash"] = hash.into();
        lines[2] = serde_json_canonicalizer::to_string(&line).unwrap() + "\n";
    };
    check_lines(forge, |fault| {
        matches!(fault, VerifyError::Unlinked { line: 4, .. })
    })
    .await;
}

#[test]
fn any_changed_byte_is_caught() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (file, head) = runtime.block_on(closed_log(directory.path()));
    let sound = fs::read(&file).unwrap();
    let place = any::<prop::sample::Index>();
    let config = ProptestConfig::with_cases(500);
    proptest!(config, |(place in place, flip in 1_u8..=255)| {
        let mut broken = sound.clone();
        broken[place.index(sound.len())] ^= flip;
        fs::write(&file, &broken).unwrap();
        prop_assert!(verify(&file, None).is_err());
    });
    fs::write(&file, &sound).unwrap();
    verify(&file, Some(&head)).unwrap();
}

#[test]
fn any_text_is_written_canonically() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let audit = open(&settings(directory.path()));
    proptest!(|(text in any::<String>())| {
        let _ = audit.spool(full(&text));
    });
    let head = runtime.block_on(audit.close()).unwrap();
    verify(directory.path(), Some(&head.hash)).unwrap();
}

#[tokio::test]
async fn the_next_file_follows_the_last_one() {
    let directory = tempfile::tempdir().unwrap();
    closed_log(directory.path()).await;
    let killed = open(&settings(directory.path()));
    let _ = killed.require(record(Kind::Intent)).await.unwrap();
    drop(killed);
    open(&settings(directory.path())).close().await.unwrap();
    let report = verify(directory.path(), None).unwrap();
    let endings: Vec<(u64, Ending)> = report.chains.iter().map(|c| (c.start, c.ending)).collect();
    assert_eq!(
        endings,
        [(1, Ending::Closed), (2, Ending::Open), (3, Ending::Closed)]
    );

    // Cutting the tail of an older file, removing or renaming one: all show.
    let name = |start: u64| directory.path().join(format!("gateway-1.{start:06}.jsonl"));
    let wrong = || {
        matches!(
            verify(directory.path(), None),
            Err(VerifyError::WrongStart { .. })
        )
    };
    let second = fs::read_to_string(name(2)).unwrap();
    fs::write(name(2), &second.as_bytes()[..=second.find('\n').unwrap()]).unwrap();
    assert!(wrong());
    fs::remove_file(name(2)).unwrap();
    assert!(wrong());
    fs::rename(name(3), name(2)).unwrap();
    assert!(wrong());
}

#[tokio::test]
async fn a_removed_directory_fails_what_must_be_recorded_and_keeps_the_stops() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("audit");
    let bounded = AuditSettings {
        max_spooled: 2,
        ..settings(&directory)
    };
    let audit = open(&bounded);
    let _ = audit.require(record(Kind::Intent)).await.unwrap();
    assert!(!audit.is_failing());

    fs::remove_dir_all(&directory).unwrap();
    audit.note(record(Kind::Read));
    for reason in ["first", "second", "one too many"] {
        let mut stop = record(Kind::Intent);
        stop.reasons = vec![reason.into()];
        let _ = audit.spool(stop);
    }
    let refused = audit.require(record(Kind::Intent)).await;
    assert!(matches!(refused, Err(AuditError::Failed)));
    assert!(audit.is_failing());

    fs::create_dir(&directory).unwrap();
    let _ = audit.require(record(Kind::Intent)).await.unwrap();
    assert!(!audit.is_failing());
    let head = audit.close().await.unwrap();
    assert_eq!(head.start, 2);
    verify(&directory, Some(&head.hash)).unwrap();
    let text = fs::read_to_string(directory.join("gateway-1.000002.jsonl")).unwrap();
    let said = |part: &str| text.lines().position(|line| line.contains(part));
    assert!(said("first").unwrap() < said("second").unwrap());
    assert_eq!(said("one too many"), None);
    // A read, a stop beyond the bound and a refused intent.
    assert!(said("\"dropped\":3").is_some(), "{text}");
}

#[tokio::test]
async fn too_many_waiting_and_a_closed_log_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let none = AuditSettings {
        max_gated: 0,
        ..settings(directory.path())
    };
    let audit = open(&none);
    let full = audit.require(record(Kind::Intent)).await;
    assert!(matches!(full, Err(AuditError::Full)));

    let audit = open(&settings(directory.path()));
    audit.close().await.unwrap();
    let closed = audit.require(record(Kind::Intent)).await;
    assert!(matches!(closed, Err(AuditError::Closed)));
    assert!(matches!(audit.close().await, Err(AuditError::Closed)));
}

#[test]
fn a_log_that_cannot_be_opened_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let opened = |settings: &AuditSettings| Audit::open(settings, Arc::new(SystemClock)).err();
    assert!(matches!(
        opened(&settings(&file)),
        Some(AuditError::Open { .. })
    ));
    for name in ["", "a/b", "A", "a.b"] {
        let named = AuditSettings::new(directory.path(), name);
        assert!(matches!(opened(&named), Some(AuditError::Instance(_))));
    }
    assert!(matches!(
        verify(&directory.path().join("absent"), None),
        Err(VerifyError::Read { .. })
    ));
    fs::remove_file(&file).unwrap();
    assert!(matches!(
        verify(directory.path(), None),
        Err(VerifyError::Nothing { .. })
    ));
}

#[test]
fn a_refused_path_is_kept_without_its_query() {
    let check = |target: &str, expected: &str| {
        let kept = record(Kind::Refusal).with_raw_path(target);
        assert_eq!(kept.raw_path(), Some(expected));
    };
    check("/api/swarm?access_token=secret", "/api/swarm");
    check("/api/swarm#secret", "/api/swarm");
    check("?token=secret", "");
    check(
        &format!("/{}é", "a".repeat(254)),
        &format!("/{}", "a".repeat(254)),
    );
}
