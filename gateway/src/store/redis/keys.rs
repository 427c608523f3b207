//! Idempotency keys in Redis: one hash per key (`claim`, `kept_until`, `json`),
//! one index per caller, and one of what is unsettled. The three of a caller lie
//! in one slot, so that a step is one script and one round trip; callers are
//! spread over a few slots, and a settler looks into each of them.

use std::sync::LazyLock;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use redis::{Script, ScriptInvocation};
use uuid::Uuid;

use super::RedisStore;
use super::hints::Hint;
use super::plans::swap;
use crate::idempotency::{KeyId, KeyRecord, RETENTION};
use crate::store::{Claim, IdempotencyStore, StoreError, Swap, decode, encode, micros};

static CLAIM: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("key_claim.lua")));
static REPLACE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("key_replace.lua")));
static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("key_release.lua")));

/// How much longer than an answer's retention Redis keeps it.
const SLACK: SignedDuration = SignedDuration::from_hours(24);

/// Over how many slots callers are spread.
const BUCKETS: u8 = 16;

impl RedisStore {
    fn key_record(&self, id: &KeyId) -> String {
        self.key(
            &bucket(&id.caller),
            &format!(":{}:key:{}", id.caller, id.request),
        )
    }

    fn key_index(&self, caller: &str) -> String {
        self.key(&bucket(caller), &format!(":{caller}:keys"))
    }

    /// Open keys of all callers of a bucket, by the end of their leases.
    fn unsettled_keys(&self, bucket: &str) -> String {
        self.key(bucket, ":unsettled")
    }

    /// A script over the three places of a key.
    fn step<'a>(&self, script: &'a Script, id: &KeyId) -> ScriptInvocation<'a> {
        let mut step = script.prepare_invoke();
        step.key(self.key_record(id))
            .key(self.key_index(&id.caller))
            .key(self.unsettled_keys(&bucket(&id.caller)));
        step
    }
}

#[async_trait]
impl IdempotencyStore for RedisStore {
    async fn claim(
        &self,
        id: &KeyId,
        record: &KeyRecord,
        now: Timestamp,
        quota: u32,
    ) -> Result<Claim, StoreError> {
        let mut step = self.step(&CLAIM, id);
        step.arg(micros(now))
            .arg(quota)
            .arg(&id.request)
            .arg(record.claim.to_string())
            .arg(encode(record)?)
            .arg(lifetime())
            .arg(lease(record))
            .arg(member(id));
        let (outcome, json): (String, String) = self.link.script(&step).await?;
        match outcome.as_str() {
            "fresh" => Ok(Claim::Fresh),
            "existing" => Ok(Claim::Existing(Box::new(decode(
                &json,
                &self.key_record(id),
            )?))),
            _ => Ok(Claim::OverQuota),
        }
    }

    async fn get(&self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let key = self.key_record(id);
        let found = self.records(std::slice::from_ref(&key)).await?;
        let json = found.into_iter().flatten().next();
        json.map(|json| decode(&json, &key)).transpose()
    }

    async fn replace(
        &self,
        id: &KeyId,
        claim: Uuid,
        record: &KeyRecord,
    ) -> Result<Swap, StoreError> {
        let kept_until = record
            .kept_until()
            .map_or_else(String::new, |last| micros(last).to_string());
        let mut step = self.step(&REPLACE, id);
        step.arg(claim.to_string())
            .arg(&id.request)
            .arg(record.claim.to_string())
            .arg(kept_until)
            .arg(encode(record)?)
            .arg(lifetime())
            .arg(lease(record))
            .arg(member(id));
        Ok(swap(self.link.script(&step).await?))
    }

    async fn release(&self, id: &KeyId, claim: Uuid) -> Result<Swap, StoreError> {
        let mut step = self.step(&RELEASE, id);
        step.arg(claim.to_string()).arg(&id.request).arg(member(id));
        Ok(swap(self.link.script(&step).await?))
    }

    async fn unsettled(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(KeyId, KeyRecord)>, StoreError> {
        let indexes: Vec<String> = (0..BUCKETS)
            .map(|number| self.unsettled_keys(&tag(number)))
            .collect();
        let mut due = self.hints(&indexes, micros(now), limit).await?;
        due.sort_by_key(|hint| hint.at());
        due.truncate(limit as usize);
        let mut named = Vec::with_capacity(due.len());
        let mut nowhere: Vec<Hint> = Vec::new();
        for hint in due {
            match parse(&hint.member) {
                Some(id) => named.push((id, hint)),
                None => nowhere.push(hint),
            }
        }
        let keys: Vec<String> = named.iter().map(|(id, _)| self.key_record(id)).collect();
        let mut found = Vec::new();
        let records = self.records(&keys).await?;
        for (((id, hint), json), key) in named.into_iter().zip(records).zip(&keys) {
            let record: Option<KeyRecord> = json.map(|json| decode(&json, key)).transpose()?;
            match record.map(|record| (record.settle_after(), record)) {
                Some((Some(lease), record)) if micros(lease) < micros(now) => {
                    found.push((id, record));
                }
                // Taken up since under a longer lease.
                Some((Some(_), _)) => {}
                Some((None, _)) | None => nowhere.push(hint),
            }
        }
        self.forget(&nowhere).await?;
        Ok(found)
    }
}

/// The slot tag of a caller.
fn bucket(caller: &str) -> String {
    let sum = caller.bytes().fold(0, u8::wrapping_add);
    tag(sum % BUCKETS)
}

fn tag(bucket: u8) -> String {
    format!("keys:{bucket}")
}

/// A key's name among what is unsettled.
fn member(id: &KeyId) -> String {
    format!("{}/{}", id.caller, id.request)
}

fn parse(member: &str) -> Option<KeyId> {
    let (caller, request) = member.split_once('/')?;
    Some(KeyId {
        caller: caller.to_owned(),
        request: request.to_owned(),
    })
}

/// The end of the lease of an open record; nothing once it is answered.
fn lease(record: &KeyRecord) -> String {
    record
        .settle_after()
        .map_or_else(String::new, |until| micros(until).to_string())
}

fn lifetime() -> String {
    RETENTION.saturating_add(SLACK).as_millis().to_string()
}
