//! Idempotency keys in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::sqlite::SqliteConnection;
use uuid::Uuid;

use super::plans::swap;
use super::{EmbeddedStore, unavailable};
use crate::idempotency::{KeyId, KeyRecord};
use crate::store::{Claim, IdempotencyStore, StoreError, Swap, decode, encode, micros};

#[async_trait]
impl IdempotencyStore for EmbeddedStore {
    async fn claim(
        &self,
        id: &KeyId,
        record: &KeyRecord,
        now: Timestamp,
        quota: u32,
    ) -> Result<Claim, StoreError> {
        let id = id.clone();
        let json = encode(record)?;
        let record = record.clone();
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    collect_garbage(connection, &id.caller, micros(now))
                        .await
                        .map_err(unavailable)?;
                    if let Some(existing) = find(connection, &id).await.map_err(unavailable)? {
                        let existing = decode(&existing, &id.request)?;
                        return Ok(Claim::Existing(Box::new(existing)));
                    }
                    if kept(connection, &id.caller).await.map_err(unavailable)? >= quota {
                        return Ok(Claim::OverQuota);
                    }
                    insert(connection, &id, &record, &json)
                        .await
                        .map_err(unavailable)?;
                    Ok(Claim::Fresh)
                })
            })
            .await
    }

    async fn get(&self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let found: Option<String> = self
            .read(
                sqlx::query_scalar("SELECT json FROM keys WHERE caller = ? AND request = ?")
                    .bind(&id.caller)
                    .bind(&id.request)
                    .fetch_optional(&self.readers),
            )
            .await?;
        found.map(|json| decode(&json, &id.request)).transpose()
    }

    async fn replace(
        &self,
        id: &KeyId,
        claim: Uuid,
        record: &KeyRecord,
    ) -> Result<Swap, StoreError> {
        let id = id.clone();
        let json = encode(record)?;
        let record = record.clone();
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    let done = sqlx::query(
                        "UPDATE keys SET claim = ?, kept_until = ?, settle_after = ?, json = ? \
                         WHERE caller = ? AND request = ? AND claim = ? AND kept_until IS NULL",
                    )
                    .bind(record.claim.to_string())
                    .bind(record.kept_until().map(micros))
                    .bind(record.settle_after().map(micros))
                    .bind(json)
                    .bind(id.caller)
                    .bind(id.request)
                    .bind(claim.to_string())
                    .execute(connection)
                    .await
                    .map_err(unavailable)?;
                    Ok(swap(done.rows_affected()))
                })
            })
            .await
    }

    async fn release(&self, id: &KeyId, claim: Uuid) -> Result<Swap, StoreError> {
        let id = id.clone();
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    let done = sqlx::query(
                        "DELETE FROM keys WHERE caller = ? AND request = ? AND claim = ? \
                         AND kept_until IS NULL",
                    )
                    .bind(id.caller)
                    .bind(id.request)
                    .bind(claim.to_string())
                    .execute(connection)
                    .await
                    .map_err(unavailable)?;
                    Ok(swap(done.rows_affected()))
                })
            })
            .await
    }

    async fn unsettled(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(KeyId, KeyRecord)>, StoreError> {
        let found: Vec<(String, String, String)> = self
            .read(
                sqlx::query_as(
                    "SELECT caller, request, json FROM keys WHERE settle_after < ? \
                     ORDER BY settle_after LIMIT ?",
                )
                .bind(micros(now))
                .bind(limit)
                .fetch_all(&self.readers),
            )
            .await?;
        found
            .into_iter()
            .map(|(caller, request, json)| {
                let record = decode(&json, &request)?;
                Ok((KeyId { caller, request }, record))
            })
            .collect()
    }
}

/// Drops answers that have lapsed: all of this caller's, since they would
/// count against the quota, and a few of callers who never came back.
async fn collect_garbage(
    connection: &mut SqliteConnection,
    caller: &str,
    now: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM keys WHERE caller = ? AND kept_until < ?")
        .bind(caller)
        .bind(now)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "DELETE FROM keys WHERE (caller, request) IN \
         (SELECT caller, request FROM keys WHERE kept_until < ? LIMIT 8)",
    )
    .bind(now)
    .execute(connection)
    .await?;
    Ok(())
}

async fn find(
    connection: &mut SqliteConnection,
    id: &KeyId,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar("SELECT json FROM keys WHERE caller = ? AND request = ?")
        .bind(&id.caller)
        .bind(&id.request)
        .fetch_optional(connection)
        .await
}

async fn kept(connection: &mut SqliteConnection, caller: &str) -> Result<u32, sqlx::Error> {
    let kept: Option<u32> = sqlx::query_scalar("SELECT kept FROM kept_keys WHERE caller = ?")
        .bind(caller)
        .fetch_optional(connection)
        .await?;
    Ok(kept.unwrap_or(0))
}

async fn insert(
    connection: &mut SqliteConnection,
    id: &KeyId,
    record: &KeyRecord,
    json: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO keys (caller, request, claim, kept_until, settle_after, json) \
         VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(&id.caller)
    .bind(&id.request)
    .bind(record.claim.to_string())
    .bind(record.kept_until().map(micros))
    .bind(record.settle_after().map(micros))
    .bind(json)
    .execute(connection)
    .await?;
    Ok(())
}
