//! Changes of sites.

use sqlx::Row as _;
use uuid::Uuid;

use super::bodies::SiteFields;
use super::change::Change;
use super::model::{Node, Site};
use super::reply::Reply;
use super::rows::{self, Span, Whose};
use crate::service::call::Call;
use crate::service::problem::Problem;

/// Makes a site.
pub(super) async fn create(
    change: &mut Change,
    id: Uuid,
    fields: &SiteFields,
) -> Result<Reply, Problem> {
    let limit = change.limits().sites;
    let count = count(
        change,
        "SELECT COUNT(*) AS n FROM sites WHERE account_id = $1",
    )
    .await?;
    if count >= i64::from(limit) {
        return Err(Problem::LimitReached(format!(
            "an account has at most {limit} sites"
        )));
    }
    let quiet = quiet(fields)?;
    let (account, now) = (change.account().to_owned(), change.now().as_millisecond());
    sqlx::query(
        "INSERT INTO sites (id, account_id, name, address, time_zone, latitude, longitude,
         quiet_hours, is_default, rev, created_ms, changed_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, $9, $9)",
    )
    .bind(id.to_string())
    .bind(account)
    .bind(fields.name.clone())
    .bind(fields.address.clone())
    .bind(fields.time_zone.clone())
    .bind(fields.latitude.flatten())
    .bind(fields.longitude.flatten())
    .bind(quiet.unwrap_or_else(|| "[]".to_owned()))
    .bind(now)
    .execute(&mut *change.records())
    .await?;
    change.touch(Node::Site(id));
    Ok(Reply::Site(id, true))
}

/// Changes what is given of a site.
pub(super) async fn update(
    change: &mut Change,
    call: &Call,
    id: Uuid,
    fields: &SiteFields,
) -> Result<Reply, Problem> {
    let site = judged(change, call, id).await?;
    if site.is_default && fields.name.as_ref().is_some_and(|name| *name != site.name) {
        return Err(Problem::DefaultSite);
    }
    let quiet = quiet(fields)?;
    sqlx::query(
        "UPDATE sites SET name = COALESCE($1, name), address = COALESCE($2, address),
         time_zone = COALESCE($3, time_zone), quiet_hours = COALESCE($4, quiet_hours),
         latitude = $5, longitude = $6 WHERE id = $7",
    )
    .bind(fields.name.clone())
    .bind(fields.address.clone())
    .bind(fields.time_zone.clone())
    .bind(quiet)
    .bind(fields.latitude.unwrap_or(site.latitude))
    .bind(fields.longitude.unwrap_or(site.longitude))
    .bind(id.to_string())
    .execute(&mut *change.records())
    .await?;
    change.touch(Node::Site(id));
    Ok(Reply::Site(id, false))
}

/// Removes a site; what is in it moves to `move_to`, or there must be nothing.
pub(super) async fn delete(
    change: &mut Change,
    call: &Call,
    id: Uuid,
    move_to: Option<Uuid>,
) -> Result<Reply, Problem> {
    let site = judged(change, call, id).await?;
    if site.is_default {
        return Err(Problem::DefaultSite);
    }
    let groups = rows::groups_of_site(change.records(), id).await?;
    let mowers = rows::mowers(change.records(), Whose::Site(id), Span::ALL).await?;
    if let Some(to) = move_to {
        there(change, to, "`move_to`").await?;
        for text in [
            "UPDATE mower_groups SET site_id = $1 WHERE site_id = $2",
            "UPDATE mowers SET site_id = $1 WHERE site_id = $2",
        ] {
            sqlx::query(text)
                .bind(to.to_string())
                .bind(id.to_string())
                .execute(&mut *change.records())
                .await?;
        }
        for group in groups {
            change.touch(Node::Group(group.id));
        }
        for mower in mowers {
            change.touch(Node::Mower(mower.id));
        }
    } else if !groups.is_empty() || !mowers.is_empty() {
        return Err(Problem::SiteNotEmpty);
    }
    sqlx::query("DELETE FROM sites WHERE id = $1")
        .bind(id.to_string())
        .execute(&mut *change.records())
        .await?;
    change.touch(Node::Site(id));
    Ok(Reply::Empty)
}

/// The site, as it was judged.
async fn judged(change: &mut Change, call: &Call, id: Uuid) -> Result<Site, Problem> {
    let site = rows::site(change.records(), id).await?;
    let site = site.ok_or(Problem::NotFound)?;
    call.judged_at(site.rev)?;
    Ok(site)
}

/// A site that a request names must be one of the account that changes.
pub(super) async fn there(
    change: &mut Change,
    id: Uuid,
    field: &'static str,
) -> Result<(), Problem> {
    let site = rows::site(change.records(), id).await?;
    match site {
        Some(site) if site.account_id == change.account() => Ok(()),
        _ => Err(Problem::UnknownReference(field)),
    }
}

/// What a statement counts in the account that changes.
pub(super) async fn count(change: &mut Change, text: &'static str) -> Result<i64, Problem> {
    let account = change.account().to_owned();
    let row = sqlx::query(text)
        .bind(account)
        .fetch_one(&mut *change.records())
        .await?;
    Ok(row.try_get("n")?)
}

fn quiet(fields: &SiteFields) -> Result<Option<String>, Problem> {
    let quiet = fields.quiet_hours.as_ref().map(serde_json::to_string);
    quiet.transpose().map_err(|_| Problem::Internal)
}
