//! A stop is tried again as long as nothing happened, and no longer.

use std::sync::Arc;

use interlock_surface::Timeout;
use tokio::net::TcpListener;

use crate::upstream::UpstreamLimits;
use crate::upstream::tests::fake::{
    PATIENT, Peer, SHORT, client, client_with, serve, stop, verdict,
};

/// The service answers the stops it gets with `answers`, one after the other,
/// the last one for ever.
async fn check(answers: &'static [&'static str], expected: &str, requests: usize) {
    let (address, seen) = serve(move |mut peer: Peer| async move {
        while peer.request().await.is_some() {
            let count = peer.requests();
            let answer = answers.get(count - 1).or(answers.last()).unwrap();
            let length = answer.split("\r\n\r\n").nth(1).unwrap().len();
            peer.say(&answer.replace("LENGTH", &length.to_string()))
                .await;
        }
    })
    .await;
    let outcome = client(address)
        .forward_stop("drones", &stop(), &PATIENT)
        .await;
    assert_eq!(verdict(outcome).await, expected);
    assert_eq!(seen.requests(), requests);
}

const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: LENGTH\r\n\r\n{}";
const NOTHING_DONE: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: LENGTH\r\n\r\n{\"effect\":\"none\"}";
const NOBODY_KNOWS: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: LENGTH\r\n\r\n{\"effect\":\"maybe\"}";
const SILENT: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: LENGTH\r\n\r\n";
const CONFLICT: &str =
    "HTTP/1.1 409 Conflict\r\ncontent-length: LENGTH\r\n\r\n{\"effect\":\"none\"}";

#[tokio::test]
async fn a_passing_failure_without_effect_is_tried_again() {
    check(&[NOTHING_DONE, NOTHING_DONE, ACCEPTED], "202 {}", 3).await;
}

#[tokio::test]
async fn anything_else_is_not_tried_again() {
    check(&[NOBODY_KNOWS], "503 {\"effect\":\"maybe\"}", 1).await;
    check(&[SILENT], "503 ", 1).await;
    check(&[CONFLICT], "409 {\"effect\":\"none\"}", 1).await;
    check(&[ACCEPTED], "202 {}", 1).await;
}

#[tokio::test]
async fn a_stop_that_may_have_been_read_is_not_repeated() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        peer.request().await;
    })
    .await;
    let outcome = client(address)
        .forward_stop("drones", &stop(), &PATIENT)
        .await;
    assert_eq!(verdict(outcome).await, "unknown: closed");
    assert_eq!(seen.requests(), 1);
}

#[tokio::test]
async fn a_stop_waits_for_the_service_to_come_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Arc::new(client(address));
    let early = client.forward_stop("drones", &stop(), &SHORT).await;
    assert_eq!(verdict(early).await, "not sent: connect");

    let calling = Arc::clone(&client);
    let call = tokio::spawn(async move {
        let stop = stop();
        verdict(calling.forward_stop("drones", &stop, &PATIENT).await).await
    });
    let listener = TcpListener::bind(address).await.unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    use tokio::io::AsyncWriteExt;
    stream.readable().await.unwrap();
    stream
        .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(call.await.unwrap(), "202 ");
}

#[tokio::test]
async fn a_budget_that_ends_ends_the_attempts() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        while peer.request().await.is_some() {
            peer.say("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 17\r\n\r\n{\"effect\":\"none\"}")
                .await;
        }
    })
    .await;
    let client = client_with(address, &UpstreamLimits::default());
    let outcome = client.forward_stop("drones", &stop(), &SHORT).await;
    assert_eq!(verdict(outcome).await, "503 {\"effect\":\"none\"}");
    assert!(seen.requests() > 1);
}

/// A stop that was sent and is not waited for would be in doubt; the word that
/// nothing happened is better.
#[tokio::test]
async fn an_attempt_that_would_be_cut_off_is_not_begun() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        while peer.request().await.is_some() {
            peer.say("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 17\r\n\r\n{\"effect\":\"none\"}")
                .await;
        }
    })
    .await;
    let timeout = Timeout {
        total_ms: PATIENT.attempt_ms,
        ..PATIENT
    };
    let outcome = client(address)
        .forward_stop("drones", &stop(), &timeout)
        .await;
    assert_eq!(verdict(outcome).await, "503 {\"effect\":\"none\"}");
    assert_eq!(seen.requests(), 1);
}
