//! What every bus must do.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use uuid::Uuid;

use crate::bus::stream::MAX_MESSAGE;
use crate::bus::{
    Bus, BusError, Consume, Consumer, Delivery, Listen, Message, Published, Stream, subject,
};
use crate::contract::Priority;

/// Long enough for everything that should happen.
const SOON: Duration = Duration::from_secs(20);

/// How long nothing is waited for.
const SILENCE: Duration = Duration::from_millis(300);

const STORED: Published = Published::Stored { duplicate: false };

pub(crate) fn command(mower: Uuid, text: &str) -> Message {
    message(Stream::Command, subject::command(mower), text)
}

pub(crate) fn stop(mower: Uuid, text: &str) -> Message {
    Message {
        priority: Priority::Emergency,
        ..message(Stream::Stop, subject::stop(mower), text)
    }
}

pub(crate) fn result(mower: Uuid, text: &str) -> Message {
    message(Stream::Result, subject::result(mower), text)
}

fn message(stream: Stream, subject: String, text: &str) -> Message {
    Message {
        stream,
        id: format!("{subject}:{}", text.replace(' ', "-")),
        subject,
        priority: Priority::Normal,
        payload: Bytes::from(text.to_owned()),
    }
}

/// A consumer of one mower's commands that waits long for a word.
pub(crate) fn commands(mower: Uuid) -> Consumer {
    Consumer {
        stream: Stream::Command,
        durable: Some(format!("of-{mower}")),
        subjects: vec![subject::command(mower)],
        ack_wait: Duration::from_secs(30),
        max_deliver: 0,
        max_ack_pending: 10,
    }
}

pub(crate) async fn publish(bus: &dyn Bus, message: &Message) {
    assert_eq!(bus.publish(message, SOON).await, STORED, "{message:?}");
}

pub(crate) async fn next(reader: &mut Box<dyn Consume>) -> Delivery {
    let next = timeout(SOON, reader.next()).await;
    next.expect("something comes").expect("the bus is there")
}

/// Takes the next message, which must be `text`, and gives the delivery.
pub(crate) async fn expect(reader: &mut Box<dyn Consume>, text: &str, attempt: u64) -> Delivery {
    let delivery = next(reader).await;
    let said = String::from_utf8(delivery.payload.to_vec()).expect("text");
    assert_eq!((said.as_str(), delivery.attempt), (text, attempt));
    delivery
}

pub(crate) async fn acknowledge(reader: &mut Box<dyn Consume>, text: &str) {
    let delivery = expect(reader, text, 1).await;
    delivery.receipt.ack().await.expect("acknowledged");
}

async fn silent(reader: &mut Box<dyn Consume>) {
    if let Ok(said) = timeout(SILENCE, reader.next()).await {
        panic!("{:?}", said.map(|delivery| delivery.payload));
    }
}

async fn open(bus: &dyn Bus, consumer: &Consumer) -> Box<dyn Consume> {
    bus.consume(consumer).await.expect("a consumer")
}

pub(crate) async fn stores_an_id_once(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    publish(bus, &command(mower, "one")).await;
    let again = bus.publish(&command(mower, "one"), SOON).await;
    assert_eq!(again, Published::Stored { duplicate: true });
    publish(bus, &command(mower, "two")).await;

    let mut reader = open(bus, &commands(mower)).await;
    acknowledge(&mut reader, "one").await;
    acknowledge(&mut reader, "two").await;
}

pub(crate) async fn says_what_it_certainly_did_not_store(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let good = command(mower, "good");
    let elsewhere = Message {
        stream: Stream::Stop,
        ..good.clone()
    };
    let pattern = Message {
        subject: "command.mower.*".to_owned(),
        ..good.clone()
    };
    let large = Message {
        payload: vec![b'x'; MAX_MESSAGE + 1].into(),
        ..good.clone()
    };
    for bad in [elsewhere, pattern, large] {
        let said = bus.publish(&bad, SOON).await;
        assert!(matches!(said, Published::Refused(_)), "{said:?}");
    }
    // The id was not used up by what was refused.
    publish(bus, &good).await;
}

