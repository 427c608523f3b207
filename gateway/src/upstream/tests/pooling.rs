//! When a connection serves again, and when it must not.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::upstream::tests::fake::{
    PATIENT, Peer, call, client, client_with, get, post, serve, verdict,
};
use crate::upstream::{Lane, Outcome, UpstreamLimits};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn a_connection_serves_again_once_its_body_was_read() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        while peer.request().await.is_some() {
            peer.say(OK).await;
        }
    })
    .await;
    let client = client(address);
    for _ in 0..5 {
        assert_eq!(
            verdict(call(&client, get(), &PATIENT).await).await,
            "200 ok"
        );
    }
    assert_eq!((seen.connections(), seen.requests()), (1, 5));
}

#[tokio::test]
async fn a_connection_that_died_idle_is_replaced_before_anything_is_written() {
    let gone = Arc::new(Notify::new());
    let told = Arc::clone(&gone);
    let (address, seen) = serve(move |mut peer: Peer| {
        let told = Arc::clone(&told);
        async move {
            peer.request().await;
            peer.say(OK).await;
            drop(peer);
            told.notify_one();
        }
    })
    .await;
    let client = client(address);
    for _ in 0..3 {
        let outcome = call(&client, post("{}"), &PATIENT).await;
        assert_eq!(verdict(outcome).await, "200 ok");
        gone.notified().await;
    }
    assert_eq!((seen.connections(), seen.requests()), (3, 3));
}

/// The runtime has no chance to see the end before the next call begins: only
/// asking the kernel keeps the request off the dead connection.
#[tokio::test]
async fn an_end_that_no_task_has_seen_is_seen() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, closed) = std::sync::mpsc::channel();
    let (go, close) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            assert!(stream.read(&mut head).unwrap() > 0);
            stream.write_all(OK.as_bytes()).unwrap();
            close.recv().unwrap();
            drop(stream);
            told.send(()).unwrap();
        }
    });
    let client = client(address);
    for _ in 0..2 {
        let outcome = call(&client, get(), &PATIENT).await;
        assert_eq!(verdict(outcome).await, "200 ok");
        go.send(()).unwrap();
        // Blocks the one thread of this runtime, on purpose.
        closed.recv().unwrap();
    }
}

#[tokio::test]
async fn stray_bytes_on_an_idle_connection_answer_nobody() {
    let strayed = Arc::new(Notify::new());
    let told = Arc::clone(&strayed);
    let (address, seen) = serve(move |mut peer: Peer| {
        let told = Arc::clone(&told);
        async move {
            peer.request().await;
            peer.say(OK).await;
            if peer.number == 1 {
                peer.say("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nstray")
                    .await;
            }
            told.notify_one();
            peer.closed().await;
        }
    })
    .await;
    let client = client(address);
    assert_eq!(
        verdict(call(&client, get(), &PATIENT).await).await,
        "200 ok"
    );
    strayed.notified().await;
    assert_eq!(
        verdict(call(&client, get(), &PATIENT).await).await,
        "200 ok"
    );
    assert_eq!((seen.connections(), seen.requests()), (2, 2));
}

#[tokio::test]
async fn a_service_that_says_close_is_believed() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        while peer.request().await.is_some() {
            peer.say("HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 2\r\n\r\nok")
                .await;
        }
    })
    .await;
    let client = client(address);
    for _ in 0..2 {
        assert_eq!(
            verdict(call(&client, get(), &PATIENT).await).await,
            "200 ok"
        );
        assert_eq!(client.idle_count(Lane::Normal), 0);
    }
    assert_eq!(seen.connections(), 2);
}

#[tokio::test]
async fn a_response_dropped_early_takes_its_connection_along() {
    let closed = Arc::new(Notify::new());
    let told = Arc::clone(&closed);
    let (address, seen) = serve(move |mut peer: Peer| {
        let told = Arc::clone(&told);
        async move {
            peer.request().await;
            peer.say("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nok")
                .await;
            peer.closed().await;
            told.notify_one();
        }
    })
    .await;
    let client = client(address);
    for _ in 0..2 {
        let outcome = call(&client, get(), &PATIENT).await;
        assert!(matches!(outcome, Outcome::Answered(_)));
        drop(outcome);
        closed.notified().await;
        assert_eq!(client.idle_count(Lane::Normal), 0);
    }
    assert_eq!(seen.connections(), 2);
}

#[tokio::test]
async fn a_call_dropped_early_takes_its_connection_along() {
    let (asked, closed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let told = (Arc::clone(&asked), Arc::clone(&closed));
    let (address, _) = serve(move |mut peer: Peer| {
        let told = told.clone();
        async move {
            peer.request().await;
            told.0.notify_one();
            peer.closed().await;
            told.1.notify_one();
        }
    })
    .await;
    let client = client(address);
    tokio::select! {
        _ = call(&client, get(), &PATIENT) => panic!("nobody answers"),
        () = asked.notified() => {}
    }
    closed.notified().await;
    assert_eq!(client.idle_count(Lane::Normal), 0);
}

#[tokio::test]
async fn idle_connections_are_bounded_and_do_not_grow_old() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        while peer.request().await.is_some() {
            peer.say(OK).await;
        }
    })
    .await;
    let bounded = UpstreamLimits {
        max_idle: 1,
        ..UpstreamLimits::default()
    };
    let client = client_with(address, &bounded);
    let (one, two) = tokio::join!(
        call(&client, get(), &PATIENT),
        call(&client, get(), &PATIENT)
    );
    verdict(one).await;
    verdict(two).await;
    assert_eq!(client.idle_count(Lane::Normal), 1);
    assert_eq!(seen.connections(), 2);

    let ageless = UpstreamLimits {
        idle_timeout: Duration::ZERO,
        ..UpstreamLimits::default()
    };
    let client = client_with(address, &ageless);
    for _ in 0..2 {
        verdict(call(&client, get(), &PATIENT).await).await;
    }
    assert_eq!(seen.connections(), 4);
}

#[tokio::test]
async fn the_lanes_share_no_connection() {
    let (address, seen) = serve(|mut peer: Peer| async move {
        while peer.request().await.is_some() {
            peer.say(OK).await;
        }
    })
    .await;
    let client = client(address);
    for lane in [Lane::Normal, Lane::Stop, Lane::Normal, Lane::Stop] {
        let outcome = client.forward(lane, "drones", get(), &PATIENT).await;
        assert_eq!(verdict(outcome).await, "200 ok");
    }
    assert_eq!((seen.connections(), seen.requests()), (2, 4));
    assert_eq!(client.idle_count(Lane::Normal), 1);
    assert_eq!(client.idle_count(Lane::Stop), 1);
}
