//! What is told on the bus of a mower that was registered, changed or removed, and of an account
//! that is wanted.

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::AnyConnection;
use uuid::Uuid;

use super::bodies::NewAccount;
use super::model::milliseconds;
use super::roster::Member;
use crate::bus::subject::{ACCOUNT_CREATED, MOWER_REGISTERED, MOWER_REMOVED, MOWER_UPDATED};
use crate::bus::{Message, Stream};
use crate::contract::Priority;
use crate::records::RecordsError;
use crate::service::problem::Problem;

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MowerEvent {
    /// Names this event: the message id on the bus.
    pub event_id: Uuid,
    /// When it was committed.
    #[serde(serialize_with = "milliseconds")]
    pub at: Timestamp,
    /// Which mower.
    pub mower_id: Uuid,
    /// Its account.
    pub account_id: String,
    /// Its revision; what is lower is older.
    pub hierarchy_rev: u64,
    /// The mower as it is now; absent when it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mower: Option<Member>,
    /// Under which subject it goes; not part of the payload.
    #[serde(skip, default = "updated")]
    pub subject: &'static str,
}

const fn updated() -> &'static str {
    MOWER_UPDATED
}

/// The event of a mower that is as `member` says now, or gone.
pub(super) fn of_mower(
    mower_id: Uuid,
    account: &str,
    revision: u64,
    member: Option<&Member>,
    created: bool,
    at: Timestamp,
) -> MowerEvent {
    MowerEvent {
        event_id: Uuid::now_v7(),
        at,
        mower_id,
        account_id: account.to_owned(),
        hierarchy_rev: revision,
        mower: member.cloned(),
        subject: match (member, created) {
            (None, _) => MOWER_REMOVED,
            (Some(_), true) => MOWER_REGISTERED,
            (Some(_), false) => MOWER_UPDATED,
        },
    }
}

/// Notes an event in the transaction of its change.
pub(super) async fn note(
    records: &mut AnyConnection,
    event: &MowerEvent,
    now: Timestamp,
) -> Result<(), RecordsError> {
    let payload =
        serde_json::to_string(event).map_err(|error| RecordsError::Corrupt(error.to_string()))?;
    sqlx::query("INSERT INTO outbox (id, subject, payload, created_ms) VALUES ($1, $2, $3, $4)")
        .bind(event.event_id.to_string())
        .bind(event.subject)
        .bind(payload)
        .bind(now.as_millisecond())
        .execute(records)
        .await?;
    Ok(())
}

/// The event that asks for an account. Each one has an id of its own: what was asked before may
/// have been changed since.
pub(super) fn of_account(account: &NewAccount, at: Timestamp) -> Result<Message, Problem> {
    let id = Uuid::now_v7();
    let payload = json!({
        "event_id": id,
        "at": format!("{at:.3}"),
        "account_id": account.id,
        "name": account.name,
        "features": account.features,
        "time_zone": account.time_zone,
    });
    let message = message(
        id.to_string(),
        ACCOUNT_CREATED.to_owned(),
        payload.to_string(),
    );
    message
        .check()
        .map_err(|error| Problem::Invalid(vec![error.to_string()]))?;
    Ok(message)
}

/// The message that an outbox row is.
pub(super) fn message(id: String, subject: String, payload: String) -> Message {
    Message {
        stream: Stream::Events,
        subject,
        id,
        priority: Priority::Normal,
        payload: Bytes::from(payload),
    }
}
