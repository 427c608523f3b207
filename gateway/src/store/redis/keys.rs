//! Idempotency keys in Redis: one hash per key (`claim`, `kept_until`, `json`)
//! and one index per caller, in the caller's slot.

use std::sync::LazyLock;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use redis::Script;
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

impl RedisStore {
    fn key_record(&self, id: &KeyId) -> String {
        self.key(
            &format!("caller:{}", id.caller),
            &format!(":key:{}", id.request),
        )
    }

    fn key_index(&self, caller: &str) -> String {
        self.key(&format!("caller:{caller}"), ":keys")
    }

    fn unsettled_keys(&self) -> String {
        self.key("keys", ":unsettled")
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
        self.note(id, record).await?;
        let (outcome, json): (String, String) = self
            .link
            .script(
                CLAIM
                    .key(self.key_record(id))
                    .key(self.key_index(&id.caller))
                    .arg(micros(now))
                    .arg(quota)
                    .arg(&id.request)
                    .arg(record.claim.to_string())
                    .arg(encode(record)?)
                    .arg(lifetime()),
            )
            .await?;
        if outcome == "fresh" {
            return Ok(Claim::Fresh);
        }
        self.drop_note(id, record.claim).await;
        match outcome.as_str() {
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
        self.note(id, record).await?;
        let kept_until = record
            .kept_until()
            .map_or_else(String::new, |last| micros(last).to_string());
        let written: i64 = self
            .link
            .script(
                REPLACE
                    .key(self.key_record(id))
                    .key(self.key_index(&id.caller))
                    .arg(claim.to_string())
                    .arg(&id.request)
                    .arg(record.claim.to_string())
                    .arg(kept_until)
                    .arg(encode(record)?)
                    .arg(lifetime()),
            )
            .await?;
        match swap(written) {
            Swap::Swapped if !record.is_open() || record.claim != claim => {
                self.drop_note(id, claim).await;
            }
            Swap::Lost if record.claim != claim => self.drop_note(id, record.claim).await,
            Swap::Swapped | Swap::Lost => {}
        }
        Ok(swap(written))
    }

    async fn release(&self, id: &KeyId, claim: Uuid) -> Result<Swap, StoreError> {
        let written: i64 = self
            .link
            .script(
                RELEASE
                    .key(self.key_record(id))
                    .key(self.key_index(&id.caller))
                    .arg(claim.to_string())
                    .arg(&id.request),
            )
            .await?;
        if swap(written) == Swap::Swapped {
            self.drop_note(id, claim).await;
        }
        Ok(swap(written))
    }

    async fn unsettled(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(KeyId, KeyRecord)>, StoreError> {
        let index = self.unsettled_keys();
        let hints = self.hints(&index, micros(now), limit).await?;
        let mut named = Vec::with_capacity(hints.len());
        let mut nowhere: Vec<Hint> = Vec::new();
        for hint in hints {
            match parse(&hint.member) {
                Some((id, claim)) => named.push((id, claim, hint)),
                None => nowhere.push(hint),
            }
        }
        let keys: Vec<String> = named.iter().map(|(id, ..)| self.key_record(id)).collect();
        let mut found = Vec::new();
        let records = self.records(&keys).await?;
        for (((id, claim, hint), json), key) in named.into_iter().zip(records).zip(&keys) {
            let record: Option<KeyRecord> = json.map(|json| decode(&json, key)).transpose()?;
            match record.filter(|record| record.claim == claim) {
                Some(record) => match record.settle_after() {
                    Some(lease) if micros(lease) < micros(now) => found.push((id, record)),
                    Some(_) => {}
                    None => nowhere.push(hint),
                },
                None => nowhere.push(hint),
            }
        }
        self.forget(&index, &nowhere).await?;
        Ok(found)
    }
}

impl RedisStore {
    /// Says where to look after the record's lease, before there is a record.
    async fn note(&self, id: &KeyId, record: &KeyRecord) -> Result<(), StoreError> {
        match record.settle_after() {
            Some(lease) => {
                self.hint(
                    &self.unsettled_keys(),
                    &member(id, record.claim),
                    micros(lease),
                )
                .await
            }
            None => Ok(()),
        }
    }

    /// A claim is never made twice, so its hint can be dropped at any time. One
    /// that stays is checked when it comes due.
    async fn drop_note(&self, id: &KeyId, claim: Uuid) {
        let mut pipe = redis::pipe();
        pipe.zrem(self.unsettled_keys(), member(id, claim)).ignore();
        let _: Result<(), StoreError> = self.link.pipe(&pipe).await;
    }
}

/// A hint names the claim too: the next claim of the same key has its own.
fn member(id: &KeyId, claim: Uuid) -> String {
    format!("{}/{}/{claim}", id.caller, id.request)
}

fn parse(member: &str) -> Option<(KeyId, Uuid)> {
    let mut parts = member.split('/');
    let caller = parts.next()?.to_owned();
    let request = parts.next()?.to_owned();
    let claim = parts.next()?.parse().ok()?;
    Some((KeyId { caller, request }, claim))
}

fn lifetime() -> String {
    RETENTION.saturating_add(SLACK).as_millis().to_string()
}
