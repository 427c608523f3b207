//! The registry in Redis: objects by name, a log of their latest changes by
//! number, and who is alive; all in one slot.

use std::sync::LazyLock;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use redis::Script;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::RedisStore;
use crate::plans::ObjectRef;
use crate::store::object::check;
use crate::store::{
    Change, Head, Heartbeat, Instance, Put, RegistryObject, RegistryStore, StoreError, decode,
    encode, from_micros, micros,
};

static PUT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("object_put.lua")));
static CHANGES: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("object_changes.lua")));
static HEAD: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("object_head.lua")));

/// The most changes one step reads: a script holds up the server.
const PAGE: u32 = 1000;
/// Instances not heard of for this long are forgotten.
const INSTANCE_MEMORY: SignedDuration = SignedDuration::from_hours(24);

/// An object's latest change as the script keeps it: numbers as text, so that
/// nothing is rounded; an empty `json` is a tombstone.
#[derive(Deserialize)]
struct Stored {
    revision: String,
    seq: String,
    json: String,
}

#[derive(Serialize, Deserialize)]
struct StoredBeat {
    checks: Value,
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct StoredInstance {
    bundle: String,
    at: i64,
}

#[async_trait]
impl RegistryStore for RedisStore {
    async fn put(&self, object: &RegistryObject) -> Result<Put, StoreError> {
        let json = object.encoded()?;
        self.apply(&object.key(), &object.owner, object.revision, json)
            .await
    }

    async fn delete(&self, key: &ObjectRef, owner: &str, revision: u64) -> Result<Put, StoreError> {
        check(key, revision)?;
        self.apply(key, owner, revision, String::new()).await
    }

    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let flat: Vec<String> = self
            .link
            .script(
                CHANGES
                    .key(self.registry(":objects"))
                    .key(self.registry(":log"))
                    .arg(after)
                    .arg(limit.min(PAGE)),
            )
            .await?;
        let mut changes = Vec::with_capacity(flat.len() / 2);
        let mut rest = flat.into_iter();
        while let (Some(member), Some(stored)) = (rest.next(), rest.next()) {
            changes.push(change(&member, &stored)?);
        }
        Ok(changes)
    }

    async fn head(&self) -> Result<Head, StoreError> {
        let (epoch, seq): (String, String) = self
            .link
            .script(
                HEAD.key(self.registry(":seq"))
                    .key(self.registry(":epoch"))
                    .arg(Uuid::new_v4().simple().to_string()),
            )
            .await?;
        let seq = number(&seq, ":seq")?;
        Ok(Head { epoch, seq })
    }

    async fn heartbeat(
        &self,
        owner: &str,
        checks: &Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let beat = encode(&StoredBeat {
            checks: checks.clone(),
            at: micros(now),
        })?;
        let mut pipe = redis::pipe();
        pipe.hset(self.registry(":heartbeats"), owner, beat)
            .ignore();
        self.link.pipe(&pipe).await
    }

    async fn heartbeats(&self) -> Result<Vec<Heartbeat>, StoreError> {
        let mut found = Vec::new();
        for (owner, json) in self.fields(":heartbeats").await? {
            let beat: StoredBeat = decode(&json, ":heartbeats")?;
            found.push(Heartbeat {
                owner,
                checks: beat.checks,
                at: from_micros(beat.at, ":heartbeats")?,
            });
        }
        Ok(found)
    }

    async fn announce(
        &self,
        instance: &str,
        bundle: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let json = encode(&StoredInstance {
            bundle: bundle.to_owned(),
            at: micros(now),
        })?;
        let mut pipe = redis::pipe();
        pipe.hset(self.registry(":instances"), instance, json)
            .ignore();
        self.link.pipe(&pipe).await
    }

    async fn instances(&self, since: Timestamp) -> Result<Vec<Instance>, StoreError> {
        let oldest = since.checked_sub(INSTANCE_MEMORY).unwrap_or(Timestamp::MIN);
        let mut found = Vec::new();
        let mut gone = redis::pipe();
        for (name, json) in self.fields(":instances").await? {
            let stored: StoredInstance = decode(&json, ":instances")?;
            if stored.at < micros(oldest) {
                gone.hdel(self.registry(":instances"), &name).ignore();
            }
            if stored.at >= micros(since) {
                found.push(Instance {
                    name,
                    bundle: stored.bundle,
                    at: from_micros(stored.at, ":instances")?,
                });
            }
        }
        if !gone.is_empty() {
            let () = self.link.pipe(&gone).await?;
        }
        Ok(found)
    }
}

impl RedisStore {
    fn registry(&self, rest: &str) -> String {
        self.key("registry", rest)
    }

    async fn apply(
        &self,
        key: &ObjectRef,
        owner: &str,
        revision: u64,
        json: String,
    ) -> Result<Put, StoreError> {
        let (outcome, value): (String, String) = self
            .link
            .script(
                PUT.key(self.registry(":objects"))
                    .key(self.registry(":log"))
                    .key(self.registry(":seq"))
                    .arg(format!("{}/{}", key.kind, key.id))
                    .arg(owner)
                    .arg(revision)
                    .arg(json),
            )
            .await?;
        match outcome.as_str() {
            "applied" => Ok(Put::Applied {
                seq: number(&value, ":seq")?,
            }),
            "unchanged" => Ok(Put::Unchanged {
                seq: number(&value, ":objects")?,
            }),
            "stale" => Ok(Put::Stale {
                current: number(&value, ":objects")?,
            }),
            _ => Ok(Put::Foreign { owner: value }),
        }
    }

    /// All fields of a small hash, by name.
    async fn fields(&self, rest: &str) -> Result<Vec<(String, String)>, StoreError> {
        let mut pipe = redis::pipe();
        pipe.hgetall(self.registry(rest));
        let (mut fields,): (Vec<(String, String)>,) = self.link.pipe(&pipe).await?;
        fields.sort();
        Ok(fields)
    }
}

fn change(member: &str, stored: &str) -> Result<Change, StoreError> {
    let stored: Stored = decode(stored, member)?;
    // A type's name has no slash; an id may.
    let (kind, id) = member.split_once('/').ok_or_else(|| StoreError::Corrupt {
        place: member.to_owned(),
        detail: "not `type/id`".to_owned(),
    })?;
    let object = match stored.json.as_str() {
        "" => None,
        json => Some(decode(json, member)?),
    };
    Ok(Change {
        seq: number(&stored.seq, member)?,
        key: ObjectRef {
            kind: kind.to_owned(),
            id: id.to_owned(),
        },
        revision: number(&stored.revision, member)?,
        object,
    })
}

fn number(text: &str, place: &str) -> Result<u64, StoreError> {
    text.parse().map_err(|_| StoreError::Corrupt {
        place: place.to_owned(),
        detail: format!("`{text}` is not a number"),
    })
}
