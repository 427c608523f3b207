//! What crosses the gateway: end-to-end fields, framed anew on each side
//! (RFC 9110, sections 7.6.1 and 7.6.3).

use std::net::IpAddr;

use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, TRANSFER_ENCODING, VIA,
};
use http::{HeaderMap, HeaderValue, Version};

use crate::grant::Grant;

/// The header the grant travels in.
pub(super) const GRANT: HeaderName = HeaderName::from_static("interlock-grant");

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const HERE: &str = "1.1 interlock";

/// Makes the request's fields ours: everything that belongs to the caller's
/// connection, to the caller's credentials or to us goes, then our own are set.
pub(super) fn prepare_request(
    headers: &mut HeaderMap,
    authority: &HeaderValue,
    grant: Grant,
    client: Option<IpAddr>,
) {
    let via = joined_via(headers);
    strip(headers, |name| is_hop_by_hop(name) || is_ours(name));
    headers.insert(HOST, authority.clone());
    headers.insert(VIA, via);
    if let Some(value) = client.and_then(|ip| HeaderValue::from_str(&ip.to_string()).ok()) {
        headers.insert(FORWARDED_FOR, value);
    }
    headers.insert(GRANT, grant.into_header());
}

/// Drops what belongs to the connection to the service.
pub(super) fn prepare_response(headers: &mut HeaderMap) {
    strip(headers, is_hop_by_hop);
    let is_events = headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
    if is_events {
        headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    }
}

/// Refuses a response whose end two readers could see in different places
/// (RFC 9112, section 6.3).
pub(super) fn check_framing(version: Version, headers: &HeaderMap) -> Result<(), &'static str> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else {
        let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
        return match (lengths.next(), lengths.next()) {
            (_, Some(_)) => Err("more than one Content-Length"),
            (Some(length), None) if !length.as_bytes().iter().all(u8::is_ascii_digit) => {
                Err("a Content-Length that is no number")
            }
            _ => Ok(()),
        };
    };
    if headers.contains_key(CONTENT_LENGTH) {
        return Err("both Transfer-Encoding and Content-Length");
    }
    if codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err("a Transfer-Encoding other than chunked");
    }
    if version != Version::HTTP_11 {
        return Err("Transfer-Encoding before HTTP/1.1");
    }
    Ok(())
}

/// Whether the sender closes the connection after this message.
pub(super) fn says_close(headers: &HeaderMap) -> bool {
    tokens(headers).any(|token| token.eq_ignore_ascii_case("close"))
}

fn tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

fn strip(headers: &mut HeaderMap, drop: impl Fn(&str) -> bool) {
    // Every line of Connection nominates, in any case: `HeaderName` folds it.
    let nominated: Vec<HeaderName> = tokens(headers)
        .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
        .collect();
    let dropped: Vec<HeaderName> = headers
        .keys()
        .filter(|name| drop(name.as_str()))
        .cloned()
        .collect();
    for name in nominated.iter().chain(&dropped) {
        headers.remove(name);
    }
}

fn is_hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "http2-settings"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Request fields that only we may set, or that stop at the gateway: the
/// service trusts the grant, and never sees what the caller proved itself with.
fn is_ours(name: &str) -> bool {
    matches!(
        name,
        "authorization"
            | "content-length"
            | "cookie"
            | "expect"
            | "forwarded"
            | "host"
            | "via"
            | "x-real-ip"
    ) || ["interlock-", "x-interlock-", "x-forwarded-"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// One `Via` line: what came, then us.
fn joined_via(headers: &HeaderMap) -> HeaderValue {
    let mut line = String::new();
    for value in headers.get_all(VIA).iter().filter_map(|v| v.to_str().ok()) {
        line.push_str(value);
        line.push_str(", ");
    }
    line.push_str(HERE);
    HeaderValue::from_str(&line).unwrap_or(HeaderValue::from_static(HERE))
}
