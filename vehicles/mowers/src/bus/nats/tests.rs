//! The bus over NATS: the suite on a real server, and what becomes of it when
//! that server is killed, frozen, or not ours alone.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::consumer::{DeliverPolicy, PullConsumer};
use bytes::Bytes;
use tokio::time::{interval, timeout};
use uuid::Uuid;

use super::{NatsBus, reader, streams};
use crate::bus::tests::conforms;
use crate::bus::tests::server::{Server, free, settings};
use crate::bus::tests::suite::{acknowledge, command, commands, next, publish, result, stop};
use crate::bus::{Bus, BusError, Consume, Consumer, Delivery, Message, Published, Stream, subject};

/// Long enough for everything that should happen.
const SOON: Duration = Duration::from_secs(20);

/// A bus with the server it needs.
struct Owned {
    bus: NatsBus,
    _server: Server,
}

impl AsRef<dyn Bus> for Owned {
    fn as_ref(&self) -> &(dyn Bus + 'static) {
        &self.bus
    }
}

async fn nats() -> Owned {
    let server = Server::start();
    Owned {
        bus: connect(&server).await,
        _server: server,
    }
}

conforms!(nats());

async fn connect(server: &Server) -> NatsBus {
    let bus = NatsBus::start(server.settings()).expect("a URL");
    bus.ready(SOON).await.expect("connected");
    bus
}

/// Waits until the bus sees what became of the server.
async fn until_connected(bus: &NatsBus, expected: bool) {
    let mut look = interval(Duration::from_millis(10));
    let seen = async {
        while bus.connected() != expected {
            look.tick().await;
        }
    };
    timeout(SOON, seen).await.expect("the bus sees it");
}

/// What a stream's subject holds, read by a consumer of its own.
async fn stored(bus: &NatsBus, mower: Uuid) -> Vec<String> {
    let all = Consumer {
        durable: Some(format!("look-{}", Uuid::now_v7())),
        ..commands(mower)
    };
    let mut reader = bus.consume(&all).await.expect("a consumer");
    publish(bus, &command(mower, "the end")).await;
    let mut texts = Vec::new();
    loop {
        let delivery = next(&mut reader).await;
        let text = String::from_utf8(delivery.payload.to_vec()).expect("text");
        delivery.receipt.ack().await.expect("acknowledged");
        if text == "the end" {
            return texts;
        }
        texts.push(text);
    }
}

/// The next delivery after the one error that tells of a lost bus.
async fn next_after_loss(reader: &mut Box<dyn Consume>) -> Delivery {
    let lost = timeout(SOON, reader.next()).await.expect("it is told");
    let lost = lost.map(|delivery| delivery.payload);
    assert!(matches!(lost, Err(BusError::Unavailable(_))), "{lost:?}");
    let mut tries = interval(Duration::from_millis(10));
    let delivery = async {
        loop {
            if let Ok(delivery) = reader.next().await {
                return delivery;
            }
            tries.tick().await;
        }
    };
    timeout(SOON, delivery).await.expect("it goes on")
}

#[tokio::test]
async fn the_server_has_the_streams_of_the_table() {
    let server = Server::start();
    let bus = connect(&server).await;
    let jetstream = &bus.links.current().expect("connected").jetstream;
    for stream in Stream::ALL {
        let wanted = streams::config(stream.limits(), 1);
        let found = jetstream.get_stream(&wanted.name).await;
        let found = found.expect("made").cached_info().config.clone();
        let settings = |config: &jetstream::stream::Config| {
            (
                config.subjects.clone(),
                (config.retention, config.storage, config.discard),
                (config.max_age, config.duplicate_window),
                (config.max_messages_per_subject, config.max_bytes),
                (config.max_message_size, config.discard_new_per_subject),
                (config.num_replicas, config.deny_delete),
            )
        };
        assert_eq!(settings(&found), settings(&wanted), "{stream:?}");
    }
}

