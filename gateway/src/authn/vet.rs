//! Vetting of a published key set (RFC 7517): which keys may ever verify
//! anything, and with which one algorithm each.
//!
//! The algorithm belongs to the key, never to the token (RFC 8725 section
//! 3.1). A fault of one key leaves that key out; a fault of the set, which
//! makes "the key of this id" ambiguous or shows a secret in public, refuses
//! the set.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Map, Value};

use super::roca;
use crate::edge::json::{self, JsonError};

/// The most keys a set may have.
pub const KEYS: usize = 100;

/// The RSA modulus in bits: NIST SP 800-131A below, verification cost above.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The RSA exponent: FIPS 186-5 section 5.1 below, verification cost above.
const EXPONENTS: std::ops::RangeInclusive<u64> = 65_537..=0xFFFF_FFFF;

/// A key that may verify tokens, bound to its one algorithm.
#[derive(Clone)]
pub struct VettedKey {
    kid: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
    // The public parts, to tell whether a fetched set differs.
    public: Vec<u8>,
}

impl VettedKey {
    /// The key id, when the issuer gave one.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The algorithm the key verifies, and no other.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The key for the verifier.
    pub fn key(&self) -> &DecodingKey {
        &self.key
    }
}

impl PartialEq for VettedKey {
    fn eq(&self, other: &Self) -> bool {
        self.kid == other.kid && self.algorithm == other.algorithm && self.public == other.public
    }
}

impl std::fmt::Debug for VettedKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("VettedKey")
            .field("kid", &self.kid)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Why a set is refused whole.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SetError {
    /// Not strict JSON.
    #[error("the key set is not JSON: {0}")]
    Json(#[from] JsonError),
    /// No `keys` array of objects.
    #[error("the key set has no `keys` array of objects")]
    Shape,
    /// More than [`KEYS`].
    #[error("the key set has {0} keys; at most {KEYS} are accepted")]
    Many(usize),
    /// Two keys of one id: which one verified would be chance.
    #[error("the key set has more than one key with the id `{}`", .0.escape_debug())]
    DuplicateKid(String),
    /// A symmetric key in public, or a mixed set that invites algorithm
    /// confusion.
    #[error("the key set has a symmetric key")]
    Symmetric,
    /// A private key in public.
    #[error("the key set shows a private key, which must be replaced")]
    Private,
    /// Nothing left that could verify a token.
    #[error("the key set has no usable key: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Empty(Vec<KeyFault>),
}

/// Why one key is left out.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum KeyFault {
    /// Not for signatures (`use`, `key_ops`).
    #[error("not a signature key")]
    Use,
    /// An algorithm, type or curve we do not verify, or a pair that does not
    /// fit together.
    #[error(
        "type, curve and algorithm are not one of RSA RS256/PS256, P-256 ES256, P-384 ES384, Ed25519 EdDSA"
    )]
    Algorithm,
    /// A member is missing, mistyped or not strict base64url.
    #[error("the member `{0}` is missing or malformed")]
    Member(&'static str),
    /// RSA modulus outside 2048 to 8192 bits, or even.
    #[error("an RSA modulus of {0} bits is not accepted")]
    Modulus(usize),
    /// RSA exponent even, below 65537 or beyond 32 bits.
    #[error("the RSA exponent is not accepted")]
    Exponent,
    /// A factorable key (CVE-2017-15361).
    #[error("the RSA key bears the ROCA fingerprint")]
    Roca,
    /// A coordinate of the wrong length.
    #[error("a coordinate has the wrong length for the curve")]
    Coordinate,
}

/// A vetted set: the keys that may verify, and why others may not.
#[derive(Clone, Debug)]
pub struct Vetted {
    /// At least one key.
    pub keys: Vec<VettedKey>,
    /// One entry for each key left out.
    pub left_out: Vec<KeyFault>,
}

/// Vets the bytes of a published set.
///
/// # Errors
/// [`SetError`] when the set is refused whole.
pub fn vet(bytes: &[u8]) -> Result<Vetted, SetError> {
    let set = json::parse(bytes)?;
    let listed = set
        .get("keys")
        .and_then(Value::as_array)
        .ok_or(SetError::Shape)?;
    if listed.len() > KEYS {
        return Err(SetError::Many(listed.len()));
    }
    let mut kids = Vec::new();
    let mut keys = Vec::new();
    let mut left_out = Vec::new();
    for jwk in listed {
        let jwk = jwk.as_object().ok_or(SetError::Shape)?;
        // RFC 7518 section 6: `k` of a symmetric key, `d` of a private one.
        if jwk.get("kty").and_then(Value::as_str) == Some("oct") || jwk.contains_key("k") {
            return Err(SetError::Symmetric);
        }
        if jwk.contains_key("d") {
            return Err(SetError::Private);
        }
        if let Some(kid) = jwk.get("kid").and_then(Value::as_str) {
            if kids.contains(&kid) {
                return Err(SetError::DuplicateKid(kid.to_owned()));
            }
            kids.push(kid);
        }
        match vet_key(jwk) {
            Ok(key) => keys.push(key),
            Err(fault) => left_out.push(fault),
        }
    }
    if keys.is_empty() {
        return Err(SetError::Empty(left_out));
    }
    Ok(Vetted { keys, left_out })
}

