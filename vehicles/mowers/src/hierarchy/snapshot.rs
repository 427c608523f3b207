//! What changed in the hierarchy, for whoever keeps a copy of it.

use serde_json::{Value, json};
use sqlx::Row as _;

use super::model::Node;
use super::{objects, rows};
use crate::gateway_link::Object;
use crate::records::RecordsError;
use crate::service::Fleet;

/// A change is shown in answers until it is so old, in milliseconds: it is stamped when it begins,
/// is committed later, and by whatever replica with whatever clock. What is shown twice has the
/// same revision.
const OVERLAP_MS: i64 = 30_000;

/// Everything that changed since `revision`, which an earlier answer gave; 0: everything.
///
/// # Errors
/// [`RecordsError`].
pub(super) async fn since(fleet: &Fleet, revision: i64) -> Result<Value, RecordsError> {
    let next = fleet.now().as_millisecond().saturating_sub(OVERLAP_MS);
    let mut records = fleet.records.pool().acquire().await?;
    let mut changed: Vec<Object> = Vec::new();
    for text in [
        "SELECT 'account' AS kind, id, rev FROM accounts WHERE changed_ms >= $1 ORDER BY id",
        "SELECT 'site' AS kind, id, rev FROM sites WHERE changed_ms >= $1 ORDER BY id",
        "SELECT 'group' AS kind, id, rev FROM mower_groups WHERE changed_ms >= $1 ORDER BY id",
        "SELECT 'mower' AS kind, id, hierarchy_rev AS rev FROM mowers
         WHERE changed_ms >= $1 ORDER BY id",
        "SELECT kind, id, rev FROM removed WHERE changed_ms >= $1 ORDER BY id",
    ] {
        let found = sqlx::query(text)
            .bind(revision)
            .fetch_all(&mut *records)
            .await?;
        for row in &found {
            let (kind, id): (String, String) = (row.try_get("kind")?, row.try_get("id")?);
            let node = Node::read(&kind, &id)
                .ok_or_else(|| RecordsError::Corrupt(format!("a `{kind}` `{id}`")))?;
            let revision = rows::unsigned(row, "rev")?;
            changed.push(objects::object(&mut records, &node, revision).await?);
        }
    }
    let changed: Vec<Value> = changed.into_iter().map(shown).collect();
    Ok(json!({ "revision": next.max(0), "objects": changed }))
}

fn shown(object: Object) -> Value {
    match object.state {
        Some(state) => json!({
            "type": object.kind,
            "id": object.id,
            "revision": object.revision,
            "parents": state.parents,
            "attributes": state.attributes,
        }),
        None => json!({ "type": object.kind, "id": object.id, "revision": object.revision }),
    }
}
