use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::sleep;
use uuid::Uuid;

use crate::bus::{Bus, Consumer, Message, Published, Stream, subject};
use crate::contract::{Command, MowerState, Priority, Status};
use crate::device::testkit::{Reached, Rig, Vendor, entry, ms, start_mow, stop_now};
use crate::device::{Config, DeviceGateway, StartError};

#[tokio::test(start_paused = true)]
async fn it_holds_what_the_service_says_and_lets_go_of_the_rest() {
    let rig = Rig::start().await;
    let gateway = rig.gateway.as_ref().unwrap();
    assert!(gateway.ready());
    assert_eq!(gateway.holds(), [rig.mower]);
    let other = Uuid::from_u128(0xB);
    *rig.rows.0.lock().unwrap() = vec![entry(other, "simulated")];
    sleep(ms(3_000)).await;
    assert_eq!(gateway.holds(), [other]);
}

#[tokio::test(start_paused = true)]
async fn an_event_is_followed_before_the_next_reading_of_the_list() {
    let rig = Rig::start().await;
    *rig.rows.0.lock().unwrap() = vec![entry(rig.mower, "cloud")];
    let event = Message {
        stream: Stream::Events,
        subject: subject::MOWER_UPDATED.to_owned(),
        id: "e1".to_owned(),
        priority: Priority::Normal,
        payload: b"{}".as_slice().into(),
    };
    let stored = rig.bus.real.publish(&event, ms(100)).await;
    assert_eq!(stored, Published::Stored { duplicate: false });
    sleep(ms(100)).await;
    assert_eq!(rig.counts().without_adapter, 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_moves_and_everything_stops() {
    let rig = Rig::start().await;
    rig.bus.deaf.store(true, Ordering::SeqCst);
    sleep(ms(3_000)).await;
    let early = rig.command(Command::PauseMow {}).await;
    assert_eq!(rig.last(early).unwrap().0, Status::Executed);
    sleep(ms(5_000)).await;
    let late = rig.command(Command::PauseMow {}).await;
    let (status, reason) = rig.last(late).unwrap();
    assert_eq!(status, Status::Failed);
    assert!(reason.starts_with("lease-lost"), "{reason}");
    assert_eq!(rig.script.times_sent(late), 0);
    let stop = rig.command(stop_now()).await;
    assert_eq!(rig.last(stop).unwrap().0, Status::Executed);
    assert_eq!(rig.counts().leases_lost, 1);
}

#[tokio::test(start_paused = true)]
async fn a_mower_that_is_let_go_of_gets_nothing_more_and_what_runs_ends() {
    let rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Silent;
    let running = rig.command(Command::StartMow(start_mow())).await;
    let waiting = rig.command(Command::StartMow(start_mow())).await;
    rig.rows.0.lock().unwrap().clear();
    sleep(ms(2_100)).await;
    let (status, reason) = rig.last(waiting).unwrap();
    assert_eq!(status, Status::Failed);
    assert!(reason.starts_with("lease-lost"), "{reason}");
    assert_eq!(rig.last(running), None);
    rig.script
        .says(running, crate::connection::Verdict::Executed(None));
    sleep(ms(100)).await;
    assert_eq!(rig.last(running).unwrap().0, Status::Executed);
    let later = rig.command(Command::PauseMow {}).await;
    assert_eq!(rig.script.times_sent(later), 0);
}

#[tokio::test(start_paused = true)]
async fn the_fence_rises_with_each_process() {
    let mut rig = Rig::start().await;
    rig.command(Command::PauseMow {}).await;
    sleep(ms(2_000)).await;
    rig.restart().await;
    rig.command(Command::PauseMow {}).await;
    let fences: Vec<u64> = rig
        .script
        .reached()
        .into_iter()
        .filter_map(|what| match what {
            Reached::Command(_, _, fence) => Some(fence),
            _ => None,
        })
        .collect();
    assert_eq!(fences.len(), 2);
    assert!(fences[0] < fences[1], "{fences:?}");
}

#[tokio::test(start_paused = true)]
async fn a_restart_answers_a_redelivery_with_the_same_result() {
    let mut rig = Rig::start().await;
    rig.bus.lost_acks.store(1, Ordering::SeqCst);
    let id = rig.command(Command::PauseMow {}).await;
    assert_eq!(rig.last(id).unwrap().0, Status::Executed);
    rig.restart().await;
    sleep(ms(10_000)).await;
    assert_eq!(rig.script.times_sent(id), 1);
    assert_eq!(rig.counts().redelivered, 1);
    let finals: Vec<_> = rig.results(id);
    let finals: Vec<_> = finals.iter().filter(|it| it.status.is_final()).collect();
    assert!(finals.len() >= 2);
    assert!(finals.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_the_middle_of_a_sending_guesses_nothing() {
    let mut rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Slow(ms(5_000));
    rig.bus.lost_acks.store(1, Ordering::SeqCst);
    let running = rig.command(Command::StartMow(start_mow())).await;
    let waiting = rig.command(Command::StartMow(start_mow())).await;
    rig.restart().await;
    sleep(ms(10_000)).await;
    assert_eq!(rig.statuses(running), [Status::Accepted]);
    assert_eq!(rig.script.times_sent(running), 0);
    let (status, reason) = rig.last(waiting).unwrap();
    assert_eq!(status, Status::Failed);
    assert!(reason.starts_with("gateway-restarted"), "{reason}");
    rig.script
        .says(running, crate::connection::Verdict::Executed(None));
    sleep(ms(100)).await;
    assert_eq!(rig.last(running).unwrap().0, Status::Executed);
}

#[tokio::test(start_paused = true)]
async fn a_final_the_stream_did_not_take_goes_out_after_a_restart() {
    let mut rig = Rig::start().await;
    let mut envelope = rig.envelope(Command::PauseMow {});
    envelope.account_id = "other".to_owned();
    *rig.bus.results.lock().unwrap() = Some(Published::Refused("full".to_owned()));
    rig.publish(&envelope).await;
    sleep(ms(1_000)).await;
    rig.gateway = None;
    *rig.bus.results.lock().unwrap() = None;
    rig.restart().await;
    assert_eq!(rig.statuses(envelope.command_id), [Status::Rejected]);
}

#[tokio::test(start_paused = true)]
async fn the_end_answers_what_waits_and_gives_the_leases_back() {
    let mut rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Silent;
    rig.command(Command::StartMow(start_mow())).await;
    let waiting = rig.command(Command::StartMow(start_mow())).await;
    rig.gateway.take().unwrap().end().await;
    assert_eq!(rig.last(waiting).unwrap().0, Status::Failed);
    // Another shard holds the mower at once.
    let mut config: Config = rig.config.clone();
    config.shard = "two".to_owned();
    // In the same folder: the first one gave it free.
    let bus = Arc::clone(&rig.bus) as Arc<dyn Bus>;
    let clock = Arc::clone(&rig.clock) as Arc<dyn interlock_guard::Clock>;
    let two = DeviceGateway::start(config, bus, clock).await.unwrap();
    sleep(ms(100)).await;
    assert_eq!(two.holds(), [rig.mower]);
}

#[tokio::test(start_paused = true)]
async fn settings_that_cannot_be_are_refused() {
    let rig = Rig::start().await;
    for change in [
        (|config: &mut Config| config.shard = "a b".to_owned()) as fn(&mut Config),
        |config| config.shard = String::new(),
        |config| config.times.heartbeat = ms(0),
    ] {
        let mut config = rig.config.clone();
        change(&mut config);
        let bus = Arc::clone(&rig.bus) as Arc<dyn Bus>;
        let clock = Arc::clone(&rig.clock) as Arc<dyn interlock_guard::Clock>;
        let refused = DeviceGateway::start(config, bus, clock)
            .await
            .err()
            .unwrap();
        assert!(matches!(refused, StartError::Config(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn states_are_published_on_change_and_as_a_heartbeat() {
    let rig = Rig::start().await;
    let everything = Consumer {
        stream: Stream::Telemetry,
        durable: None,
        subjects: Vec::new(),
        ack_wait: ms(1_000),
        max_deliver: 1,
        max_ack_pending: 100,
    };
    let mut reader = rig.bus.real.consume(&everything).await.unwrap();
    let begun = tokio::time::Instant::now();
    let heartbeat = reader.next().await.unwrap();
    assert_eq!(heartbeat.id, format!("{}:1", rig.mower));
    assert!((ms(9_000)..ms(10_500)).contains(&begun.elapsed()));
    sleep(ms(300)).await;
    let begun = tokio::time::Instant::now();
    rig.change_state(|state| state.battery_percent = 12.0);
    let changed = reader.next().await.unwrap();
    assert!(begun.elapsed() <= ms(200));
    let state: MowerState = serde_json::from_slice(&changed.payload).unwrap();
    assert!((state.battery_percent - 12.0).abs() < f64::EPSILON);
}
