//! A service with several addresses: which one is called, and what is never
//! sent twice.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::join_all;
use interlock_surface::Timeout;
use tokio::net::TcpListener;

use crate::upstream::tests::fake::{
    PATIENT, Peer, SHORT, Seen, black_hole, call, client_of, dead, frozen, get, knocks, post,
    serve, verdict,
};
use crate::upstream::{Outbound, OutboundBody, UpstreamLimits, Upstreams};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Gives up an attempt soon, and has time for the next.
const BRIEF: Timeout = Timeout {
    name: "brief",
    connect_ms: 100,
    attempt_ms: 200,
    total_ms: 60_000,
    gateway_ms: 61_000,
};

async fn live() -> (SocketAddr, Arc<Seen>) {
    serve(|mut peer: Peer| async move {
        while peer.request().await.is_some() {
            peer.say(OK).await;
        }
    })
    .await
}

/// Reads a request and ends the connection.
async fn dying() -> (SocketAddr, Arc<Seen>) {
    serve(|mut peer: Peer| async move {
        peer.request().await;
    })
    .await
}

fn client(addresses: &[SocketAddr]) -> Upstreams {
    client_of(addresses, &UpstreamLimits::default())
}

async fn told(client: &Upstreams, outbound: Outbound, timeout: &Timeout) -> String {
    verdict(call(client, outbound, timeout).await).await
}

#[tokio::test]
async fn the_address_in_use_stays_in_use() {
    let ((one, first), (two, second)) = (live().await, live().await);
    let client = client(&[one, two]);
    for _ in 0..5 {
        assert_eq!(told(&client, post("{}"), &PATIENT).await, "200 ok");
    }
    assert_eq!((first.requests(), second.requests()), (5, 0));
}

#[tokio::test]
async fn where_nothing_was_sent_the_next_address_is_called() {
    let (hole, _queue) = black_hole();
    for unreachable in [dead().await, hole] {
        let (address, seen) = live().await;
        let client = client(&[unreachable, address]);
        let timeout = Timeout {
            connect_ms: 200,
            ..PATIENT
        };
        for _ in 0..3 {
            assert_eq!(told(&client, post("{}"), &timeout).await, "200 ok");
        }
        assert_eq!((seen.connections(), seen.requests()), (1, 3));
    }
}

#[tokio::test]
async fn where_no_address_can_be_connected_nothing_was_sent() {
    let (hole, _queue) = black_hole();
    let client = client(&[hole, dead().await, dead().await]);
    let timeout = Timeout {
        connect_ms: 200,
        ..PATIENT
    };
    let told = told(&client, post("{}"), &timeout).await;
    assert_eq!(told, "not sent: connect");
}

/// Holes cannot eat the time that an answer needs.
#[tokio::test]
async fn connecting_in_vain_leaves_time_for_an_answer() {
    let ((one, _first), (two, _second)) = (black_hole(), black_hole());
    let (address, seen) = live().await;
    let client = client(&[one, two, address]);
    let timeout = Timeout {
        connect_ms: 3_900,
        attempt_ms: 4_000,
        total_ms: 4_000,
        ..PATIENT
    };
    assert_eq!(told(&client, post("{}"), &timeout).await, "200 ok");
    assert_eq!(seen.requests(), 1);
}

#[tokio::test]
async fn an_idle_connection_that_was_reset_and_a_dead_listener_send_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let first = listener.local_addr().unwrap();
    let (address, seen) = live().await;
    let client = client(&[first, address]);
    let dying = async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut peer = Peer::of(stream);
        peer.request().await;
        peer.say(OK).await;
        peer.reset();
    };
    let (answer, ()) = tokio::join!(told(&client, post("{}"), &PATIENT), dying);
    assert_eq!(answer, "200 ok");
    assert_eq!(told(&client, post("{}"), &PATIENT).await, "200 ok");
    assert_eq!(seen.requests(), 1);
}

#[tokio::test]
async fn what_may_have_been_sent_is_not_sent_elsewhere() {
    let ((one, first), (two, second)) = (dying().await, live().await);
    let client = client(&[one, two]);
    let told = async || told(&client, post("{}"), &PATIENT).await;
    assert_eq!(told().await, "unknown: closed");
    assert_eq!((first.requests(), second.requests()), (1, 0));
    // But the next caller is served by the other one.
    assert_eq!(told().await, "200 ok");
    assert_eq!((first.requests(), second.requests()), (1, 1));
}

