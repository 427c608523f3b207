mod model;

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::canonical::tests::any_json;
use crate::idempotency::{
    Fingerprint, IdempotencyKey, KeyError, KeyId, KeyRecord, KeyState, StoredAnswer, Subject,
    Verdict, judge,
};
use crate::identity::Identity;
use crate::plans::fixtures::{answer, at, somebody};

const DAY: i64 = 24 * 3600;

fn check(header: &[u8], expected: Result<&str, KeyError>) {
    let key = IdempotencyKey::parse(header);
    let shown = String::from_utf8_lossy(header);
    assert_eq!(
        key.as_ref().map(IdempotencyKey::as_str),
        expected.as_ref().copied(),
        "{shown}"
    );
}

#[test]
fn a_key_is_bare_or_quoted_and_nothing_else() {
    let longest = "k".repeat(200);
    let longest_quoted = format!("\"{longest}\"");
    check(b"a", Ok("a"));
    check(b"A-Z.a_z:0-9", Ok("A-Z.a_z:0-9"));
    check(
        b"\"8e03978e-40d5-43dd-bc93-6894a57f9324\"",
        Ok("8e03978e-40d5-43dd-bc93-6894a57f9324"),
    );
    check(b" \ta\t ", Ok("a"));
    check(longest.as_bytes(), Ok(&longest));
    check(longest_quoted.as_bytes(), Ok(&longest));

    check(b"", Err(KeyError::Empty));
    check(b"  ", Err(KeyError::Empty));
    check(b"\"\"", Err(KeyError::Empty));
    check(b"\"", Err(KeyError::Unbalanced));
    check(b"\"a", Err(KeyError::Unbalanced));
    check(b"a\"", Err(KeyError::Unbalanced));
    check(b"\"a\";x=1", Err(KeyError::Unbalanced));
    check(b"\"a\", \"b\"", Err(KeyError::BadCharacter(2)));
    check(b"a,b", Err(KeyError::BadCharacter(2)));
    check(b"a b", Err(KeyError::BadCharacter(2)));
    check(b"\" a\"", Err(KeyError::BadCharacter(1)));
    check(b"\"a\\\"b\"", Err(KeyError::BadCharacter(2)));
    check(b"a\0", Err(KeyError::BadCharacter(2)));
    check("é".as_bytes(), Err(KeyError::BadCharacter(1)));
    check(b"?1", Err(KeyError::BadCharacter(1)));
    check("k".repeat(201).as_bytes(), Err(KeyError::TooLong(201)));
}

#[test]
fn two_lines_are_an_error_and_none_is_none() {
    let lines = |lines: &[&'static [u8]]| IdempotencyKey::from_lines(lines.iter().copied());
    assert_eq!(lines(&[]), Ok(None));
    assert_eq!(lines(&[b"a"]).map(|key| key.is_some()), Ok(true));
    assert_eq!(lines(&[b"a", b"a"]), Err(KeyError::Repeated(2)));
    assert_eq!(lines(&[b"a", b"b", b""]), Err(KeyError::Repeated(3)));
}

proptest! {
    #[test]
    fn every_key_has_two_spellings(key in "[A-Za-z0-9._:-]{1,200}") {
        let bare = IdempotencyKey::parse(key.as_bytes());
        let quoted = IdempotencyKey::parse(format!("\"{key}\"").as_bytes());
        prop_assert_eq!(bare.as_ref().map(IdempotencyKey::as_str), Ok(key.as_str()));
        prop_assert_eq!(bare, quoted);
    }

    #[test]
    fn any_bytes_are_a_key_or_an_error(bytes in proptest::collection::vec(0..=u8::MAX, 0..220)) {
        if let Ok(key) = IdempotencyKey::parse(&bytes) {
            let text = key.as_str();
            prop_assert!((1..=200).contains(&text.len()));
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()
                || b"._:-".contains(&byte)));
        }
    }
}

