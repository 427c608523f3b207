//! One byte form per JSON value: RFC 8785 (JCS), restricted to the numbers of
//! RFC 7493 (I-JSON). Digests and fingerprints are taken over it, so order,
//! white space and `10` against `10.0` never matter, and everything else does.

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// The largest integer a double holds exactly (RFC 7493 section 2.2).
const LARGEST_EXACT: u64 = (1 << 53) - 1;

/// Why a value has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// Two such integers could share one canonical form.
    #[error(
        "the integer `{0}` cannot be told apart from its neighbors as a double; \
         send it as a string or keep it within 9007199254740991 of zero"
    )]
    InexactInteger(String),
    /// The canonicalizer refused the value.
    #[error("the value has no canonical form: {0}")]
    Unwritable(String),
}

/// The RFC 8785 text of `value`, as bytes.
pub fn canonical(value: &Value) -> Result<Vec<u8>, CanonicalError> {
    refuse_inexact(value)?;
    serde_json_canonicalizer::to_vec(value)
        .map_err(|error| CanonicalError::Unwritable(error.to_string()))
}

/// SHA-256 over the canonical form of `value`.
pub fn digest(value: &Value) -> Result<[u8; 32], CanonicalError> {
    Ok(Sha256::digest(canonical(value)?).into())
}

/// The 32 bytes behind 64 lowercase hexadecimal digits; anything else is none.
pub fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair
            .iter()
            .try_fold(0, |high, digit| Some((high << 4) | nibble(*digit)?))?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Depth is bounded by whoever parsed the value (serde_json stops at 128).
fn refuse_inexact(value: &Value) -> Result<(), CanonicalError> {
    match value {
        Value::Number(number) if inexact(number) => {
            Err(CanonicalError::InexactInteger(number.to_string()))
        }
        Value::Array(items) => items.iter().try_for_each(refuse_inexact),
        Value::Object(fields) => fields.values().try_for_each(refuse_inexact),
        _ => Ok(()),
    }
}

fn inexact(number: &Number) -> bool {
    match (number.as_u64(), number.as_i64()) {
        (Some(natural), _) => natural > LARGEST_EXACT,
        (None, Some(negative)) => negative.unsigned_abs() > LARGEST_EXACT,
        (None, None) => false,
    }
}

#[cfg(test)]
pub(crate) mod tests;
