//! What a stop says that could not be read, or says more than it should: a stop
//! that cannot be read stops all the same.

use std::time::Duration;

use uuid::Uuid;

use crate::contract::{Command, Envelope, Issuer, IssuerKind, Priority};
use crate::device::held::Held;
use crate::device::shared::Shared;

/// The life of a stop whose own cannot be read.
const UNREADABLE_LIFE: Duration = Duration::from_secs(10);

/// The stop without parameters that could not be read.
pub(super) fn plain(mut envelope: Envelope) -> Envelope {
    if !matches!(envelope.command, Command::EmergencyStop { .. }) {
        envelope.command = Command::EmergencyStop { reason: None };
    }
    envelope.priority = Priority::Emergency;
    envelope
}

/// A stop that cannot be read stops all the same: what else would it say.
pub(super) fn unreadable(shared: &Shared, held: &Held, id: Uuid, payload: &[u8]) -> Envelope {
    let now = shared.time.now();
    let command_id = if id.is_nil() {
        Uuid::new_v5(&held.mower_id, payload)
    } else {
        id
    };
    Envelope {
        command_id,
        mower_id: held.mower_id,
        account_id: held.account_id.clone(),
        issued_by: Issuer {
            kind: IssuerKind::ApiToken,
            id: "unreadable".to_owned(),
            display: "unreadable".to_owned(),
            on_behalf_of: None,
        },
        issued_at: now,
        expires_at: now.saturating_add(UNREADABLE_LIFE).unwrap_or(now),
        priority: Priority::Emergency,
        correlation_id: command_id,
        stop_epoch: 0,
        calm_epoch: 0,
        command: Command::EmergencyStop { reason: None },
    }
}
