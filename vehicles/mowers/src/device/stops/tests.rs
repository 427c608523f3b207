use std::sync::atomic::Ordering;

use jiff::SignedDuration;
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use super::parked;
use crate::bus::{Published, subject};
use crate::connection::{Sent, Verdict};
use crate::contract::{Command, Status, StopSemantics};
use crate::device::testkit::{Reached, Rig, Vendor, json, ms, start_mow, stop_now};
use crate::device::wire::{StopAnswer, StopDone};

/// The final of a stop and its reason after its whole life.
async fn check(vendor: Vendor, expected: Option<(Status, &str)>, alarms: u64) {
    let rig = Rig::start().await;
    *rig.script.stops.lock().unwrap() = vendor;
    let id = rig.command(stop_now()).await;
    sleep(ms(12_000)).await;
    let last = rig.last(id);
    let last = last
        .as_ref()
        .map(|(status, reason)| (*status, reason.as_str()));
    assert_eq!(last, expected);
    assert_eq!(rig.counts().alarms, alarms);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_as_the_mower_says_or_with_an_alarm() {
    let text = |text: &str| text.to_owned();
    check(Vendor::executes(), Some((Status::Executed, "")), 0).await;
    let offline = Vendor::Says(Sent::NotSent(text("no link")));
    check(offline, Some((Status::Failed, "offline: no link")), 1).await;
    let limited = Vendor::Says(Sent::Limited { retry_after_s: 60 });
    let expected = Some((Status::Failed, "vendor-limited: not sent"));
    check(limited, expected, 1).await;
    // It may have gone out: nobody says that it failed, somebody has to look.
    check(Vendor::Silent, None, 1).await;
    check(Vendor::Says(Sent::Unknown(text("lost"))), None, 1).await;
    let refused = Vendor::Answers(ms(1), Verdict::Rejected(text("locked")));
    check(refused, Some((Status::Rejected, "locked")), 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_offline_mower_is_tried_until_it_is_back() {
    let rig = Rig::start().await;
    *rig.script.stops.lock().unwrap() = Vendor::Says(Sent::NotSent("no link".to_owned()));
    let id = rig.command(stop_now()).await;
    sleep(ms(6_000)).await;
    assert_eq!(rig.script.times_sent(id), 0);
    *rig.script.stops.lock().unwrap() = Vendor::executes();
    sleep(ms(600)).await;
    assert_eq!(rig.last(id).unwrap().0, Status::Executed);
    assert_eq!(rig.counts().alarms, 0);
}

#[tokio::test(start_paused = true)]
async fn a_refusing_vendor_is_asked_again_until_it_stops() {
    let rig = Rig::start().await;
    *rig.script.stops.lock().unwrap() = Vendor::Answers(ms(1), Verdict::Failed("busy".to_owned()));
    let id = rig.command(stop_now()).await;
    assert_eq!(rig.last(id), None);
    *rig.script.stops.lock().unwrap() = Vendor::executes();
    sleep(ms(1_000)).await;
    assert_eq!(rig.last(id).unwrap().0, Status::Executed);
}

#[tokio::test(start_paused = true)]
async fn a_stop_drops_what_waits_and_overtakes_what_runs() {
    let rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Slow(ms(9_000));
    let running = rig.command(Command::StartMow(start_mow())).await;
    let waiting = rig.command(Command::StartMow(start_mow())).await;
    let stop = rig.command(stop_now()).await;
    assert_eq!(rig.last(stop).unwrap().0, Status::Executed);
    let dropped = (Status::Rejected, "superseded-by-stop".to_owned());
    assert_eq!(rig.last(waiting).unwrap(), dropped);
    sleep(ms(40_000)).await;
    // The sending was cut off: it never went out, and nobody claims to know.
    assert_eq!(rig.script.times_sent(running), 0);
    assert_eq!(rig.script.times_sent(waiting), 0);
    assert_eq!(rig.last(running), None);
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_cut_a_sending_off_is_sent_once_more_after_it() {
    let rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Slow(ms(9_000));
    rig.command(Command::StartMow(start_mow())).await;
    let stop = rig.command(stop_now()).await;
    assert_eq!(rig.script.times_sent(stop), 2);
    let calm = rig.command(stop_now()).await;
    assert_eq!(rig.script.times_sent(calm), 1);
}

#[tokio::test(start_paused = true)]
async fn a_movement_issued_before_the_stop_is_refused_when_it_comes_after() {
    let rig = Rig::start().await;
    let early = rig.envelope(Command::StartMow(start_mow()));
    sleep(ms(50)).await;
    let mut stop = rig.envelope(stop_now());
    stop.stop_epoch = 3;
    rig.publish(&stop).await;
    sleep(ms(50)).await;
    rig.publish(&early).await;
    let mut old_epoch = rig.envelope(Command::StartMow(start_mow()));
    old_epoch.stop_epoch = 2;
    rig.publish(&old_epoch).await;
    let mut fresh = rig.envelope(Command::StartMow(start_mow()));
    fresh.stop_epoch = 3;
    rig.publish(&fresh).await;
    sleep(ms(100)).await;
    for refused in [early.command_id, old_epoch.command_id] {
        let (status, reason) = rig.last(refused).unwrap();
        let superseded = (Status::Rejected, "superseded-by-stop");
        assert_eq!((status, reason.as_str()), superseded);
        assert_eq!(rig.script.times_sent(refused), 0);
    }
    assert_eq!(rig.last(fresh.command_id).unwrap().0, Status::Executed);
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_remembered_over_a_restart() {
    let mut rig = Rig::start().await;
    let mut stop = rig.envelope(stop_now());
    stop.stop_epoch = 3;
    rig.publish(&stop).await;
    sleep(ms(100)).await;
    rig.restart().await;
    let id = rig.command(Command::StartMow(start_mow())).await;
    assert_eq!(rig.last(id).unwrap().1, "superseded-by-stop");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_stop_is_sent_again_and_has_one_final() {
    let rig = Rig::start().await;
    let stop = rig.envelope(stop_now());
    rig.publish(&stop).await;
    sleep(ms(100)).await;
    let id = stop.command_id;
    for _ in 0..3 {
        let answer: StopAnswer = rig
            .ask(&subject::direct_stop(rig.mower), &stop, ms(1_000))
            .await
            .unwrap();
        assert_eq!(answer.done, StopDone::Sent);
        sleep(ms(100)).await;
    }
    assert_eq!(rig.script.times_sent(id), 4);
    let finals: Vec<_> = rig.results(id);
    let finals: Vec<_> = finals.iter().filter(|it| it.status.is_final()).collect();
    assert!(finals.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test(start_paused = true)]
async fn a_stop_works_past_the_streams_when_nothing_else_does() {
    let rig = Rig::start().await;
    *rig.bus.results.lock().unwrap() = Some(Published::Refused("down".to_owned()));
    rig.bus.deaf.store(true, Ordering::SeqCst);
    // The lease runs out too: stops do not need it.
    sleep(ms(20_000)).await;
    let stop = rig.envelope(stop_now());
    let answer: StopAnswer = rig
        .ask(&subject::direct_stop(rig.mower), &stop, ms(1_000))
        .await
        .unwrap();
    assert_eq!(answer.done, StopDone::Sent);
    assert_eq!(answer.semantics, StopSemantics::MotorsOff);
    assert_eq!(rig.script.times_sent(stop.command_id), 1);
    *rig.bus.results.lock().unwrap() = None;
    sleep(ms(10_000)).await;
    assert_eq!(rig.last(stop.command_id).unwrap().0, Status::Executed);
}

#[tokio::test(start_paused = true)]
async fn a_direct_stop_says_at_once_that_the_mower_is_offline() {
    let rig = Rig::start().await;
    *rig.script.stops.lock().unwrap() = Vendor::Says(Sent::NotSent("no link".to_owned()));
    let stop = rig.envelope(stop_now());
    let answer: StopAnswer = rig
        .ask(&subject::direct_stop(rig.mower), &stop, ms(1_000))
        .await
        .unwrap();
    assert_eq!(answer.done, StopDone::NotSent);
    assert_eq!(answer.reason.unwrap(), "offline: no link");
    let elsewhere = subject::direct_stop(Uuid::from_u128(0xF));
    let silence = rig.ask::<StopAnswer>(&elsewhere, &stop, ms(1_000)).await;
    assert!(silence.is_err(), "only the holder answers");
}

#[tokio::test(start_paused = true)]
async fn a_stop_after_its_end_is_not_carried_out_and_raises_an_alarm() {
    let rig = Rig::start().await;
    let mut stop = rig.envelope(stop_now());
    stop.issued_at = rig.now() - SignedDuration::from_secs(10);
    stop.expires_at = rig.now();
    rig.publish(&stop).await;
    sleep(ms(100)).await;
    assert_eq!(rig.last(stop.command_id).unwrap().0, Status::Expired);
    assert_eq!(rig.script.times_sent(stop.command_id), 0);
    assert_eq!(rig.counts().alarms, 1);
}

#[tokio::test(start_paused = true)]
async fn a_mower_that_can_only_pause_says_so() {
    for (semantics, expected) in [
        (StopSemantics::Pause, "pause: "),
        (StopSemantics::PauseThenLock, "pause_then_lock: "),
    ] {
        let rig = Rig::start().await;
        rig.script.capabilities.lock().unwrap().stop_semantics = semantics;
        let id = rig.command(stop_now()).await;
        let (status, reason) = rig.last(id).unwrap();
        assert_eq!(status, Status::Executed);
        assert!(reason.starts_with(expected), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_stop_stops_all_the_same() {
    let rig = Rig::start().await;
    let id = Uuid::now_v7();
    rig.publish_raw(true, id, b"{").await;
    sleep(ms(100)).await;
    assert_eq!(rig.script.times_sent(id), 1);
    assert_eq!(rig.counts().malformed, 1);

    let stop = rig.envelope(stop_now());
    let mut value = serde_json::to_value(&stop).unwrap();
    value["command"] = json!({"kind": "emergency_stop", "gently": true});
    rig.publish_raw(true, stop.command_id, &json(&value)).await;
    sleep(ms(100)).await;
    assert_eq!(rig.script.times_sent(stop.command_id), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_for_a_mower_that_comes_to_this_shard_in_time_is_carried_out() {
    let rig = Rig::start().await;
    let entries = std::mem::take(&mut *rig.rows.0.lock().unwrap());
    sleep(ms(3_000)).await;
    let id = rig.command(stop_now()).await;
    assert!(!rig.script.reached().contains(&Reached::Stop(id)));
    *rig.rows.0.lock().unwrap() = entries;
    sleep(ms(3_000)).await;
    assert_eq!(rig.script.times_sent(id), 1);
    assert_eq!(rig.last(id).unwrap().0, Status::Executed);
}

#[tokio::test(start_paused = true)]
async fn of_many_stops_for_a_mower_that_is_elsewhere_the_newest_are_kept() {
    let rig = Rig::start().await;
    let entries = std::mem::take(&mut *rig.rows.0.lock().unwrap());
    sleep(ms(3_000)).await;
    let mut ids = Vec::new();
    for _ in 0..=parked::MOST {
        ids.push(rig.command(stop_now()).await);
    }
    *rig.rows.0.lock().unwrap() = entries;
    sleep(ms(3_000)).await;
    assert_eq!(rig.script.times_sent(ids[0]), 0);
    for id in &ids[1..] {
        assert_eq!(rig.script.times_sent(*id), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_goes_on_over_a_restart() {
    let mut rig = Rig::start().await;
    *rig.script.stops.lock().unwrap() = Vendor::Says(Sent::NotSent("no link".to_owned()));
    let id = rig.command(stop_now()).await;
    rig.restart().await;
    *rig.script.stops.lock().unwrap() = Vendor::executes();
    sleep(ms(3_000)).await;
    assert_eq!(rig.last(id).unwrap().0, Status::Executed);
}
