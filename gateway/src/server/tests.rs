//! Raw TCP callers against the accept loop.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use crate::server::{
    Admission, Drained, Peer, RequestBody, RequestBodyError, ResponseBody, ServerLimits, Setup,
    serve,
};

/// Long enough for a busy machine; no test waits for any of them.
fn patient() -> ServerLimits {
    let long = Duration::from_secs(60);
    ServerLimits {
        head_timeout: long,
        body_stall: long,
        write_stall: long,
        drain: long,
        ..ServerLimits::default()
    }
}

fn answer(status: u16, text: &str) -> Response<ResponseBody> {
    let body = Full::new(Bytes::from(text.to_owned())).map_err(|never| match never {});
    let mut response = Response::new(UnsyncBoxBody::new(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Drained>,
}

async fn start<H, F>(limits: ServerLimits, handler: H) -> Server
where
    H: Fn(Request<RequestBody>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<ResponseBody>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let setup = Setup {
        name: "test",
        limits,
        panicked: || answer(500, "panicked"),
    };
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(serve(listener, setup, Arc::new(handler), async {
        let _ = stopped.await;
    }));
    Server {
        address,
        stop,
        task,
    }
}

/// Paths the handler was called with.
type Called = Arc<Mutex<Vec<String>>>;

/// A server that answers every request with `status`, its body unread.
async fn start_recording(limits: ServerLimits, status: u16) -> (Server, Called) {
    let called = Called::default();
    let calls = Arc::clone(&called);
    let server = start(limits, move |request, _| {
        calls.lock().unwrap().push(request.uri().path().to_owned());
        async move { answer(status, "done") }
    })
    .await;
    (server, called)
}

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.address).await.unwrap()
}

async fn say(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
}

/// Reads one answer whose body is `done`.
async fn hear_done(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\ndone") {
        assert!(stream.read_buf(&mut heard).await.unwrap() > 0, "closed");
    }
    String::from_utf8(heard).unwrap()
}

