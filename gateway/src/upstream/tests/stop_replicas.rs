//! A stop reaches every address of its service if it must, inside its budget.

use std::net::SocketAddr;
use std::sync::Arc;

use interlock_surface::Timeout;
use tokio::sync::Notify;

use crate::upstream::UpstreamLimits;
use crate::upstream::tests::fake::{
    PATIENT, Peer, SHORT, Seen, black_hole, client_of, dead, frozen, knocks, serve, stop, verdict,
};

const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}";
const NOTHING_DONE: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 17\r\n\r\n{\"effect\":\"none\"}";
const NOBODY_KNOWS: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 18\r\n\r\n{\"effect\":\"maybe\"}";
const CONFLICT: &str = "HTTP/1.1 409 Conflict\r\ncontent-length: 17\r\n\r\n{\"effect\":\"none\"}";

/// Asks the next address soon, and has time to hear all of them.
const BRIEF: Timeout = Timeout {
    name: "brief",
    connect_ms: 50,
    attempt_ms: 100,
    total_ms: 60_000,
    gateway_ms: 61_000,
};

/// Answers every stop with `answer`.
async fn saying(answer: &'static str) -> (SocketAddr, Arc<Seen>) {
    serve(move |mut peer: Peer| async move {
        while peer.request().await.is_some() {
            peer.say(answer).await;
        }
    })
    .await
}

/// Reads a stop and ends the connection.
async fn dying() -> (SocketAddr, Arc<Seen>) {
    serve(|mut peer: Peer| async move {
        peer.request().await;
    })
    .await
}

async fn stopped(addresses: &[SocketAddr], timeout: &Timeout) -> String {
    let client = client_of(addresses, &UpstreamLimits::default());
    verdict(client.forward_stop("drones", &stop(), timeout).await).await
}

#[tokio::test]
async fn a_stop_is_sent_once_where_the_first_address_does_it() {
    let ((one, first), (two, second)) = (saying(ACCEPTED).await, saying(ACCEPTED).await);
    assert_eq!(stopped(&[one, two], &PATIENT).await, "202 {}");
    assert_eq!((first.requests(), second.requests()), (1, 0));
}

#[tokio::test]
async fn a_stop_goes_on_where_an_address_cannot_do_it() {
    let (hole, _queue) = black_hole();
    let (dying, _) = dying().await;
    let (without, _) = saying(NOTHING_DONE).await;
    let (unsure, _) = saying(NOBODY_KNOWS).await;
    for broken in [dead().await, hole, dying, without, unsure] {
        let (address, seen) = saying(ACCEPTED).await;
        assert_eq!(stopped(&[broken, address], &BRIEF).await, "202 {}");
        assert_eq!(seen.requests(), 1);
    }
}

#[tokio::test]
async fn a_frozen_address_costs_one_attempt_and_the_next_stop_nothing() {
    let (one, listener) = frozen();
    let (two, second) = saying(ACCEPTED).await;
    let client = client_of(&[one, two], &UpstreamLimits::default());
    for (number, expected) in [(1, 1), (2, 0), (3, 0)] {
        let outcome = client.forward_stop("drones", &stop(), &BRIEF).await;
        assert_eq!(verdict(outcome).await, "202 {}");
        assert_eq!((knocks(&listener), second.requests()), (expected, number));
    }
}

/// The second is asked beside the first, which may still answer.
#[tokio::test]
async fn a_slow_answer_is_not_lost_to_the_attempt_beside_it() {
    let asked = Arc::new(Notify::new());
    let slow = Arc::clone(&asked);
    let (one, first) = serve(move |mut peer: Peer| {
        let slow = Arc::clone(&slow);
        async move {
            peer.request().await;
            slow.notified().await;
            peer.say(ACCEPTED).await;
        }
    })
    .await;
    let (two, second) = serve(move |mut peer: Peer| {
        let asked = Arc::clone(&asked);
        async move {
            peer.request().await;
            asked.notify_one();
            peer.closed().await;
        }
    })
    .await;
    assert_eq!(stopped(&[one, two], &BRIEF).await, "202 {}");
    assert_eq!((first.requests(), second.requests()), (1, 1));
}

/// Nor to a refusal beside it: the first is heard out.
#[tokio::test]
async fn a_slow_answer_is_not_lost_to_a_refusal() {
    let asked = Arc::new(Notify::new());
    let slow = Arc::clone(&asked);
    let (one, first) = serve(move |mut peer: Peer| {
        let slow = Arc::clone(&slow);
        async move {
            peer.request().await;
            slow.notified().await;
            peer.say(ACCEPTED).await;
        }
    })
    .await;
    let (two, second) = serve(move |mut peer: Peer| {
        let asked = Arc::clone(&asked);
        async move {
            peer.request().await;
            peer.say(CONFLICT).await;
            asked.notify_one();
        }
    })
    .await;
    assert_eq!(stopped(&[one, two], &BRIEF).await, "202 {}");
    assert_eq!((first.requests(), second.requests()), (1, 1));
}

#[tokio::test]
async fn what_one_refuses_another_may_have_done() {
    let (one, _listener) = frozen();
    let (two, second) = saying(CONFLICT).await;
    assert_eq!(stopped(&[one, two], &SHORT).await, "unknown: head_timeout");
    assert_eq!(second.requests(), 1);
    let (one, first) = dying().await;
    assert_eq!(stopped(&[one, two], &PATIENT).await, "unknown: closed");
    assert_eq!((first.requests(), second.requests()), (1, 2));
}

#[tokio::test]
async fn a_refusal_ends_it() {
    let ((one, first), (two, second)) = (saying(CONFLICT).await, saying(ACCEPTED).await);
    let told = stopped(&[one, two], &PATIENT).await;
    assert_eq!(told, "409 {\"effect\":\"none\"}");
    assert_eq!((first.requests(), second.requests()), (1, 0));
}

#[tokio::test]
async fn only_a_stop_that_reached_nobody_is_told_as_such() {
    let dead = [dead().await, dead().await];
    assert_eq!(stopped(&dead, &SHORT).await, "not sent: connect");
    let (one, first) = dying().await;
    assert_eq!(stopped(&[one, dead[0]], &SHORT).await, "unknown: closed");
    assert_eq!(first.requests(), 1);
}
