use std::time::Duration;

use async_nats::jetstream::{self, stream::Config};

use super::Nats;
use crate::poll;

async fn jetstream(nats: &Nats) -> jetstream::Context {
    let client = async_nats::ConnectOptions::new()
        .request_timeout(Some(Duration::from_millis(200)))
        .connect(nats.url())
        .await
        .expect("it lets us in");
    jetstream::new(client)
}

fn notes() -> Config {
    Config {
        name: "NOTES".to_owned(),
        subjects: vec!["notes.*".to_owned()],
        ..Config::default()
    }
}

#[tokio::test]
async fn keeps_what_it_acknowledged_over_a_kill() {
    let mut nats = Nats::start();
    let context = jetstream(&nats).await;
    context.create_stream(notes()).await.expect("a stream");
    let published = context.publish("notes.a", "kept".into()).await;
    published.expect("sent").await.expect("acknowledged");

    nats.kill();
    nats.restart();

    let context = jetstream(&nats).await;
    let stream = context.get_stream("NOTES").await.expect("still there");
    let message = stream.get_raw_message(1).await.expect("still there");
    assert_eq!(message.payload, "kept");
}

#[tokio::test]
async fn hangs_without_refusing_and_goes_on() {
    let mut nats = Nats::start();
    let client = jetstream(&nats).await.client();
    nats.hang();
    let asked = client.request("$JS.API.INFO", "".into()).await;
    let cause = asked.expect_err("nobody answers");
    assert_eq!(cause.kind(), async_nats::RequestErrorKind::TimedOut);
    nats.resume();
    poll::until_async("NATS answers again", async || {
        let asked = client.request("$JS.API.INFO", "".into()).await;
        asked.ok()
    })
    .await;
}

#[tokio::test]
async fn is_gone_when_it_was_killed() {
    let mut nats = Nats::start();
    nats.kill();
    let connected = async_nats::connect(nats.url()).await;
    assert!(connected.is_err());
}

#[tokio::test]
async fn takes_as_much_as_its_configuration_says() {
    let small = Nats::start_with("max_payload: 1KB");
    let client = async_nats::connect(small.url()).await.expect("let in");
    assert_eq!(client.server_info().max_payload, 1024);
}