fn vet_key(jwk: &Map<String, Value>) -> Result<VettedKey, KeyFault> {
    for_signatures(jwk)?;
    let text = |name: &'static str| match jwk.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.as_str())),
        Some(_) => Err(KeyFault::Member(name)),
    };
    let kid = text("kid")?.map(str::to_owned);
    let (algorithm, key, public) = match (text("kty")?, text("crv")?, text("alg")?) {
        // OpenID Connect Core section 15.1 makes RS256 the default of providers.
        (Some("RSA"), None, None | Some("RS256")) => rsa(jwk, Algorithm::RS256)?,
        (Some("RSA"), None, Some("PS256")) => rsa(jwk, Algorithm::PS256)?,
        (Some("EC"), Some("P-256"), None | Some("ES256")) => ec(jwk, Algorithm::ES256, 32)?,
        (Some("EC"), Some("P-384"), None | Some("ES384")) => ec(jwk, Algorithm::ES384, 48)?,
        // RFC 9864 names the algorithm after the curve.
        (Some("OKP"), Some("Ed25519"), None | Some("EdDSA" | "Ed25519")) => ed25519(jwk)?,
        _ => return Err(KeyFault::Algorithm),
    };
    Ok(VettedKey {
        kid,
        algorithm,
        key,
        public,
    })
}

fn for_signatures(jwk: &Map<String, Value>) -> Result<(), KeyFault> {
    let used = jwk.get("use").is_none_or(|usage| usage == "sig");
    let operations = jwk.get("key_ops").is_none_or(|operations| {
        operations
            .as_array()
            .is_some_and(|operations| operations.iter().any(|operation| operation == "verify"))
    });
    if used && operations {
        Ok(())
    } else {
        Err(KeyFault::Use)
    }
}

type Parts = (Algorithm, DecodingKey, Vec<u8>);

fn rsa(jwk: &Map<String, Value>, algorithm: Algorithm) -> Result<Parts, KeyFault> {
    let modulus = number(jwk, "n")?;
    let exponent = number(jwk, "e")?;
    let bits = bits(&modulus);
    if !RSA_BITS.contains(&bits) || !odd(&modulus) {
        return Err(KeyFault::Modulus(bits));
    }
    if !EXPONENTS.contains(&value(&exponent)) || !odd(&exponent) {
        return Err(KeyFault::Exponent);
    }
    if roca::fingerprinted(&modulus) {
        return Err(KeyFault::Roca);
    }
    let key = DecodingKey::from_rsa_raw_components(&modulus, &exponent);
    Ok((algorithm, key, [modulus, exponent].concat()))
}

fn ec(jwk: &Map<String, Value>, algorithm: Algorithm, length: usize) -> Result<Parts, KeyFault> {
    let x = member(jwk, "x")?;
    let y = member(jwk, "y")?;
    if x.len() != length || y.len() != length {
        return Err(KeyFault::Coordinate);
    }
    // SEC 1 section 2.3.3, uncompressed. That the point is on the curve is
    // checked by the verifier, which refuses every signature otherwise.
    let point = [&[4], x.as_slice(), y.as_slice()].concat();
    Ok((algorithm, DecodingKey::from_ec_der(&point), point))
}

fn ed25519(jwk: &Map<String, Value>) -> Result<Parts, KeyFault> {
    let x = member(jwk, "x")?;
    if x.len() != 32 {
        return Err(KeyFault::Coordinate);
    }
    Ok((Algorithm::EdDSA, DecodingKey::from_ed_der(&x), x))
}

/// A member as bytes: base64url, no padding, no stray bits.
fn member(jwk: &Map<String, Value>, name: &'static str) -> Result<Vec<u8>, KeyFault> {
    jwk.get(name)
        .and_then(Value::as_str)
        .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok())
        .filter(|bytes| !bytes.is_empty())
        .ok_or(KeyFault::Member(name))
}

/// An unsigned integer without its leading zeros, which some issuers send.
fn number(jwk: &Map<String, Value>, name: &'static str) -> Result<Vec<u8>, KeyFault> {
    let bytes = member(jwk, name)?;
    let number: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
    if number.is_empty() {
        return Err(KeyFault::Member(name));
    }
    Ok(number)
}

fn bits(number: &[u8]) -> usize {
    number
        .first()
        .map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize)
}

/// The number, or the largest there is when it has more than 64 bits.
fn value(number: &[u8]) -> u64 {
    if number.len() > 8 {
        return u64::MAX;
    }
    number
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn odd(number: &[u8]) -> bool {
    number.last().is_some_and(|last| last & 1 == 1)
}

#[cfg(test)]
mod tests;
