use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Version};
use proptest::prelude::*;

use super::{
    HeaderError, NOT_DOWNWARD, NOT_DOWNWARD_PREFIXES, UPWARD, check as check_headers,
    downstream_to_upstream, foreign, upstream_to_downstream,
};
use crate::edge::host::Authority;

fn map(lines: &[(&str, &str)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        })
        .collect()
}

fn check(lines: &[(&str, &str)], expected: Result<bool, HeaderError>) {
    assert_eq!(
        check_headers(Version::HTTP_11, &map(lines)),
        expected,
        "{lines:?}"
    );
}

#[test]
fn ordinary_requests_pass() {
    check(&[], Ok(false));
    check(&[("host", "a"), ("content-length", "5")], Ok(false));
    check(&[("transfer-encoding", "chunked")], Ok(false));
    check(&[("transfer-encoding", "Chunked")], Ok(false));
    check(&[("expect", "100-Continue")], Ok(true));
    check(&[("accept", "a"), ("accept", "b")], Ok(false));
}

#[test]
fn a_single_value_header_comes_once() {
    for name in [
        "authorization",
        "host",
        "content-type",
        "content-length",
        "transfer-encoding",
        "origin",
        "expect",
    ] {
        check(
            &[(name, "5"), (name, "5")],
            Err(HeaderError::Duplicate(HeaderName::from_static(name))),
        );
    }
    check(
        &[("authorization", "é")],
        Err(HeaderError::NotAscii(http::header::AUTHORIZATION)),
    );
}

#[test]
fn framing_is_unambiguous() {
    check(
        &[("content-length", "5"), ("transfer-encoding", "chunked")],
        Err(HeaderError::TwoFramings),
    );
    for coding in [
        "",
        "gzip",
        "identity",
        "gzip, chunked",
        "chunked, identity",
        ",chunked",
        "chunked,",
        "xchunked",
        "chunked;q=1",
    ] {
        check(
            &[("transfer-encoding", coding)],
            Err(HeaderError::TransferEncoding),
        );
    }
    for length in ["", "+5", "-1", "5,5", "0x5", "5 5"] {
        check(
            &[("content-length", length)],
            Err(HeaderError::ContentLength),
        );
    }
    let chunked = map(&[("transfer-encoding", "chunked")]);
    for version in [Version::HTTP_09, Version::HTTP_10] {
        assert_eq!(
            check_headers(version, &chunked),
            Err(HeaderError::TransferEncoding)
        );
    }
}

#[test]
fn what_is_not_offered_is_refused() {
    for protocol in ["websocket", "h2c"] {
        check(&[("upgrade", protocol)], Err(HeaderError::Upgrade));
    }
    for coding in ["gzip", "identity", "br"] {
        check(
            &[("content-encoding", coding)],
            Err(HeaderError::ContentEncoding),
        );
    }
    check(&[("expect", "200-ok")], Err(HeaderError::Expectation));
}

#[test]
fn a_browser_says_which_origin_asks() {
    let host = Authority::parse("localhost:8080").unwrap();
    let table = [
        (None, None, false),
        (Some("http://localhost:8080"), Some("same-origin"), false),
        (Some("http://LOCALHOST:8080"), None, false),
        (None, Some("none"), false),
        (Some("https://evil.example"), None, true),
        (Some("http://localhost:3000"), Some("same-site"), true),
        (Some("http://127.0.0.1:8080"), None, true),
        (Some("http://localhost:8080.evil.example"), None, true),
        (Some("null"), None, true),
        (Some(""), None, true),
        (Some("file://"), None, true),
        (None, Some("cross-site"), true),
        (None, Some("same-site"), true),
        (None, Some("anything"), true),
        (Some("http://localhost:8080"), Some("cross-site"), true),
    ];
    for (origin, site, expected) in table {
        let lines: Vec<_> = origin
            .map(|origin| ("origin", origin))
            .into_iter()
            .chain(site.map(|site| ("sec-fetch-site", site)))
            .collect();
        assert_eq!(foreign(&map(&lines), &host), expected, "{lines:?}");
    }
}