#[test]
fn a_record_is_one_callers_on_one_path() {
    let key = |text: &str| IdempotencyKey::parse(text.as_bytes()).expect("a key");
    let alice = somebody("alice");
    let agent = Identity {
        actor: Some("agent".to_owned()),
        ..alice.clone()
    };
    let ids = [
        KeyId::new(&alice, "POST", "/a", &key("b")),
        KeyId::new(&somebody("bob"), "POST", "/a", &key("b")),
        KeyId::new(&agent, "POST", "/a", &key("b")),
        KeyId::new(&alice, "PUT", "/a", &key("b")),
        KeyId::new(&alice, "POST", "/ab", &key("b")),
        KeyId::new(&alice, "POST", "/a", &key("bb")),
        // Parts that run together when they are only joined.
        KeyId::new(&alice, "POST", "/", &key("ab")),
        KeyId::new(&alice, "POS", "T/a", &key("b")),
        // And when a separator is put between them.
        KeyId::new(&alice, "A\0\0\0\0\0\0\0\0B", "C", &key("b")),
        KeyId::new(&alice, "A", "B\0\0\0\0\0\0\0\0C", &key("b")),
    ];
    for (number, id) in ids.iter().enumerate() {
        for other in &ids[number + 1..] {
            assert_ne!(id, other);
        }
    }
    assert_eq!(ids[0], KeyId::new(&alice, "POST", "/a", &key("\"b\"")));
}

fn body(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).expect("an object")
}

fn fingerprint(json: &str) -> Fingerprint {
    Fingerprint::of(Some(&body(json)), &[], &["approvalCode"]).expect("a fingerprint")
}

