use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{FIRST_HEAD_WITHIN, serve_at_most};

/// A server of this many connections, whose clock runs ahead while nothing happens.
async fn server(most: usize) -> (String, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = Router::new()
        .route("/", get(|| async { "yes" }))
        .route("/refused", get(|| async { StatusCode::UNAUTHORIZED }));
    let (ending, end) = watch::channel(false);
    tokio::spawn(serve_at_most(most, listener, router, end));
    (address, ending)
}

/// Sends `bytes` and reads until the server closes; what it said, and how long that took by the
/// paused clock.
async fn converse(address: &str, bytes: &[u8]) -> (String, Duration) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    (said, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn who_asks_nothing_holds_no_connection() {
    let (address, _ending) = server(8).await;
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\nhost: a\r\n"] {
        let (said, took) = converse(&address, bytes).await;
        assert_eq!(said, "");
        assert!(took < FIRST_HEAD_WITHIN * 2, "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_its_connection() {
    let (address, _ending) = server(8).await;
    let (said, took) = converse(&address, b"GET /refused HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(said.starts_with("HTTP/1.1 401"), "{said}");
    assert!(took < FIRST_HEAD_WITHIN, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn beyond_the_most_connections_one_waits_for_another_to_end() {
    let (address, _ending) = server(1).await;
    let first = TcpStream::connect(&address).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let (said, took) = converse(&address, request).await;
    assert!(said.ends_with("yes"), "{said}");
    assert!(took >= FIRST_HEAD_WITHIN, "{took:?}");
    drop(first);
}
