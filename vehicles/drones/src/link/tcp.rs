//! The link over TCP: one connection, kept up; what is sent on it is told
//! apart as not sent, answered or unknown.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::protocol::{Report, Request, WireMission, encode};
use super::{LinkMission, LinkOutcome, StartGate, SwarmLink};
use crate::clock::Clock;
use crate::contract::Command;
use crate::contract::state::{BridgeMode, SwarmState};

mod connection;
mod outgoing;

#[cfg(test)]
mod tests;

use connection::{Connection, End};
use outgoing::Outgoing;

/// Requests that may wait for the wire, for starts and for stops each.
const QUEUE: usize = 256;

/// How patient a link is.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// The swarm reports ten times a second; one silent for this long is lost.
    silence: Duration,
    /// The pause before the first new attempt to connect; it doubles.
    first_pause: Duration,
    /// The longest pause between attempts to connect. Shorter than the patience
    /// of a stop, which also cuts it short.
    longest_pause: Duration,
}

const PACE: Pace = Pace {
    silence: Duration::from_secs(2),
    first_pause: Duration::from_millis(100),
    longest_pause: Duration::from_millis(500),
};

/// Where the swarm is, and who we are to it.
#[derive(Debug, Clone)]
pub struct TcpLinkConfig {
    /// `host:port`.
    pub address: String,
    /// This service, one id over all its starts.
    pub writer: Uuid,
    /// The swarm we mean.
    pub swarm: String,
    /// Grows with every start of the service.
    pub epoch: u64,
}

/// Whether we are the swarm's one writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The swarm has not answered yet.
    Pending,
    /// We are.
    Held,
    /// Another writer is; we ask again with every new connection.
    Refused {
        /// In the swarm's words.
        reason: String,
    },
}

/// A link over TCP. Dropping it closes the connection.
#[derive(Debug)]
pub struct TcpLink {
    shared: Arc<Shared>,
    starts: mpsc::Sender<Outgoing>,
    stops: mpsc::Sender<Outgoing>,
    next_seq: AtomicU64,
    task: JoinHandle<()>,
}

/// What the connection's task and its callers both see.
#[derive(Debug)]
struct Shared {
    state: watch::Sender<Arc<SwarmState>>,
    claim: watch::Sender<Claim>,
    /// Requests on the wire, by their sequence number.
    pending: Mutex<HashMap<u64, oneshot::Sender<LinkOutcome>>>,
    /// Connections up to this one are to be given up.
    hang_up: watch::Sender<u64>,
    /// A stop wants the link back now.
    wanted: Notify,
    /// Reports that could not be read so far.
    dropped_reports: AtomicU64,
}

impl TcpLink {
    /// Starts to connect, and keeps at it. Must be called within a runtime.
    #[must_use]
    pub fn spawn(config: TcpLinkConfig, clock: Arc<dyn Clock>) -> Self {
        Self::spawn_at(config, clock, PACE)
    }

    /// As [`TcpLink::spawn`], as patient as `pace` says.
    fn spawn_at(config: TcpLinkConfig, clock: Arc<dyn Clock>, pace: Pace) -> Self {
        let shared = Arc::new(Shared {
            state: watch::Sender::new(Arc::new(SwarmState::unknown())),
            claim: watch::Sender::new(Claim::Pending),
            pending: Mutex::new(HashMap::new()),
            hang_up: watch::Sender::new(0),
            wanted: Notify::new(),
            dropped_reports: AtomicU64::new(0),
        });
        let (starts, starts_out) = mpsc::channel(QUEUE);
        let (stops, stops_out) = mpsc::channel(QUEUE);
        let queues = outgoing::Queues {
            starts: starts_out,
            stops: stops_out,
        };
        let task = tokio::spawn(keep_up(config, clock, pace, Arc::clone(&shared), queues));
        Self {
            shared,
            starts,
            stops,
            next_seq: AtomicU64::new(1),
            task,
        }
    }

    /// Follows what the swarm reports.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<Arc<SwarmState>> {
        self.shared.state.subscribe()
    }

    /// Follows whether we are the swarm's one writer.
    #[must_use]
    pub fn claims(&self) -> watch::Receiver<Claim> {
        self.shared.claim.subscribe()
    }

    async fn ask(
        &self,
        queue: &mpsc::Sender<Outgoing>,
        deadline: Duration,
        gate: Option<Arc<dyn StartGate>>,
        request: impl FnOnce(u64) -> Request,
    ) -> LinkOutcome {
        let seq = self.next_seq.fetch_add(1, Ordering::Relaxed);
        let bytes = match encode(&request(seq)) {
            Ok(bytes) => bytes,
            Err(error) => return not_sent(format!("request cannot be written: {error}")),
        };
        let state = self.state();
        if !state.bridge.is_live() {
            let why = state.reason.as_deref().unwrap_or("no connection");
            return not_sent(format!("swarm link is down: {why}"));
        }
        let (outgoing, ticket) = Outgoing::new(seq, bytes);
        if queue.try_send(outgoing.through(gate)).is_err() {
            return not_sent("too many requests wait for the swarm link".to_owned());
        }
        let outcome = ticket.wait(deadline).await;
        self.shared.forget(seq);
        outcome
    }
}

