use std::sync::atomic::Ordering;

use bytes::Bytes;
use jiff::SignedDuration;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::bus::{Bus, subject};
use crate::contract::{Command, CommandKind, Drive};
use crate::device::testkit::{ACCOUNT, Reached, Rig, json, ms, stop_now};
use crate::device::wire::{DriveAnswer, DriveControl, DriveEnded, DriveFrame, DriveState};

fn session(number: u128) -> Uuid {
    Uuid::from_u128(0x500 + number)
}

fn opening(rig: &Rig, session_id: Uuid) -> DriveControl {
    DriveControl::Open {
        session_id,
        account_id: ACCOUNT.to_owned(),
        holder: "anna".to_owned(),
        opened_at: rig.now(),
        stop_epoch: 0,
    }
}

async fn control(rig: &Rig, control: &DriveControl) -> DriveAnswer {
    rig.ask(&subject::session(rig.mower), control, ms(1_000))
        .await
        .unwrap()
}

async fn open(rig: &Rig, session_id: Uuid) -> DriveAnswer {
    control(rig, &opening(rig, session_id)).await
}

fn frame(rig: &Rig, session_id: Uuid, sequence: u64) -> DriveFrame {
    DriveFrame {
        mower_id: rig.mower,
        account_id: ACCOUNT.to_owned(),
        sent_at: rig.now(),
        frame: Drive {
            session_id,
            sequence,
            linear: 0.5,
            angular: 0.0,
            blade_on: true,
            ttl_ms: 500,
        },
    }
}

async fn send(rig: &Rig, frame: &DriveFrame) {
    let payload = Bytes::from(json(frame));
    let subject = subject::drive(rig.mower);
    rig.bus.real.send(&subject, payload).await.unwrap();
    sleep(ms(1)).await;
}

/// Whether a changed frame drives, after one that did.
async fn check(change: impl FnOnce(&Rig, &mut DriveFrame), drives: bool) {
    let rig = Rig::start().await;
    open(&rig, session(1)).await;
    send(&rig, &frame(&rig, session(1), 5)).await;
    let before = rig.script.drives().len();
    let mut changed = frame(&rig, session(1), 6);
    change(&rig, &mut changed);
    send(&rig, &changed).await;
    assert_eq!(rig.script.drives().len() > before, drives, "{changed:?}");
    assert_eq!(rig.counts().frames_dropped, u64::from(!drives));
}

