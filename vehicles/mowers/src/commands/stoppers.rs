//! Who stopped how often: a view of the records for those who manage the account.
//!
//! A stop is never refused for its number, so somebody who may only look can
//! hold up a whole fleet. This is where that shows.

use std::sync::Arc;

use axum::http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::record::{IssuerView, millis};
use super::store;
use crate::contract::{CommandKind, Issuer};
use crate::operations::Answer;
use crate::records::{Records, RecordsError};
use crate::service::Fleet;
use crate::service::call::Call;
use crate::service::problem::Problem;

#[cfg(test)]
mod tests;

/// How far back the view looks where the caller does not say.
const USUAL: SignedDuration = SignedDuration::from_hours(24);

/// How far back it looks at most.
const MOST: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The stops of one issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stops {
    /// Who, and for whom.
    pub issuer: Issuer,
    /// How many; a stop of many counts once for each of its mowers.
    pub stops: u64,
    /// How many different mowers.
    pub mowers: u64,
    /// The first one.
    pub first: Timestamp,
    /// The last one.
    pub last: Timestamp,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Page<'a> {
    since: String,
    items: Vec<Item<'a>>,
    more: bool,
}

#[derive(Debug, Serialize)]
struct Item<'a> {
    issued_by: IssuerView<'a>,
    on_behalf_of: Option<&'a str>,
    stops: u64,
    mowers: u64,
    first_at: String,
    last_at: String,
}

impl<'a> Item<'a> {
    fn new(stops: &'a Stops) -> Self {
        Self {
            issued_by: IssuerView::new(&stops.issuer),
            on_behalf_of: stops.issuer.on_behalf_of.as_deref(),
            stops: stops.stops,
            mowers: stops.mowers,
            first_at: millis(stops.first),
            last_at: millis(stops.last),
        }
    }
}

/// Who stopped mowers of the account, who did so last first.
///
/// # Errors
/// [`Problem::Invalid`] with every fault of the query.
pub async fn list(fleet: &Arc<Fleet>, call: &Call) -> Result<Answer, Problem> {
    let account = call.account()?;
    let since = since(call.query("since"), fleet.now())?;
    let limit = call.page()?.limit;
    let more = limit.saturating_add(1);
    let mut found = by_issuer(&fleet.records, &account, since, more).await?;
    let is_more = found.len() > limit;
    found.truncate(limit);
    let page = Page {
        since: millis(since),
        items: found.iter().map(Item::new).collect(),
        more: is_more,
    };
    Answer::json(StatusCode::OK, &page)
}

/// From when on stops are counted.
fn since(given: Option<&str>, now: Timestamp) -> Result<Timestamp, Problem> {
    let before = |span| now.saturating_sub(span).unwrap_or(now);
    let Some(given) = given else {
        return Ok(before(USUAL));
    };
    let fault = |fault: &str| Problem::Invalid(vec![format!("`since` {fault}")]);
    let since = given
        .parse::<Timestamp>()
        .map_err(|_| fault("must be a time such as 2026-05-01T10:00:00Z"))?;
    match since < before(MOST) {
        true => Err(fault("must be at most 30 days ago")),
        false => Ok(since),
    }
}

/// The stops of each issuer of an account since then.
///
/// # Errors
/// [`RecordsError`].
pub async fn by_issuer(
    records: &Records,
    account: &str,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Stops>, RecordsError> {
    // One issuer is always written in one way, so its text may be grouped by.
    let rows = sqlx::query(
        "SELECT issued_by, COUNT(*) AS stops, COUNT(DISTINCT mower_id) AS mowers,
                MIN(issued_ms) AS first_ms, MAX(issued_ms) AS last_ms
         FROM commands WHERE account_id = $1 AND issued_ms >= $2 AND kind = $3
         GROUP BY issued_by ORDER BY MAX(issued_ms) DESC, issued_by LIMIT $4",
    )
    .bind(account.to_owned())
    .bind(since.as_millisecond())
    .bind(CommandKind::EmergencyStop.as_str())
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(records.pool())
    .await?;
    rows.iter().map(read).collect()
}

fn read(row: &AnyRow) -> Result<Stops, RecordsError> {
    Ok(Stops {
        issuer: store::parse(row, "issued_by")?,
        stops: store::unsigned(row.try_get("stops")?)?,
        mowers: store::unsigned(row.try_get("mowers")?)?,
        first: store::time(row.try_get("first_ms")?)?,
        last: store::time(row.try_get("last_ms")?)?,
    })
}