pub(crate) async fn refuses_the_next_command_of_a_full_mower(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    for number in 0..Stream::Command.limits().per_subject {
        publish(bus, &command(mower, &number.to_string())).await;
    }
    let said = bus.publish(&command(mower, "too many"), SOON).await;
    assert!(matches!(said, Published::Refused(_)), "{said:?}");
    // The others are not affected.
    publish(bus, &command(Uuid::now_v7(), "one")).await;
}

pub(crate) async fn drops_the_oldest_stop_for_a_new_one(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    for number in 0..=Stream::Stop.limits().per_subject {
        publish(bus, &stop(mower, &number.to_string())).await;
    }
    let stops = Consumer {
        stream: Stream::Stop,
        subjects: vec![subject::stop(mower)],
        ..commands(mower)
    };
    let mut reader = open(bus, &stops).await;
    acknowledge(&mut reader, "1").await;
    acknowledge(&mut reader, "2").await;
}

pub(crate) async fn delivers_in_order_what_was_published(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let first = stop(mower, "first");
    publish(bus, &first).await;
    publish(bus, &stop(mower, "second")).await;
    let stops = Consumer {
        stream: Stream::Stop,
        subjects: vec![],
        ..commands(mower)
    };
    let mut reader = open(bus, &stops).await;
    let delivery = next(&mut reader).await;
    assert_eq!(delivery.subject, first.subject);
    assert_eq!(delivery.id, first.id);
    assert_eq!(delivery.priority, Priority::Emergency);
    assert_eq!(delivery.payload, first.payload);
    assert_eq!(delivery.attempt, 1);
    acknowledge(&mut reader, "second").await;
}

pub(crate) async fn delivers_again_what_was_dropped(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let brief = Consumer {
        ack_wait: SILENCE,
        ..commands(mower)
    };
    let mut reader = open(bus, &brief).await;
    publish(bus, &command(mower, "one")).await;
    drop(expect(&mut reader, "one", 1).await);
    drop(expect(&mut reader, "one", 2).await);
    let last = expect(&mut reader, "one", 3).await;
    last.receipt.ack().await.expect("acknowledged");
    silent(&mut reader).await;
}

pub(crate) async fn does_not_deliver_again_what_was_acknowledged(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let brief = Consumer {
        ack_wait: SILENCE / 3,
        ..commands(mower)
    };
    let mut reader = open(bus, &brief).await;
    publish(bus, &command(mower, "one")).await;
    let delivery = next(&mut reader).await;
    delivery.receipt.progress().await.expect("still at it");
    delivery.receipt.ack().await.expect("acknowledged");
    silent(&mut reader).await;
}

pub(crate) async fn delivers_again_when_told_to(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let mut reader = open(bus, &commands(mower)).await;
    publish(bus, &command(mower, "one")).await;
    let first = expect(&mut reader, "one", 1).await;
    first.receipt.retry(SILENCE).await.expect("later");
    let second = expect(&mut reader, "one", 2).await;
    second.receipt.ack().await.expect("acknowledged");
}

pub(crate) async fn gives_up_after_the_last_delivery(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let twice = Consumer {
        ack_wait: SILENCE / 3,
        max_deliver: 2,
        ..commands(mower)
    };
    let mut reader = open(bus, &twice).await;
    publish(bus, &command(mower, "one")).await;
    drop(expect(&mut reader, "one", 1).await);
    drop(expect(&mut reader, "one", 2).await);
    silent(&mut reader).await;
    publish(bus, &command(mower, "two")).await;
    acknowledge(&mut reader, "two").await;
}

pub(crate) async fn never_delivers_again_what_was_rejected(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let brief = Consumer {
        ack_wait: SILENCE / 3,
        ..commands(mower)
    };
    let mut reader = open(bus, &brief).await;
    publish(bus, &command(mower, "unreadable")).await;
    let delivery = next(&mut reader).await;
    delivery.receipt.reject().await.expect("rejected");
    silent(&mut reader).await;
}

