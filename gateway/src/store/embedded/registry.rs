//! The registry in SQLite: the latest change of each object, numbered.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sqlx::sqlite::SqliteConnection;

use super::{EmbeddedStore, unavailable};
use crate::plans::ObjectRef;
use crate::store::object::check;
use crate::store::{
    Change, Head, Heartbeat, Instance, Put, RegistryObject, RegistryStore, StoreError, decode,
    encode, from_micros, micros,
};

/// Instances not heard of for this long are forgotten.
const INSTANCE_MEMORY: SignedDuration = SignedDuration::from_hours(24);

/// A put or, without `json`, a tombstone.
struct Edit {
    key: ObjectRef,
    owner: String,
    revision: u64,
    json: Option<String>,
}

#[async_trait]
impl RegistryStore for EmbeddedStore {
    async fn put(&self, object: &RegistryObject) -> Result<Put, StoreError> {
        self.apply(Edit {
            key: object.key(),
            owner: object.owner.clone(),
            revision: object.revision,
            json: Some(object.encoded()?),
        })
        .await
    }

    async fn delete(&self, key: &ObjectRef, owner: &str, revision: u64) -> Result<Put, StoreError> {
        check(key, revision)?;
        self.apply(Edit {
            key: key.clone(),
            owner: owner.to_owned(),
            revision,
            json: None,
        })
        .await
    }

    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let found: Vec<(i64, String, String, i64, Option<String>)> = self
            .read(
                sqlx::query_as(
                    "SELECT seq, type, id, revision, json FROM objects WHERE seq > ? \
                     ORDER BY seq LIMIT ?",
                )
                .bind(after)
                .bind(limit)
                .fetch_all(&self.readers),
            )
            .await?;
        found
            .into_iter()
            .map(|(seq, kind, id, revision, json)| {
                let object = json.map(|json| decode(&json, &id)).transpose()?;
                Ok(Change {
                    seq: number(seq, "objects")?,
                    key: ObjectRef { kind, id },
                    revision: number(revision, "objects")?,
                    object,
                })
            })
            .collect()
    }

    async fn head(&self) -> Result<Head, StoreError> {
        let (epoch, seq): (String, i64) = self
            .read(
                sqlx::query_as(
                    "SELECT value, (SELECT coalesce(max(seq), 0) FROM objects) FROM epoch",
                )
                .fetch_one(&self.readers),
            )
            .await?;
        Ok(Head {
            epoch,
            seq: number(seq, "objects")?,
        })
    }

    async fn heartbeat(
        &self,
        owner: &str,
        checks: &Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let owner = owner.to_owned();
        let checks = encode(checks)?;
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    sqlx::query(
                        "INSERT INTO heartbeats (owner, checks, at) VALUES (?, ?, ?) \
                         ON CONFLICT (owner) DO UPDATE SET checks = excluded.checks, \
                         at = excluded.at",
                    )
                    .bind(owner)
                    .bind(checks)
                    .bind(micros(now))
                    .execute(connection)
                    .await
                    .map_err(unavailable)?;
                    Ok(())
                })
            })
            .await
    }

    async fn heartbeats(&self) -> Result<Vec<Heartbeat>, StoreError> {
        let found: Vec<(String, String, i64)> = self
            .read(
                sqlx::query_as("SELECT owner, checks, at FROM heartbeats ORDER BY owner")
                    .fetch_all(&self.readers),
            )
            .await?;
        found
            .into_iter()
            .map(|(owner, checks, at)| {
                Ok(Heartbeat {
                    checks: decode(&checks, &owner)?,
                    at: from_micros(at, &owner)?,
                    owner,
                })
            })
            .collect()
    }

    async fn announce(
        &self,
        instance: &str,
        bundle: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let instance = instance.to_owned();
        let bundle = bundle.to_owned();
        let oldest = now.checked_sub(INSTANCE_MEMORY).unwrap_or(Timestamp::MIN);
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    sqlx::query("DELETE FROM instances WHERE at < ?")
                        .bind(micros(oldest))
                        .execute(&mut *connection)
                        .await
                        .map_err(unavailable)?;
                    sqlx::query(
                        "INSERT INTO instances (name, bundle, at) VALUES (?, ?, ?) \
                         ON CONFLICT (name) DO UPDATE SET bundle = excluded.bundle, \
                         at = excluded.at",
                    )
                    .bind(instance)
                    .bind(bundle)
                    .bind(micros(now))
                    .execute(connection)
                    .await
                    .map_err(unavailable)?;
                    Ok(())
                })
            })
            .await
    }

    async fn instances(&self, since: Timestamp) -> Result<Vec<Instance>, StoreError> {
        let found: Vec<(String, String, i64)> = self
            .read(
                sqlx::query_as(
                    "SELECT name, bundle, at FROM instances WHERE at >= ? ORDER BY name",
                )
                .bind(micros(since))
                .fetch_all(&self.readers),
            )
            .await?;
        found
            .into_iter()
            .map(|(name, bundle, at)| {
                Ok(Instance {
                    at: from_micros(at, &name)?,
                    name,
                    bundle,
                })
            })
            .collect()
    }
}

impl EmbeddedStore {
    async fn apply(&self, edit: Edit) -> Result<Put, StoreError> {
        self.writer
            .write(move |connection| Box::pin(async move { edit.apply(connection).await }))
            .await
    }
}

impl Edit {
    async fn apply(self, connection: &mut SqliteConnection) -> Result<Put, StoreError> {
        let found: Option<(String, i64, i64, Option<String>)> = sqlx::query_as(
            "SELECT owner, revision, seq, json FROM objects WHERE type = ? AND id = ?",
        )
        .bind(&self.key.kind)
        .bind(&self.key.id)
        .fetch_optional(&mut *connection)
        .await
        .map_err(unavailable)?;
        if let Some((owner, revision, seq, json)) = found {
            let current = number(revision, "objects")?;
            if owner != self.owner {
                return Ok(Put::Foreign { owner });
            }
            if current == self.revision && json == self.json {
                let seq = number(seq, "objects")?;
                return Ok(Put::Unchanged { seq });
            }
            if current >= self.revision {
                return Ok(Put::Stale { current });
            }
        }
        self.write(connection).await.map_err(unavailable)
    }

    async fn write(self, connection: &mut SqliteConnection) -> Result<Put, sqlx::Error> {
        let seq: i64 = sqlx::query_scalar(
            "INSERT INTO objects (type, id, owner, revision, seq, json) \
             VALUES (?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM objects), ?) \
             ON CONFLICT (type, id) DO UPDATE SET owner = excluded.owner, \
             revision = excluded.revision, seq = excluded.seq, json = excluded.json \
             RETURNING seq",
        )
        .bind(self.key.kind)
        .bind(self.key.id)
        .bind(self.owner)
        // In range: checked before the edit was made.
        .bind(i64::try_from(self.revision).unwrap_or(i64::MAX))
        .bind(self.json)
        .fetch_one(connection)
        .await?;
        Ok(Put::Applied {
            seq: seq.unsigned_abs(),
        })
    }
}

fn number(column: i64, place: &str) -> Result<u64, StoreError> {
    u64::try_from(column).map_err(|_| StoreError::Corrupt {
        place: place.to_owned(),
        detail: format!("`{column}` is negative"),
    })
}
