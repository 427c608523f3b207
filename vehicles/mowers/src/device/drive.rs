//! Manual driving: one session at a time, frames that live for a blink, and a
//! dead-man timer here, because nobody knows whether a mower has one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use super::held::{Held, lock};
use super::shared::{Shared, answer};
use super::time::ALLOWED_SKEW;
use super::wire::{DriveAnswer, DriveControl, DriveEnded, DriveFrame, DriveState};
use crate::bus::{Asked, subject};
use crate::contract::{CommandKind, Drive};

/// A session that is opened later than that after its opening is not opened.
const OPENING_LIFE: Duration = Duration::from_secs(10);

/// A frame lives at least and at most so long.
const SHORTEST_TTL_MS: u16 = 100;
const LONGEST_TTL_MS: u16 = 2_000;

/// Who drives, and how far they came.
pub(crate) struct Session {
    session_id: Uuid,
    account_id: String,
    /// The highest sequence that came in.
    last: Option<u64>,
    /// Frames towards the mower are numbered anew: a dead-man frame of our own
    /// must not make the next frame of the driver look old.
    out: u64,
    frames: u64,
    moving: bool,
    dead_man: Instant,
    idle: Instant,
}

impl Session {
    fn next_deadline(&self, lease_ends: Instant) -> Instant {
        let next = self.idle.min(lease_ends);
        if self.moving {
            next.min(self.dead_man)
        } else {
            next
        }
    }

    /// Wheels and blade off.
    fn zero(&mut self, held: &Held) {
        self.moving = false;
        self.out = self.out.saturating_add(1);
        let frame = Drive {
            session_id: self.session_id,
            sequence: self.out,
            linear: 0.0,
            angular: 0.0,
            blade_on: false,
            ttl_ms: SHORTEST_TTL_MS,
        };
        held.connection.drive(held.lease().fence, &frame);
    }
}

/// Takes a message on `drive.mower.<id>`.
pub(crate) fn frame(shared: &Shared, asked: &Asked) {
    let Some(held) = subject::mower(&asked.subject).and_then(|id| shared.held(id)) else {
        return;
    };
    let driven = match serde_json::from_slice::<DriveFrame>(&asked.payload) {
        Ok(frame) if frame.mower_id == held.mower_id => drive(shared, &held, &frame),
        _ => {
            shared.metrics.malformed.add();
            false
        }
    };
    if driven {
        shared.metrics.frames_driven.add();
        held.drive_changed.notify_one();
    } else {
        shared.metrics.frames_dropped.add();
    }
}

fn drive(shared: &Shared, held: &Held, frame: &DriveFrame) -> bool {
    let asked = &frame.frame;
    let Some(left) = life_left(shared, frame) else {
        return false;
    };
    if !sane(asked) || shared.time.trusted().is_err() {
        return false;
    }
    let Some(fence) = held.fence() else {
        return false;
    };
    // SAFETY-STOP: a stop takes the session out under this lock before it goes
    // out, so no frame can follow it.
    let mut driving = lock(&held.driving);
    let Some(session) = driving.as_mut() else {
        return false;
    };
    let known = session.session_id == asked.session_id && session.account_id == frame.account_id;
    if !known || session.last.is_some_and(|last| asked.sequence <= last) {
        return false;
    }
    session.last = Some(asked.sequence);
    session.out = session.out.saturating_add(1);
    session.frames = session.frames.saturating_add(1);
    session.moving = asked.linear != 0.0 || asked.angular != 0.0 || asked.blade_on;
    session.dead_man = Instant::now() + left;
    session.idle = Instant::now() + shared.config.times.drive_idle;
    let frame = Drive {
        sequence: session.out,
        ttl_ms: whole_ms(left),
        ..asked.clone()
    };
    held.connection.drive(fence, &frame);
    true
}

/// What is left of a frame's life; none when it is over or not begun.
fn life_left(shared: &Shared, frame: &DriveFrame) -> Option<Duration> {
    let ttl = Duration::from_millis(u64::from(frame.frame.ttl_ms));
    let age = shared.time.now().duration_since(frame.sent_at);
    if age < -ALLOWED_SKEW {
        return None;
    }
    // A frame that claims to come from the near future lives no longer for it.
    let age = Duration::try_from(age).unwrap_or_default();
    ttl.checked_sub(age).filter(|left| !left.is_zero())
}

/// What the mower's own dead man is told; less than the least it may be told
/// ends by ours.
fn whole_ms(left: Duration) -> u16 {
    u16::try_from(left.as_millis())
        .unwrap_or(LONGEST_TTL_MS)
        .clamp(SHORTEST_TTL_MS, LONGEST_TTL_MS)
}

fn sane(frame: &Drive) -> bool {
    let share = |value: f64| (-1.0..=1.0).contains(&value);
    let lives = (SHORTEST_TTL_MS..=LONGEST_TTL_MS).contains(&frame.ttl_ms);
    share(frame.linear) && share(frame.angular) && lives
}

/// Answers a request on `drive.session.<id>`.
pub(crate) fn control(shared: &Arc<Shared>, asked: Asked) {
    let Some(held) = subject::mower(&asked.subject).and_then(|id| shared.held(id)) else {
        return;
    };
    let Ok(control) = serde_json::from_slice::<DriveControl>(&asked.payload) else {
        shared.metrics.malformed.add();
        return;
    };
    shared.run(|shared| async move {
        let said = match control {
            DriveControl::Open { session_id, .. } => match open(&shared, &held, &control) {
                Ok(()) => said(session_id, DriveState::Open, None),
                Err(why) => DriveAnswer {
                    held_by: lock(&held.driving).as_ref().map(|it| it.session_id),
                    ..said(session_id, DriveState::Refused, Some(why))
                },
            },
            DriveControl::Close { session_id } => {
                end(&shared, &held, "closed", Some(session_id)).await;
                said(session_id, DriveState::Closed, None)
            }
        };
        answer(asked.reply, &said).await;
    });
}