pub(crate) async fn holds_back_while_too_much_is_out(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let narrow = Consumer {
        max_ack_pending: 1,
        ..commands(mower)
    };
    let mut reader = open(bus, &narrow).await;
    publish(bus, &command(mower, "one")).await;
    publish(bus, &command(mower, "two")).await;
    let one = expect(&mut reader, "one", 1).await;
    silent(&mut reader).await;
    one.receipt.ack().await.expect("acknowledged");
    acknowledge(&mut reader, "two").await;
}

pub(crate) async fn shares_a_durable_between_its_readers(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let mut one = open(bus, &commands(mower)).await;
    let mut two = open(bus, &commands(mower)).await;
    for number in 0..20 {
        publish(bus, &command(mower, &number.to_string())).await;
    }
    let mut seen = Vec::new();
    while seen.len() < 20 {
        let next = async {
            tokio::select! {
                delivery = one.next() => delivery,
                delivery = two.next() => delivery,
            }
        };
        let delivery = tokio::time::timeout(SOON, next).await;
        let delivery = delivery.unwrap_or_else(|_| panic!("only {seen:?} came"));
        let delivery = delivery.expect("the bus is there");
        assert_eq!(delivery.attempt, 1);
        seen.push(delivery.payload.clone());
        delivery.receipt.ack().await.expect("acknowledged");
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 20, "each of them once");
}

pub(crate) async fn goes_on_where_the_durable_was(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    publish(bus, &command(mower, "one")).await;
    publish(bus, &command(mower, "two")).await;
    let mut reader = open(bus, &commands(mower)).await;
    acknowledge(&mut reader, "one").await;
    drop(reader);
    let mut reader = open(bus, &commands(mower)).await;
    acknowledge(&mut reader, "two").await;
}

pub(crate) async fn keeps_to_the_subjects_of_a_consumer(bus: &dyn Bus) {
    let [one, two, other] = std::array::from_fn(|_| Uuid::now_v7());
    publish(bus, &command(other, "not held")).await;
    publish(bus, &command(one, "first")).await;
    publish(bus, &command(two, "second")).await;
    let held = Consumer {
        subjects: vec![subject::command(two), subject::command(one)],
        ..commands(one)
    };
    let mut reader = open(bus, &held).await;
    acknowledge(&mut reader, "first").await;
    acknowledge(&mut reader, "second").await;
}

pub(crate) async fn takes_over_new_subjects(bus: &dyn Bus) {
    let [one, two] = std::array::from_fn(|_| Uuid::now_v7());
    let mut reader = open(bus, &commands(one)).await;
    publish(bus, &command(one, "first")).await;
    acknowledge(&mut reader, "first").await;
    let moved = Consumer {
        subjects: vec![subject::command(two)],
        ..commands(one)
    };
    let _second = open(bus, &moved).await;
    publish(bus, &command(one, "no longer held")).await;
    publish(bus, &command(two, "second")).await;
    // The reader from before takes part in it.
    acknowledge(&mut reader, "second").await;
}

pub(crate) async fn gives_a_nameless_reader_only_what_is_new(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    publish(bus, &result(mower, "old")).await;
    let nameless = Consumer {
        stream: Stream::Result,
        durable: None,
        subjects: vec![],
        ..commands(mower)
    };
    let mut one = open(bus, &nameless).await;
    let mut two = open(bus, &nameless).await;
    publish(bus, &result(mower, "new")).await;
    acknowledge(&mut one, "new").await;
    acknowledge(&mut two, "new").await;
}

pub(crate) async fn refuses_a_consumer_that_cannot_be(bus: &dyn Bus) {
    let good = commands(Uuid::now_v7());
    let named = |name: &str| Consumer {
        durable: Some(name.to_owned()),
        ..good.clone()
    };
    let impatient = Consumer {
        ack_wait: Duration::ZERO,
        ..good.clone()
    };
    let closed = Consumer {
        max_ack_pending: 0,
        ..good.clone()
    };
    let elsewhere = Consumer {
        subjects: vec!["command.stop.mower.*".to_owned()],
        ..good.clone()
    };
    for bad in [named("a.b"), named(""), impatient, closed, elsewhere] {
        let said = bus.consume(&bad).await.map(|_| ());
        assert!(matches!(said, Err(BusError::Invalid(_))), "{bad:?}");
    }
    open(bus, &good).await;
}

