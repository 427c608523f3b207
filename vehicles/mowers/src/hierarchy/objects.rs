//! The registry's objects, made from the rows: what the gateway judges by.

use serde_json::{Map, Value, json};
use sqlx::AnyConnection;

use super::model::{Account, Group, Mower, Node, Site};
use super::rows::{self, Span, Whose};
use crate::gateway_link::{Object, ObjectState};
use crate::records::RecordsError;

/// A node as the rows have it now, under its own revision; without a state when it is gone, then
/// under `revision`.
///
/// # Errors
/// [`RecordsError`].
pub(super) async fn object(
    records: &mut AnyConnection,
    node: &Node,
    revision: u64,
) -> Result<Object, RecordsError> {
    let found = match node {
        Node::Account(id) => rows::account(records, id).await?.map(|it| of_account(&it)),
        Node::Site(id) => rows::site(records, *id).await?.map(|it| of_site(&it)),
        Node::Group(id) => rows::group(records, *id).await?.map(|it| of_group(&it)),
        Node::Mower(id) => rows::mower(records, *id).await?.map(|it| of_mower(&it)),
    };
    Ok(found.unwrap_or_else(|| Object {
        kind: node.kind(),
        id: node.id(),
        revision,
        state: None,
    }))
}

/// Everything of an account, what holds before what is held.
///
/// # Errors
/// [`RecordsError`].
pub(super) async fn of_whole_account(
    records: &mut AnyConnection,
    account: &str,
) -> Result<Vec<(Node, Object)>, RecordsError> {
    let mut objects = Vec::new();
    if let Some(it) = rows::account(records, account).await? {
        objects.push((Node::Account(it.id.clone()), of_account(&it)));
    }
    for it in rows::sites(records, account, Span::ALL).await? {
        objects.push((Node::Site(it.id), of_site(&it)));
    }
    for it in rows::groups(records, account, Span::ALL).await? {
        objects.push((Node::Group(it.id), of_group(&it)));
    }
    for it in rows::mowers(records, Whose::Account(account), Span::ALL).await? {
        objects.push((Node::Mower(it.id), of_mower(&it)));
    }
    Ok(objects)
}

fn of_account(account: &Account) -> Object {
    let attributes = json!({ "features": account.features, "suspended": account.suspended });
    object_of(
        &Node::Account(account.id.clone()),
        account.rev,
        Vec::new(),
        attributes,
    )
}

fn of_site(site: &Site) -> Object {
    let quiet = site.quiet_hours.iter();
    let quiet = quiet.map(|it| json!({ "from": it.from, "to": it.to, "days": it.days }));
    let attributes = json!({
        "time_zone": site.time_zone,
        "quiet_hours": quiet.collect::<Vec<Value>>(),
    });
    object_of(
        &Node::Site(site.id),
        site.rev,
        vec![site.account_id.clone()],
        attributes,
    )
}

fn of_group(group: &Group) -> Object {
    let site = group.site_id.map(|id| id.to_string());
    let parent = site.unwrap_or_else(|| group.account_id.clone());
    object_of(&Node::Group(group.id), group.rev, vec![parent], json!({}))
}

fn of_mower(mower: &Mower) -> Object {
    let scopes = std::iter::once(&mower.site_id).chain(&mower.group_ids);
    object_of(
        &Node::Mower(mower.id),
        mower.hierarchy_rev,
        scopes.map(ToString::to_string).collect(),
        json!({ "quarantined": mower.quarantined }),
    )
}

fn object_of(node: &Node, revision: u64, parents: Vec<String>, attributes: Value) -> Object {
    let attributes = match attributes {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    Object {
        kind: node.kind(),
        id: node.id(),
        revision,
        state: Some(ObjectState {
            parents,
            attributes,
        }),
    }
}
