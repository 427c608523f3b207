//! Events that are committed with the change they tell of, and published after it, again and again
//! until the stream has them. The stream drops what it has already, so they may be sent twice.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Row as _;
use tokio::sync::Notify;

use super::events;
use crate::bus::{Message, Published};
use crate::crash::CrashPoint;
use crate::records::RecordsError;
use crate::service::Fleet;

/// How many events are read at a time.
const BATCH: i64 = 100;

/// How long the stream has to confirm one.
const WITHIN: Duration = Duration::from_secs(2);

/// The pause after a failure, and between two looks for what another replica left behind.
const AGAIN: Duration = Duration::from_secs(1);

/// Failures in a row between two lines in the log.
const LOG_EVERY: u32 = 60;

/// Wakes the publisher.
#[derive(Debug, Default)]
pub struct Outbox(Notify);

impl Outbox {
    /// There is something to publish.
    pub fn wake(&self) {
        self.0.notify_one();
    }
}

/// Publishes for ever.
pub async fn run(fleet: Arc<Fleet>) {
    let mut failures: u32 = 0;
    loop {
        match publish_all(&fleet).await {
            Ok(()) => failures = 0,
            Err(fault) => {
                if failures.is_multiple_of(LOG_EVERY) {
                    tracing::warn!(failures, "events wait to be published: {fault}");
                }
                failures = failures.saturating_add(1);
            }
        }
        tokio::select! {
            () = fleet.outbox.0.notified(), if failures == 0 => {}
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

/// Publishes what there is, in the order of its commits as far as one clock tells.
///
/// # Errors
/// What stands in the way; what was not published stays.
pub async fn publish_all(fleet: &Fleet) -> Result<(), String> {
    loop {
        let waiting = waiting(fleet).await.map_err(|error| error.to_string())?;
        if waiting.is_empty() {
            return Ok(());
        }
        for message in waiting {
            match fleet.bus.publish(&message, WITHIN).await {
                Published::Stored { .. } => {}
                Published::Refused(why) | Published::Unconfirmed(why) => return Err(why),
            }
            fleet.crash.reached(CrashPoint::EventSent).await;
            let sent = sqlx::query("DELETE FROM outbox WHERE id = $1")
                .bind(message.id.as_str())
                .execute(fleet.records.pool())
                .await;
            sent.map_err(|error| error.to_string())?;
        }
    }
}

async fn waiting(fleet: &Fleet) -> Result<Vec<Message>, RecordsError> {
    let rows =
        sqlx::query("SELECT id, subject, payload FROM outbox ORDER BY created_ms, id LIMIT $1")
            .bind(BATCH)
            .fetch_all(fleet.records.pool())
            .await?;
    let messages = rows.iter().map(|row| {
        Ok(events::message(
            row.try_get("id")?,
            row.try_get("subject")?,
            row.try_get("payload")?,
        ))
    });
    messages.collect()
}
