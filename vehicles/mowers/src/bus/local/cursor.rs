//! How far one consumer has read, and what it has not answered yet.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use super::super::pattern::Pattern;
use super::super::{BusError, Consumer};

/// One consumer; durable ones outlive their readers.
pub(super) struct Cursor {
    name: String,
    wanted: Wanted,
    waits: Vec<Duration>,
    max_deliver: u64,
    max_out: usize,
    from: u64,
    out: BTreeMap<u64, Out>,
}

/// A message that was delivered and not answered.
struct Out {
    attempt: u64,
    due: Instant,
}

impl Cursor {
    /// A consumer that begins at a place of the stream.
    pub(super) fn new(consumer: &Consumer, from: u64) -> Result<Cursor, BusError> {
        let mut cursor = Cursor {
            name: consumer.durable.clone().unwrap_or_default(),
            wanted: Wanted::default(),
            waits: Vec::new(),
            max_deliver: 0,
            max_out: 0,
            from,
            out: BTreeMap::new(),
        };
        cursor.change(consumer)?;
        Ok(cursor)
    }

    /// Takes over new settings. Its place stays: a subject that is added now
    /// brings no message that was passed over before.
    pub(super) fn change(&mut self, consumer: &Consumer) -> Result<(), BusError> {
        self.wanted = Wanted::parse(&consumer.subjects)?;
        self.waits = consumer.waits();
        self.max_deliver = u64::from(consumer.max_deliver);
        self.max_out = consumer.max_ack_pending as usize;
        Ok(())
    }

    pub(super) fn wants(&self, subject: &str) -> bool {
        self.wanted.covers(subject)
    }

    pub(super) fn from(&self) -> u64 {
        self.from
    }

    pub(super) fn passed(&mut self, from: u64) {
        self.from = from;
    }

    pub(super) fn has_room(&self) -> bool {
        self.out.len() < self.max_out
    }

    /// The oldest message that is due again and the how-manieth delivery that
    /// is. One that was delivered too often is given up.
    pub(super) fn due(&mut self, now: Instant) -> Option<(u64, u64)> {
        let (max, name) = (self.max_deliver, &self.name);
        self.out.retain(|place, out| {
            let given_up = out.due <= now && max > 0 && out.attempt >= max;
            if given_up {
                warn!(consumer = %name, place, "given up after {max} deliveries");
            }
            !given_up
        });
        let mut due = self.out.iter().filter(|(_, out)| out.due <= now);
        due.next().map(|(place, out)| (*place, out.attempt + 1))
    }

    /// When something is due again.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.out.values().map(|out| out.due).min()
    }

    /// Notes a delivery.
    pub(super) fn out(&mut self, place: u64, attempt: u64, now: Instant) {
        let due = now + self.wait(attempt);
        self.out.insert(place, Out { attempt, due });
    }

    pub(super) fn done(&mut self, place: u64) {
        self.out.remove(&place);
    }

    pub(super) fn postpone(&mut self, place: u64, due: Instant) {
        if let Some(out) = self.out.get_mut(&place) {
            out.due = due;
        }
    }

    pub(super) fn progress(&mut self, place: u64, now: Instant) {
        if let Some(attempt) = self.out.get(&place).map(|out| out.attempt) {
            self.postpone(place, now + self.wait(attempt));
        }
    }

    /// Drops what the stream no longer has.
    pub(super) fn forget(&mut self, gone: impl Fn(u64) -> bool) {
        self.out.retain(|place, _| !gone(*place));
    }

    fn wait(&self, attempt: u64) -> Duration {
        let index = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let wait = self.waits.get(index).or(self.waits.last());
        wait.copied().unwrap_or_default()
    }
}

/// The subjects of a consumer. A shard has one for each of its mowers, so the
/// plain ones are looked up and not tried one by one.
#[derive(Default)]
struct Wanted {
    all: bool,
    subjects: HashSet<String>,
    patterns: Vec<Pattern>,
}

impl Wanted {
    fn parse(texts: &[String]) -> Result<Wanted, BusError> {
        let mut wanted = Wanted {
            all: texts.is_empty(),
            ..Wanted::default()
        };
        for text in texts {
            let pattern = Pattern::parse(text)?;
            if pattern.is_subject() {
                wanted.subjects.insert(text.clone());
            } else {
                wanted.patterns.push(pattern);
            }
        }
        Ok(wanted)
    }

    fn covers(&self, subject: &str) -> bool {
        self.all
            || self.subjects.contains(subject)
            || self.patterns.iter().any(|it| it.covers(subject))
    }
}
