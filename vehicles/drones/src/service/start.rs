//! Starting a mission: checked, written down, then sent, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use interlock_guard::{Clock, body_digest};
use jiff::Timestamp;
use uuid::Uuid;

use super::Service;
use super::problem::Problem;
use crate::contract::{Mission, MissionRequest};
use crate::crash::{CrashAt, CrashPoint};
use crate::database::DatabaseError;
use crate::epoch::{StopEpoch, Stops};
use crate::fence::{Fence, Placed};
use crate::link::{LinkMission, LinkOutcome, StartGate};
use crate::missions::{Missions, Taken, Unsettled};
use crate::operations::{Answer, Begun, Record, Standing};
use crate::preview::Previewed;

/// The longest wait for the swarm's answer to a start.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is left of the caller's time for the answer to travel.
const MARGIN: Duration = Duration::from_millis(250);

/// A granted start.
#[derive(Debug)]
pub(super) struct Ask {
    /// The operation, and the mission's id.
    pub(super) operation: Uuid,
    /// The mission request.
    pub(super) body: Bytes,
    /// When the caller asked.
    pub(super) asked_at: Timestamp,
    /// When the caller stops waiting.
    pub(super) deadline: Timestamp,
    /// What a person approved; none: started directly.
    pub(super) fence: Option<Fence>,
}

impl Service {
    /// Starts a mission at most once, or says why not.
    pub(super) async fn start(&self, ask: &Ask) -> Result<Answer, Problem> {
        let digest = body_digest(&ask.body);
        let earlier = self
            .operations
            .find(ask.operation)
            .await
            .map_err(not_durable)?;
        if let Some(record) = earlier {
            return replay(record, &digest);
        }
        let request = self.limits.read_mission(&ask.body)?;
        let stops = self.epoch.current();
        self.check_age(ask, stops)?;
        let mission = Mission::started(ask.operation, &request, self.clock.now());
        let slot = self.take_slot(&mission, stops).await?;
        self.check_swarm(ask, &request, stops)?;
        let answer = started(&mission)?;
        self.crash_at.reached(CrashPoint::BeforeBegin);
        let begun = self
            .operations
            .begin(ask.operation, &digest, &answer, mission.created_at_utc)
            .await;
        let running = match begun {
            Ok(Begun::Fresh(running)) => running,
            Ok(Begun::Existing(record)) => return replay(record, &digest),
            Err(error) => {
                // It may be on disk all the same, so it has to be settled; nothing was sent.
                self.missions.leave(ask.operation, Unsettled::NotSent);
                return Err(not_durable(error));
            }
        };
        self.crash_at.reached(CrashPoint::AfterBegin);
        // Writing may have taken seconds, and the swarm does not wait.
        let sent = match self.check_swarm(ask, &request, stops) {
            Ok(planned) => {
                let starts = planned.fence.starts.iter().map(Placed::point).collect();
                let link_mission = LinkMission::new(ask.operation, &request, starts);
                self.send(ask, &link_mission, stops).await
            }
            Err(breach) => Err(breach),
        };
        let result = match sent {
            Ok(()) => self.finish_done(&mission).await.map(|()| answer),
            Err(problem) => Err(self.finish_failed(ask.operation, problem).await),
        };
        drop(slot);
        drop(running);
        self.crash_at.reached(CrashPoint::AfterFinish);
        result
    }

    /// Motion asked before a stop, or too late for whoever asked, is not made.
    fn check_age(&self, ask: &Ask, stops: Stops) -> Result<(), Problem> {
        if stops.after(ask.asked_at) {
            let detail = "the swarm was stopped, or its service broke off, after this was asked";
            return Err(Problem::StoppedSince(detail.to_owned()));
        }
        if self.clock.now() >= ask.deadline {
            return Err(Problem::TooLate);
        }
        Ok(())
    }

