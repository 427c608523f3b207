//! The chain: every line names the hash of the line before it, and its own.
//!
//! A line is canonical JSON (RFC 8785): its hash is SHA-256 over the line
//! without the `hash` member. The members below stand in canonical order, so
//! that the serializer's output is canonical as it is; a test compares it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::audit::record::{Kind, Record, Verdict};
use crate::effect::Effect;
use crate::identity::hex;

/// What the first line of a file has as its `prev`.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Where the file before this one ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Follows {
    pub(super) hash: String,
    pub(super) start: u64,
}

/// What a line may tell.
pub(super) enum Entry<'a> {
    Start {
        at: Timestamp,
        instance: &'a str,
        start: u64,
        follows: Option<&'a Follows>,
    },
    Record(&'a Record),
    Gap {
        at: Timestamp,
        dropped: u64,
    },
    End {
        at: Timestamp,
    },
}

/// The end of a chain, to which the next line is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The next line's number.
    pub(super) next: u64,
    /// The last line's hash.
    pub(super) hash: String,
}

impl Chain {
    pub(super) fn new() -> Self {
        Self {
            next: 0,
            hash: GENESIS.to_owned(),
        }
    }

    /// Appends the entry's line, with its newline, to `out`.
    pub(super) fn link(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) -> serde_json::Result<()> {
        let prev = std::mem::take(&mut self.hash);
        let hash = Line::new(entry, self.next, &prev).write(out)?;
        self.next = self.next.saturating_add(1);
        self.hash = hash;
        Ok(())
    }
}

/// A line without its hash, in the two halves between which that stands: each
/// line is written once, and hashed as it was written.
struct Line<'a> {
    before: Before<'a>,
    after: After<'a>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Before<'a> {
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_digest: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<Effect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<&'a Follows>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct After<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<Uuid>,
    prev: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<PrincipalMember<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<&'a [std::borrow::Cow<'static, str>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registry_generation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<ResourceMember<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<&'a str>,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

#[derive(Serialize)]
struct PrincipalMember<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    issuer: &'a str,
    kind: &'a str,
    subject: &'a str,
}

#[derive(Serialize)]
struct ResourceMember<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
}

impl<'a> Line<'a> {
    fn new(entry: &Entry<'a>, seq: u64, prev: &'a str) -> Self {
        match *entry {
            Entry::Start {
                at,
                instance,
                start,
                follows,
            } => {
                let mut line = Self::empty("start", at, seq, prev);
                line.before.follows = follows;
                line.after.instance = Some(instance);
                line.after.start = Some(start);
                line
            }
            Entry::Record(record) => Self::of(record, seq, prev),
            Entry::Gap { at, dropped } => {
                let mut line = Self::empty("gap", at, seq, prev);
                line.before.dropped = Some(dropped);
                line
            }
            Entry::End { at } => Self::empty("end", at, seq, prev),
        }
    }

    fn of(record: &'a Record, seq: u64, prev: &'a str) -> Self {
        let principal = record.principal.as_ref().map(|principal| PrincipalMember {
            actor: principal.identity.actor.as_deref(),
            issuer: &principal.identity.issuer,
            kind: &principal.kind,
            subject: &principal.identity.subject,
        });
        let resource = record.resource.as_ref().map(|resource| ResourceMember {
            id: &resource.id,
            kind: &resource.kind,
        });
        Self {
            before: Before {
                at: record.at,
                body_digest: record.body_digest.as_deref(),
                bundle: record.bundle.as_deref(),
                class: record.class.as_deref(),
                decision: record.decision,
                decision_id: record.decision_id,
                dropped: None,
                duration_micros: record.duration_micros,
                effect: record.effect,
                follows: None,
            },
            after: After {
                instance: None,
                kind: name(record.kind),
                operation: record.operation,
                prev,
                principal,
                raw_path: record.raw_path(),
                reasons: Some(record.reasons.as_slice()).filter(|reasons| !reasons.is_empty()),
                registry_generation: record.registry_generation,
                resource,
                row: record.row.as_deref(),
                seq,
                start: None,
                status: record.status,
            },
        }
    }

    fn empty(kind: &'static str, at: Timestamp, seq: u64, prev: &'a str) -> Self {
        Self {
            before: Before {
                at,
                ..Before::default()
            },
            after: After {
                kind,
                prev,
                seq,
                ..After::default()
            },
        }
    }

    /// Appends the line and answers its hash.
    fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<String> {
        let mut hashed = Sha256::new();
        let begun = out.len();
        serde_json::to_writer(&mut *out, &self.before)?;
        // One object of the two: the brace between them becomes a comma.
        out.pop();
        out.push(b',');
        hashed.update(out.get(begun..).unwrap_or_default());
        let after = serde_json::to_vec(&self.after)?;
        let after = after.get(1..).unwrap_or_default();
        hashed.update(after);
        let hash = hex(&hashed.finalize());
        out.extend_from_slice(b"\"hash\":\"");
        out.extend_from_slice(hash.as_bytes());
        out.extend_from_slice(b"\",");
        out.extend_from_slice(after);
        out.push(b'\n');
        Ok(hash)
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Intent => "intent",
        Kind::Outcome => "outcome",
        Kind::Read => "read",
        Kind::Refusal => "refusal",
        Kind::Event => "event",
    }
}