pub(crate) async fn brings_the_answer_of_the_one_who_answers(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let mut silent = listen(bus, subject::PREVIEWS).await;
    let mut holder = listen(bus, subject::PREVIEWS).await;
    let question = subject::preview(mower);
    let answering = async {
        let heard = heard(&mut silent).await;
        assert_eq!(heard.payload, "which way");
        let asked = self::heard(&mut holder).await;
        assert_eq!(asked.subject, question);
        let reply = asked.reply.send(Bytes::from_static(b"this way")).await;
        reply.expect("sent");
    };
    let payload = Bytes::from_static(b"which way");
    let (answer, ()) = tokio::join!(bus.request(&question, payload, SOON), answering);
    assert_eq!(answer.expect("an answer"), "this way");
}

pub(crate) async fn says_when_nobody_listens(bus: &dyn Bus) {
    let said = bus
        .request(subject::MOWERS_LIST, Bytes::new(), SOON)
        .await
        .expect_err("nobody is there");
    assert_eq!(
        said,
        BusError::NoResponders(subject::MOWERS_LIST.to_owned())
    );
}

pub(crate) async fn says_when_nobody_answers(bus: &dyn Bus) {
    let _listener = listen(bus, subject::MOWERS_LIST).await;
    let said = bus
        .request(subject::MOWERS_LIST, Bytes::new(), SILENCE)
        .await
        .expect_err("nobody says a word");
    assert_eq!(said, BusError::TimedOut(subject::MOWERS_LIST.to_owned()));
}

pub(crate) async fn keeps_requests_off_the_streams(bus: &dyn Bus) {
    for covered in ["mower.registered", "command.mower.x", "telemetry.mower.x"] {
        let asked = bus.request(covered, Bytes::new(), SOON).await.map(|_| ());
        let sent = bus.send(covered, Bytes::new()).await;
        for said in [asked, sent] {
            assert!(matches!(said, Err(BusError::Invalid(_))), "{covered}");
        }
    }
    for meeting in ["*.registered", "command.*.x", "*.mower.*"] {
        let listened = bus.listen(meeting).await.map(|_| ());
        assert!(matches!(listened, Err(BusError::Invalid(_))), "{meeting}");
    }
}

pub(crate) async fn tells_every_listener(bus: &dyn Bus) {
    let mower = Uuid::now_v7();
    let mut all = listen(bus, subject::DRIVES).await;
    let mut one = listen(bus, &subject::drive(mower)).await;
    let mut other = listen(bus, &subject::drive(Uuid::now_v7())).await;
    bus.send(&subject::drive(mower), Bytes::from_static(b"left"))
        .await
        .expect("sent");
    for listener in [&mut all, &mut one] {
        let heard = heard(listener).await;
        assert_eq!(heard.subject, subject::drive(mower));
        assert_eq!(heard.payload, "left");
        // Nobody waits for an answer, and giving one is no fault.
        heard.reply.send(Bytes::new()).await.expect("unheard");
    }
    assert!(timeout(SILENCE, other.next()).await.is_err());
}

pub(crate) async fn brings_a_whole_path(bus: &dyn Bus) {
    let mut holder = listen(bus, subject::PREVIEWS).await;
    let path = Bytes::from(vec![b'p'; 4 * 1024 * 1024]);
    let answering = async {
        let asked = heard(&mut holder).await;
        asked.reply.send(path.clone()).await.expect("sent");
    };
    let question = subject::preview(Uuid::now_v7());
    let (answer, ()) = tokio::join!(bus.request(&question, Bytes::new(), SOON), answering);
    assert_eq!(answer.expect("an answer"), path);
}

async fn listen(bus: &dyn Bus, subject: &str) -> Box<dyn Listen> {
    bus.listen(subject).await.expect("a listener")
}

async fn heard(listener: &mut Box<dyn Listen>) -> crate::bus::Asked {
    let next = timeout(SOON, listener.next()).await;
    next.expect("something comes").expect("the bus is there")
}
