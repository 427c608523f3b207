//! A service that speaks raw TCP, so that it can break off where it likes.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};
use interlock_surface::Timeout;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::grant::Grant;
use crate::upstream::{
    Endpoint, Lane, Outbound, OutboundBody, Outcome, StopCall, UnknownCause, UpstreamLimits,
    Upstreams,
};

/// Long enough for a busy machine; no test waits for it.
pub(super) const PATIENT: Timeout = Timeout {
    name: "patient",
    connect_ms: 20_000,
    attempt_ms: 30_000,
    total_ms: 60_000,
    gateway_ms: 61_000,
};

/// For tests in which the time must run out.
pub(super) const SHORT: Timeout = Timeout {
    name: "short",
    connect_ms: 50,
    attempt_ms: 100,
    total_ms: 200,
    gateway_ms: 300,
};

/// What the service saw.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) connections: AtomicUsize,
    pub(super) requests: AtomicUsize,
}

impl Seen {
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// The service's side of one connection.
pub(super) struct Peer {
    stream: TcpStream,
    seen: Arc<Seen>,
    /// Which connection this is, from 1.
    pub(super) number: usize,
}

impl Peer {
    /// One that counts for itself.
    pub(super) fn of(stream: TcpStream) -> Self {
        Self {
            stream,
            seen: Arc::default(),
            number: 1,
        }
    }

    /// Reads one request with a sized body; `None` when the client closed.
    pub(super) async fn request(&mut self) -> Option<String> {
        let mut read = Vec::new();
        loop {
            if let Some(end) = read.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = String::from_utf8(read[..end].to_vec()).unwrap();
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "))
                    .map_or(0, |length| length.parse().unwrap());
                if read.len() >= end + 4 + length {
                    self.seen.requests.fetch_add(1, Ordering::SeqCst);
                    return Some(String::from_utf8(read).unwrap());
                }
            }
            if self.stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    /// How many requests the service has read, this connection's and others.
    pub(super) fn requests(&self) -> usize {
        self.seen.requests()
    }

    pub(super) async fn say(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Waits until the client sent something, and leaves it unread.
    pub(super) async fn readable(&self) {
        self.stream.readable().await.unwrap();
    }

    /// Waits until the client closes.
    pub(super) async fn closed(&mut self) {
        let mut rest = [0; 1024];
        while self.stream.read(&mut rest).await.unwrap_or(0) > 0 {}
    }

    /// Ends the connection with a reset instead of a close.
    pub(super) fn reset(self) {
        SockRef::from(&self.stream)
            .set_linger(Some(std::time::Duration::ZERO))
            .unwrap();
    }
}

/// Serves every connection with `script`.
pub(super) async fn serve<S, F>(script: S) -> (SocketAddr, Arc<Seen>)
where
    S: Fn(Peer) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Seen::default());
    let counted = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let number = counted.connections.fetch_add(1, Ordering::SeqCst) + 1;
            let seen = Arc::clone(&counted);
            tokio::spawn(script(Peer {
                stream,
                seen,
                number,
            }));
        }
    });
    (address, seen)
}

/// Where nobody listens.
pub(super) async fn dead() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// A process that was stopped: the kernel takes connections and bytes, and
/// nobody answers.
pub(super) fn frozen() -> (SocketAddr, std::net::TcpListener) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    (listener.local_addr().unwrap(), listener)
}

/// How many connections a frozen process was sent since it was asked last.
pub(super) fn knocks(frozen: &std::net::TcpListener) -> usize {
    std::iter::from_fn(|| frozen.accept().ok()).count()
}

/// A listener whose queue is full: connections to it are neither made nor
/// refused. It is one as long as what is returned lives.
pub(super) fn black_hole() -> (SocketAddr, impl Sized) {
    use socket2::{Domain, Socket, Type};
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    listener.bind(&any.into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let knock = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        // It is under way, or waits for a place.
        let _under_way = socket.connect(&address.into());
        socket
    };
    let queue: Vec<Socket> = std::iter::repeat_with(knock).take(4).collect();
    (address, (listener, queue))
}

/// The client, with one service `drones` at `address`.
pub(super) fn client(address: SocketAddr) -> Upstreams {
    client_with(address, &UpstreamLimits::default())
}

pub(super) fn client_with(address: SocketAddr, limits: &UpstreamLimits) -> Upstreams {
    client_of(&[address], limits)
}

/// The client, with one service `drones` at each of these addresses.
pub(super) fn client_of(addresses: &[SocketAddr], limits: &UpstreamLimits) -> Upstreams {
    let endpoint = Endpoint {
        service: "drones".to_owned(),
        authorities: addresses.iter().map(SocketAddr::to_string).collect(),
    };
    Upstreams::new(&[endpoint], limits).unwrap()
}

pub(super) fn get() -> Outbound {
    Outbound {
        method: Method::GET,
        path_and_query: PathAndQuery::from_static("/api/swarm/state"),
        headers: HeaderMap::new(),
        grant: Grant::of("grant"),
        client: None,
        body: OutboundBody::whole(Bytes::new()),
        stream: false,
        repeatable: true,
    }
}

pub(super) fn post(body: &'static str) -> Outbound {
    Outbound {
        method: Method::POST,
        path_and_query: PathAndQuery::from_static("/api/missions"),
        body: OutboundBody::whole(Bytes::from_static(body.as_bytes())),
        repeatable: false,
        ..get()
    }
}

pub(super) fn stop() -> StopCall {
    StopCall {
        method: Method::POST,
        path_and_query: PathAndQuery::from_static("/api/swarm/land"),
        headers: HeaderMap::new(),
        grant: Grant::of("grant"),
        client: None,
        body: Bytes::new(),
    }
}

pub(super) async fn call(client: &Upstreams, outbound: Outbound, timeout: &Timeout) -> Outcome {
    client
        .forward(Lane::Normal, "drones", outbound, timeout)
        .await
}

/// One word for what came of a call, the body read whole.
pub(super) async fn verdict(outcome: Outcome) -> String {
    match outcome {
        Outcome::NotSent { cause } => format!("not sent: {}", cause.label()),
        Outcome::Unknown { cause } => format!("unknown: {}", cause.label()),
        Outcome::Answered(response) => {
            let status = response.status().as_u16();
            match crate::upstream::collect(response.into_body(), 1024).await {
                Ok(body) => format!("{status} {}", String::from_utf8_lossy(&body)),
                Err(cause) => format!("{status}, then unknown: {}", UnknownCause::label(&cause)),
            }
        }
    }
}
