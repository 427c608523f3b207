//! What a request asked for, as 32 bytes: the same key may only ask it again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::canonical::{self, CanonicalError};
use crate::identity::hex;

/// SHA-256 over the canonical JSON of the acting body and the query, hex.
/// Field order, white space and the spelling of a number do not count;
/// everything else does. A missing body asks for the same as `{}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// `acting` holds the body's acting fields and no others; those named in
    /// `secrets` go in by their SHA-256 only. The order of `query` does not
    /// count.
    pub fn of(
        acting: Option<&Map<String, Value>>,
        query: &[(String, String)],
        secrets: &[&str],
    ) -> Result<Self, CanonicalError> {
        let mut fields = acting.cloned().unwrap_or_default();
        for name in secrets {
            if let Some(value) = fields.get_mut(*name) {
                let digest = Sha256::digest(canonical::canonical(value)?);
                *value = json!({ "sha256": hex(&digest) });
            }
        }
        let mut query = query.to_vec();
        query.sort();
        let content = json!({ "body": fields, "query": query });
        Ok(Self(hex(&canonical::digest(&content)?)))
    }

    /// 64 lowercase hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
