//! Why a request has no valid grant.

use thiserror::Error;

use crate::replay::ReplayError;
use crate::token::Unopened;

/// Why a request has no valid grant. No variant carries any part of the token.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No grant header.
    #[error("the request has no `Interlock-Grant` header; only the gateway may call this service")]
    Missing,
    /// Two or more grant headers.
    #[error("the request has more than one `Interlock-Grant` header")]
    Repeated,
    /// Not a JSON web token.
    #[error("the grant is not a well-formed token")]
    Malformed,
    /// Signed in any other way than HS256.
    #[error("the grant is not signed with HS256")]
    Algorithm,
    /// A token of another type.
    #[error("the token is not of type `interlock-grant+jwt`")]
    Type,
    /// No key of that id.
    #[error("the grant names no key that this service knows")]
    UnknownKey,
    /// The signature does not hold.
    #[error("the signature of the grant does not hold")]
    Signature,
    /// Not from the gateway.
    #[error("the grant was not issued by `interlock`")]
    Issuer,
    /// For another service.
    #[error("the grant is for another service")]
    Audience,
    /// A claim is missing or has a wrong type.
    #[error("a claim of the grant is missing or has a wrong type")]
    Claims,
    /// The named row is not the one at this method and path.
    #[error("the grant does not name the row at this method and path")]
    Row,
    /// Another method.
    #[error("the grant is for another method")]
    Method,
    /// Another path or query.
    #[error("the grant is for another path or query")]
    Path,
    /// Another body.
    #[error("the grant is for another body")]
    Body,
    /// Past its end.
    #[error("the grant has expired")]
    Expired,
    /// Issued, or valid only, in the future.
    #[error("the grant is not valid yet")]
    NotYet,
    /// Lives longer than a grant may, or ends before it begins.
    #[error("the life of the grant is not between 0 and 120 seconds")]
    Life,
    /// May have been used before this process began.
    #[error("the grant is older than this process")]
    BeforeStart,
    /// Used before.
    #[error("the grant was used before")]
    Replayed,
    /// There is no room to remember it, so it cannot be used.
    #[error("too many grants are in use; ask again when some have expired")]
    Full,
    /// The body is larger than the row allows.
    #[error("the body is larger than this endpoint allows")]
    TooLarge,
    /// The body broke off or could not be read.
    #[error("the body could not be read to its end")]
    Unreadable,
    /// The body did not arrive in its time.
    #[error("the body did not arrive in time")]
    Slow,
}

impl Refusal {
    /// A stable word for logs, metrics and test vectors.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Repeated => "repeated",
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::Type => "type",
            Self::UnknownKey => "unknown-key",
            Self::Signature => "signature",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Claims => "claims",
            Self::Row => "row",
            Self::Method => "method",
            Self::Path => "path",
            Self::Body => "body",
            Self::Expired => "expired",
            Self::NotYet => "not-yet",
            Self::Life => "life",
            Self::BeforeStart => "before-start",
            Self::Replayed => "replayed",
            Self::Full => "full",
            Self::TooLarge => "too-large",
            Self::Unreadable => "unreadable",
            Self::Slow => "slow",
        }
    }
}

impl From<Unopened> for Refusal {
    fn from(cause: Unopened) -> Self {
        match cause {
            Unopened::Malformed => Self::Malformed,
            Unopened::Algorithm => Self::Algorithm,
            Unopened::Type => Self::Type,
            Unopened::UnknownKey => Self::UnknownKey,
            Unopened::Signature => Self::Signature,
            Unopened::Issuer => Self::Issuer,
            Unopened::Audience => Self::Audience,
            Unopened::Claims => Self::Claims,
        }
    }
}

impl From<ReplayError> for Refusal {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Replayed => Self::Replayed,
            ReplayError::Full => Self::Full,
        }
    }
}
