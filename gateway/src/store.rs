//! The seam to storage: three traits of small atomic steps, a bundle of them,
//! and two implementations that one conformance suite holds to the same
//! behavior. What a step means is decided elsewhere, in pure functions; the
//! store only swaps one record for the next, or says that it did not.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use crate::idempotency::{KeyId, KeyRecord};
use crate::plans::{ObjectRef, Plan, PlanSummary};

pub mod embedded;
pub mod object;
pub mod redis;

pub use self::embedded::EmbeddedConfig;
pub use self::object::RegistryObject;
pub use self::redis::RedisConfig;

/// How long a plan can be read after its proposal. One that waits to be
/// settled is kept until it is.
pub const PLAN_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Why a step was not taken, or why nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store cannot be reached, or the connection broke while the step
    /// was under way, which may then have been taken.
    #[error("the store is unavailable: {detail}")]
    Unavailable {
        /// For the log.
        detail: String,
    },
    /// No answer within the configured time. The step may have been taken.
    #[error("the store did not answer in time")]
    TimedOut,
    /// Too many steps are waiting already; this one was not taken.
    #[error("the store is busy: every place in its queue is taken")]
    Busy,
    /// The store answered that it will not: read-only, out of memory, in use
    /// by another process, or configured so that it would forget.
    #[error("the store refuses: {detail}")]
    Refused {
        /// What is wrong and what to do.
        detail: String,
    },
    /// A record is not what was written.
    #[error("the store holds an unreadable record at `{place}`: {detail}")]
    Corrupt {
        /// The record's name.
        place: String,
        /// What is wrong with it.
        detail: String,
    },
}

impl StoreError {
    /// The kind of failure as metrics name it.
    pub const fn label(&self) -> &'static str {
        match self {
            StoreError::Unavailable { .. } => "unavailable",
            StoreError::TimedOut => "timed_out",
            StoreError::Busy => "busy",
            StoreError::Refused { .. } => "refused",
            StoreError::Corrupt { .. } => "corrupt",
        }
    }
}

/// Whether a conditional step was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Swap {
    /// The record was as expected and is now the new one.
    Swapped,
    /// It was not as expected; nothing changed.
    Lost,
}

/// Plans by id.
#[async_trait]
pub trait PlanStore: Send + Sync {
    /// Writes a new plan; lost when its id exists.
    async fn insert(&self, plan: &Plan) -> Result<Swap, StoreError>;

    /// The plan as last written, deadlines not judged.
    async fn get(&self, id: Uuid) -> Result<Option<Plan>, StoreError>;

    /// Writes `plan` if the stored revision is `expected`.
    async fn replace(&self, plan: &Plan, expected: u64) -> Result<Swap, StoreError>;

    /// The newest `limit` plans of a service, newest first. Reads no preview.
    async fn list(&self, service: &str, limit: u32) -> Result<Vec<PlanSummary>, StoreError>;

    /// Plans whose operation somebody should settle: Dispatching or Unknown
    /// with a lease that ended before `now`; at most `limit`.
    async fn unsettled(&self, now: Timestamp, limit: u32) -> Result<Vec<Plan>, StoreError>;

    /// How many plans of this proposer (an [`crate::identity::Identity`]
    /// digest) still wait, for a person or for an end; stops counting at
    /// `limit`.
    async fn open_plans(
        &self,
        proposer: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError>;
}

/// What claiming a key came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The record was written: the caller of `claim` holds the key.
    Fresh,
    /// The key is in use; judge the record.
    Existing(Box<KeyRecord>),
    /// The caller keeps too many keys; nothing was written.
    OverQuota,
}

/// Keys by caller and request.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Writes `record` unless the key is in use at `now` or its caller keeps
    /// `quota` keys already. A key whose answer has lapsed is free.
    async fn claim(
        &self,
        id: &KeyId,
        record: &KeyRecord,
        now: Timestamp,
        quota: u32,
    ) -> Result<Claim, StoreError>;

    /// The record, lapsed or not.
    async fn get(&self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError>;

    /// Writes `record` if the key is still open under `claim`. The first
    /// answer stands.
    async fn replace(
        &self,
        id: &KeyId,
        claim: Uuid,
        record: &KeyRecord,
    ) -> Result<Swap, StoreError>;

    /// Frees the key if it is still open under `claim`.
    async fn release(&self, id: &KeyId, claim: Uuid) -> Result<Swap, StoreError>;

    /// Open keys whose lease ended before `now`; at most `limit`.
    async fn unsettled(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(KeyId, KeyRecord)>, StoreError>;
}

/// What a conditional put or delete came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// Written, as change number `seq`.
    Applied {
        /// The change's number.
        seq: u64,
    },
    /// The same was there already: a repeat of the feed.
    Unchanged {
        /// The number under which it was written.
        seq: u64,
    },
    /// A newer revision, or another content of this one, is there.
    Stale {
        /// The stored revision, a tombstone's included.
        current: u64,
    },
    /// The object belongs to another service.
    Foreign {
        /// Whose it is.
        owner: String,
    },
}