#[test]
fn a_service_sees_nothing_that_speaks_for_the_gateway() {
    let sent = map(&[
        ("accept", "application/json"),
        ("content-type", "application/json"),
        ("traceparent", "00-a-b-01"),
        ("last-event-id", "7"),
        ("authorization", "Bearer x"),
        ("cookie", "token=x"),
        ("interlock-grant", "forged"),
        ("x-interlock-principal", "User::\"admin\""),
        ("x_interlock_principal", "admin"),
        ("x-approval-id", "p1"),
        ("x-forwarded-for", "10.0.0.1"),
        ("x-forwarded-uri", "/health"),
        ("forwarded", "for=1.1.1.1"),
        ("via", "1.0 x"),
        ("x-real-ip", "10.0.0.1"),
        ("x-http-method-override", "DELETE"),
        ("x-method-override", "DELETE"),
        ("x-http-method", "DELETE"),
        ("x-original-url", "/health"),
        ("x-rewrite-url", "/health"),
        ("proxy-authorization", "Basic x"),
        ("te", "trailers"),
        ("connection", "keep-alive"),
        ("host", "gateway"),
        ("content-length", "5"),
        ("idempotency-key", "k"),
    ]);
    let expected = map(&[
        ("accept", "application/json"),
        ("content-type", "application/json"),
        ("traceparent", "00-a-b-01"),
        ("last-event-id", "7"),
    ]);
    assert_eq!(downstream_to_upstream(&sent), expected);
}

#[test]
fn every_connection_line_is_read() {
    let sent = map(&[
        ("connection", "close, Accept"),
        ("connection", "TraceParent ,\taccept-language"),
        ("accept", "a"),
        ("traceparent", "b"),
        ("accept-language", "c"),
        ("user-agent", "d"),
    ]);
    assert_eq!(downstream_to_upstream(&sent), map(&[("user-agent", "d")]));
}

#[test]
fn a_caller_sees_nothing_of_the_connection_behind() {
    let answered = map(&[
        ("connection", "close, x-hop"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("transfer-encoding", "chunked"),
        ("content-length", "5"),
        ("trailer", "x"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("content-type", "application/json"),
        ("etag", "\"1\""),
        ("interlock-effect", "none"),
        ("x-interlock-internal", "1"),
        ("access-control-allow-origin", "*"),
        ("server", "uvicorn"),
        ("via", "1.1 inner"),
        ("idempotency-replayed", "true"),
    ]);
    let expected = map(&[
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("content-type", "application/json"),
        ("etag", "\"1\""),
    ]);
    assert_eq!(upstream_to_downstream(&answered), expected);
    let plain = map(&[("content-length", "5")]);
    assert_eq!(upstream_to_downstream(&plain), plain);
}

const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn names() -> impl Strategy<Value = String> {
    let known: Vec<String> = UPWARD
        .iter()
        .chain(&NOT_DOWNWARD)
        .map(|name| name.as_str().to_owned())
        .chain(HOP_BY_HOP.map(str::to_owned))
        .chain(NOT_DOWNWARD_PREFIXES.map(|prefix| format!("{prefix}x")))
        .chain([
            "set-cookie".to_owned(),
            "etag".to_owned(),
            "x-own".to_owned(),
        ])
        .collect();
    proptest::sample::select(known)
}

fn messages() -> impl Strategy<Value = (HeaderMap, Vec<HeaderName>)> {
    let fields = proptest::collection::vec(names(), 0..20);
    let lines = proptest::collection::vec(proptest::collection::vec(names(), 0..4), 0..3);
    (fields, lines).prop_map(|(fields, lines)| {
        let mut headers = HeaderMap::new();
        for name in &fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_static("v"));
        }
        for line in &lines {
            let line = line.join(" , ").to_ascii_uppercase();
            headers.append(header::CONNECTION, HeaderValue::from_str(&line).unwrap());
        }
        let nominated = lines
            .concat()
            .iter()
            .map(|name| HeaderName::from_bytes(name.as_bytes()).unwrap())
            .collect();
        (headers, nominated)
    })
}

proptest! {
    #[test]
    fn no_hop_by_hop_or_nominated_header_survives((headers, nominated) in messages()) {
        let upward = downstream_to_upstream(&headers);
        let downward = upstream_to_downstream(&headers);
        for crossed in [&upward, &downward] {
            for name in HOP_BY_HOP {
                prop_assert!(!crossed.contains_key(name), "{name}");
            }
            for name in &nominated {
                prop_assert!(!crossed.contains_key(name), "{name}");
            }
            for name in crossed.keys() {
                prop_assert!(!name.as_str().starts_with("interlock-"));
                prop_assert!(!name.as_str().starts_with("x-interlock-"));
            }
        }
        for name in upward.keys() {
            prop_assert!(UPWARD.contains(name), "{name}");
        }
        // What may cross does, as often as it was sent.
        if !nominated.contains(&header::SET_COOKIE) {
            let count = |headers: &HeaderMap| headers.get_all(header::SET_COOKIE).iter().count();
            prop_assert_eq!(count(&downward), count(&headers));
        }
    }
}
