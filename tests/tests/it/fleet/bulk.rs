//! F24. Whoever commanded many is gone before the answer: what was published
//! runs, and the same key tells of it.

use std::io::Write;
use std::net::TcpStream;

use interlock_tests::mowers::arrivals;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::System;
use serde_json::Value;

use super::stand::{EMBEDDED, ends, height, mower};
use crate::personas::stage::fleet::{FLEET, group, join};
use crate::personas::stage::text;

/// More than start at once.
const MOWERS: usize = 7;

#[tokio::test]
async fn the_caller_is_gone() {
    let system = System::start(EMBEDDED).await;
    let mut mowers = Vec::new();
    for _ in 0..MOWERS {
        mowers.push(mower(&system).await);
    }
    let group = group(&system).await;
    for mower in &mowers {
        join(&system, &group, &mower.id).await;
    }
    let path = format!("{FLEET}/groups/{group}/commands");
    let body = height(45);
    // Sent whole, and nobody is left to read the answer.
    let gateway = system.gateway().address();
    let token = Persona::Dispatcher.token(&system.idp).expect("a token");
    let text_of_body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {gateway}\r\nauthorization: Bearer {token}\r\n\
         idempotency-key: many\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n\
         {text_of_body}",
        text_of_body.len()
    );
    let before = system.fleet.bytes_to_target();
    let mut stream = TcpStream::connect(gateway).expect("the gateway accepts");
    stream.write_all(request.as_bytes()).expect("it reads");
    poll::until_async("the service is asked", async || {
        (system.fleet.bytes_to_target() > before).then_some(())
    })
    .await;
    drop(stream);

    let again = poll::until_async("the key tells of it", async || {
        let call = system.call(Persona::Dispatcher, "POST", &path).key("many");
        let answer = call.json(&body).send().await;
        (answer.problem() != "request-in-progress").then_some(answer)
    })
    .await;
    let told = again.expect(202).json();
    assert_eq!(told["accepted"], MOWERS, "{told}");
    let bulk = text(&told["bulk_id"]);
    let path = format!("{FLEET}/bulk/{bulk}");
    let read = system.get(Persona::Viewer, &path).await.expect(200).json();
    let ids = |answer: &Value| {
        let items = answer["items"].as_array().expect("a list").iter();
        let mut ids: Vec<String> = items.map(|it| text(&it["command_id"])).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&told), ids(&read));
    for id in ids(&told) {
        ends(&system, &id, "executed").await;
        let process = &system.mowers.as_ref().expect("a fleet").process;
        assert_eq!(arrivals(process, &id), 1);
    }
}
