//! The messages of one stream, within its bounds.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

use super::super::stream::{Discard, Limits};
use super::super::{BusError, Consumer, Message, Published};
use super::cursor::Cursor;

/// Ids that one stream remembers.
const MAX_IDS: usize = 200_000;

/// Consumers of one stream.
const MAX_CONSUMERS: usize = 10_000;

/// What a message weighs besides its texts.
const OVERHEAD: usize = 128;

/// A message and when it came.
pub(super) struct Stored {
    message: Arc<Message>,
    came: Instant,
}

/// What a consumer gets.
pub(super) enum Taken {
    /// A message, its place in the stream and the how-manieth delivery it is.
    Message(Arc<Message>, u64, u64),
    /// Nothing before this moment, unless something changes.
    NothingUntil(Option<Instant>),
}

/// One stream.
pub(super) struct Log {
    limits: &'static Limits,
    next: u64,
    messages: BTreeMap<u64, Stored>,
    bytes: usize,
    /// The places of each subject's messages, oldest first.
    places: HashMap<String, VecDeque<u64>>,
    ids: HashSet<String>,
    /// The same ids, oldest first.
    aging: VecDeque<(Instant, String)>,
    cursors: HashMap<String, Cursor>,
    /// Counts the consumers without a name, to give them one.
    nameless: u64,
}

impl Log {
    pub(super) fn new(limits: &'static Limits) -> Log {
        Log {
            limits,
            next: 1,
            messages: BTreeMap::new(),
            bytes: 0,
            places: HashMap::new(),
            ids: HashSet::new(),
            aging: VecDeque::new(),
            cursors: HashMap::new(),
            nameless: 0,
        }
    }

    /// Stores a message, or says why not.
    pub(super) fn publish(&mut self, message: &Message, now: Instant) -> Published {
        self.expire(now);
        if self.ids.contains(&message.id) {
            return Published::Stored { duplicate: true };
        }
        let weight = weight(message);
        while let Some(full) = self.full(message, weight) {
            if self.limits.discard == Discard::New {
                return Published::Refused(format!("the stream {} {full}", self.limits.name));
            }
            self.make_room(message, weight);
        }
        self.insert(message, weight, now);
        Published::Stored { duplicate: false }
    }

    /// Makes a consumer, or takes over its new settings, and gives its name.
    pub(super) fn open(&mut self, consumer: &Consumer) -> Result<String, BusError> {
        let name = consumer.durable.clone().unwrap_or_else(|| {
            self.nameless += 1;
            // No durable name has a space.
            format!("nameless {}", self.nameless)
        });
        if let Some(cursor) = self.cursors.get_mut(&name) {
            cursor.change(consumer)?;
            return Ok(name);
        }
        if self.cursors.len() >= MAX_CONSUMERS {
            return Err(BusError::Unavailable(format!(
                "the stream {} has {MAX_CONSUMERS} consumers already",
                self.limits.name
            )));
        }
        let first = match consumer.durable {
            Some(_) => 0,
            None => self.next,
        };
        self.cursors
            .insert(name.clone(), Cursor::new(consumer, first)?);
        Ok(name)
    }

    /// Forgets a consumer.
    pub(super) fn close(&mut self, name: &str) {
        self.cursors.remove(name);
    }

    pub(super) fn cursor(&mut self, name: &str) -> Option<&mut Cursor> {
        self.cursors.get_mut(name)
    }

    /// The next message of a consumer: one that is due again, else a new one.
    pub(super) fn take(&mut self, name: &str, now: Instant) -> Taken {
        self.expire(now);
        let Some(cursor) = self.cursors.get_mut(name) else {
            return Taken::NothingUntil(None);
        };
        cursor.forget(|place| !self.messages.contains_key(&place));
        let again = cursor.due(now);
        let taken = again.or_else(|| {
            if !cursor.has_room() {
                return None;
            }
            let found = self
                .messages
                .range(cursor.from()..)
                .find(|(_, stored)| cursor.wants(&stored.message.subject))
                .map(|(place, _)| *place);
            // What it does not want is not looked at twice.
            cursor.passed(found.map_or(self.next, |place| place + 1));
            found.map(|place| (place, 1))
        });
        let found = taken.and_then(|(place, attempt)| {
            let stored = self.messages.get(&place)?;
            Some((stored.message.clone(), place, attempt))
        });
        match found {
            Some((message, place, attempt)) => {
                cursor.out(place, attempt, now);
                Taken::Message(message, place, attempt)
            }
            None => Taken::NothingUntil(cursor.next_due()),
        }
    }

    /// Which bound stands in the way of one more message.
    fn full(&self, message: &Message, weight: usize) -> Option<String> {
        let limits = self.limits;
        if self.subject_is_full(message) {
            let (name, cap) = (&message.subject, limits.per_subject);
            return Some(format!("holds {cap} messages of `{name}` already"));
        }
        if self.bytes + weight > limits.max_bytes as usize {
            return Some(format!("is full: {} bytes", limits.max_bytes));
        }
        if self.ids.len() >= MAX_IDS {
            return Some(format!("remembers {MAX_IDS} ids already"));
        }
        None
    }

    fn make_room(&mut self, message: &Message, weight: usize) {
        let oldest_of_subject = || self.places.get(&message.subject)?.front().copied();
        if self.subject_is_full(message) {
            if let Some(place) = oldest_of_subject() {
                self.remove(place);
            }
        } else if self.bytes + weight > self.limits.max_bytes as usize {
            if let Some((place, _)) = self.messages.first_key_value() {
                self.remove(*place);
            }
        } else if let Some((_, id)) = self.aging.pop_front() {
            self.ids.remove(&id);
        }
    }

    fn subject_is_full(&self, message: &Message) -> bool {
        let cap = self.limits.per_subject as usize;
        let held = self.places.get(&message.subject).map_or(0, VecDeque::len);
        cap > 0 && held >= cap
    }

    fn insert(&mut self, message: &Message, weight: usize, now: Instant) {
        let place = self.next;
        self.next += 1;
        self.bytes += weight;
        self.ids.insert(message.id.clone());
        self.aging.push_back((now, message.id.clone()));
        self.places
            .entry(message.subject.clone())
            .or_default()
            .push_back(place);
        let stored = Stored {
            message: Arc::new(message.clone()),
            came: now,
        };
        self.messages.insert(place, stored);
    }

    fn remove(&mut self, place: u64) {
        let Some(stored) = self.messages.remove(&place) else {
            return;
        };
        self.bytes -= weight(&stored.message);
        let subject = &stored.message.subject;
        if let Some(places) = self.places.get_mut(subject) {
            places.retain(|other| *other != place);
            if places.is_empty() {
                self.places.remove(subject);
            }
        }
    }

    /// Drops what is past its age, messages and ids.
    fn expire(&mut self, now: Instant) {
        while let Some((place, stored)) = self.messages.first_key_value()
            && now.duration_since(stored.came) >= self.limits.max_age
        {
            self.remove(*place);
        }
        while let Some((came, id)) = self.aging.front()
            && now.duration_since(*came) >= self.limits.window
        {
            self.ids.remove(id);
            self.aging.pop_front();
        }
    }
}

fn weight(message: &Message) -> usize {
    message.payload.len() + message.subject.len() + message.id.len() + OVERHEAD
}
