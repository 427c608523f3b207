//! Carrying a stop out: again and again until the mower says that it stands, or
//! the life of the stop is over.

use std::sync::Arc;

use tokio::time::{Instant, timeout};

use super::Active;
use crate::connection::{Sent, Verdict};
use crate::contract::{Command, Envelope, Status};
use crate::device::commands::{accepted, acknowledge};
use crate::device::held::{Held, lock};
use crate::device::journal::Line;
use crate::device::results;
use crate::device::shared::Shared;
use crate::device::wire::StopDone;

/// One stop and its mower.
pub(super) struct Stop {
    pub(super) shared: Arc<Shared>,
    pub(super) held: Arc<Held>,
    pub(super) envelope: Envelope,
    pub(super) active: Arc<Active>,
    pub(super) until: Instant,
}

impl Stop {
    /// Sends until the mower has stopped or the stop's life is over.
    pub(super) async fn carry_out(self, mut clear: bool) {
        let mut reached = false;
        let last = loop {
            let sent = self.attempt().await;
            self.say_first(&sent);
            reached |= matches!(sent, Sent::Taken | Sent::Unknown(_));
            if sent == Sent::Taken {
                self.acknowledge().await;
            }
            if !clear {
                // A command was going out. It is cancelled; what it may have
                // begun on its last step is stopped once more.
                let pause = self.shared.config.times.stop_attempt;
                clear = timeout(pause, self.held.wire.lock()).await.is_ok();
                if Instant::now() < self.until {
                    continue;
                }
            }
            if self.confirmed(&sent).await || Instant::now() >= self.until {
                break sent;
            }
        };
        self.conclude(&last, reached).await;
    }

    async fn attempt(&self) -> Sent {
        let reason = match &self.envelope.command {
            Command::EmergencyStop { reason } => reason.as_deref(),
            _ => None,
        };
        let sending = self.held.connection.stop(self.envelope.command_id, reason);
        timeout(self.shared.config.times.stop_attempt, sending)
            .await
            .unwrap_or_else(|_| Sent::Unknown("the vendor did not take it in time".to_owned()))
    }

    /// Waits one pause for the mower's word; whether it has stopped.
    async fn confirmed(&self, sent: &Sent) -> bool {
        let command_id = self.envelope.command_id;
        let stopped = || {
            let done = self.shared.ledger.finished(command_id);
            done.is_some_and(|result| result.status == Status::Executed)
        };
        // A repeat whose first run was confirmed is confirmed by being taken.
        let pause = self.shared.config.times.stop_attempt;
        let end = (Instant::now() + pause).min(self.until);
        loop {
            // Listens before it looks, so that no word is missed.
            let mut heard = std::pin::pin!(self.held.heard.notified());
            heard.as_mut().enable();
            if stopped() && !matches!(sent, Sent::NotSent(_) | Sent::Limited { .. }) {
                return true;
            }
            tokio::select! {
                () = heard => {}
                () = tokio::time::sleep_until(end) => return false,
            }
        }
    }

    async fn conclude(self, last: &Sent, reached: bool) {
        let shared = &self.shared;
        let command_id = self.envelope.command_id;
        let done = shared.ledger.finished(command_id);
        let refusal = lock(&self.active.refusal).clone();
        if done.is_some() {
            shared.ledger.send_again(command_id);
        }
        if done.is_none_or(|result| result.status != Status::Executed) {
            let (status, why) = match (refusal, last) {
                (Some(Verdict::Rejected(code)), _) => (Some(Status::Rejected), code),
                (Some(Verdict::Failed(code)), _) => (Some(Status::Failed), code),
                (_, _) if reached => (None, "not confirmed by the mower".to_owned()),
                (_, Sent::Limited { .. }) => {
                    (Some(Status::Failed), "vendor-limited: not sent".to_owned())
                }
                (_, Sent::NotSent(why)) => (Some(Status::Failed), format!("offline: {why}")),
                _ => (None, "not confirmed by the mower".to_owned()),
            };
            shared.alarm(self.held.mower_id, command_id, &why);
            if let Some(status) = status {
                shared.settle(command_id, status, &why).await;
            }
        }
        self.finish().await;
    }

    /// It came after its end: somebody asked for a stop that was not carried out.
    pub(super) async fn too_late(self, lines: Vec<Line>) {
        let why = "expired: the stop came after its end; it was not carried out";
        let command_id = self.envelope.command_id;
        self.active
            .first
            .send_replace(Some((StopDone::Expired, Some(why.to_owned()))));
        self.shared.ledger.write(lines, true).await;
        self.active.written.send_replace(true);
        if self.shared.ledger.finished(command_id).is_some() {
            self.shared.ledger.send_again(command_id);
        } else {
            self.shared.alarm(self.held.mower_id, command_id, why);
            self.shared.settle(command_id, Status::Expired, why).await;
        }
        self.finish().await;
    }

    async fn finish(self) {
        let mut written = self.active.written.subscribe();
        let pause = self.shared.config.times.publish;
        let on_disk = timeout(pause, written.wait_for(|written| *written))
            .await
            .is_ok();
        if !on_disk {
            tracing::error!("a stop was not written down in time; it is delivered again");
        }
        self.acknowledge().await;
        lock(&self.held.stops).remove(&self.envelope.command_id);
        // A delivery that joined in the meantime is acknowledged too.
        self.acknowledge().await;
    }

    fn say_first(&self, sent: &Sent) {
        if self.active.first.borrow().is_some() {
            return;
        }
        let said = match sent {
            Sent::Taken => (StopDone::Sent, None),
            Sent::Unknown(why) => (StopDone::Unknown, Some(why.clone())),
            Sent::NotSent(why) => (StopDone::NotSent, Some(format!("offline: {why}"))),
            Sent::Limited { .. } => (StopDone::NotSent, Some("vendor-limited".to_owned())),
        };
        self.active.first.send_replace(Some(said));
        let result = accepted(&self.shared, &self.envelope);
        self.shared.run(|shared| async move {
            // Of no weight: the final follows and says more.
            let _taken = results::publish(&shared, &result).await;
        });
    }

    async fn acknowledge(&self) {
        if !*self.active.written.borrow() {
            return;
        }
        let receipt = lock(&self.active.receipt).take();
        if let Some(receipt) = receipt {
            acknowledge(receipt.ack().await);
        }
    }
}
