//! Connections of one lane: a bounded number in use, a bounded number idle.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::upstream::UpstreamLimits;
use crate::upstream::body::OutboundBody;
use crate::upstream::io::{Socket, Wire};

/// How long a connection may take to become idle after its response ended; it
/// takes that long only when the service answered before it read the request.
const SETTLE: Duration = Duration::from_secs(1);

/// One open connection. Dropping it closes the socket.
pub(super) struct Connection {
    pub(super) sender: SendRequest<OutboundBody>,
    pub(super) wire: Arc<Wire>,
    driver: AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.wire.seal();
        self.driver.abort();
    }
}

impl Connection {
    pub(super) async fn open(authority: &str, limits: &UpstreamLimits) -> io::Result<Self> {
        let tcp = TcpStream::connect(authority).await?;
        tcp.set_nodelay(true)?;
        let (socket, wire) = Socket::new(tcp);
        let (sender, connection) = Builder::new()
            .max_headers(limits.max_headers)
            .max_header_size(limits.max_head_bytes)
            .handshake(TokioIo::new(socket))
            .await
            .map_err(io::Error::other)?;
        // Its faults reach whoever waits for the response.
        let driver = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Self {
            sender,
            wire,
            driver,
        })
    }

    fn is_usable(&self) -> bool {
        self.sender.is_ready() && self.wire.is_quiet()
    }
}

/// The connections of one lane of one service.
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
        if !reusable || connection.sender.is_closed() {
            return;
        }
        if connection.sender.is_ready() {
            return pool.put(connection);
        }
        tokio::spawn(async move {
            let idle = poll_fn(|cx| connection.sender.poll_ready(cx));
            if let Ok(Ok(())) = timeout(SETTLE, idle).await {
                pool.put(connection);
            }
        });
    }
}
