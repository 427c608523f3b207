//! What was asked of the swarm, durable before it happens and never done twice.
//!
//! A started operation that nobody finishes is settled later: by the swarm's own list of missions
//! it ever accepted. An operation never seen is tombstoned when somebody asks for it, so that its
//! packet is refused however late it comes.

use std::sync::Arc;

use jiff::Timestamp;
use sqlx::Row as _;
use uuid::Uuid;

use crate::contract::Mission;
use crate::database::{Database, DatabaseError};
use crate::epoch::Stops;

mod running;
mod standing;

#[cfg(test)]
mod tests;

pub use running::Running;
pub use standing::{Answer, Effect, Record, Standing};

use running::AllRunning;
use standing::{id as read_id, mission, record, signed, text, timestamp, unsigned};

/// How many missions are kept.
pub const KEEP_MISSIONS: u32 = 1000;

/// How many operations are kept. A grant lives two minutes, so the packet of an operation this
/// far back is refused by its grant.
const KEEP_OPERATIONS: u32 = 100_000;

/// What an attempt to begin came to.
#[derive(Debug)]
pub enum Begun {
    /// It is durable, and this caller alone goes on.
    Fresh(Running),
    /// It was there before.
    Existing(Record),
}

/// How a stop was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopAnswered {
    /// Its operation.
    pub operation: Uuid,
    /// Whether it stopped the swarm.
    pub effect: Effect,
    /// How it was answered.
    pub answer: Answer,
    /// When.
    pub at: Timestamp,
}

/// What a life of the service brings along.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// When it begins.
    pub now: Timestamp,
    /// Who it is to the swarm, if no life before it said so.
    pub writer: Uuid,
}

/// What the last life of the service left behind.
#[derive(Debug)]
pub struct Legacy {
    /// The stops so far.
    pub stops: Stops,
    /// How often the service was started, this time included; the claim's epoch on the link.
    pub starts: u64,
    /// The last life ended in order.
    pub clean: bool,
    /// The missions, oldest first.
    pub missions: Vec<Mission>,
    /// Missions whose start was begun and never finished.
    pub unsettled: Vec<Mission>,
    /// Who this service is to the swarm: one id for as long as the file lives.
    pub writer: Uuid,
}

/// The operations, missions and stops on record.
#[derive(Debug)]
pub struct Operations {
    database: Database,
    running: Arc<AllRunning>,
}

