//! The answer to a command to many.

use serde::Serialize;
use uuid::Uuid;

use super::kept::{Head, Target};
use crate::commands::record::{Record, millis};
use crate::commands::unsent::{self, Had};
use crate::contract::{CommandKind, Status};

/// More items than this are counted, not listed.
const LISTED: usize = 1_000;

/// What became of a command to many, for the mowers that the caller may see.
/// Its counts are over those alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BulkAnswer {
    bulk_id: Uuid,
    kind: CommandKind,
    /// Where the caller may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    issued_at: String,
    expires_at: String,
    accepted: usize,
    forbidden: usize,
    failed: usize,
    skipped: usize,
    recorded: bool,
    meaning: &'static str,
    items: Vec<Item>,
    #[serde(skip_serializing_if = "is_false")]
    items_truncated: bool,
    #[serde(skip_serializing_if = "is_false")]
    degraded: bool,
}

/// What became of it for one mower.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    mower_id: Uuid,
    result: ItemResult,
    command_id: Option<Uuid>,
    reason: Option<String>,
    /// How far it came, where that was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ItemResult {
    Accepted,
    Forbidden,
    Failed,
    Skipped,
}

impl Item {
    /// The bus has it, or it waits for its turn.
    #[must_use]
    pub fn accepted(record: &Record) -> Self {
        Self {
            mower_id: record.envelope.mower_id,
            result: ItemResult::Accepted,
            command_id: Some(record.envelope.command_id),
            reason: None,
            status: None,
        }
    }

    /// The caller may see the mower and not command it.
    #[must_use]
    pub fn forbidden(mower_id: Uuid, problem: Option<String>) -> Self {
        Self {
            mower_id,
            result: ItemResult::Forbidden,
            command_id: None,
            reason: Some(problem.unwrap_or_else(|| "forbidden".to_owned())),
            status: None,
        }
    }

    /// It was not handed on.
    #[must_use]
    pub fn failed(mower_id: Uuid, command_id: Option<Uuid>, reason: &str) -> Self {
        Self {
            mower_id,
            result: ItemResult::Failed,
            command_id,
            reason: Some(reason.to_owned()),
            status: None,
        }
    }

    /// There was nothing to do, or no use in it.
    #[must_use]
    pub fn skipped(mower_id: Uuid, reason: &str) -> Self {
        Self {
            mower_id,
            result: ItemResult::Skipped,
            command_id: None,
            reason: Some(reason.to_owned()),
            status: None,
        }
    }

    /// What its record says.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let outcome = &record.outcome;
        Self {
            result: match unsent::had(outcome) {
                Had::Unclear if outcome.status.is_final() => ItemResult::Failed,
                Had::Nobody => ItemResult::Failed,
                Had::Unclear | Had::Somebody => ItemResult::Accepted,
            },
            reason: outcome.reason.clone(),
            status: Some(outcome.status),
            ..Self::accepted(record)
        }
    }

    /// Whether a record stands behind it.
    #[must_use]
    pub fn has_record(&self) -> bool {
        self.command_id.is_some()
    }
}

impl BulkAnswer {
    /// The answer with these items, by mower.
    #[must_use]
    pub fn new(head: &Head, mut items: Vec<Item>) -> Self {
        items.sort_by_key(|item| item.mower_id);
        let count = |result| items.iter().filter(|item| item.result == result).count();
        Self {
            bulk_id: head.bulk_id,
            kind: head.kind,
            target: Some(head.target.clone()),
            issued_at: millis(head.issued_at),
            expires_at: millis(head.expires_at),
            accepted: count(ItemResult::Accepted),
            forbidden: count(ItemResult::Forbidden),
            failed: count(ItemResult::Failed),
            skipped: count(ItemResult::Skipped),
            recorded: true,
            meaning: "queued",
            items_truncated: items.len() > LISTED,
            items: items.into_iter().take(LISTED).collect(),
            degraded: false,
        }
    }

    /// The same, with whether it is on record.
    #[must_use]
    pub fn recorded(self, recorded: bool) -> Self {
        Self { recorded, ..self }
    }

    /// The same, for a caller who may not see whose mowers they are.
    #[must_use]
    pub fn without_target(self) -> Self {
        Self {
            target: None,
            ..self
        }
    }

    /// The same, for a caller of whom nobody could say what it may see: no item
    /// and no count.
    #[must_use]
    pub fn degraded(self) -> Self {
        Self {
            accepted: 0,
            forbidden: 0,
            failed: 0,
            skipped: 0,
            items: Vec::new(),
            items_truncated: false,
            degraded: true,
            ..self
        }
    }

    /// Which bulk.
    #[must_use]
    pub fn bulk_id(&self) -> Uuid {
        self.bulk_id
    }
}

/// The answer that these records give: nothing in it tells of others.
#[must_use]
pub fn of_records(head: &Head, records: &[Record]) -> BulkAnswer {
    let ends = records.iter().map(|record| record.envelope.expires_at);
    let head = Head {
        expires_at: ends.max().unwrap_or(head.expires_at),
        ..head.clone()
    };
    BulkAnswer::new(&head, records.iter().map(Item::of).collect())
}

/// Where a bulk is read.
#[must_use]
pub fn location(bulk: Uuid) -> String {
    format!("/api/v1/fleet/bulk/{bulk}")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(value: &bool) -> bool {
    !value
}
