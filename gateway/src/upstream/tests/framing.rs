//! Heads and bodies that two readers could read differently.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::upstream::Lane;
use crate::upstream::tests::fake::{PATIENT, Peer, call, client, post, serve, verdict};

/// Answers with `answer`; the call must come out as `expected` and, unless it
/// was well-formed, the connection must be gone.
async fn check(answer: &str, expected: &str) {
    let closed = Arc::new(Notify::new());
    let told = Arc::clone(&closed);
    let text = Arc::new(answer.to_owned());
    let (address, seen) = serve(move |mut peer: Peer| {
        let (told, text) = (Arc::clone(&told), Arc::clone(&text));
        async move {
            peer.request().await;
            peer.say(&text).await;
            peer.closed().await;
            told.notify_one();
        }
    })
    .await;
    let client = client(address);
    let outcome = call(&client, post("{}"), &PATIENT).await;
    assert_eq!(verdict(outcome).await, expected, "{answer:?}");
    assert_eq!(seen.requests(), 1);
    if expected.contains("unknown") {
        closed.notified().await;
        assert_eq!(client.idle_count(Lane::Normal), 0, "{answer:?}");
    } else {
        assert_eq!(client.idle_count(Lane::Normal), 1, "{answer:?}");
    }
}

#[tokio::test]
async fn interim_answers_are_skipped() {
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok",
        "201 ok",
    )
    .await;
}

#[tokio::test]
async fn an_upgrade_nobody_asked_for_is_refused() {
    check(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        "unknown: bad_head",
    )
    .await;
}

#[tokio::test]
async fn redirects_are_never_followed() {
    check(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n",
        "unknown: redirect",
    )
    .await;
}

#[tokio::test]
async fn sound_framings_pass() {
    let answers = [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\ntrailer: x\r\n\r\n",
    ];
    for answer in answers {
        check(answer, "200 ok").await;
    }
}

#[tokio::test]
async fn ambiguous_heads_are_refused() {
    let heads = [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: ,chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nx: a\r\n folded\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        "junk\r\n\r\n",
    ];
    for head in heads {
        check(head, "unknown: bad_head").await;
    }
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(64 * 1024));
    check(&long, "unknown: bad_head").await;
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(200));
    check(&many, "unknown: bad_head").await;
}

#[tokio::test]
async fn broken_chunks_leave_it_unknown() {
    for size in ["0x2", "+2", "2_0", " 2", "g", ""] {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{size}\r\nok\r\n0\r\n\r\n"
        );
        check(&answer, "200, then unknown: bad_body").await;
    }
}

#[tokio::test]
async fn a_body_larger_than_we_read_leaves_it_unknown() {
    let large = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 3000\r\n\r\n{}",
        "a".repeat(2000)
    );
    check(&large, "200, then unknown: too_large").await;
}
