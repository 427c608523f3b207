//! The accept loop: connections, their limits, and a clean end.
//!
//! Stops are not starved by connections. When the limit is reached, the
//! connection that has waited longest for a request head makes room for the
//! new one, so that idle and dribbling peers hold nothing. When every
//! connection is inside a request, a reserve is left in which a connection
//! gets one request, and only a stop ([`Admission::StopsOnly`]).

mod body;
mod connections;
mod io;
mod meters;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

pub use body::{RequestBody, RequestBodyError};

use body::Guarded;
use connections::{Connections, Place};
use io::CallerSocket;
use meters::Meters;

/// How long the accept loop pauses when the system has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long an evicted connection may take to flush what it was answered.
const EVICTION: Duration = Duration::from_secs(1);

/// A response body as the server sends it.
pub type ResponseBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Bounds on what callers may cost.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Connections open at once.
    pub max_connections: usize,
    /// Connections beyond that, one request each, for stops only.
    pub reserved_connections: usize,
    /// To the end of a request head, an idle connection's wait included.
    pub head_timeout: Duration,
    /// Longest wait for the next bytes of a request body.
    pub body_stall: Duration,
    /// Longest wait for a caller to take the next bytes of a response.
    pub write_stall: Duration,
    /// Largest request head, in bytes; more is 431, or 414 in the target.
    pub max_head_bytes: usize,
    /// Most header lines; more is 431.
    pub max_headers: usize,
    /// How long requests in flight may take once the server shuts down.
    pub drain: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_connections: 4096,
            reserved_connections: 256,
            head_timeout: Duration::from_secs(10),
            body_stall: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            max_head_bytes: 32 * 1024,
            max_headers: 100,
            drain: Duration::from_secs(10),
        }
    }
}

/// What a connection may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Everything.
    Normal,
    /// The server is full: only a stop; everything else is 503.
    StopsOnly,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// What it may ask for.
    pub admission: Admission,
}

/// What is fixed for one listener.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The listener's name in metrics and logs, such as `public`.
    pub name: &'static str,
    /// Its bounds.
    pub limits: ServerLimits,
    /// The answer to a request whose handler panicked.
    pub panicked: fn() -> Response<ResponseBody>,
}

/// How the server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Every request in flight was answered.
    Clean,
    /// The drain time passed; what was left was cut off.
    CutOff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    Draining,
    Over,
}

/// Serves until `shutdown`, then stops accepting, lets requests in flight
/// finish within the drain time, and returns.
pub async fn serve<H, F>(
    listener: TcpListener,
    setup: Setup,
    handler: Arc<H>,
    shutdown: impl Future<Output = ()>,
) -> Drained
where
    H: Fn(Request<RequestBody>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<ResponseBody>> + Send + 'static,
{
    let setup = Arc::new(setup);
    let meters = Arc::new(Meters::new(setup.name));
    let connections = Connections::new(&setup.limits);
    let (phase, _) = watch::channel(Phase::Serving);
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        let (tcp, address) = match accepted {
            Ok(accepted) => accepted,
            Err(fault) => {
                accept_failed(&fault, &meters).await;
                continue;
            }
        };
        let Some(place) = connections.admit() else {
            meters.refused.increment(1);
            continue;
        };
        meters.accepted.increment(1);
        let peer = Peer {
            address,
            admission: place.admission,
        };
        let connection = Connection {
            setup: Arc::clone(&setup),
            meters: Arc::clone(&meters),
            handler: Arc::clone(&handler),
            place,
            peer,
            phase: phase.subscribe(),
        };
        tokio::spawn(connection.run(tcp));
    }
    drop(listener);
    phase.send_replace(Phase::Draining);
    if timeout(setup.limits.drain, phase.closed()).await.is_ok() {
        return Drained::Clean;
    }
    phase.send_replace(Phase::Over);
    phase.closed().await;
    Drained::CutOff
}

/// A peer that hung up in the queue is nobody's fault; a shortage of
/// descriptors passes, and hot accepting would only use up the processor.
async fn accept_failed(fault: &std::io::Error, meters: &Meters) {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset};
    if matches!(fault.kind(), ConnectionAborted | ConnectionReset) {
        return;
    }
    meters.accept_failed.increment(1);
    tracing::error!(%fault, "cannot accept connections");
    sleep(ACCEPT_PAUSE).await;
}

struct Connection<H> {
    setup: Arc<Setup>,
    meters: Arc<Meters>,
    handler: Arc<H>,
    place: Place,
    peer: Peer,
    phase: watch::Receiver<Phase>,
}

impl<H, F> Connection<H>
where
    H: Fn(Request<RequestBody>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<ResponseBody>> + Send + 'static,
{
    async fn run(self, tcp: TcpStream) {
        let Self {
            setup,
            meters,
            handler,
            place,
            peer,
            mut phase,
        } = self;
        if tcp.set_nodelay(true).is_err() {
            // The peer is gone already.
            return;
        }
        let limits = &setup.limits;
        let place = &place;
        let service = service_fn(|request: Request<Incoming>| {
            let in_request = place.begin_request();
            let request = request.map(|body| RequestBody::live(body, limits.body_stall));
            let handled = AssertUnwindSafe(handle(Arc::clone(&handler), request, peer));
            let (panicked, meters) = (setup.panicked, Arc::clone(&meters));
            async move {
                let response = handled.catch_unwind().await.unwrap_or_else(|_| {
                    meters.panicked.increment(1);
                    panicked()
                });
                Ok::<_, Infallible>(response.map(|body| Guarded {
                    body,
                    _in_request: in_request,
                }))
            }
        });
        let socket = CallerSocket::new(tcp, limits.write_stall);
        let mut builder = Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_header_size(limits.max_head_bytes)
            .max_headers(limits.max_headers)
            .keep_alive(peer.admission == Admission::Normal);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service));
        let mut leaving = None;
        loop {
            tokio::select! {
                result = connection.as_mut() => return meters.ended(result),
                () = place.evicted() => {
                    meters.evicted.increment(1);
                    leaving = Some(Instant::now() + EVICTION);
                    connection.as_mut().graceful_shutdown();
                }
                changed = phase.changed() => match (changed, *phase.borrow()) {
                    (Ok(()), Phase::Serving | Phase::Draining) => {
                        connection.as_mut().graceful_shutdown();
                    }
                    (Ok(()), Phase::Over) | (Err(_), _) => return,
                },
                () = until(leaving) => {
                    if place.is_waiting() {
                        return;
                    }
                    // A request came in at the last moment: it is answered.
                    leaving = None;
                }
            }
        }
    }
}

/// Waits until `end`; for ever without one.
async fn until(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

async fn handle<H, F>(handler: Arc<H>, request: Request<RequestBody>, peer: Peer) -> F::Output
where
    H: Fn(Request<RequestBody>, Peer) -> F,
    F: Future,
{
    handler(request, peer).await
}
