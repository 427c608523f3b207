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
pub(in crate::commands) struct Place {
    /// Of the mower itself.
    pub(in crate::commands) revision: u64,
    /// The highest of the mower and all that it lies in: whatever a decision
    /// rests on, of what this service keeps, raises it.
    pub(in crate::commands) highest: u64,
    /// Its last stop.
    pub(in crate::commands) stop_epoch: u64,
    /// How often it was calmed.
    pub(in crate::commands) calm_epoch: u64,
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
pub(in crate::commands) async fn of(
    connection: &mut AnyConnection,
    mowers: &[Uuid],
) -> Result<HashMap<Uuid, Place>, RecordsError> {
    let mut places = HashMap::with_capacity(mowers.len());
    for chunk in mowers.chunks(CHUNK) {
        let ids = placeholders(1, chunk.len());
        let sql = format!(
            "SELECT m.id, m.hierarchy_rev, a.rev AS account_rev, t.rev AS site_rev,
                 COALESCE((SELECT MAX(g.rev) FROM mower_groups g
                     JOIN group_members i ON i.group_id = g.id WHERE i.mower_id = m.id), 0)
                     AS groups_rev,
                 {} AS stop_epoch, COALESCE(c.epoch, 0) AS calm_epoch
             FROM mowers m
             JOIN accounts a ON a.id = m.account_id
             JOIN sites t ON t.id = m.site_id
             LEFT JOIN calm_epochs c ON c.mower_id = m.id
             WHERE m.id IN {ids}",
            epochs::RECORDED
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for mower in chunk {
            query = query.bind(mower.to_string());
        }
        for row in query.fetch_all(&mut *connection).await? {
            let count = |column| unsigned(row.try_get(column)?);
            let revision = count("hierarchy_rev")?;
            let above = count("account_rev")?.max(count("site_rev")?);
            let place = Place {
                revision,
                highest: revision.max(above).max(count("groups_rev")?),
                stop_epoch: count("stop_epoch")?,
                calm_epoch: count("calm_epoch")?,
            };
            places.insert(uuid(&row, "id")?, place);
        }
    }
    Ok(places)
}
