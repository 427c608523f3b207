//! The store on a Redis server, shared by any number of gateways. Each step is
//! one script whose keys lie in one `{tag}`, so that a cluster can hold them.
//! Indexes over plans lie in slots of their own and are hints: they are written
//! before the record they point to, and checked against it when read. Expiry in Redis
//! only collects garbage, well after the record has lapsed by `now`, and is
//! relative, so that the server's clock does not matter.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use self::link::Link;
use crate::store::{StoreError, StoreHealth};

mod hints;
mod keys;
mod link;
mod plans;
mod registry;

/// How to reach the store.
#[derive(Clone)]
pub struct RedisConfig {
    /// `redis://[user[:password]@]host[:port][/database]`, or
    /// `redis+unix:///path`.
    pub url: String,
    /// What every key begins with: two systems on one server differ in it.
    pub prefix: String,
    /// The longest a caller waits for one step, connecting included.
    pub timeout: Duration,
    /// Steps under way at once; one more is refused as busy.
    pub in_flight: usize,
}

impl RedisConfig {
    /// The defaults, for a server.
    pub fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            prefix: "interlock".to_owned(),
            timeout: Duration::from_millis(500),
            in_flight: 256,
        }
    }
}

/// The URL may hold a password.
impl fmt::Debug for RedisConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisConfig")
            .field("prefix", &self.prefix)
            .field("timeout", &self.timeout)
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

/// A server, reached or not.
pub(super) struct RedisStore {
    link: Link,
    prefix: String,
}

impl RedisStore {
    pub(super) async fn open(config: RedisConfig) -> Result<Self, StoreError> {
        let store = Self {
            link: Link::new(&config)?,
            prefix: config.prefix,
        };
        match store.ping().await {
            // Unreachable is not evicting: start, not ready, and try again.
            Ok(()) | Err(StoreError::Unavailable { .. } | StoreError::TimedOut) => Ok(store),
            Err(error) => Err(error),
        }
    }

    /// A key: `tag` decides the slot, `rest` names the key within it.
    fn key(&self, tag: &str, rest: &str) -> String {
        format!("{}:{{{tag}}}{rest}", self.prefix)
    }
}

#[async_trait]
impl StoreHealth for RedisStore {
    async fn ping(&self) -> Result<(), StoreError> {
        let mut about = redis::pipe();
        about.cmd("INFO").arg("memory");
        about.cmd("INFO").arg("replication");
        let (memory, replication): (String, String) = self.link.pipe(&about).await?;
        match line(&memory, "maxmemory_policy:") {
            Some("noeviction") => {}
            Some(policy) => {
                return Err(StoreError::Refused {
                    detail: format!(
                        "the server's `maxmemory-policy` is `{policy}`, under which it may forget \
                         an approval or a key; set it to `noeviction`"
                    ),
                });
            }
            None => {
                return Err(StoreError::Refused {
                    detail: "the server does not say its `maxmemory-policy`; allow `INFO memory`"
                        .to_owned(),
                });
            }
        }
        match line(&replication, "role:") {
            Some("slave") => Err(StoreError::Unavailable {
                detail: "the server is a read-only replica".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

fn line<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}
