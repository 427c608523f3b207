//! The link and the vendor: all that goes wrong there.

use super::{
    Activity, Answer, Command, Duration, Options, ProfileName, RESUME, Rig, Sent, Uuid, Verdict,
    of, rejected, sleep,
};
use crate::contract::{Drive, PathError, PathErrorCode, Pattern, PatternKind, Start};
use crate::sim::{Mishap, Quality, area_id};

const PAUSE: Command = Command::PauseMow {};

async fn settle() {
    sleep(Duration::from_secs(30)).await;
}

/// What a start does, and what is answered, when this happens to it.
async fn start_with(mishap: Mishap) -> (Sent, u64, Vec<Verdict>) {
    let mut rig = Rig::new(&Options::default());
    rig.hooks.next_command(mishap);
    let (id, sent) = rig.hand(&rig.start_command()).await;
    settle().await;
    let answers = rig.answers();
    assert!(answers.iter().all(|answer| answer.command_id == id));
    let verdicts = answers.into_iter().map(|answer| answer.verdict).collect();
    let moved = rig.hooks.truth().activity != Activity::Docked;
    assert_eq!(moved, rig.hooks.truth().counters.departures > 0);
    (sent, rig.hooks.truth().counters.departures, verdicts)
}

fn done() -> Verdict {
    Verdict::Executed(None)
}

fn failed(code: &str) -> Verdict {
    Verdict::Failed(code.to_owned())
}

