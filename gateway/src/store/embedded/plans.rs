//! Plans in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::sqlite::SqliteConnection;
use uuid::Uuid;

use super::{EmbeddedStore, unavailable};
use crate::plans::{Plan, PlanSummary};
use crate::store::{PLAN_RETENTION, PlanStore, StoreError, Swap, decode, encode, micros};

/// What a plan's columns hold.
struct Row {
    id: String,
    service: String,
    proposer: String,
    created_at: i64,
    revision: i64,
    open_until: Option<i64>,
    settle_after: Option<i64>,
    json: String,
    summary: String,
}

impl Row {
    fn of(plan: &Plan) -> Result<Self, StoreError> {
        let open_until = match plan.status().is_final() {
            true => None,
            false => Some(plan.deadline().map_or(i64::MAX, micros)),
        };
        Ok(Self {
            id: plan.id.to_string(),
            service: plan.service.clone(),
            proposer: plan.proposer.digest(),
            created_at: micros(plan.created_at),
            revision: revision(plan.revision)?,
            open_until,
            settle_after: plan.settle_after().map(micros),
            json: encode(plan)?,
            summary: encode(&PlanSummary::of(plan))?,
        })
    }

    async fn insert(self, connection: &mut SqliteConnection) -> Result<Swap, sqlx::Error> {
        let summary = sqlx::query(
            "INSERT INTO plan_summaries (id, service, created_at, json) VALUES (?, ?, ?, ?)",
        )
        .bind(self.id.clone())
        .bind(self.service.clone())
        .bind(self.created_at)
        .bind(self.summary);
        let done = sqlx::query(
            "INSERT INTO plans (id, service, proposer, created_at, revision, open_until, \
             settle_after, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        )
        .bind(self.id)
        .bind(self.service)
        .bind(self.proposer)
        .bind(self.created_at)
        .bind(self.revision)
        .bind(self.open_until)
        .bind(self.settle_after)
        .bind(self.json)
        .execute(&mut *connection)
        .await?;
        let swap = swap(done.rows_affected());
        if swap == Swap::Swapped {
            summary.execute(connection).await?;
        }
        Ok(swap)
    }

    async fn replace(
        self,
        expected: i64,
        connection: &mut SqliteConnection,
    ) -> Result<Swap, sqlx::Error> {
        let summary = sqlx::query("UPDATE plan_summaries SET json = ? WHERE id = ?")
            .bind(self.summary)
            .bind(self.id.clone());
        let done = sqlx::query(
            "UPDATE plans SET revision = ?, open_until = ?, settle_after = ?, json = ? \
             WHERE id = ? AND revision = ?",
        )
        .bind(self.revision)
        .bind(self.open_until)
        .bind(self.settle_after)
        .bind(self.json)
        .bind(self.id)
        .bind(expected)
        .execute(&mut *connection)
        .await?;
        let swap = swap(done.rows_affected());
        if swap == Swap::Swapped {
            summary.execute(connection).await?;
        }
        Ok(swap)
    }
}

#[async_trait]
impl PlanStore for EmbeddedStore {
    async fn insert(&self, plan: &Plan) -> Result<Swap, StoreError> {
        let row = Row::of(plan)?;
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    collect_garbage(connection, row.created_at)
                        .await
                        .map_err(unavailable)?;
                    row.insert(connection).await.map_err(unavailable)
                })
            })
            .await
    }

    async fn get(&self, id: Uuid) -> Result<Option<Plan>, StoreError> {
        let id = id.to_string();
        let found: Option<String> = self
            .read(
                sqlx::query_scalar("SELECT json FROM plans WHERE id = ?")
                    .bind(&id)
                    .fetch_optional(&self.readers),
            )
            .await?;
        found.map(|json| decode(&json, &id)).transpose()
    }

    async fn replace(&self, plan: &Plan, expected: u64) -> Result<Swap, StoreError> {
        let row = Row::of(plan)?;
        let expected = revision(expected)?;
        self.writer
            .write(move |connection| {
                Box::pin(
                    async move { row.replace(expected, connection).await.map_err(unavailable) },
                )
            })
            .await
    }

    async fn list(&self, service: &str, limit: u32) -> Result<Vec<PlanSummary>, StoreError> {
        let found: Vec<String> = self
            .read(
                sqlx::query_scalar(
                    "SELECT json FROM plan_summaries WHERE service = ? \
                     ORDER BY created_at DESC, id DESC LIMIT ?",
                )
                .bind(service)
                .bind(limit)
                .fetch_all(&self.readers),
            )
            .await?;
        found.iter().map(|json| decode(json, "plans")).collect()
    }

    async fn unsettled(&self, now: Timestamp, limit: u32) -> Result<Vec<Plan>, StoreError> {
        let found: Vec<String> = self
            .read(
                sqlx::query_scalar(
                    "SELECT json FROM plans WHERE settle_after < ? \
                     ORDER BY settle_after LIMIT ?",
                )
                .bind(micros(now))
                .bind(limit)
                .fetch_all(&self.readers),
            )
            .await?;
        found.iter().map(|json| decode(json, "plans")).collect()
    }

    async fn open_plans(
        &self,
        proposer: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError> {
        self.read(
            sqlx::query_scalar(
                "SELECT count(*) FROM (SELECT 1 FROM plans WHERE proposer = ? \
                 AND open_until >= ? LIMIT ?)",
            )
            .bind(proposer)
            .bind(micros(now))
            .bind(limit)
            .fetch_one(&self.readers),
        )
        .await
    }
}

/// Drops a few plans past their retention: enough to keep up, since a proposal
/// adds only one.
async fn collect_garbage(connection: &mut SqliteConnection, now: i64) -> Result<(), sqlx::Error> {
    let oldest = now.saturating_sub(i64::try_from(PLAN_RETENTION.as_micros()).unwrap_or(i64::MAX));
    sqlx::query(
        "DELETE FROM plans WHERE id IN (SELECT id FROM plans WHERE created_at < ? \
         AND settle_after IS NULL LIMIT 8)",
    )
    .bind(oldest)
    .execute(connection)
    .await?;
    Ok(())
}

fn revision(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Refused {
        detail: format!("revision `{number}` is out of range"),
    })
}

pub(super) fn swap(rows: u64) -> Swap {
    match rows {
        0 => Swap::Lost,
        _ => Swap::Swapped,
    }
}
