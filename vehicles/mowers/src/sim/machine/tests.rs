use uuid::Uuid;

use super::{Machine, Reply, STEP_MS};
use crate::connection::Verdict;
use crate::contract::{Activity, Command, Drive, Start};
use crate::sim::garden::{area_id, rectangle};
use crate::sim::profile::{Profile, ProfileName};

mod chaos;
mod dock;
mod drive;
mod guards;
mod jobs;
mod power;
mod states;

const MOWER: Uuid = Uuid::from_u128(1);

/// A mower in a small garden, and somebody who asks it things.
struct Rig {
    machine: Machine,
    asked: u128,
}

impl Rig {
    fn of(name: ProfileName, battery_percent: f64) -> Self {
        let map = rectangle(MOWER, 12.0, 10.0);
        Self {
            machine: Machine::docked(Profile::named(name), map, 1, battery_percent),
            asked: 0,
        }
    }

    fn docked() -> Self {
        Self::of(ProfileName::Luba, 100.0)
    }

    /// Some seconds into a job, on its course.
    fn mowing() -> Self {
        let mut rig = Self::docked();
        rig.ask(&start());
        rig.until(Activity::Mowing);
        rig.run(60.0);
        rig
    }

    /// Out of its dock, without a job.
    fn paused() -> Self {
        let mut rig = Self::docked();
        rig.ask(&Command::LeaveDock {});
        rig.until(Activity::Paused);
        rig
    }

    fn run(&mut self, seconds: f64) {
        let to = self.machine.now_ms() + (seconds * 1_000.0) as u64;
        self.machine.advance(to);
    }

    /// Runs until it does that, at most four hours; returns the seconds it took.
    fn until(&mut self, activity: Activity) -> f64 {
        let from = self.machine.now_ms();
        while self.machine.activity() != activity {
            assert!(
                self.machine.now_ms() < from + 4 * 3_600_000,
                "never {activity:?}"
            );
            let to = self.machine.now_ms() + STEP_MS;
            self.machine.advance(to);
        }
        (self.machine.now_ms() - from) as f64 / 1_000.0
    }

    /// The reply in words: `executed`, `no effect` or `rejected` and the code.
    fn ask(&mut self, command: &Command) -> String {
        self.asked += 1;
        match self.machine.command(Uuid::from_u128(self.asked), command) {
            Reply::AtStandstill | Reply::Now(Verdict::Executed(None)) => "executed".to_owned(),
            Reply::Now(Verdict::Executed(Some(_))) => "no effect".to_owned(),
            Reply::Now(Verdict::Rejected(code)) => format!("rejected {code}"),
            Reply::Now(Verdict::Failed(code)) => format!("failed {code}"),
        }
    }

    fn activity(&self) -> Activity {
        self.machine.activity()
    }
}

fn start() -> Command {
    Command::StartMow(start_of_lawn())
}

fn start_of_lawn() -> Start {
    Start {
        area_ids: vec![area_id(MOWER, 1)],
        pattern: None,
        blade_height_mm: None,
        speed_mps: None,
        duration_min: None,
        expected_path_hash: None,
    }
}

const RESUME: Command = Command::ResumeMow {
    expected_path_hash: None,
};

const STOP: Command = Command::EmergencyStop { reason: None };

const RESET: Command = Command::ResetEmergency {
    on_site_confirmed: true,
};

fn frame(session: u128, sequence: u64, linear: f64, ttl_ms: u16) -> Drive {
    Drive {
        session_id: Uuid::from_u128(session),
        sequence,
        linear,
        angular: 0.0,
        blade_on: false,
        ttl_ms,
    }
}