#[tokio::test(start_paused = true)]
async fn accepted_and_nothing_done() {
    assert_eq!(start_with(Mishap::Nothing).await, (Sent::Taken, 0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn done_and_the_answer_lost() {
    assert_eq!(
        start_with(Mishap::AnswerLost).await,
        (Sent::Taken, 1, vec![])
    );
}

#[tokio::test(start_paused = true)]
async fn done_and_answered_twice() {
    let twice = vec![done(), done()];
    assert_eq!(
        start_with(Mishap::AnsweredTwice).await,
        (Sent::Taken, 1, twice)
    );
}

#[tokio::test(start_paused = true)]
async fn two_different_finals() {
    let both = vec![done(), failed("vendor-error")];
    assert_eq!(start_with(Mishap::TwoFinals).await, (Sent::Taken, 1, both));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_vendor() {
    let mishap = Mishap::Fails("E42".to_owned());
    assert_eq!(
        start_with(mishap).await,
        (Sent::Taken, 0, vec![failed("E42")])
    );
}

#[tokio::test(start_paused = true)]
async fn sent_or_not_nobody_knows() {
    let unknown = || Sent::Unknown("timeout".to_owned());
    assert_eq!(
        start_with(Mishap::SentUnknown(false)).await,
        (unknown(), 0, vec![])
    );
    assert_eq!(
        start_with(Mishap::SentUnknown(true)).await,
        (unknown(), 1, vec![done()])
    );
}

#[tokio::test(start_paused = true)]
async fn answered_after_the_life_of_the_command() {
    let mut rig = Rig::new(&Options::default());
    rig.hooks.next_command(Mishap::AnswerLate(31_000));
    rig.hand(&rig.start_command()).await;
    settle().await;
    assert_eq!(rig.answers(), []);
    assert_eq!(rig.hooks.truth().counters.departures, 1);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(rig.answers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_the_middle() {
    let mut rig = Rig::mowing(&Options::default()).await;
    rig.hooks.next_command(Mishap::Restart);
    rig.hand(&PAUSE).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(rig.state().activity, Activity::Offline);
    assert!(!rig.state().link.online);
    settle().await;
    assert_eq!(rig.answers(), []);
    assert_eq!(rig.state().activity, Activity::Paused);
    assert_eq!(rig.send(&RESUME).await, done());
}

#[tokio::test(start_paused = true)]
async fn a_stop_meets_mishaps_of_its_own() {
    let mut rig = Rig::mowing(&Options::default()).await;
    rig.hooks.next_command(Mishap::Nothing);
    assert_eq!(rig.stop().await, done());
    rig.hooks.next_stop(Mishap::Nothing);
    rig.connected.connection.stop(Uuid::now_v7(), None).await;
    settle().await;
    assert_eq!(rig.answers(), []);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_comes_twice_is_done_once_and_a_stop_each_time() {
    let mut rig = Rig::new(&Options::default());
    rig.hooks.link(Quality {
        duplicates: 1.0,
        ..Quality::default()
    });
    let (id, _) = rig.hand(&rig.start_command()).await;
    settle().await;
    let answers = rig.answers();
    assert!(answers.len() >= 2);
    let same = Answer {
        command_id: id,
        verdict: done(),
    };
    assert!(answers.iter().all(|answer| *answer == same));
    assert_eq!(rig.hooks.truth().counters.departures, 1);
}

#[tokio::test(start_paused = true)]
async fn messages_keep_their_order_unless_they_are_told_not_to() {
    let order = async |reorder: f64| {
        let mut rig = Rig::new(&Options::default());
        rig.hooks.link(Quality {
            latency_ms: 100.0,
            jitter_ms: 100.0,
            reorder,
            ..Quality::default()
        });
        let mut sent = vec![];
        for _ in 0..50 {
            sent.push(rig.hand(&PAUSE).await.0);
        }
        settle().await;
        let heard: Vec<Uuid> = rig
            .answers()
            .iter()
            .map(|answer| answer.command_id)
            .collect();
        assert_eq!(heard.len(), 50);
        heard == sent
    };
    assert!(order(0.0).await);
    assert!(!order(0.3).await);
}

#[tokio::test(start_paused = true)]
async fn messages_are_lost() {
    let mut rig = Rig::new(&Options::default());
    rig.hooks.link(Quality {
        loss: 0.3,
        ..Quality::default()
    });
    for _ in 0..200 {
        rig.hand(&PAUSE).await;
    }
    settle().await;
    // Both ways: 0.7 of 0.7.
    let heard = rig.answers().len();
    assert!((70..130).contains(&heard), "{heard}");
}

#[tokio::test(start_paused = true)]
async fn an_offline_mower_mows_on_and_hears_nothing() {
    let mut rig = Rig::mowing(&Options::default()).await;
    let before = rig.hooks.truth().position;
    rig.hooks.offline_for(Duration::from_secs(20));
    assert_eq!(rig.state().activity, Activity::Offline);
    let offline = Sent::NotSent("offline".to_owned());
    assert_eq!(rig.hand(&PAUSE).await.1, offline);
    assert_eq!(
        rig.connected.connection.stop(Uuid::now_v7(), None).await,
        offline
    );
    let known = rig.state();
    sleep(Duration::from_secs(19)).await;
    assert_eq!(rig.state(), known);
    assert!(rig.hooks.truth().position.distance(before) > 1.0);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(rig.state().activity, Activity::Mowing);
    assert_eq!(rig.send(&PAUSE).await, done());
}

#[tokio::test(start_paused = true)]
async fn a_limited_vendor_takes_stops_only() {
    let mut rig = Rig::mowing(&Options::default()).await;
    rig.hooks.limit_calls(Duration::from_secs(60));
    let limited = Sent::Limited { retry_after_s: 60 };
    assert_eq!(rig.hand(&PAUSE).await.1, limited);
    assert_eq!(rig.stop().await, done());
    sleep(Duration::from_secs(61)).await;
    assert_eq!(rig.hand(&PAUSE).await.1, Sent::Taken);
}

#[tokio::test(start_paused = true)]
async fn the_last_calls_of_the_month_are_for_stops() {
    let mut rig = Rig::new(&of(ProfileName::Automower));
    rig.hooks.spend_calls(9_499);
    assert_eq!(rig.hand(&PAUSE).await.1, Sent::Taken);
    let refused = rig.hand(&PAUSE).await.1;
    let month = 30 * 24 * 3_600;
    assert_eq!(
        refused,
        Sent::Limited {
            retry_after_s: month
        }
    );
    settle().await;
    rig.answers();
    assert_eq!(rig.stop().await, done());
    rig.hooks.spend_calls(500);
    let stop = rig.connected.connection.stop(Uuid::now_v7(), None).await;
    assert!(matches!(stop, Sent::Limited { .. }));
    sleep(Duration::from_secs(u64::from(month))).await;
    assert_eq!(rig.hand(&PAUSE).await.1, Sent::Taken);
}

#[tokio::test(start_paused = true)]
async fn an_old_lease_is_refused_but_may_stop() {
    let mut rig = Rig::new(&Options::default());
    let connection = rig.connected.connection.clone();
    let newer = Uuid::now_v7();
    connection.send(5, newer, &PAUSE).await;
    assert!(matches!(rig.answer(newer).await, Verdict::Executed(_)));
    let older = Uuid::now_v7();
    connection.send(4, older, &rig.start_command()).await;
    assert_eq!(rig.answer(older).await, rejected("stale-lease"));
    assert_eq!(rig.hooks.truth().counters.fenced, 1);
    assert_eq!(rig.stop().await, done());
}

fn frame(sequence: u64) -> Drive {
    Drive {
        session_id: Uuid::from_u128(3),
        sequence,
        linear: 0.5,
        angular: 0.0,
        blade_on: false,
        ttl_ms: 1_000,
    }
}

/// A mower out of its dock that can be driven.
async fn paused() -> Rig {
    let mut rig = Rig::new(&Options::default());
    assert_eq!(rig.send(&Command::LeaveDock {}).await, done());
    settle().await;
    assert_eq!(rig.state().activity, Activity::Paused);
    rig
}

#[tokio::test(start_paused = true)]
async fn frames_drive_and_old_leases_do_not() {
    let rig = paused().await;
    let connection = &rig.connected.connection;
    connection.drive(1, &frame(1));
    sleep(Duration::from_millis(300)).await;
    assert_eq!(rig.state().activity, Activity::DrivingManual);
    connection.drive(0, &frame(2));
    sleep(Duration::from_millis(300)).await;
    let counters = rig.hooks.truth().counters;
    assert_eq!((counters.frames, counters.fenced), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn three_frames_that_cannot_be_sent_end_the_session() {
    let rig = paused().await;
    let connection = &rig.connected.connection;
    connection.drive(1, &frame(1));
    sleep(Duration::from_secs(1)).await;
    rig.hooks.offline_for(Duration::from_secs(5));
    for sequence in 2..5 {
        connection.drive(1, &frame(sequence));
        sleep(Duration::from_secs(1)).await;
    }
    sleep(Duration::from_secs(3)).await;
    connection.drive(1, &frame(9));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(rig.hooks.truth().counters.frames, 1);
    assert_eq!(rig.hooks.truth().speed_mps, 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_clock_shows_in_what_it_says() {
    let rig = Rig::new(&Options::default());
    let right = rig.state().at;
    rig.hooks.skew_clock(-5_000);
    sleep(Duration::from_secs(11)).await;
    let wrong = rig.state().at;
    assert_eq!(wrong.duration_since(right).as_secs(), 5);
}

/// The whole lawn, in the mower's own way.
fn lawn(rig: &Rig) -> Start {
    Start {
        area_ids: vec![area_id(rig.id, 1)],
        ..Start::default()
    }
}

async fn refused(rig: &Rig, start: &Start) -> PathError {
    rig.connected.connection.plan(start).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn planning_takes_its_time_and_is_refused_with_a_code() {
    let rig = Rig::new(&Options::default());
    rig.hooks.slow_planning(Duration::from_secs(70));
    let before = tokio::time::Instant::now();
    let path = rig.connected.connection.plan(&lawn(&rig)).await.unwrap();
    assert!(before.elapsed() >= Duration::from_secs(70));
    assert!(path.length_m > 1_000.0);
    rig.hooks.slow_planning(Duration::ZERO);
    let nowhere = Start {
        area_ids: vec![Uuid::nil()],
        ..Start::default()
    };
    let code = async |start: &Start| refused(&rig, start).await.code;
    assert_eq!(code(&nowhere).await, PathErrorCode::Rejected);
    let impossible = Start {
        pattern: Some(Pattern {
            kind: PatternKind::BorderOnly,
            border_laps: 0,
            ..Pattern::default()
        }),
        ..lawn(&rig)
    };
    assert_eq!(code(&impossible).await, PathErrorCode::Rejected);
    rig.hooks.offline_for(Duration::from_secs(5));
    assert_eq!(code(&lawn(&rig)).await, PathErrorCode::Unavailable);
    let rig = Rig::mowing(&Options::default()).await;
    let busy = refused(&rig, &lawn(&rig)).await;
    assert_eq!(busy.code, PathErrorCode::Rejected);
    let rig = Rig::new(&of(ProfileName::Landroid));
    let unable = refused(&rig, &lawn(&rig)).await;
    assert_eq!(unable.code, PathErrorCode::Unsupported);
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_of_the_start_that_is_meant() {
    let mut rig = Rig::new(&Options::default());
    let usual = rig.connected.connection.plan(&lawn(&rig)).await.unwrap();
    let fast = Start {
        speed_mps: Some(0.6),
        ..lawn(&rig)
    };
    let fast = rig.connected.connection.plan(&fast).await.unwrap();
    assert_eq!(fast.path_hash, usual.path_hash);
    assert!(fast.est_duration_s < usual.est_duration_s);
    let short = Start {
        duration_min: Some(10),
        ..lawn(&rig)
    };
    let short = rig.connected.connection.plan(&short).await.unwrap();
    assert_eq!(short.est_duration_s, 600.0);
    let share = short.est_battery_percent / usual.est_battery_percent;
    assert!((share - 600.0 / usual.est_duration_s).abs() < 1e-9);
    assert!(short.assumptions.iter().any(|text| text.contains("10 min")));
    let code = async |start: &Start| refused(&rig, start).await.detail;
    let hasty = Start {
        speed_mps: Some(0.7),
        ..lawn(&rig)
    };
    assert_eq!(code(&hasty).await, "speed-out-of-range");
    let high = Start {
        blade_height_mm: Some(71),
        ..lawn(&rig)
    };
    assert_eq!(code(&high).await, "height-out-of-range");
    let set = Command::SetSpeed { speed_mps: 0.6 };
    assert_eq!(rig.send(&set).await, done());
    let set = rig.connected.connection.plan(&lawn(&rig)).await.unwrap();
    assert_eq!(set.est_duration_s, fast.est_duration_s);
}