/// Reads until the server closes; a reset is a close, too.
async fn hear_all(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    while matches!(stream.read_buf(&mut heard).await, Ok(1..)) {}
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn a_connection_serves_again() {
    let (server, called) = start_recording(patient(), 200).await;
    let mut stream = connect(&server).await;
    for path in ["/a", "/b", "/c"] {
        say(
            &mut stream,
            &format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"),
        )
        .await;
        hear_done(&mut stream).await;
    }
    assert_eq!(*called.lock().unwrap(), ["/a", "/b", "/c"]);
}

#[tokio::test]
async fn a_head_that_does_not_end_is_closed() {
    let limits = ServerLimits {
        head_timeout: Duration::from_millis(100),
        ..patient()
    };
    let (server, called) = start_recording(limits, 200).await;
    for part in ["", "G", "GET / HTTP/1.1\r\nhost: x\r\n"] {
        let mut stream = connect(&server).await;
        say(&mut stream, part).await;
        assert_eq!(hear_all(&mut stream).await, "");
    }
    let mut stream = connect(&server).await;
    say(&mut stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(hear_all(&mut stream).await.ends_with("done"));
    assert_eq!(called.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_unread_body_never_becomes_the_next_request() {
    let smuggled = "POST /smuggled HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    let head = format!(
        "POST /refused HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        smuggled.len()
    );
    for together in [true, false] {
        let (server, called) = start_recording(patient(), 403).await;
        let mut stream = connect(&server).await;
        if together {
            say(&mut stream, &format!("{head}{smuggled}")).await;
            hear_done(&mut stream).await;
        } else {
            say(&mut stream, &head).await;
            hear_done(&mut stream).await;
            // The server may have closed already.
            let _ = stream.write_all(smuggled.as_bytes()).await;
        }
        let _ = stream
            .write_all(b"GET /next HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await;
        hear_all(&mut stream).await;
        let called = called.lock().unwrap();
        assert_eq!(called[0], "/refused");
        assert!(!called.contains(&"/smuggled".to_owned()), "{called:?}");
    }
}

#[tokio::test]
async fn an_early_refusal_asks_for_no_body() {
    let (server, called) = start_recording(patient(), 413).await;
    let mut stream = connect(&server).await;
    say(
        &mut stream,
        "POST /large HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\nexpect: 100-continue\r\n\r\n",
    )
    .await;
    let heard = hear_done(&mut stream).await;
    assert!(heard.starts_with("HTTP/1.1 413 "), "{heard}");
    // The client sends it anyway: nothing of it is taken for a request.
    let _ = stream
        .write_all(b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n")
        .await;
    assert_eq!(hear_all(&mut stream).await, "");
    assert_eq!(*called.lock().unwrap(), ["/large"]);
}

#[tokio::test]
async fn a_body_is_asked_for_when_it_is_read() {
    let server = start(patient(), |request, _| async move {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "ok");
        answer(200, "done")
    })
    .await;
    let mut stream = connect(&server).await;
    say(
        &mut stream,
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n",
    )
    .await;
    let mut heard = [0; 25];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"HTTP/1.1 100 Continue\r\n\r\n");
    say(&mut stream, "ok").await;
    hear_done(&mut stream).await;
}

#[tokio::test]
async fn malformed_heads_are_answered_and_closed() {
    let (server, called) = start_recording(patient(), 200).await;
    let large = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(64 * 1024));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(200));
    let cases: [(&str, u16); 6] = [
        ("G@T / HTTP/1.1 x\r\n\r\n", 400),
        ("GET / HTTP/9.9\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            400,
        ),
        (&large, 431),
        (&many, 431),
    ];
    for (head, status) in cases {
        let mut stream = connect(&server).await;
        say(&mut stream, head).await;
        let heard = hear_all(&mut stream).await;
        let expected = format!("HTTP/1.1 {status} ");
        assert!(heard.starts_with(&expected), "{status}: {heard}");
    }
    assert_eq!(called.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn a_panic_is_answered_and_the_connection_goes_on() {
    let server = start(patient(), |request: Request<RequestBody>, _| async move {
        assert_ne!(request.uri().path(), "/panic");
        answer(200, "done")
    })
    .await;
    let mut stream = connect(&server).await;
    say(&mut stream, "GET /panic HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut heard = Vec::new();
    while !heard.ends_with(b"panicked") {
        assert!(stream.read_buf(&mut heard).await.unwrap() > 0);
    }
    assert!(heard.starts_with(b"HTTP/1.1 500 "));
    say(&mut stream, "GET /fine HTTP/1.1\r\nhost: x\r\n\r\n").await;
    hear_done(&mut stream).await;
}

#[tokio::test]
async fn a_stalled_body_is_told() {
    let limits = ServerLimits {
        body_stall: Duration::from_millis(50),
        ..patient()
    };
    let server = start(limits, |request: Request<RequestBody>, _| async move {
        match request.into_body().collect().await {
            Err(RequestBodyError::Stalled) => answer(408, "done"),
            other => answer(200, &format!("{other:?}")),
        }
    })
    .await;
    let mut stream = connect(&server).await;
    say(
        &mut stream,
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf",
    )
    .await;
    let heard = hear_done(&mut stream).await;
    assert!(heard.starts_with("HTTP/1.1 408 "), "{heard}");
}

#[tokio::test]
async fn a_caller_that_does_not_read_is_cut_off() {
    struct Told(Arc<Notify>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let limits = ServerLimits {
        write_stall: Duration::from_millis(50),
        ..patient()
    };
    let ended = Arc::new(Notify::new());
    let told = Arc::clone(&ended);
    let server = start(limits, move |_, _| {
        let told = Told(Arc::clone(&told));
        async move {
            let endless = stream::repeat_with(move || {
                let _held = &told;
                Ok(Frame::data(Bytes::from_static(&[0; 65_536])))
            });
            Response::new(UnsyncBoxBody::new(StreamBody::new(endless)))
        }
    })
    .await;
    let mut stream = connect(&server).await;
    say(&mut stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    ended.notified().await;
}

/// A handler that says when it was entered and waits until it may go on.
struct Gate {
    entered: Notify,
    open: Notify,
}

async fn start_gated(limits: ServerLimits) -> (Server, Arc<Gate>) {
    let gate = Arc::new(Gate {
        entered: Notify::new(),
        open: Notify::new(),
    });
    let held = Arc::clone(&gate);
    let server = start(limits, move |request: Request<RequestBody>, peer| {
        let gate = Arc::clone(&held);
        async move {
            if request.uri().path() == "/wait" {
                gate.entered.notify_one();
                gate.open.notified().await;
            }
            let status = match peer.admission {
                Admission::Normal => 200,
                Admission::StopsOnly => 503,
            };
            answer(status, "done")
        }
    })
    .await;
    (server, gate)
}

#[tokio::test]
async fn requests_in_flight_are_answered_before_the_end() {
    let (server, gate) = start_gated(patient()).await;
    let mut idle = connect(&server).await;
    let mut busy = connect(&server).await;
    say(&mut busy, "GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await;
    gate.entered.notified().await;
    server.stop.send(()).unwrap();
    assert_eq!(hear_all(&mut idle).await, "");
    assert!(TcpStream::connect(server.address).await.is_err());
    gate.open.notify_one();
    let heard = hear_all(&mut busy).await;
    assert!(heard.contains("connection: close") && heard.ends_with("done"));
    assert_eq!(server.task.await.unwrap(), Drained::Clean);
}

#[tokio::test]
async fn requests_that_do_not_end_are_cut_off() {
    let limits = ServerLimits {
        drain: Duration::from_millis(50),
        ..patient()
    };
    let (server, gate) = start_gated(limits).await;
    let mut busy = connect(&server).await;
    say(&mut busy, "GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await;
    gate.entered.notified().await;
    server.stop.send(()).unwrap();
    assert_eq!(server.task.await.unwrap(), Drained::CutOff);
    assert_eq!(hear_all(&mut busy).await, "");
}

#[tokio::test]
async fn whoever_waits_longest_makes_room() {
    let limits = ServerLimits {
        max_connections: 2,
        reserved_connections: 0,
        ..patient()
    };
    let (server, _) = start_gated(limits).await;
    let mut first = connect(&server).await;
    say(&mut first, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    hear_done(&mut first).await;
    let mut dribbling = connect(&server).await;
    say(&mut dribbling, "GET / HT").await;
    let mut third = connect(&server).await;
    say(&mut third, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    hear_done(&mut third).await;
    assert_eq!(hear_all(&mut first).await, "");
    let mut fourth = connect(&server).await;
    say(&mut fourth, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    hear_done(&mut fourth).await;
    assert_eq!(hear_all(&mut dribbling).await, "");
    say(&mut third, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    hear_done(&mut third).await;
}

#[tokio::test]
async fn a_full_server_leaves_a_reserve_for_stops() {
    let limits = ServerLimits {
        max_connections: 1,
        reserved_connections: 1,
        ..patient()
    };
    let (server, gate) = start_gated(limits).await;
    let mut busy = connect(&server).await;
    say(&mut busy, "GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await;
    gate.entered.notified().await;

    let mut reserved = connect(&server).await;
    say(&mut reserved, "GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await;
    gate.entered.notified().await;
    let mut beyond = connect(&server).await;
    assert_eq!(hear_all(&mut beyond).await, "");

    gate.open.notify_waiters();
    let heard = hear_all(&mut reserved).await;
    assert!(heard.starts_with("HTTP/1.1 503 ") && heard.ends_with("done"));
    let heard = hear_done(&mut busy).await;
    assert!(heard.starts_with("HTTP/1.1 200 "));
}
