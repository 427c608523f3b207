//! What travels on the bus: a command in its envelope, and what became of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::command::{Command, CommandKind};

/// A command on its way to a mower. It is worth nothing after `expires_at`,
/// which is checked immediately before acting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Names this command; acted on at most once (a stop may be repeated).
    pub command_id: Uuid,
    /// For which mower.
    pub mower_id: Uuid,
    /// The account of the mower's row.
    pub account_id: String,
    /// The verified caller.
    pub issued_by: Issuer,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it ends; after `issued_at`.
    pub expires_at: Timestamp,
    /// `emergency` exactly for a stop.
    pub priority: Priority,
    /// Given by the caller or made.
    pub correlation_id: Uuid,
    /// Rises at each stop of the mower; a movement with a lower one is refused.
    pub stop_epoch: u64,
    /// Rises at each command that calms the mower, which carries the new number;
    /// a movement with a lower one was asked before it and is refused.
    #[serde(default)]
    pub calm_epoch: u64,
    /// What to do.
    pub command: Command,
}

/// Who issued a command, as the grant says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issuer {
    /// What kind of principal.
    pub kind: IssuerKind,
    /// Issuer and subject, joined by a space.
    pub id: String,
    /// The subject, for people.
    pub display: String,
    /// On whose behalf, for an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
}

/// The kinds of issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssuerKind {
    /// A person.
    User,
    /// A service with a token of its own.
    ApiToken,
    /// A software agent.
    Agent,
}

/// How urgent a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// A stop.
    Emergency,
    /// Everything else.
    Normal,
}

impl Priority {
    /// The priority of a kind.
    #[must_use]
    pub const fn of(kind: CommandKind) -> Self {
        match kind {
            CommandKind::EmergencyStop => Self::Emergency,
            _ => Self::Normal,
        }
    }
}

/// What a device gateway says of a command. One final per command id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    /// Which command.
    pub command_id: Uuid,
    /// Of which mower; must be the row's.
    pub mower_id: Uuid,
    /// Of which account; must be the row's.
    pub account_id: String,
    /// The new status.
    pub status: Status,
    /// A machine code, then text, at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// The statuses of a command; they only go forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Written down, nothing heard.
    Pending,
    /// The device gateway took it.
    Accepted,
    /// The mower confirmed the effect.
    Executed,
    /// It will not be done.
    Rejected,
    /// Its life was over before it was acted on.
    Expired,
    /// Link, vendor or bus failed.
    Failed,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Accepted,
        Self::Executed,
        Self::Rejected,
        Self::Expired,
        Self::Failed,
    ];

    /// 0 pending, 1 accepted, 2 final. Only a higher rank replaces a lower one.
    #[must_use]
    pub const fn rank(self) -> i32 {
        match self {
            Self::Pending => 0,
            Self::Accepted => 1,
            Self::Executed | Self::Rejected | Self::Expired | Self::Failed => 2,
        }
    }

    /// Whether nothing comes after it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        self.rank() == 2
    }

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted => "accepted",
            Self::Executed => "executed",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Failed => "failed",
        }
    }

    /// The status of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}
