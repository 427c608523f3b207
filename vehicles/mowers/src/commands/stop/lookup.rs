//! Finding the mowers of a stop: in the roster, and only if there are none in
//! the records, which have a moment.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Row as _;
use uuid::Uuid;

use crate::commands::bulk::kept::Target;
use crate::commands::bulk::places;
use crate::commands::store::{unsigned, uuid};
use crate::hierarchy::roster::{ConnectionKind, Member, Reach};
use crate::operations::Effect;
use crate::records::RecordsError;
use crate::service::Fleet;
use crate::service::problem::Problem;

/// How long the records have to name a mower that another replica registered.
const WITHIN: Duration = Duration::from_millis(200);

/// The mower of a stop.
pub(super) async fn mower(fleet: &Fleet, mower: Uuid) -> Result<Arc<Member>, Problem> {
    if let Some(member) = fleet.roster.find(mower) {
        return Ok(member);
    }
    let detail = match tokio::time::timeout(WITHIN, row(fleet, mower)).await {
        Ok(Ok(Some(member))) => return Ok(Arc::new(member)),
        Ok(Ok(None)) => return Err(Problem::NotFound),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the records did not answer".to_owned(),
    };
    Err(Problem::NotStopped {
        detail: format!(
            "this replica does not know the mower yet: {detail}; nothing was sent: use the button on the mower"
        ),
        effect: Effect::None,
    })
}

/// Finds that a container without mowers is one: the gateway judges sites and
/// groups alike, and a stop at the path of the other would stop nobody and say
/// nothing of it.
pub(super) async fn container(fleet: &Fleet, target: &Target) -> Result<(), Problem> {
    let looking = async {
        let mut records = fleet.records.pool().acquire().await?;
        places::account(&mut records, target).await
    };
    let detail = match tokio::time::timeout(WITHIN, looking).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(Problem::NotFound)) => return Err(Problem::NotFound),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the records did not answer".to_owned(),
    };
    Err(Problem::NotStopped {
        detail: format!(
            "no mower is known here, and whether there are any cannot be looked up: {detail}; \
             nothing was sent: use the buttons on the mowers"
        ),
        effect: Effect::None,
    })
}

/// As much of a row as a stop needs.
async fn row(fleet: &Fleet, mower: Uuid) -> Result<Option<Member>, RecordsError> {
    let row = sqlx::query("SELECT account_id, site_id, hierarchy_rev FROM mowers WHERE id = $1")
        .bind(mower.to_string())
        .fetch_optional(fleet.records.pool())
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    Ok(Some(Member {
        mower_id: mower,
        account_id: row.try_get("account_id")?,
        site_id: uuid(&row, "site_id")?,
        group_ids: Vec::new(),
        hierarchy_rev: unsigned(row.try_get("hierarchy_rev")?)?,
        vendor: String::new(),
        model: String::new(),
        connection: Reach {
            kind: ConnectionKind::Cloud,
            options: serde_json::Map::new(),
        },
        quarantined: false,
    }))
}
