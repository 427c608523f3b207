//! Asking the one device gateway that holds a mower.

use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::bus::{BusError, subject};
use crate::contract::PathErrorCode;
use crate::device::wire::{Ask, AskAnswer};
use crate::service::Fleet;
use crate::service::problem::Problem;

/// How long the holder has to say what it knows.
const WITHIN: Duration = Duration::from_secs(2);

/// What the holder of a mower says of its `what`.
///
/// # Errors
/// [`Problem::NotHeld`] when nobody holds it or answers.
pub(crate) async fn ask<T: DeserializeOwned>(
    fleet: &Fleet,
    mower: Uuid,
    what: &str,
) -> Result<T, Problem> {
    let member = fleet.roster.find(mower).ok_or(Problem::NotFound)?;
    let question = Ask {
        account_id: member.account_id.clone(),
    };
    let payload = serde_json::to_vec(&question).map_err(|_| Problem::Internal)?;
    let subject = subject::ask(mower, what);
    let answered = fleet
        .bus
        .request(&subject, Bytes::from(payload), WITHIN)
        .await;
    let bytes = answered.map_err(|error| match error {
        BusError::TimedOut(_) | BusError::NoResponders(_) => Problem::NotHeld,
        BusError::Unavailable(why) | BusError::Invalid(why) => Problem::BusUnavailable(why),
        BusError::Lost(_) => Problem::BusUnavailable(error.to_string()),
    })?;
    match serde_json::from_slice::<AskAnswer<T>>(&bytes) {
        Ok(AskAnswer::Found(found)) => Ok(found),
        Ok(AskAnswer::Error(error)) => Err(match error.code {
            PathErrorCode::Forbidden => Problem::NotFound,
            PathErrorCode::Unsupported
            | PathErrorCode::Rejected
            | PathErrorCode::PreviewRunning
            | PathErrorCode::Timeout
            | PathErrorCode::Unavailable
            | PathErrorCode::NotFound
            | PathErrorCode::Failed => Problem::NotHeld,
        }),
        Err(error) => {
            tracing::error!(%mower, what, "an answer of a device gateway cannot be read: {error}");
            Err(Problem::NotHeld)
        }
    }
}
