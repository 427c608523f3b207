//! The request body: bounded in size and time, strict, and forwarded in the
//! very bytes it was judged in.

use std::error::Error;
use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::Body;
use interlock_surface::{BodyRule, Candidates, Class, Row, UnknownKind};
use serde_json::{Map, Value};

use super::fields;
use super::json::{self, JsonError};
use crate::server::RequestBodyError;

/// Why a body is refused. Names are given, values never are.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// Larger than the row allows (413).
    #[error("the body is larger than the {limit} bytes accepted here")]
    Large {
        /// The row's limit in bytes.
        limit: u32,
    },
    /// A body where the row takes none.
    #[error("no body is accepted here; send the request without one")]
    Unwanted,
    /// No body where the row needs one.
    #[error("a JSON body is needed here")]
    Missing,
    /// A content type other than JSON (415).
    #[error("the body must be `Content-Type: application/json`, in UTF-8")]
    ContentType,
    /// Not strict JSON.
    #[error("the body is refused: {0}")]
    Json(#[from] JsonError),
    /// JSON, but not an object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    /// A field the row does not know.
    #[error("the field `{}` is not known here", .0.escape_debug())]
    UnknownField(String),
    /// A field that holds others is something else.
    #[error("the field `{0}` must be an object")]
    NotNested(String),
    /// The kind is missing, not a string, or names no command of this path.
    #[error("`{field}`: {cause}")]
    Kind {
        /// The field that names the kind.
        field: &'static str,
        /// What is wrong.
        cause: UnknownKind,
    },
    /// The body did not arrive in time (408).
    #[error("the body did not arrive within {} ms", .0.as_millis())]
    Slow(Duration),
    /// The connection broke, or its framing was malformed.
    #[error("the body broke off before its end")]
    Broken,
}

/// A request whose body was read: the row it means and the bytes to forward.
#[derive(Clone, Debug)]
pub struct Asked {
    row: &'static Row,
    body: Option<Value>,
    bytes: Bytes,
}

impl Asked {
    /// The row, chosen by the command kind where the path has several.
    pub fn row(&self) -> &'static Row {
        self.row
    }

    /// The body, always an object; `None` when none was sent.
    pub fn body(&self) -> Option<&Value> {
        self.body.as_ref()
    }

    /// How long the command is to live, in milliseconds; 0 where the body does
    /// not say.
    pub fn life(&self) -> i64 {
        let fields = self.body.as_ref().and_then(Value::as_object);
        fields.map_or(0, |fields| fields::life(self.row, fields))
    }

    /// The canonical text of the body (RFC 8785), which is what is forwarded
    /// and digested; empty when none was sent.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// Reads the body of a request that matched `rows`, within `patience`.
///
/// # Errors
/// [`BodyError`] says what is wrong and names the field.
pub async fn read<B>(
    rows: Candidates,
    headers: &HeaderMap,
    body: B,
    patience: Duration,
) -> Result<Asked, BodyError>
where
    B: Body<Data = Bytes, Error: Error + 'static>,
{
    let any = rows.any();
    // A stop that takes no body does not look at one: whatever came along must
    // not keep a vehicle moving.
    if any.body == BodyRule::None && any.class == Class::SafetyWrite {
        return judge(rows, headers, &Bytes::new());
    }
    let limit = any.body_limit;
    // Refused before a byte is read, so that a caller who waits for `100
    // Continue` never sends it.
    if let Some(length) = declared(headers) {
        if length > 0 && any.body == BodyRule::None {
            return Err(BodyError::Unwanted);
        }
        if length > u64::from(limit) {
            return Err(BodyError::Large { limit });
        }
    }
    let raw = tokio::time::timeout(patience, collect(body, any, patience))
        .await
        .map_err(|_| BodyError::Slow(patience))??;
    judge(rows, headers, &raw)
}

fn declared(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

async fn collect<B>(body: B, row: &Row, patience: Duration) -> Result<Bytes, BodyError>
where
    B: Body<Data = Bytes, Error: Error + 'static>,
{
    let mut body = pin!(body);
    let mut raw = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|cause| incomplete(&cause, patience))?;
        // Trailers decide nothing and are not forwarded.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.is_empty() {
            continue;
        }
        if row.body == BodyRule::None {
            return Err(BodyError::Unwanted);
        }
        let limit = row.body_limit;
        if raw.len() as u64 + data.len() as u64 > u64::from(limit) {
            return Err(BodyError::Large { limit });
        }
        raw.extend_from_slice(&data);
    }
    Ok(raw.freeze())
}

/// A caller that stopped sending is slow too: its connection gave the body up
/// before our own patience ended.
fn incomplete(cause: &(dyn Error + 'static), patience: Duration) -> BodyError {
    match cause.downcast_ref() {
        Some(RequestBodyError::Stalled) => BodyError::Slow(patience),
        _ => BodyError::Broken,
    }
}

fn judge(rows: Candidates, headers: &HeaderMap, raw: &Bytes) -> Result<Asked, BodyError> {
    if raw.is_empty() {
        let row = choose(rows, &Map::new())?;
        return match row.body {
            BodyRule::Required => Err(BodyError::Missing),
            BodyRule::None | BodyRule::Optional => Ok(Asked {
                row,
                body: None,
                bytes: Bytes::new(),
            }),
        };
    }
    if !json_type(headers) {
        return Err(BodyError::ContentType);
    }
    let Value::Object(mut fields) = json::parse(raw)? else {
        return Err(BodyError::NotAnObject);
    };
    let row = choose(rows, &fields)?;
    let known = fields::Known::of(row);
    // What is not known of a stop that is a kind is left out: it must not keep
    // a vehicle moving, and the service must not see what nobody judged.
    match row.class == Class::SafetyWrite && row.kind.is_some() {
        true => known.keep(&mut fields),
        false => known.check(&fields)?,
    }
    let body = Value::Object(fields);
    // Cannot fail on a value whose numbers are finite and names are strings.
    let canonical = serde_json_canonicalizer::to_vec(&body).map_err(|_| BodyError::Broken)?;
    Ok(Asked {
        row,
        body: Some(body),
        bytes: canonical.into(),
    })
}

/// The row that the body's kind names, where the path has kinds.
fn choose(rows: Candidates, fields: &Map<String, Value>) -> Result<&'static Row, BodyError> {
    let field = rows.any().kind_field.unwrap_or_default();
    let kind = fields::at(fields, field).and_then(Value::as_str);
    rows.choose(kind)
        .map_err(|cause| BodyError::Kind { field, cause })
}

/// `application/json`, with no parameter but `charset=utf-8` (RFC 8259 section
/// 11 defines none; many clients send this one).
fn json_type(headers: &HeaderMap) -> bool {
    let Some(text) = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let (media, parameter) = match text.split_once(';') {
        Some((media, parameter)) => (media, Some(parameter.trim())),
        None => (text, None),
    };
    let utf8 = parameter.is_none_or(|parameter| {
        parameter.split_once('=').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("charset")
                && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
    });
    media.trim().eq_ignore_ascii_case("application/json") && utf8
}

#[cfg(test)]
mod tests;
