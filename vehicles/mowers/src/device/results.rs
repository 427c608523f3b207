//! Results on their way to the stream: tried until it has them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::time::sleep;

use super::shared::Shared;
use crate::bus::{Message, Published, Stream, subject};
use crate::contract::{CommandResult, Priority};

/// The first pause after a result was not taken; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Results under way at once.
const AT_ONCE: usize = 16;

/// Publishes one result once; whether the stream has it.
pub(crate) async fn publish(shared: &Shared, result: &CommandResult) -> bool {
    let payload = match serde_json::to_vec(result) {
        Ok(bytes) => Bytes::from(bytes),
        Err(cause) => {
            tracing::error!(%cause, "a result cannot be written");
            return false;
        }
    };
    let message = Message {
        stream: Stream::Result,
        subject: subject::result(result.mower_id),
        // With the bare command id the second status would pass for a repeat.
        id: format!("{}:{}", result.command_id, result.status.as_str()),
        priority: Priority::Normal,
        payload,
    };
    match shared
        .bus
        .publish(&message, shared.config.times.publish)
        .await
    {
        Published::Stored { .. } => true,
        Published::Refused(cause) | Published::Unconfirmed(cause) => {
            shared.metrics.publish_retries.add();
            tracing::warn!(command_id = %result.command_id, cause, "a result was not taken");
            false
        }
    }
}

/// Publishes every final until the stream has it.
pub(crate) async fn deliver(shared: Arc<Shared>) {
    let mut changes = shared.ledger.changes();
    let mut pause = FIRST_PAUSE;
    loop {
        changes.mark_unchanged();
        let open = shared.ledger.unpublished();
        if open.is_empty() {
            // The ledger lives in `shared`: its sender never ends before this task.
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        }
        let taken: Vec<bool> = stream::iter(open)
            .map(|result| {
                let shared = Arc::clone(&shared);
                async move {
                    let taken = publish(&shared, &result).await;
                    if taken {
                        shared.ledger.published(result.command_id).await;
                    }
                    taken
                }
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        if taken.contains(&true) {
            pause = FIRST_PAUSE;
        }
        if taken.contains(&false) {
            sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }
}
