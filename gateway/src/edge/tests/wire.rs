//! Hostile bytes through hyper, as the gateway gets them: whatever is framed in
//! two ways ends the connection, and the request hidden behind it is never seen.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{cleaned, open};

type Seen = Arc<Mutex<Vec<String>>>;

/// Answers 200 to a clean request whose body arrives whole, else 400 and closes.
async fn serve(
    request: Request<Incoming>,
    seen: Seen,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let refused = Response::builder()
        .status(StatusCode::BAD_REQUEST)
        .header(header::CONNECTION, "close")
        .body(Full::default())
        .unwrap();
    if cleaned(&parts, &open()).is_err() || body.collect().await.is_err() {
        return Ok(refused);
    }
    seen.lock().unwrap().push(parts.uri.path().to_owned());
    Ok(Response::new(Full::default()))
}

/// Sends the bytes on one connection; the statuses answered and paths seen.
async fn exchange(raw: &[u8]) -> (Vec<String>, Vec<String>) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let served = Arc::clone(&seen);
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(|request| serve(request, Arc::clone(&served)));
        // A malformed message is an error here, and the point of the test.
        let _ = http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await;
    });
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(raw).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answered = Vec::new();
    // A reset after an early close is an end like any other.
    let _ = client.read_to_end(&mut answered).await;
    server.await.unwrap();
    let statuses = String::from_utf8_lossy(&answered)
        .lines()
        .filter_map(|line| {
            line.strip_prefix("HTTP/1.1 ")
                .or(line.strip_prefix("HTTP/1.0 "))
        })
        .filter_map(|rest| rest.split(' ').next())
        .map(str::to_owned)
        .collect();
    let paths = seen.lock().unwrap().clone();
    (statuses, paths)
}

const MARKED: &str = "GET /marked HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";

/// `head` is the request line and the framing headers.
async fn refused(head: &str, body: &str) {
    let raw = format!("{head}\r\nHost: localhost:8080\r\n\r\n{body}{MARKED}");
    let (statuses, seen) = exchange(raw.as_bytes()).await;
    assert_eq!(statuses, ["400"], "{head:?}");
    assert!(seen.is_empty(), "{head:?}: {seen:?}");
}

#[tokio::test]
async fn clean_requests_are_served_one_after_the_other() {
    let raw = format!(
        "POST /a HTTP/1.1\r\nHost: localhost:8080\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n{MARKED}"
    );
    let (statuses, seen) = exchange(raw.as_bytes()).await;
    assert_eq!(statuses, ["200", "200"]);
    assert_eq!(seen, ["/a", "/marked"]);
}

#[tokio::test]
async fn two_framings_hide_nothing() {
    let chunked = "0\r\n\r\n";
    for head in [
        "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: ,chunked",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked, identity",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: identity",
        "POST /a HTTP/1.1\r\nTransfer-Encoding : chunked",
        "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked",
        "POST /a HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6",
        "POST /a HTTP/1.1\r\nContent-Length: +5",
        "POST /a HTTP/1.1\r\nContent-Length: 5, 5",
        "POST /a HTTP/1.1\r\nHost: localhost:8080",
        "GET api/missions HTTP/1.1",
        "GET http://other/a HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "GET /a/../b HTTP/1.1",
        "GET /a%2e%2e/b HTTP/1.1",
        "GET /a\\b HTTP/1.1",
        "GET /a\tb HTTP/1.1",
        "GET ! HTTP/1.1",
    ] {
        refused(head, chunked).await;
    }
    let head = "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked";
    for size in ["0x0", "+1", "1_0", " 0"] {
        refused(head, &format!("{size}\r\n\r\n")).await;
    }
}

/// hyper drops `Content-Length` beside `Transfer-Encoding` and closes the
/// connection after the answer, so this cannot be refused here; one framing is
/// left, and what is hidden behind it is never read.
#[tokio::test]
async fn a_length_beside_chunked_hides_nothing() {
    let length = format!("Content-Length: {}", 5 + MARKED.len());
    let chunked = "Transfer-Encoding: chunked";
    for (first, second) in [(length.as_str(), chunked), (chunked, length.as_str())] {
        let head = format!("POST /a HTTP/1.1\r\nHost: localhost:8080\r\n{first}\r\n{second}");
        let raw = format!("{head}\r\n\r\n0\r\n\r\n{MARKED}");
        let (statuses, seen) = exchange(raw.as_bytes()).await;
        assert_eq!(statuses, ["200"], "{head:?}");
        assert_eq!(seen, ["/a"], "{head:?}");
    }
}
