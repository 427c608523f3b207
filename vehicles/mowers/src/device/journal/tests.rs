use std::fs;

use uuid::Uuid;

use super::{Journal, JournalError, Line, NAME};
use crate::device::testkit::noon;

fn taken(number: u128) -> Line {
    Line::Taken {
        command_id: Uuid::from_u128(number),
        mower_id: Uuid::nil(),
        account_id: "acme".to_owned(),
        stop: false,
        at: noon(),
    }
}

/// What is read back from a file with these bytes after the whole lines.
async fn check(damage: &[u8], expected: Result<usize, usize>) {
    let folder = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(folder.path()).unwrap();
    let lines = vec![taken(1), taken(2)];
    journal.append(lines, true).await.unwrap();
    drop(journal);
    let path = folder.path().join(NAME);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(damage);
    fs::write(&path, bytes).unwrap();
    let read = match Journal::open(folder.path()) {
        Ok((_, lines)) => Ok(lines.len()),
        Err(JournalError::Damaged { line, .. }) => Err(line),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(read, expected);
}

#[tokio::test]
async fn a_torn_end_is_dropped_and_damage_elsewhere_refuses_the_start() {
    check(b"", Ok(2)).await;
    check(b"{\"event\":\"act", Ok(2)).await;
    check(b"{\"event\":\"act\n", Err(3)).await;
    check(b"\n{\"event\":\"act", Err(3)).await;
}

#[tokio::test]
async fn what_follows_a_torn_end_stands_on_a_line_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(NAME), b"{\"event\":\"act").unwrap();
    let (journal, lines) = Journal::open(folder.path()).unwrap();
    assert!(lines.is_empty());
    journal.append(vec![taken(3)], true).await.unwrap();
    drop(journal);
    let (_, lines) = Journal::open(folder.path()).unwrap();
    assert_eq!(lines, [taken(3)]);
}

#[tokio::test]
async fn a_folder_serves_one_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let first = Journal::open(folder.path()).unwrap();
    let second = Journal::open(folder.path());
    assert!(matches!(second, Err(JournalError::InUse(_))));
    drop(first);
    assert!(Journal::open(folder.path()).is_ok());
}

#[tokio::test]
async fn a_rewrite_replaces_the_file_and_appends_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(folder.path()).unwrap();
    journal
        .append(vec![taken(1), taken(2)], true)
        .await
        .unwrap();
    journal.rewrite(vec![taken(2)]).await.unwrap();
    journal.append(vec![taken(3)], false).await.unwrap();
    assert_eq!(journal.lines(), 2);
    drop(journal);
    let (_, lines) = Journal::open(folder.path()).unwrap();
    assert_eq!(lines, [taken(2), taken(3)]);
}

#[tokio::test]
async fn lines_of_many_at_once_are_all_on_the_disk_when_each_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(folder.path()).unwrap();
    let mut appending = tokio::task::JoinSet::new();
    for number in 0..200 {
        let journal = journal.clone();
        let path = folder.path().join(NAME);
        appending.spawn(async move {
            journal.append(vec![taken(number)], true).await.unwrap();
            let text = fs::read_to_string(path).unwrap();
            assert!(text.contains(&Uuid::from_u128(number).to_string()));
        });
    }
    while let Some(appended) = appending.join_next().await {
        appended.unwrap();
    }
    assert_eq!(journal.lines(), 200);
    journal.close().await.unwrap();
    assert!(journal.append(vec![taken(1)], true).await.is_err());
}
