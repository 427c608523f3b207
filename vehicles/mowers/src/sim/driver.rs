//! Runs a simulated mower in the runtime's time: one task, asleep until
//! something is due.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use tokio::sync::{Notify, watch};
use tokio::time::{Duration, Instant, sleep, sleep_until};
use uuid::Uuid;

use crate::connection::{Connection, Sent};
use crate::contract::{
    Activity, Capabilities, Command, Drive, Map, MowerState, Path, PathError, PathErrorCode, Start,
};
use crate::sim::link::Delivery;
use crate::sim::world::World;

/// A world and the way to wake its task.
pub(super) struct Shared {
    world: Mutex<World>,
    origin: Instant,
    changed: Arc<Notify>,
}

impl Shared {
    pub(super) fn new(world: World) -> Arc<Self> {
        Arc::new(Self {
            world: Mutex::new(world),
            origin: Instant::now(),
            changed: Arc::new(Notify::new()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        // A step that panicked leaves a mower that stands; it can still be read.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Brings the world to the present, changes it, and lets its task look again.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut World, u64) -> T) -> T {
        let now = self.now_ms();
        let mut world = self.lock();
        world.advance(now);
        let result = change(&mut world, now);
        world.publish();
        drop(world);
        self.changed.notify_one();
        result
    }

    /// Passes the time that has gone by; returns when to look again.
    fn catch_up(&self) -> Instant {
        let mut world = self.lock();
        world.advance(self.now_ms());
        self.origin + Duration::from_millis(world.wake_ms())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

/// Starts the task of a world; it ends when nobody holds the world any more.
pub(super) fn start(shared: &Arc<Shared>) {
    let changed = Arc::clone(&shared.changed);
    tokio::spawn(run(Arc::downgrade(shared), changed));
}

async fn run(shared: Weak<Shared>, changed: Arc<Notify>) {
    loop {
        let Some(wake) = shared.upgrade().map(|shared| shared.catch_up()) else {
            return;
        };
        tokio::select! {
            () = changed.notified() => {}
            () = sleep_until(wake) => {}
        }
    }
}

/// A connection to a simulated mower.
pub(super) struct SimulatedConnection {
    shared: Arc<Shared>,
    capabilities: Arc<Capabilities>,
}

impl SimulatedConnection {
    pub(super) fn new(shared: Arc<Shared>, capabilities: Arc<Capabilities>) -> Self {
        Self {
            shared,
            capabilities,
        }
    }
}

#[async_trait]
impl Connection for SimulatedConnection {
    fn capabilities(&self) -> Arc<Capabilities> {
        Arc::clone(&self.capabilities)
    }

    fn map(&self) -> Arc<Map> {
        Arc::clone(&self.shared.lock().machine.map)
    }

    fn state(&self) -> watch::Receiver<Arc<MowerState>> {
        self.shared.lock().subscribe()
    }

    async fn send(&self, fence: u64, command_id: Uuid, command: &Command) -> Sent {
        let delivery = Delivery {
            id: command_id,
            fence: Some(fence),
            command: command.clone(),
            mishap: None,
        };
        self.shared
            .with(|world, now| world.link.send(delivery, false, now))
    }

    async fn stop(&self, command_id: Uuid, reason: Option<&str>) -> Sent {
        let delivery = Delivery {
            id: command_id,
            fence: None,
            command: Command::EmergencyStop {
                reason: reason.map(str::to_owned),
            },
            mishap: None,
        };
        // Where a stop only pauses, it must not overtake a start on its way.
        self.shared.with(|world, now| {
            let overtaking = world.machine.latches();
            world.link.send(delivery, overtaking, now)
        })
    }

    fn drive(&self, fence: u64, frame: &Drive) {
        self.shared
            .with(|world, now| world.link.frame(fence, frame.clone(), now));
    }

    fn drive_over(&self, fence: u64, session_id: Uuid) {
        self.shared
            .with(|world, now| world.link.drive_over(fence, session_id, now));
    }

    async fn plan(&self, start: &Start) -> Result<Path, PathError> {
        if !self.capabilities.path_preview {
            let detail = "this mower shows no path before it drives one";
            return Err(refusal(PathErrorCode::Unsupported, detail));
        }
        let (planning, delay_ms) = self.shared.with(|world, _| {
            if !world.reachable() {
                return Err(refusal(PathErrorCode::Unavailable, "the mower is offline"));
            }
            if busy(world.machine.activity()) {
                return Err(refusal(PathErrorCode::Rejected, "a job is running"));
            }
            let planning = world.machine.planning(start);
            let refused = |code| refusal(PathErrorCode::Rejected, code);
            Ok((planning.map_err(refused)?, world.link.plan_delay_ms))
        })?;
        sleep(Duration::from_millis(delay_ms)).await;
        if !self.shared.with(|world, _| world.reachable()) {
            return Err(refusal(
                PathErrorCode::Unavailable,
                "the mower went offline",
            ));
        }
        let planned = tokio::task::spawn_blocking(move || planning.path());
        match planned.await {
            Ok(Ok(path)) => Ok(path),
            Ok(Err(error)) => Err(refusal(PathErrorCode::Rejected, &error.to_string())),
            Err(error) => Err(refusal(PathErrorCode::Failed, &error.to_string())),
        }
    }
}

fn busy(activity: Activity) -> bool {
    matches!(
        activity,
        Activity::Undocking | Activity::Mowing | Activity::Returning | Activity::DrivingManual
    )
}

fn refusal(code: PathErrorCode, detail: &str) -> PathError {
    PathError {
        code,
        detail: detail.to_owned(),
    }
}
