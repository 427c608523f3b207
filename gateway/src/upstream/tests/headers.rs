//! Which fields reach the service, and which come back.

use std::net::{IpAddr, Ipv4Addr};

use http::header::{HeaderMap, HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::grant::Grant;
use crate::upstream::headers::{prepare_request, prepare_response};

fn map(lines: &[(&str, &str)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

fn lines(headers: &HeaderMap) -> Vec<String> {
    let mut lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines
}

fn prepared(sent: &[(&str, &str)]) -> Vec<String> {
    let mut headers = map(sent);
    prepare_request(
        &mut headers,
        &HeaderValue::from_static("127.0.0.1:9001"),
        Grant::of("grant"),
        Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    );
    lines(&headers)
}

const OURS: [&str; 4] = [
    "host: 127.0.0.1:9001",
    "interlock-grant: grant",
    "via: 1.1 interlock",
    "x-forwarded-for: 127.0.0.1",
];

#[test]
fn the_service_sees_our_own_fields_once() {
    assert_eq!(prepared(&[]), OURS);
}

#[test]
fn no_connection_line_takes_our_fields_away() {
    let sent = [
        ("connection", "close, Interlock-Grant, X-Forwarded-For"),
        ("Connection", "VIA , host"),
        ("connection", "x-secret"),
        ("x-secret", "1"),
    ];
    assert_eq!(prepared(&sent), OURS);
}

#[test]
fn what_belongs_to_the_connection_or_to_us_is_dropped() {
    let sent = [
        ("host", "elsewhere"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "Basic x"),
        ("te", "trailers"),
        ("trailer", "x"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("content-length", "5"),
        ("expect", "100-continue"),
        ("authorization", "Bearer secret"),
        ("cookie", "session=secret"),
        ("forwarded", "for=10.0.0.1"),
        ("x-forwarded-for", "10.0.0.1"),
        ("x-forwarded-host", "evil"),
        ("x-real-ip", "10.0.0.1"),
        ("interlock-grant", "forged"),
        ("interlock-service", "forged"),
        ("x-interlock-principal", "admin"),
    ];
    assert_eq!(prepared(&sent), OURS);
}

#[test]
fn end_to_end_fields_pass_and_via_stays_one_line() {
    let sent = [
        ("accept", "application/json"),
        ("x-request-id", "1"),
        ("via", "1.0 x"),
        ("via", "1.1 y"),
    ];
    assert_eq!(
        prepared(&sent),
        [
            "accept: application/json",
            "host: 127.0.0.1:9001",
            "interlock-grant: grant",
            "via: 1.0 x, 1.1 y, 1.1 interlock",
            "x-forwarded-for: 127.0.0.1",
            "x-request-id: 1",
        ]
    );
}

#[test]
fn the_caller_sees_no_field_of_the_service_connection() {
    let mut headers = map(&[
        ("connection", "close, X-Inner"),
        ("x-inner", "1"),
        ("keep-alive", "timeout=5"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("content-encoding", "gzip"),
    ]);
    prepare_response(&mut headers);
    assert_eq!(
        lines(&headers),
        [
            "content-encoding: gzip",
            "set-cookie: a=1",
            "set-cookie: b=2"
        ]
    );
}

fn names() -> impl Strategy<Value = String> {
    let known = [
        "Connection",
        "TE",
        "Keep-Alive",
        "Host",
        "Via",
        "X-A",
        "x-b",
        "Interlock-Grant",
        "X-Forwarded-For",
        "Upgrade",
        "close",
        "Authorization",
        "X-Interlock-Class",
    ];
    prop::sample::select(known.to_vec()).prop_map(str::to_owned)
}

fn header_values() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        vec(names(), 0..4).prop_map(|names| names.join(" ,")),
    ]
}

proptest! {
    #[test]
    fn no_nominated_or_hop_by_hop_field_survives(
        sent in vec((names(), header_values()), 0..12)
    ) {
        let pairs: Vec<(&str, &str)> = sent.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let mut headers = map(&pairs);
        let nominated: Vec<String> = headers
            .get_all("connection")
            .iter()
            .flat_map(|value| value.to_str().unwrap().split(','))
            .map(|token| token.trim().to_ascii_lowercase())
            .collect();
        prepare_request(
            &mut headers,
            &HeaderValue::from_static("h:1"),
            Grant::of("grant"),
            None,
        );
        prop_assert_eq!(headers.get_all("interlock-grant").iter().count(), 1);
        prop_assert_eq!(headers.get("interlock-grant").unwrap(), "grant");
        prop_assert_eq!(headers.get_all("host").iter().count(), 1);
        prop_assert_eq!(headers.get_all("via").iter().count(), 1);
        for name in headers.keys() {
            let ours = ["interlock-grant", "host", "via"].contains(&name.as_str());
            prop_assert!(ours || !nominated.iter().any(|n| n == name.as_str()), "{}", name);
            prop_assert!(
                !["connection", "te", "keep-alive", "upgrade", "authorization",
                  "x-interlock-class", "x-forwarded-for"].contains(&name.as_str()),
                "{}", name
            );
        }
    }
}
