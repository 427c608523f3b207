//! Driving by hand: a session with one holder is opened once and recorded once;
//! its frames go past the records straight to the device gateway that holds the
//! mower, and are never stored.
//!
//! The device gateway has the last word: it keeps the one open session, drops
//! frames out of order, and stops the wheels when frames stay away.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use crate::bus::{BusError, subject};
use crate::commands::ask::Ask;
use crate::commands::life::after;
use crate::commands::record::millis;
use crate::commands::settle::Settled;
use crate::contract::{CommandKind, Drive, Issuer};
use crate::device::wire::{DriveAnswer, DriveControl, DriveFrame, DriveState};
use crate::operations::{self, Answer, Effect};
use crate::records::RecordsError;
use crate::service::Fleet;
use crate::service::problem::Problem;
use crate::service::settle::repeated;

mod close;
pub mod follow;
pub mod handlers;
mod kept;
mod sessions;

#[cfg(test)]
mod tests;

pub use sessions::{Drives, Session};

/// A session without frames for so long is over.
pub const IDLE: Duration = Duration::from_secs(10);

/// How long a frame lives that does not say.
const FRAME_TTL_MS: u16 = 1_000;

/// How long the holder of a mower has to open or close a session.
const WITHIN: Duration = Duration::from_secs(2);

/// A session as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionView {
    session_id: Uuid,
    mower_id: Uuid,
    holder: String,
    opened_at: String,
    expires_at: String,
    frame_ttl_ms: u16,
    frames: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_by: Option<String>,
}

impl SessionView {
    fn new(session: &Session) -> Self {
        Self {
            session_id: session.id,
            mower_id: session.mower,
            holder: session.holder.display.clone(),
            opened_at: millis(session.opened_at),
            expires_at: millis(after(session.last_at, IDLE)),
            frame_ttl_ms: FRAME_TTL_MS,
            frames: session.frames,
            ended_at: session.ended.as_ref().map(|ended| millis(ended.at)),
            ended_by: session.ended.as_ref().map(|ended| ended.by.clone()),
        }
    }
}

/// `202`: a frame was sent. Frames are neither stored nor confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct FrameSent {
    mower_id: Uuid,
    kind: CommandKind,
    session_id: Uuid,
    sequence: u64,
    meaning: &'static str,
}

/// Opens a session: on record first, then at the mower's device gateway.
///
/// # Errors
/// A [`Problem`]; then nobody drives by this session.
pub async fn open(fleet: &Arc<Fleet>, ask: &Ask, mower: Uuid) -> Result<Answer, Problem> {
    let id = ask.id()?;
    let now = fleet.now();
    ask.in_time(now)?;
    let member = fleet.roster.find(mower).ok_or(Problem::NotFound)?;
    let revision = member.hierarchy_rev;
    if ask.revision.is_some_and(|judged| judged < revision) {
        return Err(Problem::AuthzStale { revision });
    }
    let epochs = &fleet.control.epochs;
    let stop_epoch = epochs.current(mower);
    if epochs.stopped_since(mower, ask.asked_at) {
        let detail = "the mower was stopped after this was asked".to_owned();
        return Err(Problem::StoppedSince(detail));
    }
    let session = Session::new(id, &member, ask.issuer.clone(), now);
    let mut change = fleet.records.begin().await?;
    let begun = operations::begin(&mut change, id, ask.row, now).await?;
    if let Some(answer) = repeated(begun, ask.row)? {
        return Ok(answer);
    }
    kept::insert(&mut change, &session).await?;
    change.commit().await.map_err(RecordsError::from)?;
    let control = DriveControl::Open {
        session_id: id,
        account_id: session.account.clone(),
        holder: session.holder.id.clone(),
        opened_at: now,
        stop_epoch,
    };
    let result = match tell(fleet, mower, &control).await {
        Ok(answer) => opened(fleet, &answer, &ask.issuer).await,
        Err(error) => Err(not_told(&error)),
    };
    match result {
        Ok(()) => {
            let answer = Answer::json(StatusCode::CREATED, &SessionView::new(&session))?;
            let answer = answer.at(format!("/api/v1/fleet/drive-sessions/{id}"));
            fleet.drives.open(session);
            if let Err(error) = kept::replace(&fleet.records, mower, id, now).await {
                tracing::warn!("earlier sessions are not closed on record: {error}");
            }
            finish(fleet, id, Effect::Done, &answer).await;
            Ok(answer)
        }
        Err(problem) => {
            // It may have been opened and its answer lost: nobody is to drive by it.
            let close = DriveControl::Close { session_id: id };
            if let Err(error) = tell(fleet, mower, &close).await {
                tracing::info!("a session that was not opened is not closed: {error}");
            }
            close::record(fleet, &session, "refused", 0).await;
            finish(fleet, id, Effect::None, &problem.answer()).await;
            Err(problem)
        }
    }
}