    /// One start at a time, none while a mission flies or an earlier start is unclear.
    async fn take_slot(&self, mission: &Mission, stops: Stops) -> Result<SlotHeld<'_>, Problem> {
        self.settle_all().await.map_err(not_durable)?;
        let reserved = self.missions.reserve(mission.clone(), stops.epoch);
        reserved.map_err(|taken| match taken {
            Taken::Itself => Problem::InProgress(
                "this operation has begun already and is not over; settle it".to_owned(),
            ),
            Taken::By(other) => Problem::MissionActive(other),
            Taken::Unsettled => Problem::Unsettled,
        })?;
        Ok(SlotHeld {
            missions: &self.missions,
            operation: mission.id,
        })
    }

    /// Plans again on what the swarm reports now.
    fn check_swarm(
        &self,
        ask: &Ask,
        request: &MissionRequest,
        stops: Stops,
    ) -> Result<Previewed, Problem> {
        let state = self.link.state();
        if let Some(flown) = state.mission.filter(|mission| !mission.complete) {
            return Err(Problem::MissionActive(flown.id));
        }
        let now = self.clock.now();
        let planned = self.plan(request, &state, stops.epoch);
        match &ask.fence {
            Some(fence) => fence.compare(&planned, &state, now)?,
            None => planned.check_direct(&state, now)?,
        }
        if let Some(fault) = self.limits.start_faults(&planned.fence.starts).pop() {
            return Err(Problem::Moved(fault));
        }
        Ok(planned)
    }

    async fn send(&self, ask: &Ask, mission: &LinkMission, stops: Stops) -> Result<(), Problem> {
        let left = ask.deadline.duration_since(self.clock.now());
        let left = Duration::try_from(left).unwrap_or_default();
        let patience = left.saturating_sub(MARGIN).min(PATIENCE);
        let gate = Gate {
            epoch: Arc::clone(&self.epoch),
            seen: stops.epoch,
            clock: Arc::clone(&self.clock),
            deadline: ask.deadline,
            crash_at: self.crash_at,
            sent_on: AtomicU64::new(self.link.state().connection),
        };
        let gate = Arc::new(gate);
        let passed: Arc<dyn StartGate> = Arc::<Gate>::clone(&gate);
        let outcome = self.link.start(mission, passed, patience).await;
        self.crash_at.reached(CrashPoint::AfterAck);
        match outcome {
            LinkOutcome::Acknowledged { .. } => Ok(()),
            LinkOutcome::Refused { reason, .. } => Err(Problem::SwarmRefused(reason)),
            LinkOutcome::Unknown { reason } => {
                let last = gate.sent_on.load(Ordering::Acquire);
                self.missions.leave(ask.operation, Unsettled::SentBy(last));
                Err(Problem::Unknown(format!(
                    "the start was sent: {reason}; settle the operation before anything else"
                )))
            }
            LinkOutcome::NotSent { reason } => {
                if self.epoch.current().epoch != stops.epoch {
                    let detail = "the swarm was stopped while this start was on its way";
                    return Err(Problem::StoppedSince(detail.to_owned()));
                }
                self.check_age(ask, stops)?;
                Err(Problem::Unavailable(format!("nothing was sent: {reason}")))
            }
        }
    }

    /// The swarm flies it. If that cannot be written down it is true all the same, and is settled.
    async fn finish_done(&self, mission: &Mission) -> Result<(), Problem> {
        self.crash_at.reached(CrashPoint::BeforeFinish);
        let now = self.clock.now();
        if let Err(error) = self.operations.finish_done(mission, now).await {
            tracing::error!(operation = %mission.id, "a start is not recorded yet: {error}");
            self.missions.leave(mission.id, Unsettled::Flown);
        }
        self.missions
            .flies(mission.id, self.link.state().connection, now);
        Ok(())
    }

    /// It does not fly, or nobody knows; then a new connection of the link fences what is still
    /// on its way, and the swarm's own list decides.
    async fn finish_failed(&self, operation: Uuid, problem: Problem) -> Problem {
        self.crash_at.reached(CrashPoint::BeforeFinish);
        if matches!(problem, Problem::Unknown(_)) {
            return problem;
        }
        let answer = problem.answer();
        let now = self.clock.now();
        let finished = self
            .operations
            .finish_refused(operation, Some(&answer), now)
            .await;
        if let Err(error) = finished {
            tracing::error!(%operation, "a refused start is not recorded yet: {error}");
            self.missions.leave(operation, Unsettled::NotSent);
        }
        problem
    }
}

/// Stands at the wire, where a start and a stop meet.
struct Gate {
    epoch: Arc<StopEpoch>,
    seen: u64,
    clock: Arc<dyn Clock>,
    deadline: Timestamp,
    crash_at: CrashAt,
    /// The connection it goes out on, if it does.
    sent_on: AtomicU64,
}

impl StartGate for Gate {
    /// SAFETY-STOP: a stop raises the epoch before it is sent. So either this start sees it and
    /// is not sent, or the stop goes onto the same wire after it.
    fn wanted(&self, connection: u64) -> bool {
        self.sent_on.fetch_max(connection, Ordering::AcqRel);
        self.crash_at.reached(CrashPoint::BeforeLinkSend);
        self.epoch.current().epoch == self.seen && self.clock.now() < self.deadline
    }

    fn written(&self) {
        self.crash_at.reached(CrashPoint::AfterLinkSend);
    }
}

/// The slot, given back when the start is over; a mission that flies has replaced it by then.
struct SlotHeld<'a> {
    missions: &'a Missions,
    operation: Uuid,
}

impl Drop for SlotHeld<'_> {
    fn drop(&mut self) {
        self.missions.release(self.operation);
    }
}

/// What is said to an operation that was seen before. It is never sent again.
fn replay(record: Record, digest: &str) -> Result<Answer, Problem> {
    if record.digest.is_some_and(|known| known != digest) {
        return Err(Problem::Reused);
    }
    match record.standing {
        Standing::Running => Err(Problem::InProgress("this operation is running".to_owned())),
        Standing::Unsettled => Err(Problem::InProgress(
            "this operation has begun and its outcome is not known; settle it".to_owned(),
        )),
        Standing::Done(_, answer) | Standing::Tombstoned(Some(answer)) => Ok(answer),
        Standing::Tombstoned(None) => Err(Problem::Tombstoned),
    }
}

fn started(mission: &Mission) -> Result<Answer, Problem> {
    let body = serde_json::to_string(mission).map_err(|error| {
        tracing::error!("a mission has no JSON form: {error}");
        Problem::Internal
    })?;
    Ok(Answer {
        status: 201,
        body,
        location: Some(format!("/api/missions/{}", mission.id)),
    })
}

pub(super) fn not_durable(error: DatabaseError) -> Problem {
    tracing::error!("the database cannot be used: {error}");
    Problem::NotDurable
}