#[tokio::test]
async fn the_server_has_the_consumer_as_it_was_asked_for() {
    let server = Server::start();
    let bus = connect(&server).await;
    let mower = Uuid::now_v7();
    let consumer = Consumer {
        stream: Stream::Result,
        durable: Some("fleet-command-results".to_owned()),
        subjects: vec!["command.result.mower.*".to_owned()],
        ack_wait: Duration::from_secs(10),
        max_deliver: 20,
        max_ack_pending: 256,
    };
    let _reader = bus.consume(&consumer).await.expect("a consumer");
    let jetstream = &bus.links.current().expect("connected").jetstream;
    let find = || jetstream.get_consumer_from_stream("fleet-command-results", "RESULT");
    let found: PullConsumer = find().await.expect("made");
    let found = found.cached_info().config.clone();
    assert_eq!(found.ack_wait, consumer.ack_wait);
    assert_eq!(found.backoff, [10, 20, 40, 60].map(Duration::from_secs));
    assert_eq!((found.max_deliver, found.max_ack_pending), (20, 256));
    assert_eq!(found.deliver_policy, DeliverPolicy::All);

    // The same name with other settings changes it.
    let changed = Consumer {
        subjects: vec![subject::result(mower)],
        max_ack_pending: 7,
        ..consumer
    };
    let _second = bus.consume(&changed).await.expect("changed");
    let found: PullConsumer = find().await.expect("still there");
    assert_eq!(found.cached_info().config.max_ack_pending, 7);
    let wanted = reader::config(&changed, DeliverPolicy::All);
    assert_eq!(wanted.filter_subjects, [subject::result(mower)]);
}

#[tokio::test]
async fn what_was_refused_in_an_outage_is_not_published_after_it() {
    let mut server = Server::start();
    let bus = connect(&server).await;
    let mower = Uuid::now_v7();
    publish(&bus, &command(mower, "before")).await;

    server.kill();
    until_connected(&bus, false).await;
    for number in 0..50 {
        let late = command(mower, &format!("stale {number}"));
        let said = bus.publish(&late, SOON).await;
        assert!(matches!(said, Published::Refused(_)), "{said:?}");
    }
    server.restart();
    until_connected(&bus, true).await;

    assert_eq!(stored(&bus, mower).await, ["before"]);
}

/// The moment between the loss and our notice of it: the message is handed to
/// the client after all, past the look at the connection.
#[tokio::test]
async fn what_a_broken_connection_was_given_dies_with_it() {
    let mut server = Server::start();
    let bus = connect(&server).await;
    let mower = Uuid::now_v7();
    let link = bus.links.current().expect("connected");

    server.kill();
    link.closed().await;
    for number in 0..50 {
        let payload = Bytes::from(format!("stale {number}"));
        let queued = link.client.publish(subject::command(mower), payload).await;
        if queued.is_err() {
            break;
        }
    }
    server.restart();
    until_connected(&bus, true).await;

    assert!(!link.is_open(), "the old client does not come back");
    assert_eq!(stored(&bus, mower).await, [""; 0]);
}

/// What a request says of itself while the server dies: `Lost` once it was
/// handed over, `Unavailable` before that, and then nobody ever hears it.
#[tokio::test]
async fn a_request_says_whether_anybody_may_have_heard_it() {
    let mut server = Server::start();
    let asker = connect(&server).await;
    let listening = connect(&server).await;
    let mower = Uuid::now_v7();
    let subject = format!("gateway.mower.{mower}.stop");
    let mut listener = listening.listen(&subject).await.expect("a listener");
    // An answer on the same connection: by now the server knows who listens.
    let nobody = listening.request("nobody.hears", Bytes::new(), SOON).await;
    assert!(
        matches!(nobody, Err(BusError::NoResponders(_))),
        "{nobody:?}"
    );
    let ask =
        |text: &'static str| asker.request(&subject, Bytes::from_static(text.as_bytes()), SOON);

    // Heard, and not answered before the server was gone.
    let heard = async {
        let asked = listener.next().await.expect("it is heard");
        server.kill();
        asked.payload
    };
    let (said, payload) = tokio::join!(ask("heard"), heard);
    assert_eq!(said, Err(BusError::Lost(subject.clone())));
    assert_eq!(payload, "heard");

    until_connected(&asker, false).await;
    for _ in 0..50 {
        let said = ask("stale").await;
        assert!(matches!(said, Err(BusError::Unavailable(_))), "{said:?}");
    }
    server.restart();
    until_connected(&asker, true).await;
    until_connected(&listening, true).await;
    let lost = listener.next().await.map(|asked| asked.payload);
    assert!(matches!(lost, Err(BusError::Unavailable(_))), "{lost:?}");
    // Only what is asked now comes: nothing was kept over the outage.
    let mut again = interval(Duration::from_millis(50));
    let hearing = listener.next();
    tokio::pin!(hearing);
    let heard = loop {
        tokio::select! {
            heard = &mut hearing => break heard.expect("a request"),
            _ = again.tick() => {
                let fresh = Bytes::from_static(b"fresh");
                drop(asker.request(&subject, fresh, Duration::from_millis(1)).await);
            }
        }
    };
    assert_eq!(heard.payload, "fresh");
}

