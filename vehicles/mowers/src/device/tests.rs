//! The promise of the whole: one final for each command, and no movement after
//! its end or after a stop, whatever the bus does with the deliveries.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use tokio::time::sleep;

use crate::bus::{BusError, Delivery, Receipt, Stream, subject};
use crate::connection::Verdict;
use crate::contract::{Command, Envelope, Priority, Status};
use crate::device::testkit::{Reached, Rig, Vendor, envelope, json, ms, start_mow, stop_now};

/// What the bus and the vendor do next.
#[derive(Clone, Debug)]
enum Step {
    /// Delivers command number so, once more perhaps.
    Command(usize),
    /// Delivers stop number so.
    Stop(usize),
    /// Time passes.
    Pass(u64),
    /// The vendor answers so from now on.
    Vendor(u8),
    /// The gateway dies and starts again.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..8_usize).prop_map(Step::Command),
        2 => (0..2_usize).prop_map(Step::Stop),
        6 => (1..4_000_u64).prop_map(Step::Pass),
        2 => (0..4_u8).prop_map(Step::Vendor),
        1 => Just(Step::Crash),
    ]
}

struct Ignored;

#[async_trait]
impl Receipt for Ignored {
    async fn ack(self: Box<Self>) -> Result<(), BusError> {
        Ok(())
    }
    async fn retry(self: Box<Self>, _: Duration) -> Result<(), BusError> {
        Ok(())
    }
    async fn reject(self: Box<Self>) -> Result<(), BusError> {
        Ok(())
    }
    async fn progress(&self) -> Result<(), BusError> {
        Ok(())
    }
}

fn delivery(envelope: &Envelope) -> Delivery {
    let stop = envelope.priority == Priority::Emergency;
    Delivery {
        subject: if stop {
            subject::stop(envelope.mower_id)
        } else {
            subject::command(envelope.mower_id)
        },
        id: envelope.command_id.to_string(),
        priority: envelope.priority,
        payload: Bytes::from(json(envelope)),
        attempt: 1,
        receipt: Box::new(Ignored),
    }
}

/// When a stop came first to the gateway, by its issue.
type Stopped = BTreeMap<Timestamp, Timestamp>;

async fn run(lives: Vec<i64>, steps: Vec<Step>) {
    let mut rig = Rig::start().await;
    let commands: Vec<Envelope> = lives
        .iter()
        .zip(1..)
        .map(|(life, number)| {
            let mut command = envelope(rig.mower, Command::StartMow(start_mow()), rig.now());
            command.issued_at += SignedDuration::from_millis(number * 50);
            command.expires_at = command.issued_at + SignedDuration::from_secs(*life);
            command
        })
        .collect();
    let stops: Vec<Envelope> = [120, 320]
        .map(|later| {
            let mut stop = envelope(rig.mower, stop_now(), rig.now());
            stop.issued_at += SignedDuration::from_millis(later);
            stop.expires_at = stop.issued_at + SignedDuration::from_secs(10);
            stop
        })
        .to_vec();
    let mut stopped = Stopped::new();
    sleep(ms(500)).await;
    for step in steps {
        match step {
            Step::Command(index) => {
                if let Some(command) = commands.get(index) {
                    rig.bus.inject(Stream::Command, delivery(command));
                }
            }
            Step::Stop(index) => {
                let stop = &stops[index];
                stopped.entry(stop.issued_at).or_insert(rig.now());
                rig.bus.inject(Stream::Stop, delivery(stop));
                // It arrives: one that a crash loses before that is not the
                // gateway's to keep; the stream delivers it again.
                sleep(ms(1)).await;
            }
            Step::Pass(milliseconds) => sleep(ms(milliseconds)).await,
            Step::Vendor(which) => *rig.script.commands.lock().unwrap() = vendor(which),
            Step::Crash => rig.restart().await,
        }
    }
    // Everything is delivered once more at the end, and the vendor answers all.
    *rig.script.commands.lock().unwrap() = Vendor::executes();
    for command in &commands {
        rig.bus.inject(Stream::Command, delivery(command));
    }
    sleep(ms(60_000)).await;
    for command in &commands {
        rig.script.says(command.command_id, Verdict::Executed(None));
    }
    sleep(ms(10_000)).await;
    judge(&rig, &commands, &stopped);
}

fn vendor(which: u8) -> Vendor {
    match which {
        0 => Vendor::executes(),
        1 => Vendor::Silent,
        2 => Vendor::Slow(ms(900)),
        _ => Vendor::Answers(ms(700), Verdict::Rejected("no".to_owned())),
    }
}

fn judge(rig: &Rig, commands: &[Envelope], stopped: &Stopped) {
    let reached = rig.script.reached.lock().unwrap().clone();
    for command in commands {
        let id = command.command_id;
        let mut finals: Vec<_> = rig.results(id);
        finals.retain(|result| result.status.is_final());
        assert!(!finals.is_empty(), "no final");
        assert!(
            finals.windows(2).all(|pair| pair[0] == pair[1]),
            "two finals: {finals:?}"
        );
        let acts: Vec<Timestamp> = reached
            .iter()
            .filter(|(_, what)| matches!(what, Reached::Command(it, ..) if *it == id))
            .map(|(at, _)| *at)
            .collect();
        assert!(acts.len() <= 1, "acted twice");
        for at in acts {
            // A slow vendor finishes what it took in time.
            let slow = SignedDuration::from_millis(900);
            assert!(at < command.expires_at + slow, "acted after its end");
            for (issued_at, came) in stopped {
                assert!(
                    command.issued_at > *issued_at || at <= *came,
                    "moved after a stop that was issued later"
                );
            }
        }
        if finals[0].status == Status::Expired {
            assert!(
                !reached
                    .iter()
                    .any(|(_, what)| matches!(what, Reached::Command(it, ..) if *it == id))
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn one_final_and_nothing_after_the_end_or_a_stop(
        lives in proptest::collection::vec(1..12_i64, 1..8),
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(lives, steps));
    }
}
