//! Plans in Redis: one hash per plan (`revision`, `json`, and `summary` for
//! lists), three indexes.

use std::sync::LazyLock;

use async_trait::async_trait;
use jiff::Timestamp;
use redis::Script;
use uuid::Uuid;

use super::RedisStore;
use super::hints::Hint;
use crate::plans::{Plan, PlanSummary};
use crate::store::{PLAN_RETENTION, PlanStore, StoreError, Swap, decode, encode, micros};

static INSERT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("plan_insert.lua")));
static REPLACE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("plan_replace.lua")));

impl RedisStore {
    fn plan(&self, id: impl std::fmt::Display) -> String {
        self.key(&format!("plan:{id}"), "")
    }

    /// All plans of a service by the time of their proposal.
    fn newest_index(&self, service: &str) -> String {
        self.key(&format!("plans:{service}"), ":newest")
    }

    /// A proposer's plans by the last moment they are open.
    fn open_index(&self, proposer: &str) -> String {
        self.key(&format!("proposer:{proposer}"), ":open")
    }

    /// Plans with an operation by the end of its lease.
    fn unsettled_plans(&self) -> String {
        self.key("plans", ":unsettled")
    }

    async fn note_open(&self, plan: &Plan) -> Result<(), StoreError> {
        let index = self.open_index(&plan.proposer.digest());
        let mut pipe = redis::pipe();
        match plan.status().is_final() {
            true => pipe.zrem(&index, plan.id.to_string()).ignore(),
            false => pipe
                .zadd(&index, plan.id.to_string(), open_until(plan))
                .ignore(),
        };
        pipe.pexpire(&index, PLAN_RETENTION.as_millis() as i64)
            .ignore();
        self.link.pipe(&pipe).await
    }

    /// Says where to look after an operation's lease.
    async fn note_lease(&self, plan: &Plan) -> Result<(), StoreError> {
        match plan.settle_after() {
            Some(lease) => {
                self.hint(&self.unsettled_plans(), &plan.id.to_string(), micros(lease))
                    .await
            }
            None => Ok(()),
        }
    }

    async fn note_newest(&self, plan: &Plan) -> Result<(), StoreError> {
        let index = self.newest_index(&plan.service);
        let oldest = plan
            .created_at
            .checked_sub(PLAN_RETENTION)
            .unwrap_or(Timestamp::MIN);
        let mut pipe = redis::pipe();
        pipe.zadd(&index, plan.id.to_string(), micros(plan.created_at))
            .ignore();
        pipe.zrembyscore(&index, "-inf", format!("({}", micros(oldest)))
            .ignore();
        self.link.pipe(&pipe).await
    }

    /// The plans at the end of hints, in their order, without those that lead
    /// nowhere.
    async fn plans(&self, ids: &[String]) -> Result<Vec<Option<Plan>>, StoreError> {
        let keys: Vec<String> = ids.iter().map(|id| self.plan(id)).collect();
        let found = self.records(&keys).await?;
        found
            .into_iter()
            .zip(&keys)
            .map(|(json, key)| json.map(|json| decode(&json, key)).transpose())
            .collect()
    }

    /// The summaries at the end of hints, in their order, without those that
    /// lead nowhere.
    async fn summaries(&self, ids: &[String]) -> Result<Vec<PlanSummary>, StoreError> {
        let keys: Vec<String> = ids.iter().map(|id| self.plan(id)).collect();
        let mut found = self.parts(&keys, "summary").await?;
        // A plan of a gateway that wrote none: read whole until it has ended.
        for (summary, key) in found.iter_mut().zip(&keys) {
            if summary.is_none() {
                let whole = self.records(std::slice::from_ref(key)).await?;
                *summary = whole.into_iter().next().flatten();
            }
        }
        let found = found.into_iter().zip(&keys);
        found
            .filter_map(|(json, key)| Some(decode(&json?, key)))
            .collect()
    }
}