/// Sends one frame of the session's holder.
///
/// # Errors
/// A [`Problem`]; then the frame was not sent.
pub async fn frame(
    fleet: &Arc<Fleet>,
    ask: &Ask,
    mower: Uuid,
    frame: Drive,
) -> Result<Answer, Problem> {
    let now = fleet.now();
    // SAFETY-STOP: an old frame is never driven late; the next one follows.
    let life = Duration::from_millis(u64::from(frame.ttl_ms));
    if now >= after(ask.asked_at, life) {
        return Err(Problem::TooLate);
    }
    let session = session(fleet, frame.session_id, mower).await?;
    hold(&session, &ask.issuer)?;
    if fleet.control.epochs.stopped_since(mower, ask.asked_at) {
        let detail = "the mower was stopped after this was asked".to_owned();
        return Err(Problem::StoppedSince(detail));
    }
    let (session_id, sequence) = (frame.session_id, frame.sequence);
    fleet.drives.count(session_id, sequence, now)?;
    let message = DriveFrame {
        mower_id: mower,
        account_id: session.account.clone(),
        // Its life counts from here, not from when this replica came to it. A clock
        // that is ahead of ours makes it no longer.
        sent_at: ask.asked_at.min(now),
        frame,
    };
    let payload = serde_json::to_vec(&message).map_err(|_| Problem::Internal)?;
    let subject = subject::drive(mower);
    let sent = fleet.bus.send(&subject, Bytes::from(payload)).await;
    sent.map_err(|error| Problem::BusUnavailable(format!("the frame was not sent: {error}")))?;
    let sent = FrameSent {
        mower_id: mower,
        kind: CommandKind::ManualDrive,
        session_id,
        sequence,
        meaning: "sent",
    };
    Answer::json(StatusCode::ACCEPTED, &sent)
}

/// How the opening of a session stands whose answer was lost: nobody drives by
/// it, and it ends by itself; `None` when there is none.
///
/// # Errors
/// [`Problem`] when the records cannot be read.
pub async fn settled(fleet: &Fleet, operation: Uuid) -> Result<Option<Settled>, Problem> {
    let Some(session) = kept::find(&fleet.records, operation).await? else {
        return Ok(None);
    };
    if session.ended.is_none() && fleet.now() <= after(session.opened_at, IDLE) {
        return Ok(Some(Settled::Running));
    }
    let problem = none_open("the drive session was not opened, or is over");
    Ok(Some(Settled::Done(Effect::None, problem.answer())))
}

/// The open session of this id: in memory, or opened or driven by another replica.
/// Of a session of another mower nothing is told, not even its end.
///
/// That it is idle is for the device gateway to find, to which all replicas' frames
/// go; its word comes to the records.
async fn session(fleet: &Fleet, id: Uuid, mower: Uuid) -> Result<Session, Problem> {
    let none = || none_open("there is no such drive session");
    let now = fleet.now();
    let known = fleet.drives.find(id).filter(|it| it.is_certain(now));
    let session = match known {
        Some(session) => session,
        None => {
            let found = kept::find(&fleet.records, id).await?;
            fleet.drives.learn(found.ok_or_else(none)?, now)
        }
    };
    if session.mower != mower {
        return Err(none());
    }
    match &session.ended {
        Some(ended) => Err(none_open(&format!(
            "the drive session is over: {}",
            ended.by
        ))),
        None => Ok(session),
    }
}

/// Only the holder drives.
fn hold(session: &Session, issuer: &Issuer) -> Result<(), Problem> {
    if session.holder.id != issuer.id {
        return Err(Problem::DriveSessionHeld { own: None });
    }
    Ok(())
}

fn none_open(why: &str) -> Problem {
    Problem::DriveSessionNeeded(format!("{why}; open a drive session first"))
}

/// Tells the holder of the mower, and hears what holds then.
async fn tell(fleet: &Fleet, mower: Uuid, control: &DriveControl) -> Result<DriveAnswer, BusError> {
    let invalid = |error: serde_json::Error| BusError::Invalid(error.to_string());
    let payload = serde_json::to_vec(control).map_err(invalid)?;
    let subject = subject::session(mower);
    let bytes = fleet
        .bus
        .request(&subject, Bytes::from(payload), WITHIN)
        .await?;
    serde_json::from_slice(&bytes).map_err(invalid)
}

async fn opened(fleet: &Fleet, answer: &DriveAnswer, issuer: &Issuer) -> Result<(), Problem> {
    if answer.state == DriveState::Open {
        return Ok(());
    }
    Err(match answer.reason.as_deref() {
        Some("drive-session-held") => {
            let own = own(fleet, answer.held_by, issuer).await;
            Problem::DriveSessionHeld { own }
        }
        Some("superseded-by-stop") => {
            Problem::StoppedSince("the mower was stopped after this was asked".to_owned())
        }
        Some("lease-lost") | None => Problem::NotHeld,
        Some(reason) => Problem::DriveSessionNeeded(format!(
            "no session was opened: the mower cannot be driven now: {reason}"
        )),
    })
}

/// The session that holds the mower, where it is the caller's own; of somebody
/// else's nothing is told.
async fn own(fleet: &Fleet, held_by: Option<Uuid>, issuer: &Issuer) -> Option<Uuid> {
    let id = held_by?;
    let holder = match fleet.drives.find(id) {
        Some(session) => session.holder,
        None => kept::find(&fleet.records, id).await.ok()??.holder,
    };
    (holder.id == issuer.id).then_some(id)
}

fn not_told(error: &BusError) -> Problem {
    match error {
        BusError::TimedOut(_) | BusError::Lost(_) | BusError::NoResponders(_) => Problem::NotHeld,
        BusError::Unavailable(why) | BusError::Invalid(why) => {
            Problem::BusUnavailable(format!("no session was opened: {why}"))
        }
    }
}

async fn finish(fleet: &Fleet, id: Uuid, effect: Effect, answer: &Answer) {
    let now: Timestamp = fleet.now();
    let finished = operations::finish(fleet.records.pool(), id, effect, answer, now).await;
    if let Err(error) = finished {
        tracing::error!(%id, "the end of an operation is not recorded: {error}");
    }
}
