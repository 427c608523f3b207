//! The record of a command: what was asked, by whom, and what became of it.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::contract::{Command, CommandKind, Envelope, Issuer, IssuerKind, Priority, Status};

#[cfg(test)]
mod tests;

/// A command that has said nothing for so long after its life is overdue.
pub const OVERDUE_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// Longest reason, in characters.
const REASON: usize = 200;

/// One command on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What goes to the mower.
    pub envelope: Envelope,
    /// The command to many that it is part of.
    pub bulk_id: Option<Uuid>,
    /// The approved plan that it carries out.
    pub plan_id: Option<Uuid>,
    /// Why nobody is taken to be in the area, for a start or a resume.
    pub area_clear: Option<AreaClear>,
    /// What decided it.
    pub decided: Decided,
    /// What became of it.
    pub outcome: Outcome,
}

/// Who vouches that the area is clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AreaClear {
    /// The caller confirmed it.
    Confirmed,
    /// A person approved the plan; that stands in its place.
    Approval,
}

/// On what the decision rested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// Revision of the mower's place.
    pub hierarchy_rev: u64,
    /// Id of the decision record.
    pub decision: Option<Uuid>,
    /// Hash of the policy bundle.
    pub bundle: Option<String>,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How far it came.
    pub status: Status,
    /// A machine code, then text.
    pub reason: Option<String>,
    /// When that was known.
    pub result_at: Option<Timestamp>,
    /// A second, different final: the first one stays.
    pub late: Option<Late>,
}

/// A final that came after another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// What it said.
    pub status: Status,
    /// Why.
    pub reason: Option<String>,
    /// When it came about.
    pub at: Timestamp,
}

impl Outcome {
    /// Nothing heard yet.
    pub const PENDING: Self = Self {
        status: Status::Pending,
        reason: None,
        result_at: None,
        late: None,
    };

    /// An end, and why.
    #[must_use]
    pub fn ended(status: Status, reason: impl Into<String>, at: Timestamp) -> Self {
        Self {
            status,
            reason: Some(reason.into()),
            result_at: Some(at),
            late: None,
        }
    }
}

impl AreaClear {
    /// The name in the records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Approval => "approval",
        }
    }

    /// The value of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Confirmed, Self::Approval]
            .into_iter()
            .find(|value| value.as_str() == name)
    }
}

impl Record {
    /// Whether its life is over and nothing was heard: it may have been carried
    /// out. Nobody guesses its end.
    #[must_use]
    pub fn overdue(&self, now: Timestamp) -> bool {
        let silent_since = self.envelope.expires_at.saturating_add(OVERDUE_AFTER);
        !self.outcome.status.is_final() && silent_since.is_ok_and(|end| now > end)
    }

    /// The record as it is shown; its account is not.
    #[must_use]
    pub fn view(&self, now: Timestamp) -> RecordView<'_> {
        let envelope = &self.envelope;
        let late = self.outcome.late.as_ref();
        RecordView {
            command_id: envelope.command_id,
            mower_id: envelope.mower_id,
            kind: envelope.command.kind(),
            command: &envelope.command,
            priority: envelope.priority,
            issued_by: IssuerView::new(&envelope.issued_by),
            on_behalf_of: envelope.issued_by.on_behalf_of.as_deref(),
            issued_at: millis(envelope.issued_at),
            expires_at: millis(envelope.expires_at),
            correlation_id: envelope.correlation_id,
            bulk_id: self.bulk_id,
            plan_id: self.plan_id,
            area_clear: self.area_clear,
            status: self.outcome.status,
            reason: self.outcome.reason.as_deref(),
            result_at: self.outcome.result_at.map(millis),
            overdue: self.overdue(now),
            late_status: late.map(|late| late.status),
            late_at: late.map(|late| millis(late.at)),
        }
    }

    /// The answer to whoever sent it: queued, not done.
    #[must_use]
    pub fn accepted(&self, recorded: bool) -> Accepted {
        let envelope = &self.envelope;
        Accepted {
            command_id: envelope.command_id,
            mower_id: envelope.mower_id,
            kind: envelope.command.kind(),
            priority: envelope.priority,
            status: Status::Pending,
            issued_at: millis(envelope.issued_at),
            expires_at: millis(envelope.expires_at),
            correlation_id: envelope.correlation_id,
            bulk_id: self.bulk_id,
            recorded,
            meaning: "queued",
        }
    }
}

/// `202`: the command was recorded and handed on. Nothing is done yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Accepted {
    command_id: Uuid,
    mower_id: Uuid,
    kind: CommandKind,
    priority: Priority,
    status: Status,
    issued_at: String,
    expires_at: String,
    correlation_id: Uuid,
    bulk_id: Option<Uuid>,
    recorded: bool,
    meaning: &'static str,
}

/// A record as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordView<'a> {
    command_id: Uuid,
    mower_id: Uuid,
    kind: CommandKind,
    command: &'a Command,
    priority: Priority,
    issued_by: IssuerView<'a>,
    on_behalf_of: Option<&'a str>,
    issued_at: String,
    expires_at: String,
    correlation_id: Uuid,
    bulk_id: Option<Uuid>,
    plan_id: Option<Uuid>,
    area_clear: Option<AreaClear>,
    status: Status,
    reason: Option<&'a str>,
    result_at: Option<String>,
    overdue: bool,
    late_status: Option<Status>,
    late_at: Option<String>,
}

/// An issuer without the one it acted for, which stands beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct IssuerView<'a> {
    kind: IssuerKind,
    id: &'a str,
    display: &'a str,
}

impl<'a> IssuerView<'a> {
    pub(super) fn new(issuer: &'a Issuer) -> Self {
        Self {
            kind: issuer.kind,
            id: &issuer.id,
            display: &issuer.display,
        }
    }
}

/// A time as the API writes it: UTC, milliseconds.
#[must_use]
pub fn millis(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// A reason that fits its column, in which a NUL could not be.
#[must_use]
pub fn reason(text: &str) -> String {
    let shown = text.chars().filter(|it| !it.is_control());
    shown.take(REASON).collect()
}
