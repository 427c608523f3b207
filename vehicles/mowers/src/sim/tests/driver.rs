//! The driver: time, publication, and what a mower at rest costs.

use std::sync::Arc;

use super::{
    Activity, Command, Connected, Duration, Options, Rig, RuntimeClock, Simulated, Timestamp, Uuid,
    Verdict, area_id, sleep,
};

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
    let whole = [
        Activity::Undocking,
        Activity::Mowing,
        Activity::Returning,
        Activity::Charging,
        Activity::Docked,
    ];
    assert_eq!(seen, whole);
}

/// How often a state comes in that time.
async fn published(rig: &Rig, seconds: u64) -> u64 {
    let before = rig.state().seq;
    sleep(Duration::from_secs(seconds)).await;
    rig.state().seq - before
}

#[tokio::test(start_paused = true)]
async fn it_is_heard_five_times_a_second_moving_and_every_ten_seconds_at_rest() {
    let mut rig = Rig::new(&Options::default());
    assert_eq!(published(&rig, 61).await, 6);
    let start = rig.start_command();
    rig.send(&start).await;
    sleep(Duration::from_secs(60)).await;
    let moving = published(&rig, 10).await;
    assert!((48..=52).contains(&moving), "{moving}");
}

#[tokio::test(start_paused = true)]
async fn a_change_is_heard_at_once() {
    let rig = Rig::new(&Options::default());
    let mut states = rig.connected.connection.state();
    states.mark_unchanged();
    rig.hooks.set_emergency("button");
    assert!(states.has_changed().unwrap());
    let state = rig.state();
    assert!(state.emergency.latched);
    assert_eq!(state.emergency.reason.as_deref(), Some("button"));
    assert_eq!(state.activity, Activity::Docked);
}

#[tokio::test(start_paused = true)]
async fn simulated_time_may_run_faster() {
    let mut rig = Rig::new(&Options {
        speed: 100.0,
        ..Options::default()
    });
    let start = rig.start_command();
    rig.send(&start).await;
    sleep(Duration::from_secs(30)).await;
    // Fifty minutes of a job of seventy.
    let job = rig.state().job.clone().unwrap();
    assert!((50.0..80.0).contains(&job.progress_percent), "{job:?}");
}

/// The same calls at the same times: the same states, to the last digit.
#[tokio::test(start_paused = true)]
async fn the_same_seed_lives_the_same_life() {
    let life = async |seed: u64| {
        let rig = Rig::mowing(&Options {
            seed,
            ..Options::default()
        })
        .await;
        sleep(Duration::from_secs(120)).await;
        rig.hooks.truth()
    };
    let first = life(5).await;
    assert_eq!(first, life(5).await);
    assert_ne!(first, life(6).await);
}

/// At rest a mower wakes for its heartbeat and for nothing else.
#[tokio::test(start_paused = true)]
async fn ten_thousand_at_rest_only_beat() {
    let start: Timestamp = "2026-06-01T08:00:00Z".parse().unwrap();
    let clock = Arc::new(RuntimeClock::starting(start));
    let options = Options::default();
    let mowers: Vec<Connected> = (0..10_000)
        .map(|id| {
            Simulated::new(Uuid::from_u128(id), &options, clock.clone())
                .unwrap()
                .0
        })
        .collect();
    let seq = |mower: &Connected| mower.connection.state().borrow().seq;
    let before: Vec<u64> = mowers.iter().map(seq).collect();
    sleep(Duration::from_secs(31)).await;
    for (mower, before) in mowers.iter().zip(before) {
        assert_eq!(seq(mower) - before, 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_mower_leaves_no_task() {
    let rig = Rig::new(&Options::default());
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    assert_eq!(tasks(), 1);
    drop(rig);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn options_out_of_range_are_refused() {
    let start: Timestamp = "2026-06-01T08:00:00Z".parse().unwrap();
    let refused = |options: Options| {
        let clock = Arc::new(RuntimeClock::starting(start));
        let made = Simulated::new(Uuid::nil(), &options, clock);
        made.err().unwrap().to_string()
    };
    let fast = Options {
        speed: 101.0,
        ..Options::default()
    };
    assert_eq!(refused(fast), "`speed` must be from 1 to 100, not 101");
    let nothing = Options {
        width_m: f64::NAN,
        ..Options::default()
    };
    assert!(refused(nothing).contains("`width_m`"));
    let mut map = crate::sim::garden::rectangle(Uuid::nil(), 5.0, 5.0);
    map.areas[0].outline.truncate(2);
    let pointless = Options {
        map: Some(map),
        ..Options::default()
    };
    assert!(refused(pointless).starts_with("`map` is not possible: area"));
}

#[tokio::test(start_paused = true)]
async fn options_are_read_from_json() {
    let options: Options = serde_json::from_str(r#"{"profile":"openmower","seed":9}"#).unwrap();
    assert_eq!(options.seed, 9);
    let rig = Rig::new(&options);
    let map = rig.connected.connection.map();
    assert_eq!(map.areas[0].id, area_id(rig.id, 1));
    assert!(serde_json::from_str::<Options>(r#"{"sed":9}"#).is_err());
    let mut rig = rig;
    let height = Command::SetBladeHeight { height_mm: 38 };
    assert_eq!(rig.send(&height).await, super::rejected("unsupported"));
}
