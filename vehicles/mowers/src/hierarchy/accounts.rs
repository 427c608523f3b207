//! Accounts and their default sites.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use sqlx::AnyConnection;
use uuid::Uuid;

use super::bodies::NewAccount;
use super::change::{Ask, Change, Unbegun};
use super::model::Node;
use super::reply::Reply;
use super::{events, objects, rows};
use crate::bus::Published;
use crate::operations::Answer;
use crate::records::RecordsError;
use crate::service::Fleet;
use crate::service::problem::Problem;

/// The time zone of an account that nobody told of.
const UNKNOWN_ZONE: &str = "UTC";

/// How long the bus has to confirm that an account is asked for.
const CONFIRM: Duration = Duration::from_secs(2);

/// How long an account that was asked for is waited for.
pub(super) const MADE_WITHIN: Duration = Duration::from_secs(10);

/// Between two looks for it.
const LOOK: Duration = Duration::from_millis(50);

/// The name of a default site.
const DEFAULT_NAME: &str = "Default";

/// Asks for an account on the bus, as whoever keeps the people's accounts does, and waits until a
/// replica has made it or brought it up to date, for so long. What stands already is asked of
/// nobody.
///
/// # Errors
/// [`Problem::BusUnavailable`]: nothing was asked; [`Problem::AccountPending`]: it is not made yet.
pub(super) async fn ask(
    fleet: &Fleet,
    account: &NewAccount,
    patience: Duration,
) -> Result<Answer, Problem> {
    if let Some(answer) = answered(fleet, account).await? {
        return Ok(answer);
    }
    let asked = events::of_account(account, fleet.now())?;
    let pending = match fleet.bus.publish(&asked, CONFIRM).await {
        Published::Refused(why) => {
            let why = format!("nothing was made: the bus did not take the event: {why}");
            return Err(Problem::BusUnavailable(why));
        }
        Published::Stored { .. } => {
            "its event is on the bus, and is tried again until the records and the gateway's \
             registry take the account"
        }
        Published::Unconfirmed(_) => {
            "nobody confirmed its event, so it may be made later or never; ask again"
        }
    };
    let made = async {
        loop {
            tokio::time::sleep(LOOK).await;
            match answered(fleet, account).await {
                Ok(Some(answer)) => return answer,
                Ok(None) => {}
                Err(problem) => tracing::debug!("whether the account stands: {problem}"),
            }
        }
    };
    tokio::time::timeout(patience, made)
        .await
        .map_err(|_| Problem::AccountPending(pending))
}

/// The answer for an account that stands as it is wanted.
async fn answered(fleet: &Fleet, account: &NewAccount) -> Result<Option<Answer>, Problem> {
    if !stands(fleet, account).await? {
        return Ok(None);
    }
    let mut records = fleet.records.pool().acquire().await?;
    let reply = Reply::Account(account.id.clone());
    reply.answer(&mut records).await.map(Some)
}

/// Makes the account with its default site, or brings name, features and time zone up to date.
/// What stands already changes nothing, so it may be repeated.
///
/// # Errors
/// A [`Problem`]; nothing half applied.
pub(super) async fn ensure(fleet: &Arc<Fleet>, account: NewAccount) -> Result<Answer, Problem> {
    if stands(fleet, &account).await? {
        return Ok(Answer::empty());
    }
    let site = Uuid::now_v7();
    let ask = Ask {
        operation: None,
        account: account.id.clone(),
        created: vec![Node::Account(account.id.clone()), Node::Site(site)],
        make_account: true,
    };
    let mut change = match Change::begin(fleet, ask).await {
        Ok(change) => change,
        Err(Unbegun::Repeated(answer)) => return Ok(answer),
        Err(Unbegun::Problem(problem)) => return Err(problem),
    };
    let outcome = update(&mut change, &account, site).await;
    change.conclude(outcome).await
}

async fn stands(fleet: &Fleet, account: &NewAccount) -> Result<bool, Problem> {
    let mut records = fleet.records.pool().acquire().await?;
    let Some(found) = rows::account(&mut records, &account.id).await? else {
        return Ok(false);
    };
    let site = rows::default_site(&mut records, &account.id).await?;
    Ok(site.is_some()
        && found.name == account.name
        && found.features == account.features
        && found.time_zone == account.time_zone)
}