/// Kills the server in the middle of many publishes, and compares each word
/// with what is there afterwards.
#[tokio::test]
async fn every_outcome_is_true_when_the_server_is_killed() {
    let mut server = Server::start();
    let bus = Arc::new(connect(&server).await);
    let mowers: Vec<Uuid> = (0..40).map(|_| Uuid::now_v7()).collect();
    let publishing = mowers.iter().map(|mower| {
        let bus = bus.clone();
        let mower = *mower;
        tokio::spawn(async move {
            let mut said = Vec::new();
            for number in 0..60 {
                let message = command(mower, &number.to_string());
                said.push(bus.publish(&message, Duration::from_secs(2)).await);
                tokio::task::yield_now().await;
            }
            said
        })
    });
    let publishing: Vec<_> = publishing.collect();
    // Some are through, most are not.
    until_stored(&bus, 200).await;
    server.kill();
    let mut outcomes = Vec::new();
    for task in publishing {
        outcomes.push(task.await.expect("it ends"));
    }
    server.restart();
    until_connected(&bus, true).await;

    let mut counts = [0; 3];
    for (mower, said) in mowers.iter().zip(&outcomes) {
        let kept = stored(&bus, *mower).await;
        for (number, said) in said.iter().enumerate() {
            let is_there = kept.contains(&number.to_string());
            match said {
                Published::Stored { .. } => {
                    counts[0] += 1;
                    assert!(is_there, "{mower} {number} was acknowledged");
                }
                Published::Refused(_) => {
                    counts[1] += 1;
                    assert!(!is_there, "{mower} {number} was refused");
                }
                Published::Unconfirmed(_) => counts[2] += 1,
            }
        }
    }
    let [stored, refused, _] = counts;
    // Of what was stored, some was not acknowledged any more.
    assert!(stored > 0 && refused > 0, "{counts:?}");
}

async fn until_stored(bus: &NatsBus, count: u64) {
    let jetstream = bus.links.current().expect("connected").jetstream.clone();
    let mut look = interval(Duration::from_millis(5));
    let counted = async {
        loop {
            let stream = jetstream.get_stream("COMMAND").await.expect("there");
            if stream.cached_info().state.messages >= count {
                return;
            }
            look.tick().await;
        }
    };
    timeout(SOON, counted).await.expect("they are published");
}

#[tokio::test]
async fn a_frozen_server_leaves_a_publish_unconfirmed() {
    let server = Server::start();
    let bus = connect(&server).await;
    let mower = Uuid::now_v7();
    let message = stop(mower, "now");
    server.hang();
    let said = bus.publish(&message, Duration::from_millis(200)).await;
    assert!(matches!(said, Published::Unconfirmed(_)), "{said:?}");
    server.resume();

    // The same id again, as a stop is repeated: it is there once.
    let mut again = interval(Duration::from_millis(100));
    let repeated = async {
        while !matches!(bus.publish(&message, SOON).await, Published::Stored { .. }) {
            again.tick().await;
        }
    };
    timeout(SOON, repeated).await.expect("it is stored");
    let stops = Consumer {
        stream: Stream::Stop,
        subjects: vec![subject::stop(mower)],
        ..commands(mower)
    };
    let mut reader = bus.consume(&stops).await.expect("a consumer");
    publish(&bus, &stop(mower, "second")).await;
    acknowledge(&mut reader, "now").await;
    acknowledge(&mut reader, "second").await;
}

