//! The drive sessions that this replica knows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use uuid::Uuid;

use super::IDLE;
use crate::commands::life::after;
use crate::contract::Issuer;
use crate::hierarchy::roster::Member;
use crate::service::problem::Problem;

/// Sessions remembered before those that are long over are forgotten.
const SESSIONS: usize = 1_024;

/// One session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: Uuid,
    /// Which mower.
    pub mower: Uuid,
    /// Of which account.
    pub account: String,
    /// Who drives.
    pub holder: Issuer,
    /// Since when.
    pub opened_at: Timestamp,
    /// When the last frame came, or it was opened.
    pub last_at: Timestamp,
    /// Frames so far.
    pub frames: u64,
    /// The highest sequence so far.
    pub sequence: Option<u64>,
    /// How it ended.
    pub ended: Option<Ended>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// Why: `closed`, `idle`, `stopped`, `refused`, `lost` or what else a device gateway says.
    pub by: String,
}

impl Session {
    pub(super) fn new(id: Uuid, member: &Member, holder: Issuer, now: Timestamp) -> Self {
        Self {
            id,
            mower: member.mower_id,
            account: member.account_id.clone(),
            holder,
            opened_at: now,
            last_at: now,
            frames: 0,
            sequence: None,
            ended: None,
        }
    }

    /// Whether it is not over as far as this replica has heard.
    fn is_driven(&self, now: Timestamp) -> bool {
        self.ended.is_none() && after(self.last_at, IDLE) > now
    }

    /// Whether this replica can say how it stands: it is over, or a frame came by
    /// here not long ago. Of another one's frames it hears nothing.
    pub(super) fn is_certain(&self, now: Timestamp) -> bool {
        self.ended.is_some() || self.is_driven(now)
    }
}

/// The sessions by id.
#[derive(Debug, Default)]
pub struct Drives(Mutex<HashMap<Uuid, Session>>);

impl Drives {
    /// Remembers a session.
    pub(super) fn open(&self, session: Session) {
        remember(&mut self.lock(), session);
    }

    /// Takes over what the records say of a session: another replica opened it, or
    /// drives by it. It counts as heard of now; what came by here is kept.
    pub(super) fn learn(&self, recorded: Session, now: Timestamp) -> Session {
        let mut all = self.lock();
        let mut session = Session {
            last_at: now,
            ..recorded
        };
        if let Some(known) = all.get(&session.id) {
            session.frames = session.frames.max(known.frames);
            session.sequence = known.sequence;
            session.ended = session.ended.or_else(|| known.ended.clone());
        }
        remember(&mut all, session.clone());
        session
    }

    /// How many this replica knows to be open.
    #[must_use]
    pub fn open_at(&self, now: Timestamp) -> usize {
        let all = self.lock();
        all.values().filter(|it| it.is_driven(now)).count()
    }

    /// The session of this id, open or not.
    pub(super) fn find(&self, id: Uuid) -> Option<Session> {
        self.lock().get(&id).cloned()
    }

    /// Counts a frame; its sequence must be higher than the last one's.
    pub(super) fn count(&self, id: Uuid, sequence: u64, now: Timestamp) -> Result<(), Problem> {
        let mut all = self.lock();
        let Some(session) = all.get_mut(&id) else {
            return Ok(());
        };
        if let Some(last) = session.sequence.filter(|last| sequence <= *last) {
            return Err(Problem::FrameOutOfOrder { last });
        }
        session.sequence = Some(sequence);
        session.frames = session.frames.saturating_add(1);
        session.last_at = now;
        Ok(())
    }

    /// Ends a session; what it was, when it was open.
    pub(super) fn end(&self, id: Uuid, ended: Ended) -> Option<Session> {
        let mut all = self.lock();
        let session = all.get_mut(&id).filter(|it| it.ended.is_none())?;
        session.ended = Some(ended);
        Some(session.clone())
    }

    /// Ends what drives this mower since before it was stopped `at`; a stop that is
    /// heard of late ends no session that was opened after it. The device gateway
    /// has ended it too, and says with how many frames.
    pub fn stopped(&self, mower: Uuid, at: Timestamp) {
        let mut all = self.lock();
        let of_mower = all.values_mut().filter(|it| it.mower == mower);
        for session in of_mower.filter(|it| it.ended.is_none() && it.opened_at <= at) {
            session.ended = Some(Ended {
                at,
                by: "stopped".to_owned(),
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remember(all: &mut HashMap<Uuid, Session>, session: Session) {
    if all.len() >= SESSIONS {
        let now = session.last_at;
        all.retain(|_, it| it.is_driven(now));
    }
    all.insert(session.id, session);
}
