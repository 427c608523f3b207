//! Records of commands.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::commands::record::{Decided, Outcome, Record};
use crate::contract::{Command, Envelope, Issuer, IssuerKind, Priority};

/// When tests happen.
pub(crate) fn noon() -> Timestamp {
    "2026-05-01T10:00:00Z".parse().expect("a time")
}

/// A command of Anna's to a mower of `acme`, pending.
pub(crate) fn record(mower: Uuid, command: Command) -> Record {
    Record {
        envelope: Envelope {
            command_id: Uuid::now_v7(),
            mower_id: mower,
            account_id: "acme".to_owned(),
            issued_by: Issuer {
                kind: IssuerKind::User,
                id: "https://idp anna".to_owned(),
                display: "anna".to_owned(),
                on_behalf_of: None,
            },
            issued_at: noon(),
            expires_at: noon() + SignedDuration::from_secs(30),
            priority: Priority::of(command.kind()),
            correlation_id: Uuid::from_u128(77),
            stop_epoch: 0,
            command,
        },
        bulk_id: None,
        plan_id: None,
        area_clear: None,
        decided: Decided::default(),
        outcome: Outcome::PENDING,
    }
}
