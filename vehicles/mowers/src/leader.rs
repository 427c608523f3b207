//! Which of several replicas does what only one may do: a row that its holder renews, and that
//! somebody else takes only once it has run out.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::records::{Records, RecordsError};

#[cfg(test)]
mod tests;

/// How long a holder keeps the part without renewing it.
pub const LEASE: SignedDuration = SignedDuration::from_secs(3);

/// Between two renewals.
pub const RENEW: Duration = Duration::from_secs(1);

/// Takes or renews the part `name` for `holder`; whether it has it now.
///
/// # Errors
/// [`RecordsError`]; who had the part has it still, since nobody else can take it either.
pub async fn hold(
    records: &Records,
    name: &str,
    holder: &str,
    now: Timestamp,
) -> Result<bool, RecordsError> {
    let until = now
        .as_millisecond()
        .saturating_add(i64::try_from(LEASE.as_millis()).unwrap_or(0));
    let held = sqlx::query(
        "INSERT INTO leaders (name, holder, until_ms) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
         WHERE leaders.holder = excluded.holder OR leaders.until_ms < $4",
    )
    .bind(name)
    .bind(holder)
    .bind(until)
    .bind(now.as_millisecond())
    .execute(records.pool())
    .await?;
    Ok(held.rows_affected() == 1)
}

/// Gives the part up.
///
/// # Errors
/// [`RecordsError`]; then it runs out.
pub async fn give_up(records: &Records, name: &str, holder: &str) -> Result<(), RecordsError> {
    sqlx::query("DELETE FROM leaders WHERE name = $1 AND holder = $2")
        .bind(name)
        .bind(holder)
        .execute(records.pool())
        .await?;
    Ok(())
}