#[async_trait]
impl PlanStore for RedisStore {
    async fn insert(&self, plan: &Plan) -> Result<Swap, StoreError> {
        self.note_newest(plan).await?;
        self.note_open(plan).await?;
        self.note_lease(plan).await?;
        let written: i64 = self
            .link
            .script(
                INSERT
                    .key(self.plan(plan.id))
                    .arg(plan.revision)
                    .arg(encode(plan)?)
                    .arg(lifetime(plan))
                    .arg(encode(&PlanSummary::of(plan))?),
            )
            .await?;
        Ok(swap(written))
    }

    async fn get(&self, id: Uuid) -> Result<Option<Plan>, StoreError> {
        let found = self.plans(&[id.to_string()]).await?;
        Ok(found.into_iter().flatten().next())
    }

    async fn replace(&self, plan: &Plan, expected: u64) -> Result<Swap, StoreError> {
        self.note_lease(plan).await?;
        let written: i64 = self
            .link
            .script(
                REPLACE
                    .key(self.plan(plan.id))
                    .arg(expected)
                    .arg(plan.revision)
                    .arg(encode(plan)?)
                    .arg(lifetime(plan))
                    .arg(encode(&PlanSummary::of(plan))?),
            )
            .await?;
        if swap(written) == Swap::Swapped {
            // The step is taken: an index that lags is checked when it is read.
            let _ = self.note_open(plan).await;
        }
        Ok(swap(written))
    }

    async fn list(&self, service: &str, limit: u32) -> Result<Vec<PlanSummary>, StoreError> {
        let mut pipe = redis::pipe();
        pipe.cmd("ZRANGE")
            .arg(self.newest_index(service))
            .arg(("+inf", "-inf", "BYSCORE", "REV", "LIMIT", 0, limit));
        let (ids,): (Vec<String>,) = self.link.pipe(&pipe).await?;
        self.summaries(&ids).await
    }

    async fn unsettled(&self, now: Timestamp, limit: u32) -> Result<Vec<Plan>, StoreError> {
        let hints = self
            .hints(&[self.unsettled_plans()], micros(now), limit)
            .await?;
        let ids: Vec<String> = hints.iter().map(|hint| hint.member.clone()).collect();
        let mut settled: Vec<Hint> = Vec::new();
        let mut found = Vec::new();
        for (hint, plan) in hints.into_iter().zip(self.plans(&ids).await?) {
            match plan.map(|plan| (plan.settle_after(), plan)) {
                Some((Some(lease), plan)) if micros(lease) < micros(now) => found.push(plan),
                // Taken up under a longer lease: the hint comes due again.
                Some((Some(_), _)) => {}
                Some((None, _)) | None => settled.push(hint),
            }
        }
        self.forget(&settled).await?;
        Ok(found)
    }

    async fn open_plans(
        &self,
        proposer: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError> {
        let mut pipe = redis::pipe();
        pipe.cmd("ZRANGE")
            .arg(self.open_index(proposer))
            .arg(micros(now))
            .arg(("+inf", "BYSCORE", "LIMIT", 0, limit));
        let (ids,): (Vec<String>,) = self.link.pipe(&pipe).await?;
        let plans = self.summaries(&ids).await?;
        let open = plans.iter().filter(|plan| plan.is_open(now));
        Ok(u32::try_from(open.count()).unwrap_or(u32::MAX))
    }
}

/// The score of the last moment a plan is open.
fn open_until(plan: &Plan) -> String {
    plan.deadline().map_or_else(
        || "+inf".to_owned(),
        |deadline| micros(deadline).to_string(),
    )
}

/// How long Redis keeps it: for ever while it waits to be settled.
fn lifetime(plan: &Plan) -> String {
    match plan.settle_after() {
        Some(_) => String::new(),
        None => PLAN_RETENTION.as_millis().to_string(),
    }
}

pub(super) fn swap(written: i64) -> Swap {
    match written {
        0 => Swap::Lost,
        _ => Swap::Swapped,
    }
}
