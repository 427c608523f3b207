use super::{alias, canonical, exact};

fn check(left: (&str, &str), right: (&str, &str), same: bool) {
    let equal = canonical(left.0, left.1) == canonical(right.0, right.1);
    assert_eq!(equal, same, "{left:?} and {right:?}");
}

#[test]
fn spellings_of_one_identity_meet() {
    let alice = ("https://idp.example", "alice");
    check(alice, ("https://idp.example/", "alice"), true);
    check(alice, ("https://idp.example", "Alice"), true);
    check(alice, ("https://idp.example", " ALICE "), true);
    check(alice, ("HTTPS://IDP.example", "alice"), true);
    check(("https://i", "stra\u{df}e"), ("https://i", "STRASSE"), true);
    check(("https://i", "\u{212a}im"), ("https://i", "kim"), true);
}

#[test]
fn different_identities_stay_apart() {
    let alice = ("https://idp.example", "alice");
    check(alice, ("https://idp2.example", "alice"), false);
    check(alice, ("https://idp.example", "alice2"), false);
    check(("https://i", "a b"), ("https://i", "a  b"), false);
}

#[test]
fn exact_keeps_case() {
    assert_ne!(exact("https://i", "Alice"), exact("https://i", "alice"));
    assert_eq!(exact("https://i/", "alice"), exact("https://i", "alice"));
}

#[test]
fn an_alias_is_no_identity() {
    assert!(!alias("alice").contains(' '));
    assert!(canonical("https://i", "").contains(' '));
}
