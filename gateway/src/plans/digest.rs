//! What an approver approves, as 32 bytes: change one field of the proposal,
//! its preview or its fence, and the digest is another.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::canonical::{self, CanonicalError, from_hex};
use crate::identity::{Identity, hex};

/// SHA-256 over the canonical JSON (RFC 8785) of mission, preview with its
/// assumptions, fence, proposer and decide-by, as 64 lowercase hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct PlanDigest(String);

impl PlanDigest {
    /// The digest of what is put before a person.
    pub fn of(
        mission: &Value,
        preview: &Value,
        fence: &Value,
        proposer: &Identity,
        decide_by: Timestamp,
    ) -> Result<Self, CanonicalError> {
        // Built by hand, not derived: the digest must not move when a record
        // gains a field.
        let content = json!({
            "mission": mission,
            "preview": preview,
            "fence": fence,
            "proposer": {
                "issuer": proposer.issuer,
                "subject": proposer.subject,
                "actor": proposer.actor,
            },
            "decideBy": decide_by.to_string(),
        });
        Ok(Self(hex(&canonical::digest(&content)?)))
    }

    /// A digest as a caller names it: 64 lowercase hex digits, bare or quoted
    /// as an entity tag (RFC 9110 section 8.8.3).
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(text);
        from_hex(bare).map(|bytes| Self(hex(&bytes)))
    }

    /// All 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 48 bits in groups of four digits, for two people to compare.
    pub fn short(&self) -> String {
        let head: Vec<String> = self
            .0
            .as_bytes()
            .chunks(4)
            .take(3)
            .map(|group| String::from_utf8_lossy(group).into_owned())
            .collect();
        head.join("-")
    }
}

impl fmt::Display for PlanDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PlanDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("expected 64 hexadecimal digits"))
    }
}