#[tokio::test]
async fn a_server_that_answers_no_ping_is_given_up() {
    let server = Server::start();
    let bus = connect(&server).await;
    server.hang();
    until_connected(&bus, false).await;
    let said = bus.publish(&command(Uuid::now_v7(), "one"), SOON).await;
    assert!(matches!(said, Published::Refused(_)), "{said:?}");
    server.resume();
    until_connected(&bus, true).await;
}

#[tokio::test]
async fn a_reader_goes_on_after_a_restart_of_the_server() {
    let mut server = Server::start();
    let bus = connect(&server).await;
    let mower = Uuid::now_v7();
    let mut durable = bus.consume(&commands(mower)).await.expect("a consumer");
    let nameless = Consumer {
        stream: Stream::Result,
        durable: None,
        subjects: vec![],
        ..commands(mower)
    };
    let mut nameless = bus.consume(&nameless).await.expect("a consumer");
    publish(&bus, &command(mower, "one")).await;
    publish(&bus, &command(mower, "two")).await;
    publish(&bus, &result(mower, "accepted")).await;
    acknowledge(&mut durable, "one").await;
    acknowledge(&mut nameless, "accepted").await;

    server.kill();
    until_connected(&bus, false).await;
    server.restart();
    until_connected(&bus, true).await;
    // Published before the nameless reader has looked again.
    publish(&bus, &result(mower, "executed")).await;

    // The server writes down late who acknowledged what: one that is killed
    // may bring back what was done with. It must not lose what was not.
    let mut delivery = next_after_loss(&mut durable).await;
    if delivery.payload == "one" {
        delivery.receipt.ack().await.expect("acknowledged again");
        delivery = next(&mut durable).await;
    }
    assert_eq!(delivery.payload, "two");
    let executed = next_after_loss(&mut nameless).await;
    assert_eq!(executed.payload, "executed");
}

#[tokio::test]
async fn a_nameless_reader_finds_its_way_in_a_stream_that_began_anew() {
    let mut server = Server::start();
    let bus = connect(&server).await;
    let mower = Uuid::now_v7();
    let telemetry = |text: &str| Message {
        stream: Stream::Telemetry,
        subject: subject::telemetry(mower),
        ..result(mower, text)
    };
    let nameless = Consumer {
        stream: Stream::Telemetry,
        durable: None,
        subjects: vec![subject::telemetry(mower)],
        ..commands(mower)
    };
    let mut reader = bus.consume(&nameless).await.expect("a consumer");
    for text in ["1", "2", "3"] {
        publish(&bus, &telemetry(text)).await;
        acknowledge(&mut reader, text).await;
    }
    server.kill();
    until_connected(&bus, false).await;
    server.restart();
    until_connected(&bus, true).await;
    publish(&bus, &telemetry("4")).await;
    let delivery = next_after_loss(&mut reader).await;
    assert_eq!(delivery.payload, "4");
}

#[tokio::test]
async fn a_listener_listens_again_after_a_restart_of_the_server() {
    let mut server = Server::start();
    let bus = connect(&server).await;
    let mut listener = bus.listen(subject::DRIVES).await.expect("a listener");
    server.kill();
    let lost = timeout(SOON, listener.next()).await.expect("it is told");
    assert!(matches!(lost.map(drop), Err(BusError::Unavailable(_))));
    server.restart();
    until_connected(&bus, true).await;

    let frame = subject::drive(Uuid::now_v7());
    let mut again = interval(Duration::from_millis(50));
    let hearing = listener.next();
    tokio::pin!(hearing);
    let heard = loop {
        tokio::select! {
            heard = &mut hearing => break heard,
            _ = again.tick() => bus.send(&frame, Bytes::new()).await.expect("sent"),
        }
    };
    assert_eq!(heard.expect("a frame").subject, frame);
}

