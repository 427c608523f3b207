//! Path previews: the route a start would drive, asked of the one device gateway
//! that holds the mower. Nothing moves, nothing is stored, nothing is repeated.

use std::sync::Arc;

use bytes::Bytes;
use interlock_guard::Caller;
use serde::Serialize;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::bus::{Bus, BusError, subject};
use crate::commands::ask::{Fence, issuer};
use crate::contract::{
    Leg, Path, PathError, PathErrorCode, PathOver, PathReply, PathRequest, Start,
};
use crate::hierarchy::roster::Member;
use crate::service::Fleet;
use crate::service::problem::{Layer, Problem};

pub mod handlers;
mod limits;

#[cfg(test)]
mod tests;

pub use limits::Previews;

/// What a preview is asked of.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Which mower.
    pub mower: Uuid,
    /// The start that it would be.
    pub start: Start,
}

/// A preview as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathView {
    mower_id: Uuid,
    path: Vec<Leg>,
    points_total: u32,
    truncated: bool,
    path_hash: String,
    length_m: f64,
    area_m2: f64,
    est_duration_s: f64,
    est_battery_percent: f64,
    map_revision: String,
    assumptions: Vec<String>,
}

/// What a plan is made of: the preview, and what its dispatch will compare.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposal {
    preview: PathView,
    fence: Fence,
    conflicted: bool,
}

impl PathView {
    fn new(mower_id: Uuid, path: Path) -> Self {
        Self {
            mower_id,
            path: path.legs,
            points_total: path.points_total,
            truncated: path.truncated,
            path_hash: path.path_hash,
            length_m: path.length_m,
            area_m2: path.area_m2,
            est_duration_s: path.est_duration_s,
            est_battery_percent: path.est_battery_percent,
            map_revision: path.map_revision.to_string(),
            assumptions: path.assumptions,
        }
    }
}

/// Previews a path for a caller.
///
/// # Errors
/// A [`Problem`] for each way in which there is none.
pub async fn preview(
    fleet: &Arc<Fleet>,
    caller: &Caller,
    wanted: Wanted,
) -> Result<PathView, Problem> {
    let member = fleet.roster.find(wanted.mower).ok_or(Problem::NotFound)?;
    let path = ask(fleet, caller, &member, wanted).await?;
    Ok(PathView::new(member.mower_id, path))
}

/// Previews what a plan would do, and takes down what must still hold at its
/// dispatch: before the path, so that whatever changes meanwhile is noticed.
///
/// # Errors
/// As [`preview`].
pub async fn propose(
    fleet: &Arc<Fleet>,
    caller: &Caller,
    wanted: Wanted,
) -> Result<Proposal, Problem> {
    let member = fleet.roster.find(wanted.mower).ok_or(Problem::NotFound)?;
    let stop_epoch = fleet.control.epochs.current(member.mower_id);
    let hierarchy_rev = member.hierarchy_rev;
    let path = ask(fleet, caller, &member, wanted).await?;
    let fence = Fence {
        path_hash: path.path_hash.clone(),
        hierarchy_rev,
        stop_epoch,
    };
    Ok(Proposal {
        preview: PathView::new(member.mower_id, path),
        fence,
        conflicted: false,
    })
}

/// Asks the holder, within the bounds of each mower, account and caller. Dropped
/// when the caller hangs up; then the mower and its account are free again, and
/// the holder is told to plan no further.
async fn ask(
    fleet: &Fleet,
    caller: &Caller,
    member: &Member,
    wanted: Wanted,
) -> Result<Path, Problem> {
    let issuer = issuer(caller);
    let account = &member.account_id;
    let ends = &fleet.control.counters.previews;
    let _running = fleet
        .previews
        .begin(member.mower_id, account, &issuer.id, fleet.now())
        .inspect_err(|_| ends.limited.add())?;
    let request = PathRequest {
        request_id: Uuid::now_v7(),
        mower_id: member.mower_id,
        account_id: account.clone(),
        start: wanted.start,
        requested_by: issuer.id,
    };
    let payload = serde_json::to_vec(&request).map_err(|_| Problem::Internal)?;
    let bus = Arc::clone(&fleet.bus);
    let within = fleet.settings.timeouts.service;
    // Dropped with the caller's connection, at the latest.
    let (_waiting, hung_up) = oneshot::channel::<()>();
    let answered = tokio::spawn(async move {
        let subject = subject::preview(request.mower_id);
        tokio::select! {
            answered = bus.request(&subject, Bytes::from(payload), within) => Some(answered),
            _ = hung_up => {
                say_over(&*bus, &request).await;
                None
            }
        }
    })
    .await;
    let Ok(Some(answered)) = answered else {
        return Err(Problem::Internal);
    };
    let bytes = answered.map_err(|error| {
        ends.unanswered.add();
        silent(&error)
    })?;
    match serde_json::from_slice(&bytes) {
        Ok(PathReply::Path(path)) => {
            ends.made.add();
            Ok(path)
        }
        Ok(PathReply::Error(error)) => {
            ends.refused.add();
            Err(refused(error))
        }
        Err(error) => {
            ends.unanswered.add();
            tracing::error!("a preview cannot be read: {error}");
            let detail = "the device gateway's answer cannot be read".to_owned();
            Err(Problem::PathPreviewUnavailable(detail))
        }
    }
}

/// Tells the holder that nobody waits for a path; it finds out by itself when it
/// does not hear it.
async fn say_over(bus: &dyn Bus, request: &PathRequest) {
    let over = PathOver {
        request_id: request.request_id,
    };
    let Ok(payload) = serde_json::to_vec(&over) else {
        return;
    };
    let subject = subject::preview_over(request.mower_id);
    if let Err(error) = bus.send(&subject, Bytes::from(payload)).await {
        tracing::debug!("a preview that nobody waits for goes on: {error}");
    }
}

fn silent(error: &BusError) -> Problem {
    match error {
        BusError::TimedOut(_) => Problem::GatewayTimeout {
            layer: Layer::DeviceGateway,
            detail: "no device gateway answered in time".to_owned(),
        },
        BusError::NoResponders(_)
        | BusError::Unavailable(_)
        | BusError::Lost(_)
        | BusError::Invalid(_) => Problem::PathPreviewUnavailable(error.to_string()),
    }
}

fn refused(error: PathError) -> Problem {
    match error.code {
        PathErrorCode::Unsupported => Problem::PathPreviewUnsupported(error.detail),
        PathErrorCode::Rejected => Problem::PathPreviewRejected(error.detail),
        PathErrorCode::PreviewRunning => Problem::PreviewRunning,
        PathErrorCode::Timeout => Problem::GatewayTimeout {
            layer: Layer::Mower,
            detail: error.detail,
        },
        PathErrorCode::Unavailable | PathErrorCode::NotFound | PathErrorCode::Failed => {
            Problem::PathPreviewUnavailable(error.detail)
        }
        // The mower is not of this account: nothing more is said.
        PathErrorCode::Forbidden => Problem::NotFound,
    }
}
