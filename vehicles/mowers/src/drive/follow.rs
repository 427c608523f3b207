//! Hearing from the device gateways that sessions are over.

use std::sync::Arc;
use std::time::Duration;

use super::kept;
use super::sessions::Ended;
use crate::bus::subject;
use crate::device::wire::DriveEnded;
use crate::service::Fleet;

/// Between two attempts at a bus that is gone.
const AGAIN: Duration = Duration::from_millis(500);

/// Listens for as long as the service lives.
pub async fn follow(fleet: &Arc<Fleet>) {
    loop {
        let error = match fleet.bus.listen(subject::DRIVES_ENDED).await {
            Ok(mut listener) => loop {
                match listener.next().await {
                    Ok(asked) => ended(fleet, &asked.payload).await,
                    Err(error) => break error,
                }
            },
            Err(error) => error,
        };
        tracing::warn!("ends of driving cannot be heard: {error}");
        tokio::time::sleep(AGAIN).await;
    }
}

/// Takes down the end of a session.
pub(super) async fn ended(fleet: &Fleet, payload: &[u8]) {
    let told: DriveEnded = match serde_json::from_slice(payload) {
        Ok(told) => told,
        Err(error) => {
            tracing::warn!("an end of driving cannot be read: {error}");
            return;
        }
    };
    let ended = Ended {
        at: told.at,
        by: told.reason,
    };
    fleet.drives.end(told.session_id, ended.clone());
    let recorded = kept::end(&fleet.records, told.session_id, &ended, told.frames).await;
    if let Err(error) = recorded {
        tracing::warn!("an end of driving is not on record: {error}");
    }
}
