//! Settling: what became of an operation, said once and for ever.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::Service;
use crate::contract::Mission;
use crate::contract::state::SwarmState;
use crate::database::DatabaseError;
use crate::missions::Unsettled;
use crate::operations::{Answer, Effect, Standing};

/// The answer to a settle.
#[derive(Debug, Serialize)]
pub(super) struct Settled {
    state: State,
    effect: Effect,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<SettledAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Done,
    Running,
    Tombstoned,
}

#[derive(Debug, Serialize)]
struct SettledAnswer {
    status: u16,
    body: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
}

impl Service {
    /// What became of `operation`. One never seen is refused for ever by this very call.
    pub(super) async fn settle(&self, operation: Uuid) -> Result<Settled, DatabaseError> {
        match self.stop_log.find(operation) {
            Some(Some(stop)) => {
                let answer = Some(stop.answer);
                return Ok(Settled::of(State::Done, stop.effect, answer, None));
            }
            Some(None) => return Ok(Settled::running("this process is at it")),
            None => {}
        }
        let mut standing = self.operations.settle(operation, self.clock.now()).await?;
        if standing == Standing::Unsettled {
            self.settle_all().await?;
            let record = self.operations.find(operation).await?;
            standing = record.map_or(standing, |record| record.standing);
        }
        Ok(match standing {
            Standing::Done(effect, answer) => Settled::of(State::Done, effect, Some(answer), None),
            // Over as well: it was refused, and this is how.
            Standing::Tombstoned(Some(answer)) => {
                Settled::of(State::Done, Effect::None, Some(answer), None)
            }
            Standing::Tombstoned(None) => Settled::of(State::Tombstoned, Effect::None, None, None),
            Standing::Running => Settled::running("this process is at it"),
            Standing::Unsettled => {
                Settled::running("begun earlier; the swarm must report before it can be settled")
            }
        })
    }

    /// Settles every start that can be settled now.
    pub(super) async fn settle_all(&self) -> Result<(), DatabaseError> {
        if self.missions.unsettled().is_empty() {
            return Ok(());
        }
        let _one_at_a_time = self.settling.lock().await;
        let reported = self.reported();
        for (mission, unsettled) in self.missions.unsettled() {
            if let Some(flown) = unsettled.flown(mission.id, reported.as_deref()) {
                self.settle_as(&mission, flown).await?;
            }
        }
        if let Some(state) = reported {
            self.missions.observe(&state, self.clock.now());
        }
        Ok(())
    }

    async fn settle_as(&self, mission: &Mission, flown: bool) -> Result<(), DatabaseError> {
        let (id, now) = (mission.id, self.clock.now());
        if flown {
            self.operations.finish_done(mission, now).await?;
        } else {
            self.operations.finish_refused(id, None, now).await?;
        }
        tracing::info!(operation = %id, flown, "an unclear start is settled");
        self.missions.settled(id, flown, now);
        Ok(())
    }
}

impl Unsettled {
    /// Whether the start happened, once that can be known.
    ///
    /// INVARIANT: a connection newer than the one a start was sent on has fenced that one before
    /// it reports. So a mission that such a report does not know is never flown.
    fn flown(self, id: Uuid, reported: Option<&SwarmState>) -> Option<bool> {
        match self {
            Self::Flown => Some(true),
            Self::NotSent => Some(false),
            Self::SentBy(last) => reported
                .filter(|state| last < state.connection)
                .map(|state| {
                    let flies = state.mission.is_some_and(|mission| mission.id == id);
                    flies || state.known_missions.contains(&id)
                }),
        }
    }
}

impl Settled {
    fn running(detail: &'static str) -> Self {
        Self::of(State::Running, Effect::Maybe, None, Some(detail))
    }

    fn of(
        state: State,
        effect: Effect,
        answer: Option<Answer>,
        detail: Option<&'static str>,
    ) -> Self {
        let answer = answer.map(|answer| SettledAnswer {
            status: answer.status,
            // Written by this service; if it is unreadable the rest still counts.
            body: serde_json::from_str(&answer.body).unwrap_or(Value::Null),
            location: answer.location,
        });
        Self {
            state,
            effect,
            answer,
            detail,
        }
    }
}
