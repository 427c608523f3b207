//! Ending a session: the mower halts first.
//!
//! SAFETY-STOP: whoever may see the mower may end it, and so may its holder. The
//! records are not waited for.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use interlock_guard::Granted;
use interlock_guard::evaluations::{OBSERVE, Question};
use tokio::time::timeout;
use uuid::Uuid;

use super::sessions::{Ended, Session};
use super::{SessionView, kept, tell};
use crate::bus::subject;
use crate::commands::ask::Ask;
use crate::contract::Drive;
use crate::device::wire::{DriveControl, DriveFrame};
use crate::operations::{Answer, Effect};
use crate::service::Fleet;
use crate::service::problem::Problem;

/// How long the records have to say whose session it is.
const FOUND_WITHIN: Duration = Duration::from_millis(300);

/// How long the records have for its end.
const RECORDED_WITHIN: Duration = Duration::from_millis(100);

/// Ends a session.
///
/// # Errors
/// [`Problem::NotFound`] for who may neither hold nor see it;
/// [`Problem::NotStopped`] when nobody confirmed the halt.
pub(super) async fn close(
    fleet: &Arc<Fleet>,
    ask: &Ask,
    granted: &Granted,
    id: Uuid,
) -> Result<Answer, Problem> {
    let session = find(fleet, id).await?;
    let mine = ask
        .tenants
        .as_ref()
        .is_none_or(|tenants| tenants.is_empty() || tenants.contains(&session.account));
    if !mine {
        return Err(Problem::NotFound);
    }
    if session.holder.id != ask.issuer.id && !sees(fleet, granted, session.mower).await {
        return Err(Problem::NotFound);
    }
    let halted = halt(fleet, &session).await;
    let ended = record(fleet, &session, "closed", session.frames).await;
    match halted {
        Ok(()) => Answer::json(StatusCode::OK, &SessionView::new(&ended)),
        Err(why) => Err(Problem::NotStopped {
            detail: format!(
                "nobody confirmed the end of driving: {why}; without frames the mower halts within two seconds"
            ),
            effect: Effect::Maybe,
        }),
    }
}

async fn find(fleet: &Fleet, id: Uuid) -> Result<Session, Problem> {
    if let Some(session) = fleet.drives.find(id) {
        return Ok(session);
    }
    match timeout(FOUND_WITHIN, kept::find(&fleet.records, id)).await {
        Ok(Ok(Some(session))) => Ok(session),
        Ok(Ok(None)) => Err(Problem::NotFound),
        Ok(Err(_)) | Err(_) => Err(Problem::NotStopped {
            detail: "the session cannot be looked up; without frames the mower halts within two \
                     seconds; to be sure, stop the mower"
                .to_owned(),
            effect: Effect::None,
        }),
    }
}

/// Whether the caller may see the mower. Who cannot be asked in time does not
/// hold a halt up: the session is of the caller's account.
async fn sees(fleet: &Fleet, granted: &Granted, mower: Uuid) -> bool {
    let id = mower.to_string();
    let question = Question {
        action: OBSERVE,
        kind: "Mower",
        id: &id,
    };
    let within = fleet.settings.judged_within;
    match timeout(within, fleet.gateway.judge(granted, &[question])).await {
        Ok(Ok(verdicts)) => verdicts.first().is_some_and(|verdict| verdict.visible),
        Ok(Err(_)) | Err(_) => {
            tracing::error!("alarm: the end of driving is decided without the gateway");
            true
        }
    }
}

/// A zero frame, and no more frames after it.
async fn halt(fleet: &Fleet, session: &Session) -> Result<(), String> {
    let zero = DriveFrame {
        mower_id: session.mower,
        account_id: session.account.clone(),
        sent_at: fleet.now(),
        frame: Drive {
            session_id: session.id,
            sequence: session.sequence.map_or(u64::MAX >> 1, |last| last + 1),
            linear: 0.0,
            angular: 0.0,
            blade_on: false,
            ttl_ms: 100,
        },
    };
    let payload = serde_json::to_vec(&zero).map_err(|error| error.to_string())?;
    let subject = subject::drive(session.mower);
    if let Err(error) = fleet.bus.send(&subject, Bytes::from(payload)).await {
        tracing::warn!("the zero frame was not sent: {error}");
    }
    let close = DriveControl::Close {
        session_id: session.id,
    };
    let told = tell(fleet, session.mower, &close).await;
    told.map(|_| ()).map_err(|error| error.to_string())
}

/// Ends a session in memory and on record; the session as it ended.
pub(super) async fn record(fleet: &Fleet, session: &Session, by: &str, frames: u64) -> Session {
    let ended = Ended {
        at: fleet.now(),
        by: by.to_owned(),
    };
    fleet.drives.end(session.id, ended.clone());
    let recording = kept::end(&fleet.records, session.id, &ended, frames);
    match timeout(RECORDED_WITHIN, recording).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("the end of driving is not on record: {error}"),
        Err(_) => tracing::warn!("the end of driving is not on record: no answer in time"),
    }
    Session {
        ended: session.ended.clone().or(Some(ended)),
        ..session.clone()
    }
}
