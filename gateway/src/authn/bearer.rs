//! The bearer token of a request (RFC 6750 section 2.1): one header, nowhere
//! else. Tokens in a query or a cookie are not looked at.

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The largest token in bytes.
pub const TOKEN_BYTES: usize = 8 * 1024;

/// Why the `Authorization` header does not hold one bearer token.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BearerError {
    /// More than one header line.
    #[error("the `Authorization` header is given more than once")]
    Several,
    /// Another scheme, such as `Basic`.
    #[error("the `Authorization` scheme must be `Bearer`")]
    Scheme,
    /// Empty, or with characters that no token has.
    #[error("the bearer token is malformed")]
    Malformed,
    /// Larger than [`TOKEN_BYTES`].
    #[error("the bearer token is larger than {TOKEN_BYTES} bytes")]
    Large,
}

/// A bearer token as sent. Its `Debug` form is redacted.
#[derive(Clone, Copy)]
pub struct Bearer<'request>(&'request str);

impl<'request> Bearer<'request> {
    /// The token of a request, if one was sent.
    ///
    /// # Errors
    /// [`BearerError`] when there is an `Authorization` header of another shape.
    pub fn of(headers: &'request HeaderMap) -> Result<Option<Self>, BearerError> {
        let mut lines = headers.get_all(AUTHORIZATION).iter();
        let Some(line) = lines.next() else {
            return Ok(None);
        };
        if lines.next().is_some() {
            return Err(BearerError::Several);
        }
        let line = line.to_str().map_err(|_| BearerError::Malformed)?;
        let (scheme, token) = line.split_once(' ').ok_or(BearerError::Scheme)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(BearerError::Scheme);
        }
        if token.len() > TOKEN_BYTES {
            return Err(BearerError::Large);
        }
        // The characters of a JWS in compact form (RFC 7515 section 7.1).
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if token.is_empty() || !token.bytes().all(plain) {
            return Err(BearerError::Malformed);
        }
        Ok(Some(Self(token)))
    }

    /// The token's text. Never log it.
    pub fn expose(&self) -> &'request str {
        self.0
    }
}

impl fmt::Debug for Bearer<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Bearer(redacted)")
    }
}

#[cfg(test)]
mod tests;
