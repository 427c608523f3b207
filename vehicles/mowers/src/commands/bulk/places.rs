//! Where mowers and containers stand, read inside of a transaction.

use std::collections::HashMap;

use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::kept::Target;
use crate::commands::epochs;
use crate::commands::store::{placeholders, unsigned, uuid};
use crate::records::RecordsError;
use crate::service::problem::Problem;

/// Ids of one statement.
const CHUNK: usize = 1_000;

/// What the rows say of a mower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) revision: u64,
    pub(super) stop_epoch: u64,
}

/// The account of a container.
///
/// # Errors
/// [`Problem::NotFound`] when there is no container of that type and id.
pub(in crate::commands) async fn account(
    connection: &mut AnyConnection,
    target: &Target,
) -> Result<String, Problem> {
    let sql = match target {
        Target::Account(account) => return Ok(account.clone()),
        Target::Site(_) => "SELECT account_id FROM sites WHERE id = $1",
        Target::Group(_) => "SELECT account_id FROM mower_groups WHERE id = $1",
    };
    let found: Option<String> = sqlx::query_scalar(sql)
        .bind(target.id())
        .fetch_optional(&mut *connection)
        .await?;
    found.ok_or(Problem::NotFound)
}

/// The places of mowers; those that are gone are missing.
pub(super) async fn of(
    connection: &mut AnyConnection,
    mowers: &[Uuid],
) -> Result<HashMap<Uuid, Place>, RecordsError> {
    let mut places = HashMap::with_capacity(mowers.len());
    let floor = epochs::floor(connection).await?;
    for chunk in mowers.chunks(CHUNK) {
        let ids = placeholders(1, chunk.len());
        let sql = format!(
            "SELECT m.id, m.hierarchy_rev, COALESCE(s.epoch, 0) AS epoch FROM mowers m
             LEFT JOIN stop_epochs s ON s.mower_id = m.id WHERE m.id IN {ids}"
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for mower in chunk {
            query = query.bind(mower.to_string());
        }
        for row in query.fetch_all(&mut *connection).await? {
            let place = Place {
                revision: unsigned(row.try_get("hierarchy_rev")?)?,
                stop_epoch: unsigned(row.try_get("epoch")?)?.max(floor),
            };
            places.insert(uuid(&row, "id")?, place);
        }
    }
    Ok(places)
}