async fn update(change: &mut Change, account: &NewAccount, site: Uuid) -> Result<Reply, Problem> {
    let features = serde_json::to_string(&account.features).map_err(|_| Problem::Internal)?;
    sqlx::query("UPDATE accounts SET name = $1, features = $2, time_zone = $3 WHERE id = $4")
        .bind(account.name.as_str())
        .bind(features)
        .bind(account.time_zone.as_str())
        .bind(account.id.as_str())
        .execute(&mut *change.records())
        .await?;
    change.touch(Node::Account(account.id.clone()));
    default_site(change, site).await?;
    Ok(Reply::Account(account.id.clone()))
}

/// Suspends the account that changes, or lets it go on.
pub(super) async fn suspend(change: &mut Change, suspended: bool) -> Result<Reply, Problem> {
    let account = change.account().to_owned();
    sqlx::query("UPDATE accounts SET suspended = $1 WHERE id = $2")
        .bind(i64::from(suspended))
        .bind(account.as_str())
        .execute(&mut *change.records())
        .await?;
    change.touch(Node::Account(account.clone()));
    Ok(Reply::Account(account))
}

/// Removes the account that changes, with all that is in it. What its mowers were told stays on
/// record.
pub(super) async fn delete(change: &mut Change) -> Result<Reply, Problem> {
    let account = change.account().to_owned();
    let known = objects::of_whole_account(change.records(), &account).await?;
    for text in [
        "DELETE FROM group_members WHERE mower_id IN (SELECT id FROM mowers WHERE account_id = $1)",
        "DELETE FROM mowers WHERE account_id = $1",
        "DELETE FROM mower_groups WHERE account_id = $1",
        "DELETE FROM sites WHERE account_id = $1",
        "DELETE FROM accounts WHERE id = $1",
    ] {
        sqlx::query(text)
            .bind(account.as_str())
            .execute(&mut *change.records())
            .await?;
    }
    // What is held goes before what holds it.
    for (node, _) in known.into_iter().rev() {
        change.touch(node);
    }
    Ok(Reply::Empty)
}

/// Makes an account that nobody told of, with a plan that includes nothing; whether it was made
/// here.
pub(super) async fn insert_unknown(
    records: &mut AnyConnection,
    account: &str,
    now: Timestamp,
) -> Result<bool, RecordsError> {
    let inserted = sqlx::query(
        "INSERT INTO accounts (id, name, features, time_zone, hierarchy_rev, rev, created_ms,
         changed_ms) VALUES ($1, $1, '[]', $2, 0, 0, $3, $3) ON CONFLICT (id) DO NOTHING",
    )
    .bind(account)
    .bind(UNKNOWN_ZONE)
    .bind(now.as_millisecond())
    .execute(records)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

/// The default site of the account that changes: the one that stands, else `new`.
///
/// INVARIANT: the partial unique index decides who makes it; everybody else finds it.
pub(super) async fn default_site(change: &mut Change, new: Uuid) -> Result<Uuid, Problem> {
    let (account, now) = (change.account().to_owned(), change.now());
    let zone = rows::account(change.records(), &account).await?;
    let zone = zone.ok_or(Problem::NotFound)?.time_zone;
    let inserted = sqlx::query(
        "INSERT INTO sites (id, account_id, name, time_zone, quiet_hours, is_default, rev,
         created_ms, changed_ms) VALUES ($1, $2, $3, $4, '[]', 1, 0, $5, $5)
         ON CONFLICT DO NOTHING",
    )
    .bind(new.to_string())
    .bind(account.as_str())
    .bind(DEFAULT_NAME)
    .bind(zone)
    .bind(now.as_millisecond())
    .execute(&mut *change.records())
    .await?;
    if inserted.rows_affected() == 1 {
        change.touch(Node::Site(new));
        return Ok(new);
    }
    let found = rows::default_site(change.records(), &account).await?;
    Ok(found.ok_or(Problem::Internal)?.id)
}
