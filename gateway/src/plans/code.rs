//! The approval code: 192 bits from the operating system, shown once. Only its
//! SHA-256 is ever stored, and digests are compared in constant time.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::identity::hex;

/// Random bytes in a code: 192 bits.
const CODE_BYTES: usize = 24;
/// Characters of a code: base64url without padding (RFC 4648 section 5).
const CODE_CHARS: usize = 32;

/// Where unpredictable bytes come from; injected so that tests can repeat.
pub trait Randomness: Send + Sync {
    /// Fills `bytes` with unpredictable ones.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomnessError>;
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomnessError> {
        getrandom::fill(bytes).map_err(|error| RandomnessError(error.to_string()))
    }
}

/// The generator could not be read; no code was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system's random generator cannot be read: {0}")]
pub struct RandomnessError(pub String);

/// A code in plain text: just minted, or presented by a caller. It is not
/// `Serialize`, and prints as a placeholder.
#[derive(Clone)]
pub struct ApprovalCode(String);

impl ApprovalCode {
    /// A fresh code.
    pub fn mint(random: &dyn Randomness) -> Result<Self, RandomnessError> {
        let mut bytes = [0; CODE_BYTES];
        random.fill(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The code in what a caller sent. Text of any other shape than 32
    /// characters of base64url is no code, and no code never matches.
    pub fn parse(text: &str) -> Option<Self> {
        let shaped = text.len() == CODE_CHARS
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        shaped.then(|| Self(text.to_owned()))
    }

    /// What may be stored of it.
    pub fn hash(&self) -> CodeHash {
        CodeHash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// The plain text, for the one answer that shows it. Consumes the code.
    pub fn reveal(self) -> String {
        self.0
    }
}

impl fmt::Debug for ApprovalCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApprovalCode(redacted)")
    }
}

/// SHA-256 of a code's text: all that a store ever sees.
#[derive(Clone, Copy)]
pub struct CodeHash([u8; 32]);

impl CodeHash {
    /// Whether `presented` is the code behind this hash, in constant time.
    /// A missing code never matches.
    pub fn matches(&self, presented: Option<&ApprovalCode>) -> bool {
        presented.is_some_and(|code| self.0.ct_eq(&code.hash().0).into())
    }
}

impl PartialEq for CodeHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for CodeHash {}

impl fmt::Debug for CodeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CodeHash(redacted)")
    }
}

impl Serialize for CodeHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for CodeHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        crate::canonical::from_hex(&text)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("expected 64 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests;
