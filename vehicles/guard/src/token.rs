//! The tokens that a service and the gateway send each other: signed and opened here alone.

use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::keys::{KeySet, Keys};

/// Signs claims as a token of this type, with the first key; `None` when that cannot be done.
pub(crate) fn sign(keys: &Keys, kind: &str, claims: &impl Serialize) -> Option<String> {
    let set = keys.current();
    let key = set.first()?;
    let header = Header {
        typ: Some(kind.to_owned()),
        kid: Some(key.kid().to_owned()),
        ..Header::new(Algorithm::HS256)
    };
    encode(&header, claims, key.encoding()).ok()
}

/// The claims of a token of this type, from one party to the other. Its times are the caller's to
/// judge, by the injected clock.
///
/// # Errors
/// [`Unopened`].
pub(crate) fn open<C: DeserializeOwned>(
    keys: &KeySet,
    token: &str,
    kind: &str,
    (issuer, audience): (&str, &str),
) -> Result<C, Unopened> {
    let header = decode_header(token).map_err(|_| Unopened::Malformed)?;
    if header.alg != Algorithm::HS256 {
        return Err(Unopened::Algorithm);
    }
    if header.typ.as_deref() != Some(kind) {
        return Err(Unopened::Type);
    }
    let kid = header.kid.as_deref().ok_or(Unopened::UnknownKey)?;
    let key = keys.find(kid).ok_or(Unopened::UnknownKey)?;
    let mut validation = Validation::new(Algorithm::HS256);
    // Without this list the library lets a token pass that has no `aud` or `iss` at all.
    validation.set_required_spec_claims(&["iss", "aud", "exp"]);
    validation.set_issuer(&[issuer]);
    validation.set_audience(&[audience]);
    validation.validate_exp = false;
    validation.validate_nbf = false;
    let opened = decode::<C>(token, key.decoding(), &validation);
    Ok(opened.map_err(|error| Unopened::from(&error))?.claims)
}

/// Why a token has no claims for us. No variant carries any part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// Not a JSON web token.
    Malformed,
    /// Signed in any other way than HS256.
    Algorithm,
    /// A token of another type.
    Type,
    /// No key of that id.
    UnknownKey,
    /// The signature does not hold.
    Signature,
    /// From somebody else.
    Issuer,
    /// For somebody else.
    Audience,
    /// A claim is missing or has a wrong type.
    Claims,
}

impl From<&Error> for Unopened {
    fn from(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidSignature => Self::Signature,
            ErrorKind::InvalidIssuer => Self::Issuer,
            ErrorKind::InvalidAudience => Self::Audience,
            ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => Self::Algorithm,
            ErrorKind::MissingRequiredClaim(_)
            | ErrorKind::InvalidClaimFormat(_)
            | ErrorKind::Json(_) => Self::Claims,
            // The library's list may grow; anything else is a token it could not read.
            _ => Self::Malformed,
        }
    }
}