#[test]
fn cosmetic_changes_keep_the_fingerprint_and_real_ones_do_not() {
    let original = fingerprint(r#"{"a": 10, "w": [{"x": 1, "y": 2}]}"#);
    for same in [
        r#"{"w":[{"y":2,"x":1}],"a":10}"#,
        r#"{ "a": 10.0, "w": [ {"x": 1.0, "y": 2e0} ] }"#,
        r#"{"\u0061": 1e1, "w": [{"x": 1, "y": 2}]}"#,
    ] {
        assert_eq!(fingerprint(same), original, "{same}");
    }
    for other in [
        r#"{"a": 11, "w": [{"x": 1, "y": 2}]}"#,
        r#"{"a": "10", "w": [{"x": 1, "y": 2}]}"#,
        r#"{"a": 10, "w": [{"x": 1, "y": 2.000001}]}"#,
        r#"{"a": 10, "w": [{"x": 1, "y": 2}, {"x": 1, "y": 2}]}"#,
        r#"{"a": 10, "w": [{"x": 1, "y": 2}], "b": null}"#,
        r#"{"A": 10, "w": [{"x": 1, "y": 2}]}"#,
    ] {
        assert_ne!(fingerprint(other), original, "{other}");
    }
}

#[test]
fn a_missing_body_asks_for_the_same_as_an_empty_one() {
    let missing = Fingerprint::of(None, &[], &[]).expect("a fingerprint");
    assert_eq!(missing, fingerprint("{}"));
    assert_ne!(missing, fingerprint(r#"{"action": null}"#));
}

#[test]
fn the_query_counts_and_its_order_does_not() {
    let of = |pairs: &[(&str, &str)]| {
        let query: Vec<(String, String)> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Fingerprint::of(None, &query, &[]).expect("a fingerprint")
    };
    assert_eq!(of(&[("a", "1"), ("b", "2")]), of(&[("b", "2"), ("a", "1")]));
    assert_ne!(of(&[("a", "1")]), of(&[("a", "2")]));
    assert_ne!(of(&[("a", "1")]), of(&[]));
    assert_ne!(of(&[("a", "1")]), of(&[("a", "1"), ("a", "1")]));
    assert_ne!(of(&[("a", "b"), ("c", "")]), of(&[("a", ""), ("c", "b")]));
}

#[test]
fn a_secret_counts_by_its_digest() {
    let with = |code: &str| fingerprint(&format!(r#"{{"approvalCode": "{code}"}}"#));
    assert_eq!(with("one"), with("one"));
    assert_ne!(with("one"), with("two"));
    assert_ne!(with("one"), fingerprint("{}"));
}

proptest! {
    #[test]
    fn another_field_is_another_fingerprint(one in any_json(), two in any_json()) {
        let of = |value: &Value| {
            let fields = body(&json!({ "field": value }).to_string());
            Fingerprint::of(Some(&fields), &[], &[]).expect("a fingerprint")
        };
        let canonical = |value| crate::canonical::canonical(value).expect("canonical");
        prop_assert_eq!(of(&one) == of(&two), canonical(&one) == canonical(&two));
    }
}

fn reserved() -> KeyRecord {
    let subject = Subject {
        row: "drones.mission.start".to_owned(),
        service: "drones".to_owned(),
        operation: Uuid::from_u128(7),
        plan: None,
    };
    KeyRecord::reserve(
        Uuid::from_u128(1),
        fingerprint("{}"),
        subject,
        "gateway-1".to_owned(),
        at(30),
        at(0),
    )
}

#[test]
fn a_record_is_judged_like_this() {
    let (same, other) = (fingerprint("{}"), fingerprint(r#"{"a":1}"#));
    let running = reserved();
    let answered = running.clone().answered(answer("{}"));
    let doubted = running.clone().unknown("look there".to_owned(), at(5));
    let unknown = |check| Verdict::Unknown {
        operation: Uuid::from_u128(7),
        check,
    };

    assert_eq!(judge(None, &same, at(0)), Verdict::Free);
    assert_eq!(judge(Some(&running), &same, at(30)), Verdict::Running);
    assert!(matches!(
        judge(Some(&running), &same, at(31)),
        Verdict::Unknown { .. }
    ));
    assert!(matches!(
        judge(Some(&running), &same, at(9 * DAY)),
        Verdict::Unknown { .. }
    ));
    assert_eq!(
        judge(Some(&doubted), &same, at(9 * DAY)),
        unknown("look there")
    );
    assert_eq!(
        judge(Some(&answered), &same, at(DAY)),
        Verdict::Replay(&answer("{}"))
    );
    assert_eq!(judge(Some(&answered), &same, at(DAY + 1)), Verdict::Free);

    // A mismatch is found whatever the state, for as long as the key is kept.
    for record in [&running, &doubted, &answered] {
        assert_eq!(judge(Some(record), &other, at(1)), Verdict::Mismatch);
    }
    assert_eq!(judge(Some(&running), &other, at(31)), Verdict::Mismatch);
    assert_eq!(judge(Some(&answered), &other, at(DAY + 1)), Verdict::Free);
}

#[test]
fn a_settler_takes_up_what_no_lease_protects() {
    let claim = Uuid::from_u128(2);
    let running = reserved();
    assert_eq!(running.clone().taken_up(claim, at(90), at(30)), None);
    let taken = running
        .clone()
        .taken_up(claim, at(90), at(31))
        .expect("taken up");
    assert_eq!(taken.claim, claim);
    assert_eq!(taken.settle_after(), Some(at(90)));
    assert!(matches!(taken.state, KeyState::Unknown { .. }));
    let doubted = running.clone().unknown("look there".to_owned(), at(5));
    let taken = doubted.taken_up(claim, at(90), at(6)).expect("taken up");
    let KeyState::Unknown { check, .. } = taken.state else {
        panic!("not in doubt");
    };
    assert_eq!(check, "look there");
    let answered = running.answered(answer("{}"));
    assert_eq!(answered.taken_up(claim, at(90), at(9 * DAY)), None);
}

#[test]
fn a_settler_that_found_nothing_out_makes_room() {
    let claim = Uuid::from_u128(2);
    let doubted = reserved().unknown("look there".to_owned(), at(5));
    let taken = doubted.taken_up(claim, at(90), at(6)).expect("taken up");
    let open = taken.clone().let_go(at(7));
    assert_eq!(open.settle_after(), Some(at(7)));
    assert_eq!(open.claim, claim);
    let KeyState::Unknown { check, .. } = &open.state else {
        panic!("not in doubt");
    };
    assert_eq!(check, "look there");
    assert!(open.taken_up(claim, at(90), at(8)).is_some());
    // What is at work or answered is nobody's to let go.
    assert_eq!(reserved().let_go(at(7)), reserved());
    let answered = reserved().answered(answer("{}"));
    assert_eq!(answered.clone().let_go(at(7)), answered);
}

#[test]
fn an_answer_is_kept_to_the_byte_and_not_printed() {
    let kept = StoredAnswer {
        body: vec![0, 255, 10, 13, 34],
        ..answer("")
    };
    let text = serde_json::to_string(&kept).expect("JSON");
    assert_eq!(
        serde_json::from_str::<StoredAnswer>(&text).expect("an answer"),
        kept
    );
    assert!(!format!("{:?}", answer("private")).contains("private"));

    for record in [
        reserved(),
        reserved().answered(kept),
        reserved().unknown("x".to_owned(), at(1)),
    ] {
        let text = serde_json::to_string(&record).expect("JSON");
        assert_eq!(
            serde_json::from_str::<KeyRecord>(&text).expect("a record"),
            record
        );
    }
}
