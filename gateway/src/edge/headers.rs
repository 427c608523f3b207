//! Header rules: what is refused, and what crosses the gateway.
//!
//! The gateway's own headers are set by the forwarder after these functions
//! ran, so that no `Connection` line of a caller can remove them.

use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Version};

use super::host::Authority;

/// Why the headers of a request are refused. Values are never repeated.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HeaderError {
    /// A single-value header twice, or a list where one value belongs.
    #[error("the header `{0}` is given more than once; send exactly one")]
    Duplicate(HeaderName),
    /// A single-value header with bytes outside visible ASCII.
    #[error("the header `{0}` has characters other than visible ASCII")]
    NotAscii(HeaderName),
    /// Both framings at once (RFC 9112 section 6.3): a smuggling attempt.
    #[error("`Transfer-Encoding` and `Content-Length` are given together; send one of them")]
    TwoFramings,
    /// Any coding but `chunked`, or `chunked` in HTTP/1.0.
    #[error("the only transfer coding is exactly `chunked`, in HTTP/1.1")]
    TransferEncoding,
    /// `Content-Length` is not a plain decimal number.
    #[error("`Content-Length` is not a number")]
    ContentLength,
    /// An upgrade: no row here speaks another protocol.
    #[error("`Upgrade` is not offered; send the request without it")]
    Upgrade,
    /// A compressed request body: decided bytes are plain bytes.
    #[error("request bodies must not be encoded; send it without `Content-Encoding`")]
    ContentEncoding,
    /// An expectation other than `100-continue` (RFC 9110 section 10.1.1).
    #[error("the only expectation met is `100-continue`")]
    Expectation,
}

/// Fields of which a message has at most one; two copies let each hop pick
/// another.
const SINGLE: [HeaderName; 9] = [
    header::AUTHORIZATION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPECT,
    header::HOST,
    header::ORIGIN,
    HeaderName::from_static("sec-fetch-site"),
    header::TRANSFER_ENCODING,
];

/// Checks framing, single-value headers and features that are not offered.
/// Returns whether the caller waits for `100 Continue`.
///
/// # Errors
/// [`HeaderError`] names the header.
pub fn check(version: Version, headers: &HeaderMap) -> Result<bool, HeaderError> {
    for name in SINGLE {
        let mut values = headers.get_all(&name).iter();
        let (Some(value), second) = (values.next(), values.next()) else {
            continue;
        };
        if second.is_some() {
            return Err(HeaderError::Duplicate(name));
        }
        if value.to_str().is_err() {
            return Err(HeaderError::NotAscii(name));
        }
    }
    framing(version, headers)?;
    if headers.contains_key(header::UPGRADE) {
        return Err(HeaderError::Upgrade);
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(HeaderError::ContentEncoding);
    }
    match headers.get(header::EXPECT) {
        None => Ok(false),
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"100-continue") => Ok(true),
        Some(_) => Err(HeaderError::Expectation),
    }
}

fn framing(version: Version, headers: &HeaderMap) -> Result<(), HeaderError> {
    if let Some(length) = headers.get(header::CONTENT_LENGTH) {
        let digits = length.as_bytes();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(HeaderError::ContentLength);
        }
    }
    let Some(coding) = headers.get(header::TRANSFER_ENCODING) else {
        return Ok(());
    };
    if headers.contains_key(header::CONTENT_LENGTH) {
        return Err(HeaderError::TwoFramings);
    }
    // HTTP/1.0 has no transfer codings (RFC 9112 section 6.1).
    if version <= Version::HTTP_10 || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err(HeaderError::TransferEncoding);
    }
    Ok(())
}

/// Whether a browser says that another origin than `host` sends this
/// (`Origin`, RFC 6454; `Sec-Fetch-Site`, W3C Fetch Metadata). Another port of
/// this machine is another origin. A caller that is no browser sends neither.
pub fn foreign(headers: &HeaderMap, host: &Authority) -> bool {
    let origin = headers.get(header::ORIGIN).is_some_and(|origin| {
        let ours = origin
            .to_str()
            .ok()
            .and_then(|text| {
                text.strip_prefix("http://")
                    .or(text.strip_prefix("https://"))
            })
            .and_then(|authority| Authority::parse(authority).ok());
        ours.as_ref() != Some(host)
    });
    let site = headers
        .get("sec-fetch-site")
        .is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
    origin || site
}

/// The request headers a service needs. Everything else stays here: hop-by-hop
/// fields, credentials, cookies, forwarding and method-override headers, any
/// header that speaks in the gateway's name, and whatever is invented next.
const UPWARD: [HeaderName; 10] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::USER_AGENT,
    HeaderName::from_static("baggage"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
];

/// The caller's headers that go to a service.
pub fn downstream_to_upstream(headers: &HeaderMap) -> HeaderMap {
    let nominated = nominated(headers);
    let mut upward = HeaderMap::with_capacity(UPWARD.len());
    for name in UPWARD {
        if nominated.contains(&name) {
            continue;
        }
        for value in headers.get_all(&name) {
            upward.append(name.clone(), value.clone());
        }
    }
    upward
}

/// Hop-by-hop fields (RFC 9110 section 7.6.1), and what only the gateway says
/// to a caller: which cross-origin readers it admits, which server this is.
const NOT_DOWNWARD: [HeaderName; 12] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::SERVER,
    header::VIA,
    HeaderName::from_static("x-powered-by"),
    HeaderName::from_static("forwarded"),
    HeaderName::from_static("idempotency-replayed"),
];

const NOT_DOWNWARD_PREFIXES: [&str; 6] = [
    "interlock-",
    "x-interlock-",
    "x-forwarded-",
    "proxy-",
    "access-control-",
    "x-accel-",
];

/// A service's headers that go to the caller. Repeated fields, such as
/// `Set-Cookie`, stay repeated.
pub fn upstream_to_downstream(headers: &HeaderMap) -> HeaderMap {
    let nominated = nominated(headers);
    // RFC 9112 section 6.3: with both framings the length is not to be trusted.
    let chunked = headers.contains_key(header::TRANSFER_ENCODING);
    let mut downward = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let stays = NOT_DOWNWARD.contains(name)
            || nominated.contains(name)
            || NOT_DOWNWARD_PREFIXES
                .iter()
                .any(|prefix| name.as_str().starts_with(prefix))
            || (chunked && name == header::CONTENT_LENGTH);
        if !stays {
            downward.append(name.clone(), value.clone());
        }
    }
    downward
}

/// Every name in every `Connection` line.
fn nominated(headers: &HeaderMap) -> Vec<HeaderName> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .map(HeaderValue::as_bytes)
        .flat_map(|line| line.split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect()
}

#[cfg(test)]
mod tests;
