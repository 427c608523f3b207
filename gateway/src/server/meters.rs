//! What the accept loop counts.

use metrics::{Counter, counter};

use crate::telemetry::names;

/// The counters of one listener, looked up once.
pub(super) struct Meters {
    pub(super) accepted: Counter,
    pub(super) accept_failed: Counter,
    pub(super) evicted: Counter,
    pub(super) refused: Counter,
    pub(super) panicked: Counter,
    head_timeout: Counter,
    malformed: Counter,
    broken: Counter,
}

impl Meters {
    pub(super) fn new(listener: &'static str) -> Self {
        let connection = |event: &'static str| counter!(names::CONNECTIONS, "listener" => listener, "event" => event);
        Self {
            accepted: connection("accepted"),
            accept_failed: connection("accept_failed"),
            evicted: connection("evicted"),
            refused: connection("refused"),
            head_timeout: connection("head_timeout"),
            malformed: connection("malformed"),
            broken: connection("broken"),
            panicked: counter!(names::PANICS, "listener" => listener),
        }
    }

    /// Counts how a connection ended. A peer that just hung up is no event.
    pub(super) fn ended(&self, result: hyper::Result<()>) {
        let Err(fault) = result else {
            return;
        };
        if fault.is_timeout() {
            self.head_timeout.increment(1);
        } else if fault.is_parse() {
            self.malformed.increment(1);
        } else {
            self.broken.increment(1);
        }
    }
}
