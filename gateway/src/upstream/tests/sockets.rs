//! Not sent, answered or unknown, by what the socket does.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::uri::PathAndQuery;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::upstream::tests::fake::{
    PATIENT, Peer, SHORT, call, client, client_with, get, post, serve, verdict,
};
use crate::upstream::{Lane, OutboundBody, Outcome, UpstreamLimits};

#[tokio::test]
async fn a_refused_connection_sends_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let outcome = call(&client(address), post("{}"), &PATIENT).await;
    assert_eq!(verdict(outcome).await, "not sent: connect");
}

#[tokio::test]
async fn an_unknown_service_sends_nothing() {
    let client = client(([127, 0, 0, 1], 9).into());
    let outcome = client
        .forward(Lane::Normal, "mowers", post("{}"), &PATIENT)
        .await;
    assert_eq!(verdict(outcome).await, "not sent: no_service");
}

#[tokio::test]
async fn a_service_that_closes_without_reading_leaves_it_unknown() {
    let (address, seen) = serve(|peer: Peer| async move { peer.readable().await }).await;
    let outcome = call(&client(address), post("{}"), &PATIENT).await;
    assert_eq!(verdict(outcome).await, "unknown: closed");
    assert_eq!((seen.connections(), seen.requests()), (1, 0));
}

#[tokio::test]
async fn a_request_that_was_read_and_not_answered_is_sent_once() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        peer.request().await;
    })
    .await;
    let outcome = call(&client(address), post("{}"), &PATIENT).await;
    assert_eq!(verdict(outcome).await, "unknown: closed");
    assert_eq!((seen.connections(), seen.requests()), (1, 1));
}

#[tokio::test]
async fn a_request_on_a_pooled_connection_is_sent_once_too() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .await;
        peer.request().await;
        peer.reset();
    })
    .await;
    let client = client(address);
    assert_eq!(verdict(call(&client, get(), &PATIENT).await).await, "200 ");
    let outcome = call(&client, post("{}"), &PATIENT).await;
    assert_eq!(verdict(outcome).await, "unknown: closed");
    assert_eq!((seen.connections(), seen.requests()), (1, 2));
}

#[tokio::test]
async fn a_reset_leaves_it_unknown() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        peer.request().await;
        peer.reset();
    })
    .await;
    let outcome = call(&client(address), post("{}"), &PATIENT).await;
    assert_eq!(verdict(outcome).await, "unknown: closed");
    assert_eq!(seen.requests(), 1);
}

#[tokio::test]
async fn a_reset_in_the_body_leaves_it_unknown() {
    let (address, _) = serve(|mut peer: Peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{\"id\"")
            .await;
        peer.reset();
    })
    .await;
    let client = client(address);
    let outcome = call(&client, post("{}"), &PATIENT).await;
    let said = verdict(outcome).await;
    // A reset may overtake the head: both are unknown.
    assert!(said.ends_with("unknown: closed"), "{said}");
    assert_eq!(client.idle_count(Lane::Normal), 0);
}

#[tokio::test]
async fn a_silent_service_leaves_it_unknown() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        peer.request().await;
        peer.closed().await;
    })
    .await;
    let outcome = call(&client(address), post("{}"), &SHORT).await;
    assert_eq!(verdict(outcome).await, "unknown: head_timeout");
    assert_eq!(seen.requests(), 1);
}

#[tokio::test]
async fn half_a_head_leaves_it_unknown() {
    let (address, _) = serve(|mut peer: Peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-le").await;
        peer.closed().await;
    })
    .await;
    let outcome = call(&client(address), post("{}"), &SHORT).await;
    assert_eq!(verdict(outcome).await, "unknown: head_timeout");
}

#[tokio::test]
async fn a_body_that_stalls_leaves_it_unknown() {
    let (address, _) = serve(|mut peer: Peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
            .await;
        peer.closed().await;
    })
    .await;
    let outcome = call(&client(address), post("{}"), &SHORT).await;
    assert_eq!(verdict(outcome).await, "200, then unknown: body_timeout");
}

#[tokio::test]
async fn a_full_lane_sends_nothing_and_leaves_the_stop_lane_free() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        peer.request().await;
        if peer.number == 1 {
            peer.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
                .await;
            peer.closed().await;
        } else {
            peer.say("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
                .await;
        }
    })
    .await;
    let limits = UpstreamLimits {
        normal_concurrency: 1,
        ..UpstreamLimits::default()
    };
    let client = client_with(address, &limits);
    let held = call(&client, get(), &PATIENT).await;
    assert!(matches!(held, Outcome::Answered(_)));
    let outcome = call(&client, post("{}"), &SHORT).await;
    assert_eq!(verdict(outcome).await, "not sent: saturated");
    let stop = client
        .forward(Lane::Stop, "drones", post(""), &PATIENT)
        .await;
    assert_eq!(verdict(stop).await, "202 ");
    assert_eq!(seen.requests(), 2);
    drop(held);
}

#[tokio::test]
async fn an_event_passes_before_the_next_one_is_sent() {
    let read = Arc::new(Notify::new());
    let next = Arc::clone(&read);
    let (address, _) = serve(move |mut peer: Peer| {
        let next = Arc::clone(&next);
        async move {
            peer.request().await;
            peer.say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
                .await;
            peer.say("9\r\ndata: 1\n\n\r\n").await;
            next.notified().await;
            peer.say("9\r\ndata: 2\n\n\r\n0\r\n\r\n").await;
            peer.closed().await;
        }
    })
    .await;
    let mut outbound = get();
    outbound.stream = true;
    let client = client(address);
    let Outcome::Answered(response) = call(&client, outbound, &PATIENT).await else {
        panic!("not answered");
    };
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "data: 1\n\n");
    read.notify_one();
    let second = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(second, "data: 2\n\n");
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_stream_outlives_the_total_deadline() {
    let over = Arc::new(Notify::new());
    let told = Arc::clone(&over);
    let (address, _) = serve(move |mut peer: Peer| {
        let over = Arc::clone(&told);
        async move {
            let streams = peer.request().await.unwrap().contains("/stream");
            peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                .await;
            if streams {
                over.notified().await;
                peer.say("2\r\nok\r\n0\r\n\r\n").await;
            }
            peer.closed().await;
        }
    })
    .await;
    let client = client(address);
    let mut outbound = get();
    outbound.path_and_query = PathAndQuery::from_static("/stream");
    outbound.stream = true;
    let stream = call(&client, outbound, &SHORT).await;
    // Begun later, so its deadline passes later.
    let bounded = call(&client, get(), &SHORT).await;
    assert_eq!(verdict(bounded).await, "200, then unknown: body_timeout");
    over.notify_one();
    assert_eq!(verdict(stream).await, "200 ok");
}

#[tokio::test]
async fn a_request_body_that_breaks_off_leaves_it_unknown() {
    let arrived = Arc::new(Notify::new());
    let told = Arc::clone(&arrived);
    let (address, _) = serve(move |mut peer: Peer| {
        let told = Arc::clone(&told);
        async move {
            peer.readable().await;
            told.notify_one();
            peer.closed().await;
        }
    })
    .await;
    let half = stream::once(async { Ok(Frame::data(Bytes::from_static(b"half"))) });
    let broken = stream::once(async move {
        arrived.notified().await;
        Err(std::io::Error::other("the caller hung up"))
    });
    let mut outbound = post("");
    outbound.body = OutboundBody::stream(StreamBody::new(half.chain(broken)));
    let outcome = call(&client(address), outbound, &PATIENT).await;
    assert_eq!(verdict(outcome).await, "unknown: request_body");
}