#[tokio::test]
async fn a_bus_that_is_started_first_finds_its_server_later() {
    let port = free();
    let bus = NatsBus::start(settings(&format!("nats://127.0.0.1:{port}"))).expect("a URL");
    let said = bus.ready(Duration::from_millis(300)).await;
    assert!(matches!(said, Err(BusError::Unavailable(_))), "{said:?}");
    assert!(!bus.connected());
    let listened = bus.listen(subject::DRIVES).await.map(drop);
    assert!(matches!(listened, Err(BusError::Unavailable(_))));
    let consumed = bus.consume(&commands(Uuid::now_v7())).await.map(drop);
    assert!(matches!(consumed, Err(BusError::Unavailable(_))));
    let asked = bus.request(subject::MOWERS_LIST, Bytes::new(), SOON).await;
    assert!(matches!(asked, Err(BusError::Unavailable(_))));

    let _server = Server::start_at(port);
    bus.ready(SOON).await.expect("it came");
}

#[tokio::test]
async fn refuses_a_server_whose_streams_cover_a_request() {
    let server = Server::start();
    connect(&server).await;
    let client = async_nats::connect(server.settings().url).await;
    let jetstream = jetstream::new(client.expect("connected"));
    let everything = jetstream::stream::Config {
        name: "EVERYTHING".to_owned(),
        subjects: vec!["drive.>".to_owned()],
        ..Default::default()
    };
    jetstream.create_stream(everything).await.expect("made");

    let bus = NatsBus::start(server.settings()).expect("a URL");
    let said = bus
        .ready(Duration::from_secs(3))
        .await
        .expect_err("refused");
    let text = said.to_string();
    assert!(
        text.contains("EVERYTHING") && text.contains("drive.mower.*"),
        "{text}"
    );
    assert!(!bus.connected());
}

#[tokio::test]
async fn refuses_a_server_that_takes_no_path() {
    let server = Server::start_with("max_payload: 1MB");
    let bus = NatsBus::start(server.settings()).expect("a URL");
    let said = bus
        .ready(Duration::from_secs(3))
        .await
        .expect_err("refused");
    assert!(said.to_string().contains("max_payload"), "{said}");
}

#[tokio::test]
async fn changes_a_stream_that_is_not_as_the_table_says() {
    let server = Server::start();
    connect(&server).await;
    let client = async_nats::connect(server.settings().url).await;
    let jetstream = jetstream::new(client.expect("connected"));
    let other = jetstream::stream::Config {
        max_age: Duration::from_secs(3600),
        max_messages_per_subject: 1,
        ..streams::config(Stream::Command.limits(), 1)
    };
    jetstream.update_stream(other).await.expect("changed");
    connect(&server).await;
    let found = jetstream.get_stream("COMMAND").await.expect("there");
    let found = &found.cached_info().config;
    assert_eq!(found.max_age, Stream::Command.limits().max_age);
    assert_eq!(found.max_messages_per_subject, 64);
}

#[tokio::test]
async fn shows_its_credentials_to_the_server_and_to_nobody_else() {
    let server =
        Server::start_with("max_payload: 8MB\nauthorization { user: fleet, password: \"s3cret\" }");
    let at = |user: &str| settings(&format!("nats://{user}127.0.0.1:{}", server.port()));
    let good = at("fleet:s3cret@");
    assert!(!format!("{good:?}").contains("s3cret"));
    let bus = NatsBus::start(good).expect("a URL");
    bus.ready(SOON).await.expect("let in");

    for bad in ["", "fleet:wrong@"] {
        let bus = NatsBus::start(at(bad)).expect("a URL");
        let said = bus.ready(Duration::from_secs(1)).await;
        assert!(matches!(said, Err(BusError::Unavailable(_))), "{said:?}");
    }
    let said = NatsBus::start(settings("fleet:s3cret"))
        .map(drop)
        .expect_err("no URL");
    assert!(!said.to_string().contains("s3cret"), "{said}");
}
