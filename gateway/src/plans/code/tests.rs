use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use sha2::{Digest, Sha256};

use crate::identity::hex;
use crate::plans::fixtures::{Counting, code, wrong_code};
use crate::plans::{ApprovalCode, CodeHash, Randomness, RandomnessError, SystemRandomness};

#[test]
fn a_code_is_24_bytes_as_32_characters() {
    // RFC 4648 section 5 over the bytes 251, 252 ... : both special characters.
    let code = ApprovalCode::mint(&Counting(0xfb)).expect("a code");
    assert_eq!(code.reveal(), "-_z9_v8AAQIDBAUGBwgJCgsMDQ4PEBES");
}

#[test]
fn the_hash_is_sha256_of_the_text() {
    let stored = serde_json::to_string(&code().hash()).expect("JSON");
    let expected = hex(&Sha256::digest(code().reveal()));
    assert_eq!(stored, format!("\"{expected}\""));
    let read: CodeHash = serde_json::from_str(&stored).expect("a hash");
    assert!(read.matches(Some(&code())));
}

#[test]
fn only_the_code_matches() {
    let hash = code().hash();
    assert!(hash.matches(Some(&code())));
    assert!(!hash.matches(Some(&wrong_code())));
    assert!(!hash.matches(None));
}

#[test]
fn other_shapes_are_no_codes() {
    let text = code().reveal();
    assert!(ApprovalCode::parse(&text).is_some());
    let rest: String = text.chars().skip(1).collect();
    let shorter: String = text.chars().skip(2).collect();
    let others = [
        String::new(),
        rest.clone(),
        format!("{text}A"),
        format!("{text}="),
        format!(" {rest}"),
        format!("{rest}+"),
        format!("{rest}/"),
        format!("{shorter}é"),
        format!("{rest}\n"),
        hex(&[7; 16]).replace('0', "%"),
    ];
    for other in others {
        assert!(ApprovalCode::parse(&other).is_none(), "{other:?}");
    }
}

#[test]
fn nothing_prints_a_code() {
    let text = code().reveal();
    let shown = format!("{:?} {:?} {:#?}", code(), code().hash(), Some(code()));
    assert!(!shown.contains(&text), "{shown}");
    assert!(!shown.contains(&hex(&Sha256::digest(&text))), "{shown}");
    assert!(shown.contains("redacted"), "{shown}");
}

#[test]
fn the_system_gives_another_code_each_time() {
    let mint = || {
        ApprovalCode::mint(&SystemRandomness)
            .expect("a code")
            .reveal()
    };
    let (one, two) = (mint(), mint());
    assert_ne!(one, two);
    assert_eq!(one.len(), 32);
    assert!(ApprovalCode::parse(&one).is_some());
}

#[test]
fn without_randomness_there_is_no_code() {
    struct Broken;
    impl Randomness for Broken {
        fn fill(&self, _: &mut [u8]) -> Result<(), RandomnessError> {
            Err(RandomnessError("no entropy".to_owned()))
        }
    }
    let error = ApprovalCode::mint(&Broken).expect_err("no code");
    assert!(error.to_string().contains("no entropy"), "{error}");
}

proptest! {
    #[test]
    fn parsing_never_repairs(text in "\\PC{0,40}") {
        if let Some(code) = ApprovalCode::parse(&text) {
            prop_assert_eq!(code.reveal(), text);
        }
    }

    #[test]
    fn a_changed_character_does_not_match(at in 0..32_usize, to in "[A-Za-z0-9_-]") {
        let text = code().reveal();
        let mut other = text.clone();
        other.replace_range(at..=at, &to);
        let matches = code().hash().matches(ApprovalCode::parse(&other).as_ref());
        prop_assert!(matches == (other == text));
    }
}
