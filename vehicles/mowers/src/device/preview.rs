//! Path previews: the mower plans and drives nothing. Nothing is stored.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::timeout;
use uuid::Uuid;

use super::checks;
use super::held::{Held, lock};
use super::shared::{Shared, answer};
use crate::bus::{Asked, subject};
use crate::contract::{Activity, Path, PathError, PathErrorCode, PathOver, PathReply, PathRequest};

/// A preview under way.
pub(crate) struct Previewing {
    request_id: Uuid,
    /// Dropped when nobody wants it any more.
    _wanted: oneshot::Sender<()>,
}

/// Answers a preview for a mower that this shard holds; keeps silent otherwise,
/// so that there is one answer or none.
pub(crate) fn route(shared: &Arc<Shared>, asked: Asked) {
    let Some(held) = subject::mower(&asked.subject).and_then(|id| shared.held(id)) else {
        return;
    };
    shared.run(|shared| async move {
        let reply = match serde_json::from_slice::<PathRequest>(&asked.payload) {
            Ok(request) => match plan(&shared, &held, &request).await {
                Ok(path) => fit(path, &shared),
                Err(error) => PathReply::Error(error),
            },
            Err(cause) => {
                shared.metrics.malformed.add();
                let detail = format!("the request cannot be read: {cause}");
                PathReply::Error(error(PathErrorCode::Failed, detail))
            }
        };
        answer(asked.reply, &reply).await;
    });
}

async fn plan(shared: &Shared, held: &Held, request: &PathRequest) -> Result<Path, PathError> {
    if request.mower_id != held.mower_id || request.account_id != held.account_id {
        let detail = "the mower is not of this account".to_owned();
        return Err(error(PathErrorCode::Forbidden, detail));
    }
    if let Some(why) = held.connection.absent() {
        let detail = format!("not-connected: {why}");
        return Err(error(PathErrorCode::Unavailable, detail));
    }
    let capabilities = held.connection.capabilities();
    if !capabilities.path_preview {
        let detail = "the mower cannot show a path before driving it".to_owned();
        return Err(error(PathErrorCode::Unsupported, detail));
    }
    let rejected = |detail: String| error(PathErrorCode::Rejected, detail);
    let (activity, online) = {
        let state = held.connection.state();
        let state = state.borrow();
        (state.activity, state.link.online)
    };
    if !online || activity == Activity::Offline {
        let detail = "offline: the mower cannot be reached".to_owned();
        return Err(error(PathErrorCode::Unavailable, detail));
    }
    if matches!(activity, Activity::Mowing | Activity::Undocking) {
        return Err(rejected("job-running: the mower is at work".to_owned()));
    }
    // The same checks as at the start, so that no plan is approved that fails there.
    checks::start(&request.start, &capabilities, &held.connection.map()).map_err(rejected)?;
    let Ok(_turn) = held.planning.try_lock() else {
        let detail = "preview-running: one path at a time".to_owned();
        return Err(error(PathErrorCode::PreviewRunning, detail));
    };
    let (wanted, over) = oneshot::channel();
    *lock(&held.previewing) = Some(Previewing {
        request_id: request.request_id,
        _wanted: wanted,
    });
    tracing::debug!(mower_id = %held.mower_id, requested_by = request.requested_by, "planning");
    let planning = held.connection.plan(&request.start);
    let planned = tokio::select! {
        planned = timeout(shared.config.times.planning, planning) => planned,
        _ = over => {
            let detail = "nobody waits for the path any more".to_owned();
            return Err(error(PathErrorCode::Failed, detail));
        }
    };
    lock(&held.previewing).take();
    planned.unwrap_or_else(|_| {
        let detail = format!(
            "the mower did not finish planning in {} s",
            shared.config.times.planning.as_secs()
        );
        Err(error(PathErrorCode::Timeout, detail))
    })
}

/// Takes a word on `gateway.mower.<id>.path.over`: ends the preview of that
/// request, so that the mower can plan the next one.
pub(crate) fn over(shared: &Shared, asked: &Asked) {
    let Some(held) = subject::mower(&asked.subject).and_then(|id| shared.held(id)) else {
        return;
    };
    let Ok(over) = serde_json::from_slice::<PathOver>(&asked.payload) else {
        shared.metrics.malformed.add();
        return;
    };
    lock(&held.previewing).take_if(|it| it.request_id == over.request_id);
}

/// Thins a path until its answer is small enough for people and for the bus.
fn fit(path: Path, shared: &Shared) -> PathReply {
    let bounds = &shared.config.bounds;
    let mut most = bounds.preview_points;
    let mut reply = thin(&path, most);
    loop {
        let size =
            serde_json::to_vec(&PathReply::Path(reply.clone())).map_or(0, |bytes| bytes.len());
        if size <= bounds.preview_bytes {
            return PathReply::Path(reply);
        }
        most = most.min(count(&reply)) / 2;
        if most < reply.legs.len().saturating_mul(2) {
            let detail = "the path has too many pieces to be shown".to_owned();
            return PathReply::Error(error(PathErrorCode::Failed, detail));
        }
        reply = thin(&path, most);
    }
}

/// Leaves points out, never the ends of a leg.
fn thin(path: &Path, most: usize) -> Path {
    let total = count(path);
    let mut thinned = path.clone();
    if total <= most {
        return thinned;
    }
    // Each leg keeps its two ends; the rest shares what is left.
    let ends = path.legs.len().saturating_mul(2);
    let inner = total.saturating_sub(ends).max(1);
    let step = inner.div_ceil(most.saturating_sub(ends).max(1)).max(1);
    for leg in &mut thinned.legs {
        let last = leg.points.len().saturating_sub(1);
        let points = leg.points.iter().enumerate();
        leg.points = points
            .filter(|(index, _)| *index == 0 || *index == last || index % step == 0)
            .map(|(_, point)| *point)
            .collect();
    }
    thinned.truncated = true;
    thinned
}

fn count(path: &Path) -> usize {
    path.legs.iter().map(|leg| leg.points.len()).sum()
}

fn error(code: PathErrorCode, detail: String) -> PathError {
    PathError { code, detail }
}

#[cfg(test)]
mod tests;
