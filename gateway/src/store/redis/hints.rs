//! Indexes over records in other slots: sorted sets that say where to look. A
//! hint without its record is skipped; a record without its hint cannot be,
//! since the hint is written first.

use std::sync::LazyLock;

use redis::{Pipeline, Script};

use super::RedisStore;
use crate::store::StoreError;

/// Removes hints that have not been written anew since they were read.
static FORGET: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("forget.lua")));

/// One entry: where to look, and the score it was read with.
pub(super) struct Hint {
    pub(super) index: String,
    pub(super) member: String,
    pub(super) score: String,
}

impl RedisStore {
    /// The oldest entries of each of `indexes` with a score below `before`.
    pub(super) async fn hints(
        &self,
        indexes: &[String],
        before: i64,
        limit: u32,
    ) -> Result<Vec<Hint>, StoreError> {
        let mut pipe = Pipeline::with_capacity(indexes.len());
        for index in indexes {
            pipe.cmd("ZRANGE")
                .arg(index)
                .arg("-inf")
                .arg(format!("({before}"))
                .arg(("BYSCORE", "LIMIT", 0, limit, "WITHSCORES"));
        }
        let flat: Vec<Vec<String>> = self.link.pipe(&pipe).await?;
        let each = indexes.iter().zip(flat);
        Ok(each.flat_map(|(index, flat)| pairs(index, flat)).collect())
    }

    /// Notes that `member` should be looked at after `score`.
    pub(super) async fn hint(
        &self,
        index: &str,
        member: &str,
        score: i64,
    ) -> Result<(), StoreError> {
        let mut pipe = redis::pipe();
        pipe.zadd(index, member, score).ignore();
        self.link.pipe(&pipe).await
    }

    /// Removes hints that led nowhere, unless somebody has renewed them.
    pub(super) async fn forget(&self, hints: &[Hint]) -> Result<(), StoreError> {
        for of_one in hints.chunk_by(|one, next| one.index == next.index) {
            let Some(first) = of_one.first() else {
                continue;
            };
            let mut script = FORGET.key(&first.index);
            for hint in of_one {
                script.arg(&hint.member).arg(&hint.score);
            }
            let () = self.link.script(&script).await?;
        }
        Ok(())
    }

    /// The JSON of the records at `keys`, in their order.
    pub(super) async fn records(&self, keys: &[String]) -> Result<Vec<Option<String>>, StoreError> {
        self.parts(keys, "json").await
    }

    /// One field of each record at `keys`, in their order.
    pub(super) async fn parts(
        &self,
        keys: &[String],
        field: &str,
    ) -> Result<Vec<Option<String>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipe = Pipeline::with_capacity(keys.len());
        for key in keys {
            pipe.hget(key, field);
        }
        self.link.pipe(&pipe).await
    }
}

impl Hint {
    /// The score as it was written: a whole number. One that is none comes
    /// first, to be looked at and forgotten.
    pub(super) fn at(&self) -> i64 {
        self.score.parse().unwrap_or(i64::MIN)
    }
}

fn pairs(index: &str, flat: Vec<String>) -> Vec<Hint> {
    let mut found = Vec::with_capacity(flat.len() / 2);
    let mut rest = flat.into_iter();
    while let (Some(member), Some(score)) = (rest.next(), rest.next()) {
        found.push(Hint {
            index: index.to_owned(),
            member,
            score,
        });
    }
    found
}

#[cfg(test)]
mod tests;
