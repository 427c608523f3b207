//! Stopping: first in memory, then to the swarm, then to the disk.
//!
//! SAFETY-STOP: nothing here waits for the disk before the swarm was told, nor for a start.

use std::time::Duration;

use interlock_guard::Clock;
use jiff::Timestamp;
use tokio::time::Instant;
use uuid::Uuid;

use super::Service;
use super::problem::Problem;
use crate::contract::state::{DroneStatus, SwarmState};
use crate::contract::{
    AbortAnswer, Command, DroneAck, LandAnswer, Mission, MissionStatus, drone_id,
};
use crate::crash::CrashPoint;
use crate::fence::STALE_AFTER_SECONDS;
use crate::limits::read_abort;
use crate::link::LinkOutcome;
use crate::operations::StopAnswered;

/// How long the swarm has to acknowledge: within one attempt of the gateway.
const PATIENCE: Duration = Duration::from_millis(600);

/// Between two attempts at a link that is down.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// How long the disk has before a stop is answered without it.
const RECORD_WITHIN: Duration = Duration::from_millis(100);

/// What became of a stop.
struct Stopped {
    recorded: bool,
    drones: Vec<DroneAck>,
}

impl Service {
    /// Lands every drone where it is, whatever flies.
    pub(super) async fn land(&self, operation: Option<Uuid>) -> Result<LandAnswer, Problem> {
        let command = Command::Land;
        let Stopped { recorded, drones } = self.stop(operation, command, None).await?;
        Ok(LandAnswer {
            command,
            recorded,
            drones,
        })
    }

    /// Ends a mission. Only when it is sure that all its drones stand is there nothing to end.
    pub(super) async fn abort(
        &self,
        operation: Option<Uuid>,
        mission: Uuid,
        body: &[u8],
    ) -> Result<AbortAnswer, Problem> {
        let command = read_abort(body)?;
        let asked = self.missions.get(mission).ok_or(Problem::NotFound)?;
        if asked.status != MissionStatus::Active && self.stands(&asked) {
            return Err(Problem::NotActive(mission));
        }
        let Stopped { recorded, drones } = self.stop(operation, command, Some(mission)).await?;
        Ok(AbortAnswer {
            mission: self.missions.get(mission).unwrap_or(asked),
            command,
            recorded,
            drones,
        })
    }

    async fn stop(
        &self,
        operation: Option<Uuid>,
        command: Command,
        mission: Option<Uuid>,
    ) -> Result<Stopped, Problem> {
        let now = self.clock.now();
        if let Some(operation) = operation {
            self.stop_log.begin(unanswered(operation, now));
        }
        // After the note: whoever records this epoch records the note as well.
        let epoch = self.epoch.raise(now);
        self.crash_at.reached(CrashPoint::StopBeforeLink);
        let (outcome, recorded) = tokio::join!(
            self.tell(command, mission),
            self.epoch.is_recorded(epoch, RECORD_WITHIN),
        );
        self.crash_at.reached(CrashPoint::StopAfterLink);
        let drones = judge(outcome).inspect_err(|problem| {
            let command = command.request_name();
            tracing::error!(epoch, recorded, command, "stop: {problem}");
        })?;
        self.missions.stopped(epoch, self.clock.now());
        let command = command.request_name();
        tracing::info!(epoch, recorded, command, "the swarm was stopped");
        Ok(Stopped { recorded, drones })
    }

    /// Sends a stop, again while it is certain that nothing was sent: a link that comes back
    /// within the patience of the caller still carries it.
    async fn tell(&self, command: Command, mission: Option<Uuid>) -> LinkOutcome {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let outcome = self.link.command(command, mission, left).await;
            let again = Instant::now() + TRY_AGAIN;
            if !matches!(outcome, LinkOutcome::NotSent { .. }) || again >= until {
                return outcome;
            }
            tokio::time::sleep_until(again).await;
        }
    }

    /// Whether a fresh report shows all drones of the mission on the ground.
    fn stands(&self, mission: &Mission) -> bool {
        let state = self.link.state();
        let now = self.clock.now();
        let landed = |id: String| {
            state.drone(&id).is_some_and(|drone| {
                drone.age_seconds(now) <= STALE_AFTER_SECONDS
                    && matches!(drone.status(), DroneStatus::Landed | DroneStatus::Idle)
            })
        };
        is_fresh(&state, self.clock.as_ref()) && (0..mission.drone_count).map(drone_id).all(landed)
    }
}

/// What a stop comes to when this process ends before it is answered.
fn unanswered(operation: Uuid, at: Timestamp) -> StopAnswered {
    let detail = "the service ended before this stop was answered; the swarm may not have stopped";
    let problem = Problem::Unknown(detail.to_owned());
    StopAnswered {
        operation,
        effect: problem.effect(),
        answer: problem.answer(),
        at,
    }
}

fn is_fresh(state: &SwarmState, clock: &dyn Clock) -> bool {
    let age = state.age_seconds(clock.now());
    state.bridge.is_live() && age.is_some_and(|age| age <= STALE_AFTER_SECONDS)
}

fn judge(outcome: LinkOutcome) -> Result<Vec<DroneAck>, Problem> {
    let none_heard =
        |drones: &[DroneAck]| !drones.is_empty() && !drones.iter().any(|drone| drone.acknowledged);
    match outcome {
        LinkOutcome::Acknowledged { drones, .. } if none_heard(&drones) => {
            let detail = "no drone acknowledged; the swarm may not have stopped";
            Err(Problem::Unknown(detail.to_owned()))
        }
        LinkOutcome::Acknowledged { drones, .. } => Ok(drones),
        LinkOutcome::Refused { drones, .. } if drones.iter().any(|drone| drone.acknowledged) => {
            Ok(drones)
        }
        LinkOutcome::Refused { reason, .. } => Err(Problem::Unavailable(format!(
            "not stopped: the swarm refused: {reason}"
        ))),
        LinkOutcome::NotSent { reason } => {
            Err(Problem::Unavailable(format!("not stopped: {reason}")))
        }
        LinkOutcome::Unknown { reason } => Err(Problem::Unknown(format!(
            "the swarm may not have stopped: {reason}"
        ))),
    }
}
