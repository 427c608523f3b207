//! The demo against a gateway that writes down what it is asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Door, MOWERS, seed};
use crate::failure::Failure;

type Calls = Arc<Mutex<Vec<(String, Value)>>>;

/// Answers each call with what `answer` says, one connection each.
async fn gateway(answer: fn(usize, &str, &Value) -> (u16, Value)) -> (SocketAddr, Calls) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Calls::default();
    let written = calls.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            let (head, body) = loop {
                let mut buffer = [0; 4096];
                let count = stream.read(&mut buffer).await.unwrap();
                text += std::str::from_utf8(&buffer[..count]).unwrap();
                if let Some((head, body)) = text.split_once("\r\n\r\n") {
                    let length = head.split("content-length: ").nth(1);
                    let length = length.map_or(0, |text| text.parse().unwrap());
                    if body.len() == length {
                        break (head.to_owned(), body.to_owned());
                    }
                }
            };
            let line = head.split(" HTTP/1.1").next().unwrap().to_owned();
            let body = serde_json::from_str(&body).unwrap_or_default();
            let (status, said) = {
                let mut calls = written.lock().unwrap();
                let said = answer(calls.len(), &line, &body);
                calls.push((line, body));
                said
            };
            let said = said.to_string();
            let length = said.len();
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{said}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (address, calls)
}

/// A service that has nothing yet, and says what it was given with an id.
fn empty(number: usize, line: &str, body: &Value) -> (u16, Value) {
    if line.starts_with("GET") {
        return (200, json!({ "items": [], "next": null }));
    }
    let mut made = body.clone();
    made["id"] = json!(format!("id-{number}"));
    (201, made)
}

/// A gateway that asks for no token.
fn open(address: SocketAddr) -> Door {
    Door {
        address,
        token: None,
    }
}

#[tokio::test]
async fn registers_a_site_a_group_and_the_mowers_in_them() {
    let (address, calls) = gateway(empty).await;
    let demo = seed(&open(address)).await.unwrap();
    let calls = calls.lock().unwrap();
    let lines: Vec<&str> = calls.iter().map(|(line, _)| line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "GET /api/v1/fleet/mowers?limit=200&account=acme",
            "POST /api/v1/fleet/sites?account=acme",
            "POST /api/v1/fleet/groups?account=acme",
            "POST /api/v1/fleet/mowers?account=acme",
            "POST /api/v1/fleet/mowers?account=acme",
            "POST /api/v1/fleet/mowers?account=acme",
            "GET /api/v1/fleet/mowers/id-3/state",
            "GET /api/v1/fleet/mowers/id-4/state",
            "GET /api/v1/fleet/mowers/id-5/state",
        ]
    );
    assert_eq!(calls[2].1["site_id"], "id-1");
    for (call, (serial, ..)) in calls[3..6].iter().zip(MOWERS) {
        assert_eq!(call.1["serial"], serial);
        assert_eq!(call.1["site_id"], "id-1");
        assert_eq!(call.1["group_ids"], json!(["id-2"]));
        assert_eq!(call.1["connection"]["kind"], "simulated");
    }
    let ids: Vec<&Value> = demo["mowers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(ids, ["id-3", "id-4", "id-5"]);
}

#[tokio::test]
async fn finds_what_a_kept_state_has() {
    let (address, calls) = gateway(|_, _, _| {
        let mower = |serial: &str| json!({ "id": format!("of {serial}"), "serial": serial });
        let items = [mower("DEMO-0001"), mower("OTHER"), mower("DEMO-0002")];
        (200, json!({ "items": items, "next": null }))
    })
    .await;
    let demo = seed(&open(address)).await.unwrap();
    assert_eq!(calls.lock().unwrap().len(), 3, "nothing is made");
    assert_eq!(demo["mowers"][0]["id"], "of DEMO-0001");
    assert_eq!(demo["mowers"][1]["id"], "of DEMO-0002");
    assert_eq!(demo["mowers"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn waits_for_what_the_gateway_has_not_heard_of_yet() {
    let (address, calls) = gateway(|number, line, body| match number {
        0 => (503, json!({ "title": "not ready" })),
        1 => (404, json!({ "title": "not found" })),
        _ => empty(number, line, body),
    })
    .await;
    seed(&open(address)).await.unwrap();
    assert_eq!(calls.lock().unwrap().len(), 11);
}

#[tokio::test]
async fn says_what_was_refused() {
    let refuse = |_, _: &str, _: &Value| (422, json!({ "title": "invalid request" }));
    let (address, _) = gateway(refuse).await;
    let failure = seed(&open(address)).await.unwrap_err();
    assert!(matches!(failure, Failure::Demo { .. }));
    let text = failure.to_string();
    assert!(text.contains("GET /api/v1/fleet/mowers"), "{text}");
    assert!(
        text.contains("422") && text.contains("invalid request"),
        "{text}"
    );
}