impl Operations {
    /// Reads what is left from before, and notes that a life begins.
    ///
    /// SAFETY-STOP: a life that broke off may have stopped the swarm without having recorded it.
    /// So the stop epoch leaps past every number that life can have reached, and motion asked
    /// before now is too old.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn open(
        database: Database,
        swarm: &str,
        beginning: Beginning,
    ) -> Result<(Self, Legacy), DatabaseError> {
        let mut transaction = database.pool().begin().await?;
        sqlx::query(
            "INSERT INTO swarm (id, name, starts, stop_epoch, clean) VALUES (1, ?, 0, 0, 1)
             ON CONFLICT (id) DO NOTHING",
        )
        .bind(swarm)
        .execute(&mut *transaction)
        .await?;
        let row = sqlx::query("SELECT * FROM swarm")
            .fetch_one(&mut *transaction)
            .await?;
        let found: String = row.try_get("name")?;
        if found != swarm {
            return Err(DatabaseError::OtherSwarm {
                found,
                expected: swarm.to_owned(),
            });
        }
        let starts = unsigned(row.try_get("starts")?)?.saturating_add(1);
        let recorded = Stops {
            epoch: unsigned(row.try_get("stop_epoch")?)?,
            last: row
                .try_get::<Option<i64>, _>("last_stop_ms")?
                .map(timestamp)
                .transpose()?,
        };
        let clean = row.try_get::<i64, _>("clean")? == 1;
        let stops = if clean {
            recorded
        } else {
            recorded.leap(beginning.now)
        };
        let writer = match row.try_get::<Option<String>, _>("writer")? {
            Some(writer) => read_id(&writer)?,
            None => beginning.writer,
        };
        sqlx::query(
            "UPDATE swarm SET starts = ?, clean = 0, writer = ?, stop_epoch = ?, last_stop_ms = ?",
        )
        .bind(signed(starts))
        .bind(writer.to_string())
        .bind(signed(stops.epoch))
        .bind(stops.last.map(Timestamp::as_millisecond))
        .execute(&mut *transaction)
        .await?;
        let missions: Vec<String> =
            sqlx::query_scalar("SELECT mission FROM missions ORDER BY created_ms, id")
                .fetch_all(&mut *transaction)
                .await?;
        let unsettled: Vec<String> = sqlx::query_scalar(
            "SELECT body FROM operations WHERE state = 'started' ORDER BY begun_ms",
        )
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let legacy = Legacy {
            stops,
            starts,
            clean,
            missions: missions
                .iter()
                .map(|text| mission(text))
                .collect::<Result<_, _>>()?,
            unsettled: unsettled
                .iter()
                .map(|text| mission(text))
                .collect::<Result<_, _>>()?,
            writer,
        };
        let running = Arc::new(AllRunning::default());
        Ok((Self { database, running }, legacy))
    }

    /// The operation on record under this id.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn find(&self, id: Uuid) -> Result<Option<Record>, DatabaseError> {
        // Whoever finishes writes first and leaves `running` after: so "started and not running"
        // has to be read twice before it is believed.
        let first = self.read(id).await?;
        match first {
            Some(record) if record.standing == Standing::Unsettled => {
                if self.running.contains(id) {
                    let standing = Standing::Running;
                    return Ok(Some(Record { standing, ..record }));
                }
                self.read(id).await
            }
            other => Ok(other),
        }
    }

    /// Writes down that `id` begins, with the answer it will have when it succeeds: one statement
    /// that only the first caller passes, durable when it returns.
    ///
    /// # Errors
    /// [`DatabaseError`]; then the operation may be on record all the same, and nothing was sent.
    pub async fn begin(
        &self,
        id: Uuid,
        digest: &str,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<Begun, DatabaseError> {
        let Some(running) = self.running.run(id) else {
            let standing = Standing::Running;
            let digest = None;
            return Ok(Begun::Existing(Record { digest, standing }));
        };
        let inserted = sqlx::query(
            "INSERT INTO operations
                 (id, state, effect, kind, digest, status, body, location, begun_ms)
             VALUES (?, 'started', 'maybe', 'start', ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        )
        .bind(id.to_string())
        .bind(digest)
        .bind(i64::from(answer.status))
        .bind(&answer.body)
        .bind(&answer.location)
        .bind(now.as_millisecond())
        .execute(self.database.pool())
        .await?;
        if inserted.rows_affected() == 1 {
            return Ok(Begun::Fresh(running));
        }
        drop(running);
        let existing = self.find(id).await?;
        existing.map(Begun::Existing).ok_or_else(|| {
            DatabaseError::Corrupt(format!("operation `{id}` is there and cannot be read"))
        })
    }

    /// Writes down that the swarm took the operation, and its mission.
    ///
    /// # Errors
    /// [`DatabaseError`]; then it stays begun and is settled later.
    pub async fn finish_done(
        &self,
        mission: &Mission,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        let mut transaction = self.database.pool().begin().await?;
        sqlx::query(
            "UPDATE operations SET state = 'done', effect = 'done', ended_ms = ?
             WHERE id = ? AND state = 'started'",
        )
        .bind(now.as_millisecond())
        .bind(mission.id.to_string())
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO missions (id, mission, created_ms) VALUES (?, ?, ?)
             ON CONFLICT (id) DO NOTHING",
        )
        .bind(mission.id.to_string())
        .bind(text(mission)?)
        .bind(mission.created_at_utc.as_millisecond())
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "DELETE FROM missions WHERE id NOT IN
                 (SELECT id FROM missions ORDER BY created_ms DESC, id DESC LIMIT ?)",
        )
        .bind(i64::from(KEEP_MISSIONS))
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "DELETE FROM operations WHERE state <> 'started' AND begun_ms <
                 (SELECT begun_ms FROM operations ORDER BY begun_ms DESC LIMIT 1 OFFSET ?)",
        )
        .bind(i64::from(KEEP_OPERATIONS))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Writes down that a begun operation did not happen and never will.
    ///
    /// # Errors
    /// [`DatabaseError`]; then it stays begun and is settled later.
    pub async fn finish_refused(
        &self,
        id: Uuid,
        answer: Option<&Answer>,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        sqlx::query(
            "UPDATE operations
             SET state = 'tombstoned', effect = 'none', status = ?, body = ?, location = NULL,
                 ended_ms = ?
             WHERE id = ? AND state = 'started'",
        )
        .bind(answer.map(|answer| i64::from(answer.status)))
        .bind(answer.map(|answer| &answer.body))
        .bind(now.as_millisecond())
        .bind(id.to_string())
        .execute(self.database.pool())
        .await?;
        Ok(())
    }

    /// Where `id` stands; an operation never seen is refused for ever from now on, in one step
    /// with finding that out.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn settle(&self, id: Uuid, now: Timestamp) -> Result<Standing, DatabaseError> {
        // A start that is about to begin is running already: it passes or it is tombstoned, by
        // whichever statement comes first.
        sqlx::query(
            "INSERT INTO operations (id, state, effect, kind, begun_ms, ended_ms)
             VALUES (?, 'tombstoned', 'none', 'unseen', ?, ?) ON CONFLICT (id) DO NOTHING",
        )
        .bind(id.to_string())
        .bind(now.as_millisecond())
        .bind(now.as_millisecond())
        .execute(self.database.pool())
        .await?;
        let record = self.find(id).await?;
        record.map(|record| record.standing).ok_or_else(|| {
            DatabaseError::Corrupt(format!("operation `{id}` is there and cannot be read"))
        })
    }

    /// Writes down the stops so far, how missions ended, and how stops were answered.
    ///
    /// # Errors
    /// [`DatabaseError`]; then nothing of it is written.
    pub async fn record(
        &self,
        stops: Stops,
        ended: &[Mission],
        answered: &[StopAnswered],
    ) -> Result<(), DatabaseError> {
        let mut transaction = self.database.pool().begin().await?;
        sqlx::query("UPDATE swarm SET stop_epoch = ?, last_stop_ms = ?")
            .bind(signed(stops.epoch))
            .bind(stops.last.map(Timestamp::as_millisecond))
            .execute(&mut *transaction)
            .await?;
        for mission in ended {
            sqlx::query("UPDATE missions SET mission = ? WHERE id = ?")
                .bind(text(mission)?)
                .bind(mission.id.to_string())
                .execute(&mut *transaction)
                .await?;
        }
        for stop in answered {
            // A stop is never refused by its id: one tombstoned before it came is put right.
            sqlx::query(
                "INSERT INTO operations
                     (id, state, effect, kind, status, body, begun_ms, ended_ms)
                 VALUES (?, 'done', ?, 'stop', ?, ?, ?, ?)
                 ON CONFLICT (id) DO UPDATE
                 SET state = 'done', effect = excluded.effect, kind = 'stop',
                     status = excluded.status, body = excluded.body
                 WHERE kind IN ('unseen', 'stop')",
            )
            .bind(stop.operation.to_string())
            .bind(stop.effect.as_str())
            .bind(i64::from(stop.answer.status))
            .bind(&stop.answer.body)
            .bind(stop.at.as_millisecond())
            .bind(stop.at.as_millisecond())
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Waits until this process is at no operation any more.
    pub async fn all_ended(&self) {
        self.running.all_ended().await;
    }

    /// Notes whether this life ends in order, and closes the file.
    ///
    /// # Errors
    /// [`DatabaseError`]; then the next life takes this one for broken off.
    pub async fn close(&self, clean: bool) -> Result<(), DatabaseError> {
        let noted = sqlx::query("UPDATE swarm SET clean = ?")
            .bind(i64::from(clean))
            .execute(self.database.pool())
            .await;
        self.database.close().await;
        noted?;
        Ok(())
    }

    async fn read(&self, id: Uuid) -> Result<Option<Record>, DatabaseError> {
        let row = sqlx::query(
            "SELECT state, effect, digest, status, body, location FROM operations WHERE id = ?",
        )
        .bind(id.to_string())
        .fetch_optional(self.database.pool())
        .await?;
        row.as_ref().map(record).transpose()
    }
}
