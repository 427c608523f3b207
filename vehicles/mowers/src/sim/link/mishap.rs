//! What goes wrong on a link.

/// What goes wrong with one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// The vendor takes it and nothing happens.
    Nothing,
    /// It is done and the answer is lost.
    AnswerLost,
    /// It is done and answered this many milliseconds late.
    AnswerLate(u64),
    /// It is done and answered twice.
    AnsweredTwice,
    /// It is done and answered `executed`, then `failed`.
    TwoFinals,
    /// It is done, then the mower restarts before it answers.
    Restart,
    /// It is not done and answered with this code.
    Fails(String),
    /// Whether it went out cannot be told; it did when true.
    SentUnknown(bool),
}

/// How well messages travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Mean delay of a message one way.
    pub latency_ms: f64,
    /// At most this much more or less.
    pub jitter_ms: f64,
    /// Share of messages that are lost, 0 to 1.
    pub loss: f64,
    /// Share of messages that come twice.
    pub duplicates: f64,
    /// Share of messages that later ones overtake.
    pub reorder: f64,
}

impl Default for Quality {
    fn default() -> Self {
        Self {
            latency_ms: 40.0,
            jitter_ms: 10.0,
            loss: 0.0,
            duplicates: 0.0,
            reorder: 0.0,
        }
    }
}
