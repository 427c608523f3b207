//! Changes of mowers.

use uuid::Uuid;

use super::accounts;
use super::bodies::{MowerFields, NewMower, Placement};
use super::change::Change;
use super::model::{Mower, Node};
use super::reply::Reply;
use super::{rows, sites};
use crate::records::RecordsError;
use crate::service::call::Call;
use crate::service::problem::Problem;

/// Registers a mower. Without a site it goes to the default one, which is made as `new_site` where
/// there is none.
pub(super) async fn register(
    change: &mut Change,
    id: Uuid,
    new_site: Uuid,
    mower: &NewMower,
) -> Result<Reply, Problem> {
    let site = match mower.site_id {
        Some(site) => {
            sites::there(change, site, "`site_id`").await?;
            site
        }
        None => accounts::default_site(change, new_site).await?,
    };
    let limit = change.limits().mowers;
    let text = "SELECT COUNT(*) AS n FROM mowers WHERE account_id = $1";
    if sites::count(change, text).await? >= i64::from(limit) {
        return Err(Problem::LimitReached(format!(
            "an account has at most {limit} mowers"
        )));
    }
    let options = options(&mower.connection.options)?;
    let (account, now) = (change.account().to_owned(), change.now().as_millisecond());
    let inserted = sqlx::query(
        "INSERT INTO mowers (id, account_id, site_id, name, vendor, model, serial,
         connection_kind, connection_options, hierarchy_rev, created_ms, changed_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $10)
         ON CONFLICT (serial) DO NOTHING",
    )
    .bind(id.to_string())
    .bind(account)
    .bind(site.to_string())
    .bind(mower.name.as_str())
    .bind(mower.vendor.as_str())
    .bind(mower.model.as_str())
    .bind(mower.serial.as_str())
    .bind(mower.connection.kind.as_str())
    .bind(options)
    .bind(now)
    .execute(&mut *change.records())
    .await?;
    if inserted.rows_affected() == 0 {
        return Err(Problem::AlreadyRegistered);
    }
    join(change, id, site, &mower.group_ids).await?;
    change.touch(Node::Mower(id));
    Ok(Reply::Mower(id, true))
}

/// Changes what is known of a mower, how it is reached, or whether it is in quarantine.
pub(super) async fn update(
    change: &mut Change,
    call: &Call,
    id: Uuid,
    fields: &MowerFields,
) -> Result<Reply, Problem> {
    judged(change, call, id).await?;
    let reach = fields.connection.as_ref();
    let options = reach.map(|reach| options(&reach.options)).transpose()?;
    let updated = sqlx::query(
        "UPDATE mowers SET name = COALESCE($1, name), vendor = COALESCE($2, vendor),
         model = COALESCE($3, model), serial = COALESCE($4, serial),
         connection_kind = COALESCE($5, connection_kind),
         connection_options = COALESCE($6, connection_options),
         quarantined = COALESCE($7, quarantined) WHERE id = $8",
    )
    .bind(fields.name.clone())
    .bind(fields.vendor.clone())
    .bind(fields.model.clone())
    .bind(fields.serial.clone())
    .bind(reach.map(|reach| reach.kind.as_str().to_owned()))
    .bind(options)
    .bind(fields.quarantined.map(i64::from))
    .bind(id.to_string())
    .execute(&mut *change.records())
    .await;
    match updated.map_err(RecordsError::from) {
        // The only thing in which two mowers may clash is the serial number.
        Err(RecordsError::Conflict(_)) => return Err(Problem::AlreadyRegistered),
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    change.touch(Node::Mower(id));
    Ok(Reply::Mower(id, false))
}

/// Moves a mower.
pub(super) async fn place(
    change: &mut Change,
    call: &Call,
    id: Uuid,
    placement: &Placement,
) -> Result<Reply, Problem> {
    judged(change, call, id).await?;
    sites::there(change, placement.site_id, "`site_id`").await?;
    sqlx::query("UPDATE mowers SET site_id = $1 WHERE id = $2")
        .bind(placement.site_id.to_string())
        .bind(id.to_string())
        .execute(&mut *change.records())
        .await?;
    leave_all(change, id).await?;
    join(change, id, placement.site_id, &placement.group_ids).await?;
    change.touch(Node::Mower(id));
    Ok(Reply::Mower(id, false))
}

/// Removes a mower.
pub(super) async fn delete(change: &mut Change, call: &Call, id: Uuid) -> Result<Reply, Problem> {
    judged(change, call, id).await?;
    leave_all(change, id).await?;
    sqlx::query("DELETE FROM mowers WHERE id = $1")
        .bind(id.to_string())
        .execute(&mut *change.records())
        .await?;
    change.touch(Node::Mower(id));
    Ok(Reply::Empty)
}

async fn leave_all(change: &mut Change, id: Uuid) -> Result<(), Problem> {
    sqlx::query("DELETE FROM group_members WHERE mower_id = $1")
        .bind(id.to_string())
        .execute(&mut *change.records())
        .await?;
    Ok(())
}

/// Puts a mower that is in no group into these.
async fn join(change: &mut Change, id: Uuid, site: Uuid, groups: &[Uuid]) -> Result<(), Problem> {
    let limit = change.limits().groups_of_mower;
    if groups.len() > usize::try_from(limit).unwrap_or(usize::MAX) {
        return Err(Problem::LimitReached(format!(
            "a mower is in at most {limit} groups"
        )));
    }
    for group_id in groups {
        let group = rows::group(change.records(), *group_id).await?;
        let group = group.filter(|group| group.account_id == change.account());
        let group = group.ok_or(Problem::UnknownReference("`group_ids`"))?;
        if group.site_id.is_some_and(|of| of != site) {
            return Err(Problem::Invalid(vec![format!(
                "`group_ids`: group `{group_id}` belongs to another site"
            )]));
        }
        sqlx::query("INSERT INTO group_members (mower_id, group_id) VALUES ($1, $2)")
            .bind(id.to_string())
            .bind(group_id.to_string())
            .execute(&mut *change.records())
            .await?;
    }
    Ok(())
}

/// The mower, as it was judged.
async fn judged(change: &mut Change, call: &Call, id: Uuid) -> Result<Mower, Problem> {
    let mower = rows::mower(change.records(), id).await?;
    let mower = mower.ok_or(Problem::NotFound)?;
    call.judged_at(mower.hierarchy_rev)?;
    Ok(mower)
}

fn options(options: &serde_json::Map<String, serde_json::Value>) -> Result<String, Problem> {
    serde_json::to_string(options).map_err(|_| Problem::Internal)
}