impl Drop for TcpLink {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[async_trait]
impl SwarmLink for TcpLink {
    fn state(&self) -> Arc<SwarmState> {
        Arc::clone(&self.shared.state.borrow())
    }

    async fn start(
        &self,
        mission: &LinkMission,
        gate: Arc<dyn StartGate>,
        deadline: Duration,
    ) -> LinkOutcome {
        let connection = self.state().connection;
        let wire = WireMission::from(mission);
        let outcome = self
            .ask(&self.starts, deadline, Some(gate), |seq| Request::Start {
                seq,
                mission: wire,
            })
            .await;
        if matches!(outcome, LinkOutcome::Unknown { .. }) {
            // The start may still be on its way. A new connection fences the
            // old one, and what the swarm reports on it settles the question.
            self.shared.hang_up.send_if_modified(|last| {
                let later = connection > *last;
                *last = connection.max(*last);
                later
            });
        }
        outcome
    }

    async fn command(
        &self,
        command: Command,
        mission: Option<Uuid>,
        deadline: Duration,
    ) -> LinkOutcome {
        if !self.state().bridge.is_live() {
            self.shared.wanted.notify_waiters();
        }
        self.ask(&self.stops, deadline, None, |seq| Request::Command {
            seq,
            command,
            mission_id: mission,
        })
        .await
    }
}

impl Shared {
    fn expect(&self, seq: u64, reply: oneshot::Sender<LinkOutcome>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.insert(seq, reply);
    }

    fn forget(&self, seq: u64) -> Option<oneshot::Sender<LinkOutcome>> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.remove(&seq)
    }

    /// The connection is gone. Whoever waits for an answer on it is told so
    /// by the loss of the sender.
    fn disconnected(&self, why: &str) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.clear();
        drop(pending);
        self.state.send_modify(|state| {
            let mut last = SwarmState::clone(state);
            last.bridge = BridgeMode::Disconnected;
            last.reason = Some(why.to_owned());
            *state = Arc::new(last);
        });
    }
}

/// Connects again and again. The pause grows until a connection has brought
/// a first report.
async fn keep_up(
    config: TcpLinkConfig,
    clock: Arc<dyn Clock>,
    pace: Pace,
    shared: Arc<Shared>,
    mut queues: outgoing::Queues,
) {
    let mut pause = pace.first_pause;
    let mut number = 0;
    loop {
        number += 1;
        // A request that raced with the end of the last connection.
        queues.refuse_all("the swarm link was down");
        let connection = Connection {
            number,
            silence: pace.silence,
            clock: clock.as_ref(),
            shared: &shared,
        };
        let end = connection.serve(&config, &mut queues).await;
        let why = end.to_string();
        shared.disconnected(&why);
        queues.refuse_all(&why);
        tracing::warn!(address = %config.address, "swarm link is down: {why}");
        if shared.state.borrow().connection == number {
            pause = pace.first_pause;
        }
        if matches!(end, End::Unanswered) {
            // We hung up on a swarm that is there: stops must not wait.
            continue;
        }
        // SAFETY-STOP: a stop that finds the link down does not wait out the pause.
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.wanted.notified() => {}
        }
        pause = (pause * 2).min(pace.longest_pause);
    }
}

fn not_sent(reason: String) -> LinkOutcome {
    LinkOutcome::NotSent { reason }
}

/// The outcome an answer means.
fn outcome(report: Report) -> Option<(u64, LinkOutcome)> {
    let Report::Ack {
        seq,
        drones,
        accepted,
        already_known,
        reason,
    } = report
    else {
        return None;
    };
    let drones = drones.into_iter().map(Into::into).collect();
    let outcome = if accepted {
        LinkOutcome::Acknowledged {
            drones,
            already_known,
        }
    } else {
        LinkOutcome::Refused {
            reason: reason.unwrap_or_else(|| "no reason given".to_owned()),
            drones,
        }
    };
    Some((seq, outcome))
}
