use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::{Duration, sleep};
use uuid::Uuid;

use super::{Hooks, Options, ProfileName, RuntimeClock, Simulated, area_id};
use crate::connection::{Answer, Connected, Sent, Verdict};
use crate::contract::{Activity, Command, MowerState, Start};

mod conformance;
mod driver;
mod vendor;

/// A simulated mower and the one who holds it.
struct Rig {
    id: Uuid,
    connected: Connected,
    hooks: Hooks,
}

impl Rig {
    fn new(options: &Options) -> Self {
        let id = Uuid::from_u128(7);
        let start: Timestamp = "2026-06-01T08:00:00Z".parse().unwrap();
        let clock = Arc::new(RuntimeClock::starting(start));
        let (connected, hooks) = Simulated::new(id, options, clock).unwrap();
        Self {
            id,
            connected,
            hooks,
        }
    }

    fn start_command(&self) -> Command {
        Command::StartMow(Start {
            area_ids: vec![area_id(self.id, 1)],
            pattern: None,
            blade_height_mm: None,
            speed_mps: None,
            duration_min: None,
            expected_path_hash: None,
        })
    }

    /// A mower a minute into its job; for tests whose clock stands still
    /// (`start_paused`) until all others wait.
    async fn mowing(options: &Options) -> Self {
        let mut rig = Self::new(options);
        let start = rig.start_command();
        assert_eq!(rig.send(&start).await, Verdict::Executed(None));
        sleep(Duration::from_secs(60)).await;
        assert_eq!(rig.state().activity, Activity::Mowing);
        rig
    }

    /// Hands a command over under a new id.
    async fn hand(&self, command: &Command) -> (Uuid, Sent) {
        let id = Uuid::now_v7();
        let sent = self.connected.connection.send(1, id, command).await;
        (id, sent)
    }

    /// All answers that came so far.
    fn answers(&mut self) -> Vec<Answer> {
        std::iter::from_fn(|| self.connected.answers.try_recv().ok()).collect()
    }

    async fn send(&mut self, command: &Command) -> Verdict {
        let id = Uuid::now_v7();
        let sent = self.connected.connection.send(1, id, command).await;
        assert_eq!(sent, Sent::Taken);
        self.answer(id).await
    }

    async fn stop(&mut self) -> Verdict {
        let id = Uuid::now_v7();
        assert_eq!(self.connected.connection.stop(id, None).await, Sent::Taken);
        self.answer(id).await
    }

    async fn answer(&mut self, id: Uuid) -> Verdict {
        let Answer {
            command_id,
            verdict,
        } = self.connected.answers.recv().await.unwrap();
        assert_eq!(command_id, id);
        verdict
    }

    fn state(&self) -> Arc<MowerState> {
        Arc::clone(&self.connected.connection.state().borrow())
    }
}

const RESUME: Command = Command::ResumeMow {
    expected_path_hash: None,
};

fn rejected(code: &str) -> Verdict {
    Verdict::Rejected(code.to_owned())
}

fn of(profile: ProfileName) -> Options {
    Options {
        profile,
        ..Options::default()
    }
}
