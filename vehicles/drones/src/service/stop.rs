//! Stopping: first in memory, then to the swarm, then to the disk.
//!
//! SAFETY-STOP: nothing here waits for the disk before the swarm was told, nor for a start.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use interlock_guard::Clock;
use jiff::Timestamp;
use tokio::time::Instant;
use uuid::Uuid;

use super::Service;
use super::problem::Problem;
use crate::contract::state::{DroneStatus, SwarmState};
use crate::contract::{
    AbortAnswer, Aborted, Command, DroneAck, LandAnswer, Mission, MissionStatus, drone_id,
};
use crate::crash::CrashPoint;
use crate::fence::STALE_AFTER_SECONDS;
use crate::limits::read_abort;
use crate::link::LinkOutcome;
use crate::missions::Found;
use crate::operations::StopAnswered;

/// How long the swarm has to acknowledge: within one attempt of the gateway.
const PATIENCE: Duration = Duration::from_millis(600);

/// Between two attempts at a link that is down.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// How long the disk has before a stop is answered without it.
const RECORD_WITHIN: Duration = Duration::from_millis(100);

/// Which stop was asked, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Its operation, where the gateway names one.
    pub(super) operation: Option<Uuid>,
    /// When its caller asked.
    pub(super) at: Timestamp,
}

/// What became of a stop.
struct Stopped {
    /// What was sent.
    command: Command,
    recorded: bool,
    drones: Vec<DroneAck>,
}

impl Service {
    /// Lands every drone where it is, whatever flies.
    pub(super) async fn land(&self, asked: Asked) -> Result<LandAnswer, Problem> {
        let stopped = self.stop(asked, Command::Land, None).await?;
        let Stopped {
            command,
            recorded,
            drones,
        } = stopped;
        Ok(LandAnswer {
            command,
            recorded,
            drones,
        })
    }

    /// Ends a mission. Only when it is sure that all its drones stand is there nothing to end.
    pub(super) async fn abort(
        &self,
        by: Asked,
        mission: Uuid,
        body: &[u8],
    ) -> Result<AbortAnswer, Problem> {
        let command = read_abort(body)?;
        // The books first, the swarm after: what only the swarm knows is stopped as well.
        let asked = self.missions.find(mission);
        let reported = self.link.state().mission.map(|mission| mission.id);
        match &asked {
            Some(Found::Taken(asked)) => {
                if asked.status != MissionStatus::Active && self.stands(asked) {
                    return Err(Problem::NotActive(mission));
                }
            }
            Some(Found::Unclear(_)) => {}
            None if reported == Some(mission) => {}
            None => return Err(Problem::NotFound),
        }
        let Stopped {
            command,
            recorded,
            drones,
        } = self.stop(by, command, Some(mission)).await?;
        let ended = match self.missions.find(mission).or(asked) {
            Some(Found::Taken(mission)) => Aborted::Mission(mission),
            // Either it flew and this stop ended it, or this stop keeps it from being sent.
            Some(Found::Unclear(mission)) => Aborted::Mission(Mission {
                status: MissionStatus::Aborted,
                ended_at_utc: Some(self.clock.now()),
                ..mission
            }),
            None => Aborted::Reported {
                id: mission,
                status: MissionStatus::Aborted,
            },
        };
        Ok(AbortAnswer {
            mission: ended,
            command,
            recorded,
            drones,
        })
    }

    async fn stop(
        &self,
        asked: Asked,
        command: Command,
        mission: Option<Uuid>,
    ) -> Result<Stopped, Problem> {
        let now = self.clock.now();
        let command = self.in_order(command, asked.at);
        if let Some(operation) = asked.operation {
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
        let name = command.request_name();
        let drones = judge(self.of_all(outcome)).inspect_err(|problem| {
            tracing::error!(epoch, recorded, command = name, "stop: {problem}");
        })?;
        self.missions.stopped(epoch, self.clock.now());
        if command == Command::Land {
            let mut landed = self.land_asked();
            *landed = landed.max(Some(asked.at));
        }
        tracing::info!(epoch, recorded, command = name, "the swarm was stopped");
        Ok(Stopped {
            command,
            recorded,
            drones,
        })
    }

    /// SAFETY-STOP: returning and holding keep drones in the air. One that was asked before the
    /// last landing and comes late, or again, does not undo it.
    fn in_order(&self, command: Command, asked_at: Timestamp) -> Command {
        if self.land_asked().is_some_and(|land| asked_at <= land) {
            return Command::Land;
        }
        command
    }

    fn land_asked(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.land_asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A drone that is there and that the swarm's answer leaves out did not acknowledge.
    fn of_all(&self, mut outcome: LinkOutcome) -> LinkOutcome {
        if let LinkOutcome::Acknowledged { drones, .. } = &mut outcome {
            for drone in &self.link.state().drones {
                if !drones.iter().any(|ack| ack.drone_id == drone.id) {
                    drones.push(DroneAck {
                        drone_id: drone.id.clone(),
                        acknowledged: false,
                    });
                }
            }
        }
        outcome
    }

    /// Sends a stop, again until the swarm has answered: a link that comes back within the
    /// patience of the caller still carries it. A stop repeated does no harm, and once a try may
    /// have arrived nothing that comes later says that none did.
    async fn tell(&self, command: Command, mission: Option<Uuid>) -> LinkOutcome {
        let until = Instant::now() + PATIENCE;
        let mut unknown = None;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let outcome = self.link.command(command, mission, left).await;
            match outcome {
                LinkOutcome::Acknowledged { .. } => return outcome,
                LinkOutcome::Refused { ref drones, .. } => {
                    let heard = drones.iter().any(|drone| drone.acknowledged);
                    return unknown.filter(|_| !heard).unwrap_or(outcome);
                }
                LinkOutcome::Unknown { .. } => unknown = Some(outcome.clone()),
                LinkOutcome::NotSent { .. } => {}
            }
            let again = Instant::now() + TRY_AGAIN;
            if again >= until {
                return unknown.unwrap_or(outcome);
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