fn said(session_id: Uuid, state: DriveState, reason: Option<&str>) -> DriveAnswer {
    DriveAnswer {
        session_id,
        state,
        reason: reason.map(str::to_owned),
        held_by: None,
    }
}

fn open(shared: &Shared, held: &Held, control: &DriveControl) -> Result<(), &'static str> {
    let DriveControl::Open {
        session_id,
        account_id,
        holder,
        opened_at,
        stop_epoch,
    } = control
    else {
        return Err("invalid-parameters");
    };
    if *account_id != held.account_id {
        return Err("other-account");
    }
    if held.connection.absent().is_some() {
        return Err("not-connected");
    }
    let kinds = &held.connection.capabilities().kinds;
    if !kinds.contains(&CommandKind::ManualDrive) {
        return Err("unsupported-kind");
    }
    shared.time.trusted().map_err(|_| "clock-skew")?;
    let age = shared.time.now().duration_since(*opened_at);
    if age < -ALLOWED_SKEW {
        return Err("clock-skew");
    }
    if Duration::try_from(age).unwrap_or_default() >= OPENING_LIFE {
        return Err("expired");
    }
    held.fence().ok_or("lease-lost")?;
    let state = held.connection.state();
    let (online, latched) = {
        let state = state.borrow();
        (state.link.online, state.emergency.latched)
    };
    if !online {
        return Err("offline");
    }
    if latched {
        return Err("emergency-latched");
    }
    let mut driving = lock(&held.driving);
    // Under the lock: a stop marks first and takes the session out after.
    let mark = shared.ledger.mark(held.mower_id);
    if mark.supersedes(*stop_epoch, *opened_at) {
        return Err(super::shared::SUPERSEDED);
    }
    match driving.as_ref() {
        Some(session) if session.session_id == *session_id => return Ok(()),
        Some(_) => return Err("drive-session-held"),
        None => {}
    }
    tracing::info!(mower_id = %held.mower_id, %session_id, holder, "driving begins");
    let now = Instant::now();
    *driving = Some(Session {
        session_id: *session_id,
        account_id: account_id.clone(),
        last: None,
        out: 0,
        frames: 0,
        moving: false,
        dead_man: now,
        idle: now + shared.config.times.drive_idle,
    });
    held.drive_changed.notify_one();
    Ok(())
}

/// Stops the wheels when frames stay away, and ends what nobody drives.
pub(crate) async fn watch(shared: Arc<Shared>, held: Arc<Held>) {
    loop {
        let changed = held.drive_changed.notified();
        let next = lock(&held.driving)
            .as_ref()
            .map(|session| session.next_deadline(held.lease().until));
        match next {
            None => changed.await,
            Some(next) => tokio::select! {
                () = changed => {}
                () = sleep_until(next) => due(&shared, &held).await,
            },
        }
    }
}

async fn due(shared: &Shared, held: &Held) {
    let now = Instant::now();
    let over = {
        let mut driving = lock(&held.driving);
        let Some(session) = driving.as_mut() else {
            return;
        };
        if session.moving && now >= session.dead_man {
            session.zero(held);
            shared.metrics.dead_man.add();
        }
        if now >= held.lease().until {
            Some("lease-lost")
        } else if now >= session.idle {
            Some("idle")
        } else {
            None
        }
    };
    if let Some(why) = over {
        end(shared, held, why, None).await;
    }
}

/// Ends the session, or only the named one: a zero frame, then no more, and the
/// mower is told so that it takes the next driver's frames.
pub(crate) async fn end(shared: &Shared, held: &Held, why: &str, only: Option<Uuid>) {
    let ended = {
        let mut driving = lock(&held.driving);
        let named = driving
            .as_ref()
            .is_some_and(|session| only.is_none_or(|id| session.session_id == id));
        if !named {
            return;
        }
        driving.take().map(|mut session| {
            session.zero(held);
            held.connection
                .drive_over(held.lease().fence, session.session_id);
            session
        })
    };
    if let Some(session) = ended {
        say_ended(shared, held, session, why).await;
    }
}

/// Takes the session out at once; what stops the mower comes right after.
pub(crate) fn cut(held: &Held) -> Option<Session> {
    lock(&held.driving).take()
}

/// Tells the service that a session is over. Of no weight for the mower.
pub(crate) async fn say_ended(shared: &Shared, held: &Held, session: Session, why: &str) {
    held.drive_changed.notify_one();
    let ended = DriveEnded {
        session_id: session.session_id,
        mower_id: held.mower_id,
        account_id: session.account_id,
        reason: why.to_owned(),
        frames: session.frames,
        at: shared.time.now(),
    };
    let sent = match serde_json::to_vec(&ended) {
        Ok(bytes) => {
            let subject = subject::drive_ended(held.mower_id);
            shared.bus.send(&subject, Bytes::from(bytes)).await
        }
        Err(cause) => {
            tracing::error!(%cause, "the end of a session cannot be written");
            return;
        }
    };
    if let Err(cause) = sent {
        tracing::warn!(%cause, session_id = %ended.session_id, "the end of a session was not told");
    }
}

#[cfg(test)]
mod tests;
