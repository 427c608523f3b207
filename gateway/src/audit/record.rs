//! One decision record: what was asked, by whom, what was decided and what
//! came of it. Never a token, a code or a body.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use crate::effect::Effect;
use crate::identity::Identity;

/// Longest refused path that is kept, in bytes.
const MAX_RAW_PATH: usize = 256;

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A call was allowed and is about to act.
    Intent,
    /// What came of it.
    Outcome,
    /// A read was allowed and answered.
    Read,
    /// A call was refused, at the edge or by policy.
    Refusal,
    /// Something that no caller asked for: a policy reload, a settlement.
    Event,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A permit matched and no forbid did.
    Allow,
    /// No permit matched, or a forbid did.
    Deny,
    /// An evaluation failed: never an allow.
    Broken,
}

/// Who asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// `Person`, `Agent`, `Service` or `Anonymous`.
    pub kind: Cow<'static, str>,
    /// The verified identity.
    pub identity: Arc<Identity>,
}

/// What it was asked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The resource's id.
    pub id: String,
    /// The resource type, such as `Swarm`.
    pub kind: Cow<'static, str>,
}

/// One record. Fields that do not apply are left out of the line.
#[derive(Clone, Debug)]
pub struct Record {
    /// When.
    pub at: Timestamp,
    /// What the record tells.
    pub kind: Kind,
    /// The decision; intent and outcome of one call share it.
    pub decision_id: Option<Uuid>,
    /// The row's name.
    pub row: Option<Cow<'static, str>>,
    /// The row's class.
    pub class: Option<Cow<'static, str>>,
    /// Who asked; nobody verified when it was refused before that.
    pub principal: Option<Principal>,
    /// What it was asked on.
    pub resource: Option<Resource>,
    /// What was decided.
    pub decision: Option<Verdict>,
    /// The ids of the policies that decided, or the refusing step's slug.
    pub reasons: Vec<Cow<'static, str>>,
    /// The policy bundle's hash.
    pub bundle: Option<Arc<str>>,
    /// The registry generation decided on.
    pub registry_generation: Option<u64>,
    /// The operation at the service.
    pub operation: Option<Uuid>,
    /// SHA-256 of the body sent.
    pub body_digest: Option<String>,
    /// What the call may have done.
    pub effect: Option<Effect>,
    /// The status answered to the caller.
    pub status: Option<u16>,
    /// From the request head to the answer, in microseconds.
    pub duration_micros: Option<u64>,
    raw_path: Option<String>,
}

impl Record {
    /// A record that says nothing but its kind and time.
    pub fn new(kind: Kind, at: Timestamp) -> Self {
        Self {
            at,
            kind,
            decision_id: None,
            row: None,
            class: None,
            principal: None,
            resource: None,
            decision: None,
            reasons: Vec::new(),
            bundle: None,
            registry_generation: None,
            operation: None,
            body_digest: None,
            effect: None,
            status: None,
            duration_micros: None,
            raw_path: None,
        }
    }

    /// Adds the path of a request that matched no row, as it came, bounded. Its
    /// query is left out: callers put tokens there.
    pub fn with_raw_path(mut self, target: &str) -> Self {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let mut kept = String::new();
        for c in path.chars() {
            if kept.len() + c.len_utf8() > MAX_RAW_PATH {
                break;
            }
            kept.push(c);
        }
        self.raw_path = Some(kept);
        self
    }

    /// The path kept by [`Self::with_raw_path`].
    pub fn raw_path(&self) -> Option<&str> {
        self.raw_path.as_deref()
    }
}
