//! A request on its way to the wire. Either its sender gives up before the
//! first byte, or the connection takes it: never both.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::super::{LinkOutcome, StartGate};
use super::not_sent;

/// A request that waits for the wire.
pub(super) struct Outgoing {
    /// Names its answer.
    pub(super) seq: u64,
    /// The frame.
    pub(super) bytes: Vec<u8>,
    /// Where its outcome goes.
    pub(super) reply: oneshot::Sender<LinkOutcome>,
    taken: Arc<AtomicBool>,
    pub(super) gate: Option<Arc<dyn StartGate>>,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}

/// The sender's side.
pub(super) struct Ticket {
    reply: oneshot::Receiver<LinkOutcome>,
    taken: Arc<AtomicBool>,
}

impl Outgoing {
    pub(super) fn new(seq: u64, bytes: Vec<u8>) -> (Self, Ticket) {
        let (reply, receiver) = oneshot::channel();
        let taken = Arc::new(AtomicBool::new(false));
        let ticket = Ticket {
            reply: receiver,
            taken: Arc::clone(&taken),
        };
        let outgoing = Self {
            seq,
            bytes,
            reply,
            taken,
            gate: None,
        };
        (outgoing, ticket)
    }

    /// To be sent only if `gate` still wants it when its turn comes.
    pub(super) fn through(self, gate: Option<Arc<dyn StartGate>>) -> Self {
        Self { gate, ..self }
    }

    /// Takes it for the wire. False: its sender has given up, and was told
    /// that nothing was sent.
    pub(super) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }
}

impl Ticket {
    /// Waits for the outcome, at most `deadline`.
    pub(super) async fn wait(self, deadline: Duration) -> LinkOutcome {
        match tokio::time::timeout(deadline, self.reply).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => given_up(&self.taken, "the connection was lost"),
            Err(_) => given_up(&self.taken, "no answer came in time"),
        }
    }
}

/// INVARIANT: whoever swaps `taken` first decides whether a byte is sent.
fn given_up(taken: &AtomicBool, why: &str) -> LinkOutcome {
    if taken.swap(true, Ordering::AcqRel) {
        LinkOutcome::Unknown {
            reason: format!("{why}; the swarm may have acted"),
        }
    } else {
        not_sent(format!("{why} before anything was sent"))
    }
}

/// What waits for the wire.
#[derive(Debug)]
pub(super) struct Queues {
    pub(super) starts: mpsc::Receiver<Outgoing>,
    pub(super) stops: mpsc::Receiver<Outgoing>,
}

impl Queues {
    /// The next request to write on this connection. SAFETY-STOP: a stop overtakes every start,
    /// and a start that was overtaken is no longer wanted when its turn comes.
    pub(super) async fn next(&mut self, connection: u64) -> Option<Outgoing> {
        loop {
            let outgoing = tokio::select! {
                biased;
                stop = self.stops.recv() => stop?,
                start = self.starts.recv() => start?,
            };
            if !outgoing.take() {
                continue;
            }
            if outgoing
                .gate
                .as_ref()
                .is_none_or(|gate| gate.wanted(connection))
            {
                return Some(outgoing);
            }
            // A sender that is gone needs no answer.
            let _ = outgoing.reply.send(not_sent("no longer wanted".to_owned()));
        }
    }

    /// Tells all who wait that nothing was sent, so that nothing is sent late
    /// on the next connection.
    pub(super) fn refuse_all(&mut self, why: &str) {
        for queue in [&mut self.stops, &mut self.starts] {
            while let Ok(outgoing) = queue.try_recv() {
                if outgoing.take() {
                    // A sender that is gone needs no answer.
                    let _ = outgoing.reply.send(not_sent(why.to_owned()));
                }
            }
        }
    }
}
