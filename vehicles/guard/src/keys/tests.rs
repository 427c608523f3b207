use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Key, KeyError, KeySet, Keys};

fn encoded(bytes: usize) -> String {
    URL_SAFE_NO_PAD.encode(vec![7; bytes])
}

fn check(text: &str, expected: Result<&[&str], KeyError>) {
    let kids = KeySet::parse(text).map(|set| {
        let kids: Vec<String> = set.0.iter().map(|key| key.kid().to_owned()).collect();
        kids
    });
    let expected = expected.map(|kids| kids.iter().map(|kid| (*kid).to_owned()).collect());
    assert_eq!(kids, expected, "{text}");
}

#[test]
fn key_sets_are_read_or_refused() {
    let good = encoded(32);
    check(&format!("a:{good}"), Ok(&["a"]));
    check(&format!("a:{good}, b:{good}"), Ok(&["a", "b"]));
    check("", Err(KeyError::Empty));
    check("abc", Err(KeyError::Form));
    check(&format!("a b:{good}"), Err(KeyError::Id));
    check(&format!(":{good}"), Err(KeyError::Id));
    let kid = || "a".to_owned();
    check("a:!!", Err(KeyError::Encoding { kid: kid() }));
    let short = format!("a:{}", encoded(31));
    let error = KeyError::Short {
        kid: kid(),
        bytes: 31,
    };
    check(&short, Err(error));
    let twice = format!("a:{good},a:{good}");
    check(&twice, Err(KeyError::Repeated { kid: kid() }));
}

#[test]
fn no_secret_is_shown() {
    let secret = encoded(40);
    let keys = Keys::new(KeySet::parse(&format!("a:{secret}")).unwrap());
    let shown = format!("{keys:?} {:?}", Key::parse(&format!("a:{secret}")).unwrap());
    assert!(shown.contains("redacted"), "{shown}");
    assert!(!shown.contains(&secret), "{shown}");
    assert!(!shown.contains("7, 7"), "{shown}");
}