#[tokio::test]
async fn a_frozen_address_is_left_after_one_attempt() {
    let (one, listener) = frozen();
    let (two, second) = live().await;
    let client = client(&[one, two]);
    let told = async |outbound| told(&client, outbound, &BRIEF).await;
    assert_eq!(told(post("{}")).await, "unknown: head_timeout");
    assert_eq!((knocks(&listener), second.requests()), (1, 0));
    assert_eq!(told(post("{}")).await, "200 ok");
    assert_eq!((knocks(&listener), second.requests()), (0, 1));
}

#[tokio::test]
async fn a_read_without_any_answer_is_tried_once_more_elsewhere() {
    let (frozen, listener) = frozen();
    let (dying, first) = dying().await;
    for silent in [frozen, dying] {
        let (address, seen) = live().await;
        let client = client(&[silent, address]);
        assert_eq!(told(&client, get(), &BRIEF).await, "200 ok");
        assert_eq!(seen.requests(), 1);
    }
    assert_eq!((knocks(&listener), first.requests()), (1, 1));
}

#[tokio::test]
async fn a_read_is_tried_twice_at_most() {
    let (one, first) = dying().await;
    let (two, second) = dying().await;
    let (three, third) = live().await;
    let client = client(&[one, two, three]);
    assert_eq!(told(&client, get(), &PATIENT).await, "unknown: closed");
    let requests = [first, second, third].map(|seen| seen.requests());
    assert_eq!(requests, [1, 1, 0]);
}

#[tokio::test]
async fn a_read_that_was_answered_in_part_is_not_tried_again() {
    let (one, first) = serve(|mut peer: Peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
            .await;
    })
    .await;
    let (two, second) = live().await;
    let client = client(&[one, two]);
    let told = told(&client, get(), &PATIENT).await;
    assert_eq!(told, "200, then unknown: closed");
    assert_eq!((first.requests(), second.requests()), (1, 0));
}

#[tokio::test]
async fn a_read_ends_within_its_budget() {
    let ((one, _first), (two, _second)) = (frozen(), frozen());
    let client = client(&[one, two]);
    assert_eq!(told(&client, get(), &SHORT).await, "unknown: head_timeout");
}

/// Writes that are under way while an address dies: each reaches one of the
/// two, or neither is known to have it.
#[tokio::test(flavor = "multi_thread")]
async fn no_write_is_doubled_while_an_address_dies() {
    const WRITES: usize = 60;
    let arrived: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let counting = |dies_at: usize| {
        let arrived = Arc::clone(&arrived);
        serve(move |mut peer: Peer| {
            let arrived = Arc::clone(&arrived);
            async move {
                while let Some(request) = peer.request().await {
                    let id = request.split("\r\n\r\n").nth(1).unwrap().to_owned();
                    *arrived.lock().unwrap().entry(id).or_default() += 1;
                    if peer.requests() > dies_at {
                        return peer.reset();
                    }
                    peer.say(OK).await;
                }
            }
        })
    };
    let (one, _) = counting(WRITES / 4).await;
    let (two, second) = counting(usize::MAX).await;
    let client = client(&[one, two]);
    let write = |number: usize| Outbound {
        body: OutboundBody::whole(Bytes::from(format!("write-{number}"))),
        ..post("")
    };
    let calls = (0..WRITES).map(|number| told(&client, write(number), &PATIENT));
    let mut told = join_all(calls).await;
    for number in WRITES..2 * WRITES {
        told.push(self::told(&client, write(number), &PATIENT).await);
    }
    let arrived = arrived.lock().unwrap();
    for (number, told) in told.iter().enumerate() {
        let times = arrived.get(&format!("write-{number}")).copied();
        match told.as_str() {
            "200 ok" => assert_eq!(times, Some(1), "{number}"),
            "unknown: closed" => assert!(times.unwrap_or(0) <= 1, "{number}: {times:?}"),
            other => panic!("{number}: {other}"),
        }
    }
    assert!(told.iter().any(|told| told == "unknown: closed"));
    assert!(second.requests() >= WRITES - 1);
}
