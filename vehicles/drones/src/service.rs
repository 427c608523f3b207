//! The service: one swarm, what it was asked, and what it does.
//!
//! Motion is checked, written down, and only then sent; a stop is sent first and written down
//! after. Nothing is sent twice, and nothing is said that is not known.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use interlock_guard::Clock;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::contract::MissionRequest;
use crate::contract::state::SwarmState;
use crate::crash::CrashAt;
use crate::epoch::StopEpoch;
use crate::limits::Limits;
use crate::link::SwarmLink;
use crate::missions::Missions;
use crate::operations::{KEEP_MISSIONS, Legacy, Operations};
use crate::preview::{Previewed, preview};

mod handlers;
pub mod problem;
pub mod router;
mod settle;
mod start;
mod stop;
mod stop_log;

#[cfg(test)]
mod tests;

use stop_log::StopLog;

/// How long the disk has for a new attempt after one that failed.
const RECORD_AGAIN: Duration = Duration::from_millis(200);

/// How long a life that ends waits for what it has begun.
const DRAIN: Duration = Duration::from_secs(5);

/// One swarm and everything known about it.
pub struct Service {
    limits: Limits,
    link: Arc<dyn SwarmLink>,
    clock: Arc<dyn Clock>,
    operations: Operations,
    missions: Missions,
    epoch: Arc<StopEpoch>,
    crash_at: CrashAt,
    /// One settles at a time.
    settling: tokio::sync::Mutex<()>,
    stop_log: StopLog,
    /// When the last landing that was acknowledged was asked.
    land_asked: Mutex<Option<Timestamp>>,
}

impl Service {
    /// Goes on from what the last life left.
    #[must_use]
    pub fn new(
        limits: Limits,
        link: Arc<dyn SwarmLink>,
        clock: Arc<dyn Clock>,
        (operations, legacy): (Operations, Legacy),
        crash_at: CrashAt,
    ) -> Arc<Self> {
        let keep = usize_of(KEEP_MISSIONS);
        // Whatever an earlier life sent, this life's first connection fences.
        let missions = Missions::new(legacy.missions, legacy.unsettled, keep);
        Arc::new(Self {
            limits,
            link,
            clock,
            operations,
            missions,
            epoch: Arc::new(StopEpoch::new(legacy.stops)),
            crash_at,
            settling: tokio::sync::Mutex::new(()),
            stop_log: StopLog::default(),
            land_asked: Mutex::default(),
        })
    }

    /// Follows the swarm's reports: notices how missions end, and settles what is unclear. Runs
    /// until the link is dropped.
    pub async fn watch(&self, mut states: watch::Receiver<Arc<SwarmState>>) {
        while states.changed().await.is_ok() {
            let Some(state) = self.reported() else {
                continue;
            };
            self.missions.observe(&state, self.clock.now());
            if let Err(error) = self.settle_all().await {
                tracing::warn!("an operation cannot be settled yet: {error}");
            }
        }
    }

    /// Writes down stops and ends of missions, again and again until it succeeds. Runs for ever.
    pub async fn record(&self) {
        loop {
            tokio::select! {
                _ = self.epoch.unrecorded() => {}
                () = self.missions.changed() => {}
                () = self.stop_log.changed() => {}
            }
            while let Err(error) = self.record_once().await {
                tracing::warn!("stops are not recorded yet: {error}");
                tokio::time::sleep(RECORD_AGAIN).await;
            }
        }
    }

    async fn record_once(&self) -> Result<(), crate::database::DatabaseError> {
        let stops = self.epoch.current();
        let ended = self.missions.unrecorded();
        let answered = self.stop_log.unrecorded();
        self.operations.record(stops, &ended, &answered).await?;
        self.epoch.mark_recorded(stops.epoch);
        self.missions.mark_recorded(&ended);
        self.stop_log.mark_recorded(&answered);
        Ok(())
    }

    /// Ends this life in order: waits for what has begun, records, closes the file.
    ///
    /// # Errors
    /// When not everything could be recorded; the next life then takes this one for broken off.
    pub async fn close(&self) -> Result<(), crate::database::DatabaseError> {
        let drained = tokio::time::timeout(DRAIN, self.operations.all_ended()).await;
        if drained.is_err() {
            tracing::warn!("ending with operations in flight; they will be settled");
        }
        self.record_once().await?;
        self.operations.close(drained.is_ok()).await
    }

    /// Plans a mission on `state`, and says what would keep it from being flown as it stands.
    fn plan(&self, request: &MissionRequest, state: &SwarmState, stop_epoch: u64) -> Previewed {
        let mut planned = preview(request, state, stop_epoch, self.clock.now());
        let faults = self.limits.start_faults(&planned.fence.starts);
        let said = faults
            .into_iter()
            .map(|fault| format!("As it stands this would be refused: {fault}."));
        planned.preview.assumptions.extend(said);
        planned
    }

    /// What the swarm reports, while it does.
    fn reported(&self) -> Option<Arc<SwarmState>> {
        Some(self.link.state()).filter(|state| state.bridge.is_live())
    }
}

fn usize_of(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
