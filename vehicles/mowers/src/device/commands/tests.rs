use std::sync::atomic::Ordering;

use jiff::SignedDuration;
use serde_json::json;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::bus::{Bus, Consumer, Published, Stream};
use crate::contract::{Command, Status};
use crate::device::testkit::{Rig, Vendor, entry, json, ms, start_mow, stop_now};

/// The final of a command and the code of its reason.
async fn check(rig: &Rig, command: Command, expected: (Status, &str)) -> Uuid {
    let id = rig.command(command).await;
    let (status, reason) = rig.last(id).unwrap();
    let code = reason.split(':').next().unwrap();
    assert_eq!((status, code), expected, "{reason}");
    id
}

#[tokio::test(start_paused = true)]
async fn a_command_is_accepted_sent_and_executed() {
    let rig = Rig::start().await;
    let id = check(&rig, Command::PauseMow {}, (Status::Executed, "")).await;
    assert_eq!(rig.statuses(id), [Status::Accepted, Status::Executed]);
    assert_eq!(rig.script.times_sent(id), 1);
    assert_eq!(rig.counts().accepted, 1);
}

#[tokio::test(start_paused = true)]
async fn the_stream_has_each_status_of_a_command_once() {
    let rig = Rig::start().await;
    let everything = Consumer {
        stream: Stream::Result,
        durable: Some("test".to_owned()),
        subjects: Vec::new(),
        ack_wait: ms(60_000),
        max_deliver: 1,
        max_ack_pending: 100,
    };
    let mut reader = rig.bus.real.consume(&everything).await.unwrap();
    rig.bus.lost_acks.store(2, Ordering::SeqCst);
    let id = rig.command(Command::PauseMow {}).await;
    sleep(ms(20_000)).await;
    for status in ["accepted", "executed"] {
        let stored = reader.next().await.unwrap();
        assert_eq!(stored.id, format!("{id}:{status}"));
    }
    assert!(timeout(ms(1_000), reader.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_the_mower_does_not_declare_is_refused_before_the_vendor_is_asked() {
    let rig = Rig::start().await;
    rig.script.capabilities.lock().unwrap().kinds.clear();
    let expected = (Status::Rejected, "unsupported-kind");
    let id = check(&rig, Command::PauseMow {}, expected).await;
    assert_eq!(rig.script.times_sent(id), 0);
    assert_eq!(rig.statuses(id), [Status::Rejected]);

    let rig = Rig::start().await;
    let expected = (Status::Rejected, "capability");
    let id = check(&rig, Command::SetBladeHeight { height_mm: 90 }, expected).await;
    assert_eq!(rig.script.times_sent(id), 0);
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_a_newer_service_is_refused_by_name() {
    let rig = Rig::start().await;
    let envelope = rig.envelope(Command::PauseMow {});
    let mut value = serde_json::to_value(&envelope).unwrap();
    value["command"] = json!({"kind": "fly"});
    rig.publish_raw(false, envelope.command_id, &json(&value))
        .await;
    sleep(ms(100)).await;
    let (status, reason) = rig.last(envelope.command_id).unwrap();
    assert_eq!(status, Status::Rejected);
    assert!(reason.starts_with("unsupported-kind: "), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_malformed_message_is_terminated_and_counted_and_blocks_nobody() {
    let rig = Rig::start().await;
    rig.publish_raw(false, Uuid::now_v7(), b"{").await;
    let mut wrong_priority = rig.envelope(Command::PauseMow {});
    wrong_priority.priority = crate::contract::Priority::Emergency;
    let id = wrong_priority.command_id;
    rig.publish_raw(false, id, &json(&wrong_priority)).await;
    check(&rig, Command::PauseMow {}, (Status::Executed, "")).await;
    assert_eq!(rig.counts().malformed, 2);
    assert!(rig.results(id).is_empty());
    // Terminated: it does not come again.
    sleep(ms(20_000)).await;
    assert_eq!(rig.counts().malformed, 2);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_comes_again_gets_the_same_result_and_does_not_act_again() {
    let rig = Rig::start().await;
    rig.bus.lost_acks.store(2, Ordering::SeqCst);
    let id = check(&rig, Command::PauseMow {}, (Status::Executed, "")).await;
    sleep(ms(20_000)).await;
    assert_eq!(rig.script.times_sent(id), 1);
    assert!(rig.counts().redelivered >= 1);
    let finals: Vec<_> = rig.results(id);
    let finals: Vec<_> = finals.iter().filter(|it| it.status.is_final()).collect();
    assert!(finals.len() >= 2, "the same result goes out again");
    assert!(finals.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test(start_paused = true)]
async fn an_expired_command_is_never_executed() {
    let rig = Rig::start().await;
    let mut envelope = rig.envelope(Command::PauseMow {});
    envelope.issued_at = rig.now() - SignedDuration::from_millis(20);
    envelope.expires_at = rig.now();
    rig.publish(&envelope).await;
    sleep(ms(100)).await;
    let id = envelope.command_id;
    assert_eq!(rig.last(id).unwrap().0, Status::Expired);
    assert_eq!(rig.script.times_sent(id), 0);
}

#[tokio::test(start_paused = true)]
async fn acceptance_is_in_the_stream_before_anything_is_acted_on() {
    let rig = Rig::start().await;
    *rig.bus.results.lock().unwrap() = Some(Published::Refused("full".to_owned()));
    let id = rig.command(Command::PauseMow {}).await;
    assert_eq!(rig.script.times_sent(id), 0);
    *rig.bus.results.lock().unwrap() = None;
    sleep(ms(500)).await;
    assert_eq!(rig.statuses(id), [Status::Accepted, Status::Executed]);
    assert_eq!(rig.script.times_sent(id), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_takes_no_acceptance_lets_the_command_expire() {
    let rig = Rig::start().await;
    *rig.bus.results.lock().unwrap() = Some(Published::Unconfirmed("slow".to_owned()));
    let id = rig.command(Command::PauseMow {}).await;
    sleep(ms(31_000)).await;
    *rig.bus.results.lock().unwrap() = None;
    sleep(ms(6_000)).await;
    assert_eq!(rig.statuses(id), [Status::Expired]);
    assert_eq!(rig.script.times_sent(id), 0);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_off_by_more_than_two_seconds_refuses_all_but_stops() {
    for (off_ms, expected) in [
        (2_100, Status::Rejected),
        (-2_100, Status::Rejected),
        (1_900, Status::Executed),
        (-1_900, Status::Executed),
    ] {
        let rig = Rig::with(|_| {}, off_ms).await;
        let id = rig.command(Command::PauseMow {}).await;
        assert_eq!(rig.last(id).unwrap().0, expected, "off by {off_ms} ms");
        let stop = rig.command(stop_now()).await;
        assert_eq!(rig.last(stop).unwrap().0, Status::Executed);
    }
}

#[tokio::test(start_paused = true)]
async fn expiry_is_judged_by_the_fleets_clock() {
    // The own clock is 1.5 s behind: by it the command would live on.
    let rig = Rig::with(|_| {}, -1_500).await;
    sleep(ms(2_000)).await;
    let mut envelope = rig.envelope(Command::PauseMow {});
    envelope.issued_at = rig.now() - SignedDuration::from_secs(1);
    envelope.expires_at = rig.now() - SignedDuration::from_millis(1);
    rig.publish(&envelope).await;
    sleep(ms(100)).await;
    assert_eq!(rig.last(envelope.command_id).unwrap().0, Status::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_command_from_the_future_is_refused_beyond_half_a_second() {
    for (ahead_ms, expected) in [(400, Status::Executed), (700, Status::Rejected)] {
        let rig = Rig::start().await;
        let mut envelope = rig.envelope(Command::PauseMow {});
        envelope.issued_at = rig.now() + SignedDuration::from_millis(ahead_ms);
        rig.publish(&envelope).await;
        sleep(ms(100)).await;
        assert_eq!(rig.last(envelope.command_id).unwrap().0, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn another_account_and_frames_in_the_stream_are_refused() {
    let rig = Rig::start().await;
    let mut envelope = rig.envelope(Command::PauseMow {});
    envelope.account_id = "other".to_owned();
    rig.publish(&envelope).await;
    sleep(ms(100)).await;
    let (status, reason) = rig.last(envelope.command_id).unwrap();
    assert_eq!(status, Status::Rejected);
    assert!(reason.starts_with("other-account"));
}

#[tokio::test(start_paused = true)]
async fn a_command_issued_before_this_shard_held_the_mower_is_left_alone() {
    let rig = Rig::start().await;
    let mut envelope = rig.envelope(Command::PauseMow {});
    envelope.issued_at = "2026-06-01T11:59:59Z".parse().unwrap();
    rig.publish(&envelope).await;
    sleep(ms(10_000)).await;
    assert!(rig.results(envelope.command_id).is_empty());
    assert_eq!(rig.script.times_sent(envelope.command_id), 0);
    assert_eq!(rig.counts().not_ours, 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses() {
    let rig = Rig::with(|config| config.bounds.queue = 1, 0).await;
    *rig.script.commands.lock().unwrap() = Vendor::Silent;
    let [first, second, third] = [
        rig.command(Command::StartMow(start_mow())).await,
        rig.command(Command::StartMow(start_mow())).await,
        rig.command(Command::StartMow(start_mow())).await,
    ];
    assert_eq!(rig.statuses(first), [Status::Accepted]);
    assert_eq!(rig.statuses(second), [Status::Accepted]);
    assert!(rig.last(third).unwrap().1.starts_with("queue-full"));
}

#[tokio::test(start_paused = true)]
async fn a_mower_without_an_adapter_refuses_everything_and_says_why() {
    let rig = Rig::start().await;
    *rig.rows.0.lock().unwrap() = vec![entry(rig.mower, "cloud")];
    sleep(ms(61_000)).await;
    assert_eq!(rig.counts().without_adapter, 1);
    let expected = (Status::Rejected, "not-connected");
    check(&rig, Command::PauseMow {}, expected).await;
    let id = rig.command(Command::StartMow(start_mow())).await;
    let (_, reason) = rig.last(id).unwrap();
    assert!(reason.contains("kind `cloud`"), "{reason}");
    let stop = rig.command(stop_now()).await;
    sleep(ms(11_000)).await;
    let (status, reason) = rig.last(stop).unwrap();
    assert_eq!(status, Status::Failed);
    assert!(reason.contains("no adapter for connections of kind `cloud`"));
}