#[tokio::test(start_paused = true)]
async fn only_whole_fresh_frames_of_the_session_drive() {
    check(|_, _| {}, true).await;
    check(|_, frame| frame.frame.sequence = 5, false).await;
    check(|_, frame| frame.frame.sequence = 4, false).await;
    check(|_, frame| frame.frame.session_id = session(2), false).await;
    check(|_, frame| frame.account_id = "other".to_owned(), false).await;
    check(|_, frame| frame.mower_id = session(3), false).await;
    check(|_, frame| frame.frame.linear = 1.1, false).await;
    check(|_, frame| frame.frame.angular = -1.1, false).await;
    check(|_, frame| frame.frame.ttl_ms = 99, false).await;
    check(|_, frame| frame.frame.ttl_ms = 2_001, false).await;
    let ago = SignedDuration::from_millis;
    check(|_, frame| frame.sent_at -= ago(499), true).await;
    check(|_, frame| frame.sent_at -= ago(500), false).await;
    check(|_, frame| frame.sent_at += ago(400), true).await;
    check(|_, frame| frame.sent_at += ago(600), false).await;
    check(
        |rig, _| rig.clock.off_ms.store(30_000, Ordering::SeqCst),
        false,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_a_session_nothing_drives() {
    let rig = Rig::start().await;
    send(&rig, &frame(&rig, session(1), 1)).await;
    assert!(rig.script.drives().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_dead_man_stops_the_wheels_at_the_end_of_the_frame() {
    let rig = Rig::start().await;
    open(&rig, session(1)).await;
    let sent = Instant::now();
    send(&rig, &frame(&rig, session(1), 1)).await;
    while rig.script.drives().len() < 2 {
        sleep(ms(1)).await;
    }
    let after = sent.elapsed();
    assert!((ms(498)..=ms(503)).contains(&after), "{after:?}");
    let last = rig.script.drives().pop().unwrap();
    assert_eq!(
        (last.linear, last.angular, last.blade_on),
        (0.0, 0.0, false)
    );
    assert_eq!(rig.counts().dead_man, 1);
    // The driver goes on: the mower must not take the next frame for an old one.
    send(&rig, &frame(&rig, session(1), 2)).await;
    let sequences: Vec<u64> = rig.script.drives().iter().map(|it| it.sequence).collect();
    assert_eq!(sequences, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_was_long_on_its_way_lives_no_longer_for_it() {
    let rig = Rig::start().await;
    open(&rig, session(1)).await;
    let mut late = frame(&rig, session(1), 1);
    late.sent_at -= SignedDuration::from_millis(400);
    send(&rig, &late).await;
    let told = rig.script.drives()[0].ttl_ms;
    assert_eq!(
        told, 100,
        "what is left of 500 ms, for the mower's own dead man"
    );
    sleep(ms(110)).await;
    assert_eq!(rig.counts().dead_man, 1);
}

#[tokio::test(start_paused = true)]
async fn frames_that_keep_coming_keep_driving() {
    let rig = Rig::start().await;
    open(&rig, session(1)).await;
    for sequence in 1..=50 {
        send(&rig, &frame(&rig, session(1), sequence)).await;
        sleep(ms(400)).await;
    }
    assert_eq!(rig.counts().dead_man, 0);
    assert_eq!(rig.counts().frames_driven, 50);
}

#[tokio::test(start_paused = true)]
async fn one_session_at_a_time() {
    let rig = Rig::start().await;
    assert_eq!(open(&rig, session(1)).await.state, DriveState::Open);
    assert_eq!(open(&rig, session(1)).await.state, DriveState::Open);
    let second = open(&rig, session(2)).await;
    assert_eq!(second.state, DriveState::Refused);
    assert_eq!(second.reason.unwrap(), "drive-session-held");
    assert_eq!(second.held_by, Some(session(1)));
    let stranger = DriveControl::Close {
        session_id: session(2),
    };
    control(&rig, &stranger).await;
    send(&rig, &frame(&rig, session(1), 1)).await;
    assert_eq!(rig.script.drives().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn closing_sends_a_zero_frame_and_frees_the_mower() {
    let rig = Rig::start().await;
    let mut ended = rig.bus.real.listen("drive.ended.*").await.unwrap();
    open(&rig, session(1)).await;
    send(&rig, &frame(&rig, session(1), 1)).await;
    let close = DriveControl::Close {
        session_id: session(1),
    };
    assert_eq!(control(&rig, &close).await.state, DriveState::Closed);
    let last = rig.script.drives().pop().unwrap();
    assert_eq!((last.linear, last.blade_on), (0.0, false));
    let told: DriveEnded = serde_json::from_slice(&ended.next().await.unwrap().payload).unwrap();
    assert_eq!((told.reason.as_str(), told.frames), ("closed", 1));
    let reached = rig.script.reached();
    assert_eq!(reached.last(), Some(&Reached::DriveOver(session(1))));
    send(&rig, &frame(&rig, session(1), 2)).await;
    assert_eq!(rig.script.drives().len(), 2);
    assert_eq!(open(&rig, session(2)).await.state, DriveState::Open);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_ends_after_ten_seconds() {
    let rig = Rig::start().await;
    let mut ended = rig.bus.real.listen("drive.ended.*").await.unwrap();
    open(&rig, session(1)).await;
    let begun = Instant::now();
    let asked = timeout(ms(11_000), ended.next()).await.unwrap().unwrap();
    let told: DriveEnded = serde_json::from_slice(&asked.payload).unwrap();
    assert_eq!(told.reason, "idle");
    assert!(begun.elapsed() >= ms(9_900), "{:?}", begun.elapsed());
    send(&rig, &frame(&rig, session(1), 1)).await;
    assert!(rig.script.drives().iter().all(|frame| frame.linear == 0.0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_wins_over_frames() {
    let rig = Rig::start().await;
    open(&rig, session(1)).await;
    send(&rig, &frame(&rig, session(1), 1)).await;
    rig.command(stop_now()).await;
    let before = rig.script.drives().len();
    send(&rig, &frame(&rig, session(1), 2)).await;
    assert_eq!(rig.script.drives().len(), before);
    let old = DriveControl::Open {
        session_id: session(2),
        account_id: ACCOUNT.to_owned(),
        holder: "anna".to_owned(),
        opened_at: rig.now() - SignedDuration::from_secs(1),
        stop_epoch: 0,
    };
    let refused = control(&rig, &old).await;
    assert_eq!(refused.reason.unwrap(), "superseded-by-stop");
    assert_eq!(open(&rig, session(3)).await.state, DriveState::Open);
}

#[tokio::test(start_paused = true)]
async fn a_mower_that_cannot_or_may_not_be_driven_opens_no_session() {
    async fn refused(rig: &Rig, control_with: DriveControl) -> String {
        let answer = control(rig, &control_with).await;
        assert_eq!(answer.state, DriveState::Refused);
        answer.reason.unwrap()
    }
    let rig = Rig::start().await;
    let mut foreign = opening(&rig, session(1));
    if let DriveControl::Open { account_id, .. } = &mut foreign {
        *account_id = "other".to_owned();
    }
    assert_eq!(refused(&rig, foreign).await, "other-account");
    let mut late = opening(&rig, session(1));
    if let DriveControl::Open { opened_at, .. } = &mut late {
        *opened_at -= SignedDuration::from_secs(10);
    }
    assert_eq!(refused(&rig, late).await, "expired");
    rig.change_state(|state| state.link.online = false);
    assert_eq!(refused(&rig, opening(&rig, session(1))).await, "offline");
    rig.change_state(|state| {
        state.link.online = true;
        state.emergency.latched = true;
    });
    let latched = refused(&rig, opening(&rig, session(1))).await;
    assert_eq!(latched, "emergency-latched");
    let manual = |kind: &CommandKind| *kind != CommandKind::ManualDrive;
    rig.script.capabilities.lock().unwrap().kinds.retain(manual);
    let unable = refused(&rig, opening(&rig, session(1))).await;
    assert_eq!(unable, "unsupported-kind");
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_ends_the_driving() {
    let rig = Rig::start().await;
    open(&rig, session(1)).await;
    rig.bus.deaf.store(true, Ordering::SeqCst);
    for sequence in 1..=40 {
        send(&rig, &frame(&rig, session(1), sequence)).await;
        sleep(ms(200)).await;
    }
    let last = rig.script.drives().pop().unwrap();
    assert_eq!((last.linear, last.blade_on), (0.0, false));
    assert!(rig.counts().frames_dropped > 0);
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_driving_and_no_frame_undoes_it() {
    for calming in [Command::PauseMow {}, Command::ReturnToDock {}] {
        let rig = Rig::start().await;
        assert_eq!(open(&rig, session(1)).await.state, DriveState::Open);
        send(&rig, &frame(&rig, session(1), 1)).await;
        let id = rig.command(calming).await;
        assert_eq!(rig.script.times_sent(id), 1);
        let reached = rig.script.reached().len();
        send(&rig, &frame(&rig, session(1), 2)).await;
        assert_eq!(rig.script.reached().len(), reached, "it drives on");
        let over = |it: &Reached| *it == Reached::DriveOver(session(1));
        assert!(rig.script.reached().iter().any(over));
    }
}
