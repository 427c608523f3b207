use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, HeaderValue};

use super::{Bearer, BearerError, TOKEN_BYTES};

fn check(lines: &[&str], expected: Result<Option<&str>, BearerError>) {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(AUTHORIZATION, HeaderValue::from_str(line).unwrap());
    }
    let token = Bearer::of(&headers).map(|token| token.map(|token| token.expose().to_owned()));
    assert_eq!(
        token,
        expected.map(|token| token.map(str::to_owned)),
        "{lines:?}"
    );
}

#[test]
fn one_bearer_token_is_read() {
    check(&[], Ok(None));
    check(&["Bearer a.b-_.c"], Ok(Some("a.b-_.c")));
    check(&["bEARER a.b.c"], Ok(Some("a.b.c")));
}

#[test]
fn anything_else_is_an_error_and_never_nobody() {
    check(&["Bearer a", "Bearer a"], Err(BearerError::Several));
    for line in ["", "Bearer", "Basic YTpi", "a.b.c", "DPoP a.b.c"] {
        check(&[line], Err(BearerError::Scheme));
    }
    for token in ["", " a", "a b", "a=", "a+b", "a/b", "a,b", "\"a\""] {
        check(&[&format!("Bearer {token}")], Err(BearerError::Malformed));
    }
    let longest = "a".repeat(TOKEN_BYTES);
    check(&[&format!("Bearer {longest}")], Ok(Some(&longest)));
    check(&[&format!("Bearer {longest}a")], Err(BearerError::Large));
}

#[test]
fn a_cookie_is_no_token_and_a_token_does_not_show() {
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, HeaderValue::from_static("token=a.b.c"));
    assert!(Bearer::of(&headers).unwrap().is_none());
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer a.b.c"));
    let shown = format!("{:?}", Bearer::of(&headers).unwrap());
    assert!(!shown.contains("a.b.c"), "{shown}");
}
