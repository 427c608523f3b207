//! Handlers that look. The gateway has judged the object of the path; what is inside of it is
//! asked about here.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use interlock_surface::{Class, ROWS, ResourceFrom, ResourceType};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::listing::Listing;
use super::model::MOWER;
use super::references::{Target, judge, visible};
use super::rows::{self, Span, Whose};
use super::snapshot;
use crate::service::call::Call;
use crate::service::problem::Problem;
use crate::service::{Fleet, SERVICE};

type Shared = State<Arc<Fleet>>;
type Shown = Result<Response, Problem>;

/// `GET /mowers`
pub(super) async fn mowers(call: Call, State(fleet): Shared) -> Shown {
    page(&fleet, &call, Listing::Mowers(call.account()?)).await
}

/// `GET /mowers/{mower}`
pub(super) async fn mower(_: Call, State(fleet): Shared, Path(id): Path<Uuid>) -> Shown {
    let mut records = fleet.records.pool().acquire().await?;
    shown(
        &rows::mower(&mut records, id)
            .await?
            .ok_or(Problem::NotFound)?,
    )
}

/// `GET /mowers/{mower}/permissions`: advice, every call is decided anew.
pub(super) async fn permissions(call: Call, State(fleet): Shared, Path(id): Path<Uuid>) -> Shown {
    let target = Target { kind: MOWER, id };
    let asks: Vec<(&str, Target)> = mower_actions().map(|action| (action, target)).collect();
    let verdicts = judge(&fleet, &call, &asks).await?;
    let permissions = asks.iter().zip(verdicts).map(|((action, _), verdict)| {
        // Who asks sees the mower: a refusal without a name of its own is a plain one.
        let problem = match verdict.allowed {
            true => None,
            false => Some(verdict.problem.as_deref().unwrap_or("forbidden")),
        };
        json!({ "action": action, "allowed": verdict.allowed, "problem": problem })
    });
    let permissions: Vec<Value> = permissions.collect();
    shown(&json!({ "mower_id": id, "permissions": permissions }))
}

/// The actions of all rows that are judged on one mower.
fn mower_actions() -> impl Iterator<Item = &'static str> {
    let rows = ROWS.iter().filter(|row| {
        row.service == SERVICE
            && row.class != Class::Internal
            && row.resource == ResourceType::Mower
            && matches!(row.resource_from, ResourceFrom::Path(_))
    });
    rows.filter_map(|row| row.action)
}

/// `GET /sites`
pub(super) async fn sites(call: Call, State(fleet): Shared) -> Shown {
    let with_default = call.flag("include_default")?;
    page(&fleet, &call, Listing::Sites(call.account()?, with_default)).await
}

/// `GET /sites/{site}`
pub(super) async fn site(_: Call, State(fleet): Shared, Path(id): Path<Uuid>) -> Shown {
    let mut records = fleet.records.pool().acquire().await?;
    shown(
        &rows::site(&mut records, id)
            .await?
            .ok_or(Problem::NotFound)?,
    )
}

/// `GET /sites/{site}/mowers`
pub(super) async fn site_mowers(call: Call, State(fleet): Shared, Path(id): Path<Uuid>) -> Shown {
    let mut records = fleet.records.pool().acquire().await?;
    rows::site(&mut records, id)
        .await?
        .ok_or(Problem::NotFound)?;
    drop(records);
    page(&fleet, &call, Listing::SiteMowers(id)).await
}

/// `GET /groups`
pub(super) async fn groups(call: Call, State(fleet): Shared) -> Shown {
    page(&fleet, &call, Listing::Groups(call.account()?)).await
}

/// `GET /groups/{group}`, with the mowers in it that the caller may see.
pub(super) async fn group(call: Call, State(fleet): Shared, Path(id): Path<Uuid>) -> Shown {
    let mut records = fleet.records.pool().acquire().await?;
    let group = rows::group(&mut records, id)
        .await?
        .ok_or(Problem::NotFound)?;
    let mowers = rows::mowers(&mut records, Whose::Group(id), Span::ALL).await?;
    drop(records);
    let targets = mowers.iter().map(|mower| Target {
        kind: MOWER,
        id: mower.id,
    });
    let targets: Vec<Target> = targets.collect();
    let seen = visible(&fleet, &call, &targets).await?;
    let ids = targets.iter().zip(seen).filter(|(_, seen)| *seen);
    let ids: Vec<Uuid> = ids.map(|(target, _)| target.id).collect();
    let mut body = serde_json::to_value(&group).map_err(|_| Problem::Internal)?;
    if let Value::Object(members) = &mut body {
        members.insert("mower_ids".to_owned(), json!(ids));
    }
    shown(&body)
}

/// `GET /groups/{group}/mowers`
pub(super) async fn group_mowers(call: Call, State(fleet): Shared, Path(id): Path<Uuid>) -> Shown {
    let mut records = fleet.records.pool().acquire().await?;
    rows::group(&mut records, id)
        .await?
        .ok_or(Problem::NotFound)?;
    drop(records);
    page(&fleet, &call, Listing::GroupMowers(id)).await
}

/// `GET /internal/hierarchy`
pub(super) async fn hierarchy(call: Call, State(fleet): Shared) -> Shown {
    let since = match call.query("since").map(str::parse::<i64>) {
        None => 0,
        Some(Ok(since)) if since >= 0 => since,
        Some(_) => {
            return Err(Problem::Invalid(vec![
                "`since` must be the `revision` of an earlier answer".to_owned(),
            ]));
        }
    };
    shown(&snapshot::since(&fleet, since).await?)
}

async fn page(fleet: &Fleet, call: &Call, listing: Listing) -> Shown {
    shown(&listing.page(fleet, call, call.page()?).await?)
}

fn shown<T: Serialize>(value: &T) -> Shown {
    let body = serde_json::to_value(value).map_err(|error| {
        tracing::error!("an answer has no JSON form: {error}");
        Problem::Internal
    })?;
    Ok((StatusCode::OK, axum::Json(body)).into_response())
}
