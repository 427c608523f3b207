//! The tables. Records are JSON; the columns beside them are what steps compare
//! and what indexes need. Times are microseconds since the epoch.

use sqlx::sqlite::SqliteConnection;

use super::unavailable;
use crate::store::StoreError;

/// Raised when the tables change; kept in the file as `user_version`.
const VERSION: i64 = 2;

const TABLES: &str = "
    BEGIN IMMEDIATE;
    CREATE TABLE plans (
        id TEXT PRIMARY KEY,
        service TEXT NOT NULL,
        proposer TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        -- The last moment it counts as open; none once it has ended.
        open_until INTEGER,
        -- The end of an operation's lease; none while there is no operation.
        settle_after INTEGER,
        json TEXT NOT NULL
    ) STRICT;
    CREATE INDEX plans_age ON plans (created_at);
    CREATE INDEX plans_open ON plans (proposer, open_until) WHERE open_until IS NOT NULL;
    CREATE INDEX plans_unsettled ON plans (settle_after) WHERE settle_after IS NOT NULL;

    CREATE TABLE keys (
        caller TEXT NOT NULL,
        request TEXT NOT NULL,
        claim TEXT NOT NULL,
        -- The last moment its answer is kept; none while it is open.
        kept_until INTEGER,
        settle_after INTEGER,
        json TEXT NOT NULL,
        PRIMARY KEY (caller, request)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX keys_lapse ON keys (kept_until) WHERE kept_until IS NOT NULL;
    CREATE INDEX keys_of_caller_lapse ON keys (caller, kept_until) WHERE kept_until IS NOT NULL;
    -- How many keys each caller keeps: counting them at every claim would take
    -- longer with every key.
    CREATE TABLE kept_keys (
        caller TEXT PRIMARY KEY,
        kept INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER key_came AFTER INSERT ON keys BEGIN
        INSERT INTO kept_keys (caller, kept) VALUES (new.caller, 1)
            ON CONFLICT (caller) DO UPDATE SET kept = kept + 1;
    END;
    CREATE TRIGGER key_went AFTER DELETE ON keys BEGIN
        UPDATE kept_keys SET kept = kept - 1 WHERE caller = old.caller;
        DELETE FROM kept_keys WHERE caller = old.caller AND kept = 0;
    END;
    CREATE INDEX keys_unsettled ON keys (settle_after) WHERE settle_after IS NOT NULL;

    CREATE TABLE objects (
        type TEXT NOT NULL,
        id TEXT NOT NULL,
        owner TEXT NOT NULL,
        revision INTEGER NOT NULL,
        seq INTEGER NOT NULL UNIQUE,
        -- None is a tombstone; it stays, so that nothing older comes back.
        json TEXT,
        PRIMARY KEY (type, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE epoch (value TEXT NOT NULL) STRICT;
    INSERT INTO epoch (value) VALUES (lower(hex(randomblob(16))));
    CREATE TABLE heartbeats (
        owner TEXT PRIMARY KEY,
        checks TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE instances (
        name TEXT PRIMARY KEY,
        bundle TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    PRAGMA user_version = 1;
    COMMIT;
";

/// From version 1 to 2: what lists read of plans lies apart, since a plan with
/// its preview may be megabytes.
const SUMMARIES: &str = "
    BEGIN IMMEDIATE;
    CREATE TABLE plan_summaries (
        id TEXT PRIMARY KEY,
        service TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        json TEXT NOT NULL
    ) STRICT;
    INSERT INTO plan_summaries (id, service, created_at, json)
        SELECT id, service, created_at,
            json_set(json, '$.preview', json('null'), '$.fence', json('null'))
        FROM plans;
    DROP INDEX IF EXISTS plans_newest;
    CREATE INDEX plan_summaries_newest ON plan_summaries (service, created_at DESC);
    CREATE TRIGGER plan_went AFTER DELETE ON plans BEGIN
        DELETE FROM plan_summaries WHERE id = old.id;
    END;
    PRAGMA user_version = 2;
    COMMIT;
";

/// Makes the tables in a new file, brings an older one up to date, and refuses
/// a file of another version.
pub(super) async fn prepare(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let version: i64 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&mut *connection)
        .await
        .map_err(unavailable)?;
    let missing: &[&'static str] = match version {
        VERSION => &[],
        1 => &[SUMMARIES],
        0 => &[TABLES, SUMMARIES],
        other => {
            return Err(StoreError::Refused {
                detail: format!(
                    "the file's tables have version `{other}` and this program writes version \
                     {VERSION}; use the program that made the file, or another file"
                ),
            });
        }
    };
    for step in missing {
        sqlx::raw_sql(*step)
            .execute(&mut *connection)
            .await
            .map_err(unavailable)?;
    }
    Ok(())
}