/// Where the registry's log of changes stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Made at random when the log begins. Another epoch, or a lower number,
    /// means that the store lost its content.
    pub epoch: String,
    /// The number of the last change; 0 when there was none.
    pub seq: u64,
}

/// The latest change of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its number; rises with every change of any object.
    pub seq: u64,
    /// Which object.
    pub key: ObjectRef,
    /// The revision that was put or deleted.
    pub revision: u64,
    /// The object, or none when it was deleted.
    pub object: Option<RegistryObject>,
}

/// A service's last sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The service.
    pub owner: String,
    /// Its health checks, as it sent them.
    pub checks: Value,
    /// When it was received.
    pub at: Timestamp,
}

/// A gateway instance that shares this store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its name, new at every start.
    pub name: String,
    /// The policy bundle it decides by, SHA-256 hex.
    pub bundle: String,
    /// When it last said so.
    pub at: Timestamp,
}

/// Registry objects, and who is alive.
#[async_trait]
pub trait RegistryStore: Send + Sync {
    /// Writes an object if its revision is newer than the stored one.
    async fn put(&self, object: &RegistryObject) -> Result<Put, StoreError>;

    /// Writes a tombstone if `revision` is newer than the stored one, also
    /// when there is no object: an older put must not bring it back.
    async fn delete(&self, key: &ObjectRef, owner: &str, revision: u64) -> Result<Put, StoreError>;

    /// The latest change of every object changed after number `after`, oldest
    /// first, at most `limit`.
    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<Change>, StoreError>;

    /// Where the log stands.
    async fn head(&self) -> Result<Head, StoreError>;

    /// Notes a service's sign of life.
    async fn heartbeat(
        &self,
        owner: &str,
        checks: &Value,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The last sign of life of every service.
    async fn heartbeats(&self) -> Result<Vec<Heartbeat>, StoreError>;

    /// Notes that a gateway instance runs, and on which bundle.
    async fn announce(
        &self,
        instance: &str,
        bundle: &str,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The instances heard of at `since` or later.
    async fn instances(&self, since: Timestamp) -> Result<Vec<Instance>, StoreError>;
}

/// Whether the store can be relied on at this moment.
#[async_trait]
pub trait StoreHealth: Send + Sync {
    /// Reaches the store, and checks that it keeps what it is given.
    async fn ping(&self) -> Result<(), StoreError>;
}

/// The stores of one gateway, all of one implementation.
#[derive(Clone)]
pub struct Store {
    /// Plans.
    pub plans: Arc<dyn PlanStore>,
    /// Idempotency keys.
    pub keys: Arc<dyn IdempotencyStore>,
    /// The registry.
    pub registry: Arc<dyn RegistryStore>,
    /// Health.
    pub health: Arc<dyn StoreHealth>,
    /// `embedded` or `redis`, for health and logs.
    pub kind: &'static str,
}

impl Store {
    /// Opens the store in one local file, and refuses a file that another
    /// process has open.
    pub async fn embedded(config: EmbeddedConfig) -> Result<Self, StoreError> {
        let store = embedded::EmbeddedStore::open(config).await?;
        Ok(Self::of(store, "embedded"))
    }

    /// Opens the store on a Redis server. One that cannot be reached is no
    /// error: it is tried again with every step. One that would evict is.
    pub async fn redis(config: RedisConfig) -> Result<Self, StoreError> {
        let store = redis::RedisStore::open(config).await?;
        Ok(Self::of(store, "redis"))
    }

    /// The bundle of one value that implements all four traits.
    fn of<S>(implementation: S, kind: &'static str) -> Self
    where
        S: PlanStore + IdempotencyStore + RegistryStore + StoreHealth + 'static,
    {
        let shared = Arc::new(implementation);
        Self {
            plans: shared.clone(),
            keys: shared.clone(),
            registry: shared.clone(),
            health: shared,
            kind,
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Store")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// A record as its JSON text.
fn encode<T: Serialize>(record: &T) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(|error| StoreError::Refused {
        detail: format!("the record cannot be written as JSON: {error}"),
    })
}

/// A record from its JSON text, found at `place`.
fn decode<T: DeserializeOwned>(text: &str, place: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt {
        place: place.to_owned(),
        detail: error.to_string(),
    })
}

/// The whole number of microseconds that stores compare: as fine as a double
/// can hold exactly, which is what a script on the server counts in.
fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

fn from_micros(at: i64, place: &str) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(at).map_err(|error| StoreError::Corrupt {
        place: place.to_owned(),
        detail: error.to_string(),
    })
}

#[cfg(test)]
mod tests;
