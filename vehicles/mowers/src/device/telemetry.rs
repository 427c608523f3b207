//! States on their way to the readers: on change, and now and then without one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, timeout};

use super::held::Held;
use super::shared::Shared;
use crate::bus::{Message, Published, Stream, subject};
use crate::contract::{MowerState, Priority};

/// Five states a second are enough for every reader.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);

/// Publishes the states of a mower until it is let go of. A state that cannot
/// be published is not kept: the next one is newer.
pub(crate) async fn publish(shared: Arc<Shared>, held: Arc<Held>) {
    let mut states = held.connection.state();
    loop {
        let state = Arc::clone(&states.borrow_and_update());
        send(&shared, &state).await;
        sleep(SHORTEST_PAUSE).await;
        let pause = shared.config.times.telemetry;
        // A connection that ended changes nothing any more; the heartbeat goes on.
        if let Ok(Err(_)) = timeout(pause, states.changed()).await {
            sleep(pause).await;
        }
    }
}

async fn send(shared: &Shared, state: &MowerState) {
    let payload = match serde_json::to_vec(state) {
        Ok(bytes) => Bytes::from(bytes),
        Err(cause) => {
            tracing::error!(%cause, "a state cannot be written");
            return;
        }
    };
    let message = Message {
        stream: Stream::Telemetry,
        subject: subject::telemetry(state.mower_id),
        id: format!("{}:{}", state.mower_id, state.seq),
        priority: Priority::Normal,
        payload,
    };
    match shared
        .bus
        .publish(&message, shared.config.times.publish)
        .await
    {
        Published::Stored { .. } => {}
        Published::Refused(cause) | Published::Unconfirmed(cause) => {
            shared.metrics.telemetry_lost.add();
            tracing::debug!(mower_id = %state.mower_id, cause, "a state was not taken");
        }
    }
}
