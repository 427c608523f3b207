//! The bus inside of one process: the suite, and what only paused time shows.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{advance, timeout};
use uuid::Uuid;

use super::conforms;
use super::suite::{acknowledge, command, commands, expect, next, publish, result, stop};
use crate::bus::{Bus, Consumer, LISTENER_QUEUE, LocalBus, Published, Stream, subject};

async fn local() -> Arc<dyn Bus> {
    Arc::new(LocalBus::new())
}

conforms!(local());

const NOW: Duration = Duration::from_secs(2);

#[tokio::test(start_paused = true)]
async fn forgets_a_message_at_its_age_and_an_id_with_its_window() {
    let bus = LocalBus::new();
    let mower = Uuid::now_v7();
    for stream in Stream::ALL {
        let limits = stream.limits();
        assert!(limits.window <= limits.max_age, "{stream:?}");
    }
    let message = command(mower, "old");
    publish(&bus, &message).await;
    advance(Stream::Command.limits().window - Duration::from_millis(1)).await;
    let again = bus.publish(&message, NOW).await;
    assert_eq!(again, Published::Stored { duplicate: true });
    advance(Duration::from_millis(1)).await;
    publish(&bus, &message).await;
    publish(&bus, &command(mower, "new")).await;

    let mut reader = bus.consume(&commands(mower)).await.expect("a consumer");
    acknowledge(&mut reader, "old").await;
    acknowledge(&mut reader, "new").await;
}

#[tokio::test(start_paused = true)]
async fn makes_room_for_commands_as_old_ones_go() {
    let bus = LocalBus::new();
    let mower = Uuid::now_v7();
    for number in 0..64 {
        publish(&bus, &command(mower, &number.to_string())).await;
    }
    let refused = bus.publish(&command(mower, "next"), NOW).await;
    assert!(matches!(refused, Published::Refused(_)));
    advance(Stream::Command.limits().max_age).await;
    publish(&bus, &command(mower, "next")).await;
}

#[tokio::test(start_paused = true)]
async fn does_not_redeliver_what_is_past_its_age() {
    let bus = LocalBus::new();
    let mower = Uuid::now_v7();
    let stops = Consumer {
        stream: Stream::Stop,
        subjects: vec![subject::stop(mower)],
        ack_wait: Duration::from_secs(20),
        max_ack_pending: 1,
        ..commands(mower)
    };
    let mut reader = bus.consume(&stops).await.expect("a consumer");
    publish(&bus, &stop(mower, "old")).await;
    drop(expect(&mut reader, "old", 1).await);
    advance(Stream::Stop.limits().max_age).await;
    // It no longer counts as out either.
    publish(&bus, &stop(mower, "new")).await;
    acknowledge(&mut reader, "new").await;
}

#[tokio::test(start_paused = true)]
async fn redelivers_patiently_where_messages_live_long() {
    let bus = LocalBus::new();
    let mower = Uuid::now_v7();
    let results = Consumer {
        stream: Stream::Result,
        subjects: vec![],
        ack_wait: Duration::from_secs(10),
        max_deliver: 20,
        ..commands(mower)
    };
    let mut reader = bus.consume(&results).await.expect("a consumer");
    publish(&bus, &result(mower, "one")).await;
    let mut waits = Vec::new();
    drop(next(&mut reader).await);
    for _ in 1..20 {
        let before = tokio::time::Instant::now();
        drop(next_patiently(&mut reader).await);
        waits.push(before.elapsed().as_secs());
    }
    assert_eq!(&waits[..6], &[10, 20, 40, 60, 60, 60]);
    let nothing = timeout(Duration::from_secs(600), reader.next()).await;
    assert!(nothing.is_err(), "given up after the twentieth");
}

async fn next_patiently(reader: &mut Box<dyn crate::bus::Consume>) -> crate::bus::Delivery {
    let within = Duration::from_secs(600);
    let next = timeout(within, reader.next()).await;
    next.expect("something comes").expect("the bus is there")
}

#[tokio::test(start_paused = true)]
async fn waits_anew_while_somebody_works_on_it() {
    let bus = LocalBus::new();
    let mower = Uuid::now_v7();
    let mut reader = bus.consume(&commands(mower)).await.expect("a consumer");
    publish(&bus, &command(mower, "long")).await;
    let delivery = expect(&mut reader, "long", 1).await;
    for _ in 0..5 {
        advance(Duration::from_secs(29)).await;
        delivery.receipt.progress().await.expect("still at it");
    }
    let silence = timeout(Duration::from_secs(29), reader.next()).await;
    assert!(silence.is_err());
    expect(&mut reader, "long", 2).await;
}

#[tokio::test]
async fn forgets_a_nameless_reader_when_it_goes() {
    let bus = LocalBus::new();
    let nameless = Consumer {
        durable: None,
        subjects: vec![],
        ..commands(Uuid::now_v7())
    };
    // More than a stream takes at a time.
    for _ in 0..10_100 {
        bus.consume(&nameless).await.expect("a consumer");
    }
}

#[tokio::test]
async fn a_listener_that_does_not_keep_up_misses_the_rest() {
    let bus = LocalBus::new();
    let mut listener = bus.listen(subject::DRIVES).await.expect("a listener");
    let frame = |number: usize| number.to_string().into();
    for number in 0..LISTENER_QUEUE + 5 {
        bus.send("drive.mower.x", frame(number))
            .await
            .expect("sent");
    }
    for number in 0..LISTENER_QUEUE {
        let heard = listener.next().await.expect("there");
        assert_eq!(heard.payload, frame(number));
    }
    let silence = timeout(Duration::from_millis(50), listener.next()).await;
    assert!(silence.is_err());
}
