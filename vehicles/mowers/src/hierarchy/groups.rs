//! Changes of groups and of who is in them.

use uuid::Uuid;

use super::bodies::NewGroup;
use super::change::Change;
use super::model::{Group, Mower, Node};
use super::reply::Reply;
use super::rows::{self, Span, Whose};
use super::sites;
use crate::service::call::Call;
use crate::service::problem::Problem;

/// Makes a group.
pub(super) async fn create(
    change: &mut Change,
    id: Uuid,
    group: &NewGroup,
) -> Result<Reply, Problem> {
    if let Some(site) = group.site_id {
        sites::there(change, site, "`site_id`").await?;
    }
    let limit = change.limits().groups;
    let text = "SELECT COUNT(*) AS n FROM mower_groups WHERE account_id = $1";
    if sites::count(change, text).await? >= i64::from(limit) {
        return Err(Problem::LimitReached(format!(
            "an account has at most {limit} groups"
        )));
    }
    let (account, now) = (change.account().to_owned(), change.now().as_millisecond());
    sqlx::query(
        "INSERT INTO mower_groups (id, account_id, site_id, name, rev, created_ms, changed_ms)
         VALUES ($1, $2, $3, $4, 0, $5, $5)",
    )
    .bind(id.to_string())
    .bind(account)
    .bind(group.site_id.map(|site| site.to_string()))
    .bind(group.name.as_str())
    .bind(now)
    .execute(&mut *change.records())
    .await?;
    change.touch(Node::Group(id));
    Ok(Reply::Group(id, true))
}

/// Renames a group.
pub(super) async fn update(
    change: &mut Change,
    call: &Call,
    id: Uuid,
    name: Option<&str>,
) -> Result<Reply, Problem> {
    judged(change, call, id).await?;
    sqlx::query("UPDATE mower_groups SET name = COALESCE($1, name) WHERE id = $2")
        .bind(name.map(str::to_owned))
        .bind(id.to_string())
        .execute(&mut *change.records())
        .await?;
    change.touch(Node::Group(id));
    Ok(Reply::Group(id, false))
}

/// Removes a group; its mowers stay on their sites, and lose the rights that came from it.
pub(super) async fn delete(change: &mut Change, call: &Call, id: Uuid) -> Result<Reply, Problem> {
    judged(change, call, id).await?;
    let mowers = rows::mowers(change.records(), Whose::Group(id), Span::ALL).await?;
    for text in [
        "DELETE FROM group_members WHERE group_id = $1",
        "DELETE FROM mower_groups WHERE id = $1",
    ] {
        sqlx::query(text)
            .bind(id.to_string())
            .execute(&mut *change.records())
            .await?;
    }
    for mower in mowers {
        change.touch(Node::Mower(mower.id));
    }
    change.touch(Node::Group(id));
    Ok(Reply::Empty)
}

/// Puts a mower into a group.
pub(super) async fn add(
    change: &mut Change,
    call: &Call,
    id: Uuid,
    mower: Uuid,
) -> Result<Reply, Problem> {
    let group = judged(change, call, id).await?;
    let mower = member(change, mower).await?;
    if mower.group_ids.contains(&id) {
        return Ok(Reply::Empty);
    }
    if group.site_id.is_some_and(|site| site != mower.site_id) {
        return Err(Problem::Invalid(vec![
            "the group belongs to another site than the mower".to_owned(),
        ]));
    }
    let limit = change.limits().groups_of_mower;
    if mower.group_ids.len() >= usize::try_from(limit).unwrap_or(usize::MAX) {
        return Err(Problem::LimitReached(format!(
            "a mower is in at most {limit} groups"
        )));
    }
    sqlx::query("INSERT INTO group_members (mower_id, group_id) VALUES ($1, $2)")
        .bind(mower.id.to_string())
        .bind(id.to_string())
        .execute(&mut *change.records())
        .await?;
    change.touch(Node::Mower(mower.id));
    Ok(Reply::Empty)
}

/// Takes a mower out of a group.
pub(super) async fn remove(
    change: &mut Change,
    call: &Call,
    id: Uuid,
    mower: Uuid,
) -> Result<Reply, Problem> {
    judged(change, call, id).await?;
    let mower = member(change, mower).await?;
    if !mower.group_ids.contains(&id) {
        return Ok(Reply::Empty);
    }
    sqlx::query("DELETE FROM group_members WHERE mower_id = $1 AND group_id = $2")
        .bind(mower.id.to_string())
        .bind(id.to_string())
        .execute(&mut *change.records())
        .await?;
    change.touch(Node::Mower(mower.id));
    Ok(Reply::Empty)
}

/// The group, as it was judged.
async fn judged(change: &mut Change, call: &Call, id: Uuid) -> Result<Group, Problem> {
    let group = rows::group(change.records(), id).await?;
    let group = group.ok_or(Problem::NotFound)?;
    call.judged_at(group.rev)?;
    Ok(group)
}

/// A mower of the account that changes.
async fn member(change: &mut Change, id: Uuid) -> Result<Mower, Problem> {
    let mower = rows::mower(change.records(), id).await?;
    let mower = mower.filter(|mower| mower.account_id == change.account());
    mower.ok_or(Problem::NotFound)
}
