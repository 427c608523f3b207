//! The record of a key and what it means for a request that repeats it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::idempotency::fingerprint::Fingerprint;

/// How long an answer is kept, from the first attempt.
pub const RETENTION: SignedDuration = SignedDuration::from_hours(24);

/// One key in use. A record that is reserved or unknown is kept until somebody
/// ends it; only an answer lapses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRecord {
    /// Made anew for every claim: whoever names it holds the claim.
    pub claim: Uuid,
    /// What was asked.
    pub fingerprint: Fingerprint,
    /// When it was first asked.
    pub created_at: Timestamp,
    /// What a settler needs to find out how it ended.
    pub subject: Subject,
    /// How far it is.
    #[serde(flatten)]
    pub state: KeyState,
}

/// What a key is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The surface row that was asked.
    pub row: String,
    /// The service behind it.
    pub service: String,
    /// What the service knows the attempt by.
    pub operation: Uuid,
    /// The plan it is about, from whose record it is then settled.
    pub plan: Option<Uuid>,
}

/// How far a key is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all_fields = "camelCase")]
pub enum KeyState {
    /// Being worked on.
    Reserved {
        /// The gateway instance at work.
        owner: String,
        /// After this moment nobody is believed to be at work: unknown.
        lease_until: Timestamp,
    },
    /// Ended; a repeat gets this answer.
    Answered {
        /// What was answered.
        answer: StoredAnswer,
    },
    /// It may have happened. Never free, however old, until it is settled.
    Unknown {
        /// What a person should look at.
        check: String,
        /// The settler at work on it, until this moment.
        lease_until: Timestamp,
    },
}

/// An answer as it is kept: what a repeat needs and nothing else.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredAnswer {
    /// The status.
    pub status: u16,
    /// The `Content-Type`, if there was one.
    pub content_type: Option<String>,
    /// The `Location`, if there was one.
    pub location: Option<String>,
    /// The bytes; kept as base64 so that a repeat is equal to the byte.
    #[serde(with = "bytes_as_base64")]
    pub body: Vec<u8>,
    /// The first answer showed a secret that this one leaves out.
    pub secret_stripped: bool,
}

impl fmt::Debug for StoredAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoredAnswer")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .field("secret_stripped", &self.secret_stripped)
            .finish_non_exhaustive()
    }
}

/// What a record says to a request that names its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Nobody has it: the request may claim it.
    Free,
    /// The same was asked and answered.
    Replay(&'a StoredAnswer),
    /// The same is being worked on.
    Running,
    /// Something else was asked under this key.
    Mismatch,
    /// The same was asked and may have happened.
    Unknown {
        /// What the service knows the attempt by.
        operation: Uuid,
        /// What to look at.
        check: &'a str,
    },
}

/// Said of a lease that ran out with nobody there to say more.
const LEASE_RAN_OUT: &str = "the request may have been carried out; look at the vehicle before \
     asking again under another key";

/// What `existing` means for a request with `fingerprint` at `now`. A mismatch
/// is found first, whatever the state: a key has one meaning.
pub fn judge<'a>(
    existing: Option<&'a KeyRecord>,
    fingerprint: &Fingerprint,
    now: Timestamp,
) -> Verdict<'a> {
    let Some(record) = existing else {
        return Verdict::Free;
    };
    if record.has_lapsed(now) {
        return Verdict::Free;
    }
    if record.fingerprint != *fingerprint {
        return Verdict::Mismatch;
    }
    let operation = record.subject.operation;
    match &record.state {
        KeyState::Answered { answer } => Verdict::Replay(answer),
        KeyState::Reserved { lease_until, .. } if now <= *lease_until => Verdict::Running,
        KeyState::Reserved { .. } => Verdict::Unknown {
            operation,
            check: LEASE_RAN_OUT,
        },
        KeyState::Unknown { check, .. } => Verdict::Unknown { operation, check },
    }
}

impl KeyRecord {
    /// A claim that starts now.
    pub fn reserve(
        claim: Uuid,
        fingerprint: Fingerprint,
        subject: Subject,
        owner: String,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Self {
        Self {
            claim,
            fingerprint,
            created_at: now,
            subject,
            state: KeyState::Reserved { owner, lease_until },
        }
    }

    /// The same claim, answered.
    pub fn answered(self, answer: StoredAnswer) -> Self {
        Self {
            state: KeyState::Answered { answer },
            ..self
        }
    }

    /// The same claim, in doubt: anybody may settle it once `now` has passed.
    pub fn unknown(self, check: String, now: Timestamp) -> Self {
        Self {
            state: KeyState::Unknown {
                check,
                lease_until: now,
            },
            ..self
        }
    }

    /// A settler takes the record up under a claim of its own, so that the
    /// claim before can no longer end it. None while a lease stands, or once
    /// answered.
    pub fn taken_up(self, claim: Uuid, lease_until: Timestamp, now: Timestamp) -> Option<Self> {
        if self.settle_after().is_none_or(|until| now <= until) {
            return None;
        }
        let check = match self.state {
            KeyState::Unknown { check, .. } => check,
            KeyState::Reserved { .. } | KeyState::Answered { .. } => LEASE_RAN_OUT.to_owned(),
        };
        Some(Self {
            claim,
            state: KeyState::Unknown { check, lease_until },
            ..self
        })
    }

    /// A settler that found nothing out makes room for the next one.
    pub fn let_go(self, now: Timestamp) -> Self {
        match self.state {
            KeyState::Unknown { check, .. } => Self {
                state: KeyState::Unknown {
                    check,
                    lease_until: now,
                },
                ..self
            },
            KeyState::Reserved { .. } | KeyState::Answered { .. } => self,
        }
    }

    /// Whether the record still waits for its end: no quota, age or eviction
    /// may remove it.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, KeyState::Answered { .. })
    }

    /// The last moment at which an answer is given again; none while open.
    pub fn kept_until(&self) -> Option<Timestamp> {
        match self.state {
            // Past the end of time is kept for ever, not dropped at once.
            KeyState::Answered { .. } => Some(
                self.created_at
                    .checked_add(RETENTION)
                    .unwrap_or(Timestamp::MAX),
            ),
            KeyState::Reserved { .. } | KeyState::Unknown { .. } => None,
        }
    }

    /// Whether its answer is no longer kept. Inclusive: the last moment counts.
    pub fn has_lapsed(&self, now: Timestamp) -> bool {
        self.kept_until().is_some_and(|last| now > last)
    }

    /// When a settler may take it up; none once answered.
    pub fn settle_after(&self) -> Option<Timestamp> {
        match self.state {
            KeyState::Reserved { lease_until, .. } | KeyState::Unknown { lease_until, .. } => {
                Some(lease_until)
            }
            KeyState::Answered { .. } => None,
        }
    }
}

mod bytes_as_base64 {
    use super::{Deserialize, Deserializer, Engine, STANDARD, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}
