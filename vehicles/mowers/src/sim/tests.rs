use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::{Duration, sleep};
use uuid::Uuid;

use super::{Hooks, Options, RuntimeClock, Simulated, area_id};
use crate::connection::{Answer, Connected, Sent, Verdict};
use crate::contract::{Activity, Command, MowerState, Start};

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

#[tokio::test(start_paused = true)]
async fn a_job_goes_from_the_dock_to_the_dock() {
    let mut rig = Rig::new(&Options {
        width_m: 5.0,
        height_m: 4.0,
        ..Options::default()
    });
    let start = rig.start_command();
    assert_eq!(rig.send(&start).await, Verdict::Executed(None));
    assert_eq!(rig.state().activity, Activity::Undocking);
    let mut states = rig.connected.connection.state();
    let mut seen = vec![];
    while seen.last() != Some(&Activity::Docked) {
        states.changed().await.unwrap();
        let activity = states.borrow().activity;
        if seen.last() != Some(&activity) {
            seen.push(activity);
        }
    }
    assert_eq!(
        seen,
        [
            Activity::Undocking,
            Activity::Mowing,
            Activity::Returning,
            Activity::Charging,
            Activity::Docked
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_latches_until_it_is_reset() {
    let mut rig = Rig::new(&Options::default());
    let start = rig.start_command();
    rig.send(&start).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(rig.state().activity, Activity::Mowing);
    assert_eq!(rig.stop().await, Verdict::Executed(None));
    assert_eq!(rig.state().activity, Activity::Stopped);
    assert!(rig.state().emergency.latched);
    assert_eq!(rig.hooks.truth().speed_mps, 0.0);
    let refused = Verdict::Rejected("emergency-latched".to_owned());
    assert_eq!(rig.send(&start).await, refused);
    let reset = Command::ResetEmergency {
        on_site_confirmed: true,
    };
    assert_eq!(rig.send(&reset).await, Verdict::Executed(None));
    assert_eq!(rig.state().activity, Activity::Paused);
    let resume = Command::ResumeMow {
        expected_path_hash: None,
    };
    assert_eq!(rig.send(&resume).await, Verdict::Executed(None));
    assert_eq!(rig.state().activity, Activity::Mowing);
}
