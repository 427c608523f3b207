//! Who asks: issuer, subject and, where somebody acts for them, the actor.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One caller as keys and records name them: RFC 7519 `iss` and `sub`, and the
/// subject of RFC 8693 `act` where the token was delegated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The token's issuer, or `local` in open mode.
    pub issuer: String,
    /// The subject, unique within its issuer.
    pub subject: String,
    /// Who acts for the subject, when the token says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

impl Identity {
    /// SHA-256 over the length-prefixed parts, as lowercase hex: no delimiter
    /// can make two callers collide.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let parts = [Some(&self.issuer), Some(&self.subject), self.actor.as_ref()];
        for part in parts {
            match part {
                Some(text) => {
                    hash.update([1]);
                    hash.update((text.len() as u64).to_be_bytes());
                    hash.update(text.as_bytes());
                }
                None => hash.update([0]),
            }
        }
        hex(&hash.finalize())
    }
}

/// Lowercase hexadecimal of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
