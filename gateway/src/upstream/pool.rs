//! Connections of one lane: a bounded number in use, a bounded number idle.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::client::conn::http1::{self, Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::unconstrained;
use tokio::time::{Instant, timeout};

use crate::upstream::UpstreamLimits;
use crate::upstream::body::OutboundBody;
use crate::upstream::io::{Socket, Wire};

/// How long a connection may take to become idle after its response ended; it
/// takes that long only when the service answered before it read the request.
const SETTLE: Duration = Duration::from_secs(1);

/// One open connection. Dropping it closes the socket.
///
/// No task of its own reads and writes it: whoever uses it drives it, so that a
/// request and its answer stay in one task and on one thread. An idle one lies
/// still, and is asked whether it is still good when it is taken up again.
pub(super) struct Connection {
    pub(super) sender: SendRequest<OutboundBody>,
    pub(super) wire: Arc<Wire>,
    /// The protocol over the socket; none once it has ended.
    driver: Option<Box<http1::Connection<TokioIo<Socket>, OutboundBody>>>,
}

impl Connection {
    pub(super) async fn open(authority: &str, limits: &UpstreamLimits) -> io::Result<Self> {
        let tcp = TcpStream::connect(authority).await?;
        tcp.set_nodelay(true)?;
        let (socket, wire) = Socket::new(tcp);
        let (sender, driver) = Builder::new()
            .max_headers(limits.max_headers)
            .max_header_size(limits.max_head_bytes)
            .handshake(TokioIo::new(socket))
            .await
            .map_err(io::Error::other)?;
        Ok(Self {
            sender,
            wire,
            driver: Some(Box::new(driver)),
        })
    }

    /// Reads and writes as far as the socket goes; `cx` is woken when it goes
    /// further.
    pub(super) fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && Pin::new(driver).poll(cx).is_ready()
        {
            // Its faults reach whoever waits for the response.
            self.driver = None;
        }
    }

    /// Waits for what only this connection can bring about.
    pub(super) async fn wait_for<F: Future>(&mut self, awaited: F) -> F::Output {
        // Out of its budget the runtime would wake nobody through `driven`.
        let mut awaited = pin!(unconstrained(awaited));
        poll_fn(|cx| {
            self.drive(cx);
            awaited.as_mut().poll(&mut driven())
        })
        .await
    }

    fn is_usable(&self) -> bool {
        self.sender.is_ready() && self.wire.is_quiet()
    }
}

/// The context of what becomes ready by [`Connection::drive`] alone: the socket
/// wakes the task, and a second waker would only wake it twice.
pub(super) fn driven() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// The connections of one lane to one address.
pub(super) struct Pool {
    places: Arc<Semaphore>,
    idle: Mutex<VecDeque<(Connection, Instant)>>,
    max_idle: usize,
    idle_timeout: Duration,
}

impl Pool {
    pub(super) fn new(concurrency: usize, limits: &UpstreamLimits) -> Self {
        Self {
            places: Arc::new(Semaphore::new(concurrency)),
            idle: Mutex::default(),
            max_idle: limits.max_idle,
            idle_timeout: limits.idle_timeout,
        }
    }

    /// A place in the lane, waited for until `deadline`.
    pub(super) async fn place(&self, deadline: Instant) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        let waiting = Arc::clone(&self.places).acquire_owned();
        tokio::time::timeout_at(deadline, waiting).await.ok()?.ok()
    }

    /// The idle connection used last that is still good. The others found on
    /// the way are closed.
    pub(super) fn take(&self) -> Option<Connection> {
        loop {
            let (connection, since) = self.idle().pop_back()?;
            if since.elapsed() < self.idle_timeout && connection.is_usable() {
                return Some(connection);
            }
        }
    }

    fn put(&self, connection: Connection) {
        let mut closed = Vec::new();
        let mut idle = self.idle();
        idle.push_back((connection, Instant::now()));
        while idle.len() > self.max_idle
            || idle
                .front()
                .is_some_and(|(_, since)| since.elapsed() >= self.idle_timeout)
        {
            closed.extend(idle.pop_front());
        }
        // Closing takes locks of the runtime: not under ours.
        drop(idle);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, VecDeque<(Connection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn idle_count(&self) -> usize {
        self.idle().len()
    }
}

/// A connection in use for one response, with its place in the lane.
pub(super) struct Lease {
    pub(super) connection: Connection,
    pub(super) pool: Arc<Pool>,
    pub(super) place: OwnedSemaphorePermit,
    /// Whether the service keeps the connection open.
    pub(super) reusable: bool,
}

impl Lease {
    /// The response ended: keeps the connection for the next request.
    pub(super) fn finish(self) {
        let Self {
            mut connection,
            pool,
            place,
            reusable,
        } = self;
        drop(place);
        if !reusable {
            return;
        }
        connection.drive(&mut driven());
        if connection.sender.is_closed() {
            return;
        }
        if connection.sender.is_ready() {
            return pool.put(connection);
        }
        tokio::spawn(async move {
            let idle = poll_fn(|cx| -> Poll<hyper::Result<()>> {
                connection.drive(cx);
                connection.sender.poll_ready(cx)
            });
            if let Ok(Ok(())) = timeout(SETTLE, idle).await {
                pool.put(connection);
            }
        });
    }
}
