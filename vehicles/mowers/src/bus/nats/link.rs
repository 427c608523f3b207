//! One connection to the server, and the one who makes the next.
//!
//! The client library can reconnect by itself, and then sends what was handed
//! to it while it was away: a start from before an outage would be published
//! after it. So a client here lives as long as its one connection. When that
//! breaks, what was not sent dies with it, and a new client is made.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::{self, context::ContextBuilder};
use async_nats::{Auth, AuthError, Client, ConnectOptions, Event, ServerAddr};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::{info, warn};

use super::Settings;
use super::streams;
use crate::bus::stream::MAX_REQUEST;
use crate::bus::{BusError, LISTENER_QUEUE};

/// How long a connection or an answer of the server itself may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// A server that answers none of three pings is gone.
const PING: Duration = Duration::from_secs(2);

/// The pauses between two attempts grow between these.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// What a client may have on its way to the connection.
const QUEUE: usize = 1024;

/// Consumers of many subjects came with this version.
const OLDEST: (i64, i64, i64) = (2, 10, 0);

/// A client with its one connection.
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) jetstream: jetstream::Context,
    over: watch::Receiver<bool>,
}

impl Link {
    /// Whether messages go out now.
    pub(super) fn is_open(&self) -> bool {
        !*self.over.borrow() && self.client.connection_state() == State::Connected
    }

    /// Returns when the connection is over.
    pub(super) async fn closed(&self) {
        // An error is the end of the connection's own task.
        let _ = self.over.clone().wait_for(|over| *over).await;
    }

    /// Sends, and waits for nothing.
    pub(super) async fn tell(&self, subject: String, payload: Bytes) -> Result<(), BusError> {
        tokio::select! {
            sent = self.client.publish(subject, payload) => {
                sent.map_err(|cause| BusError::Unavailable(cause.to_string()))
            }
            () = self.closed() => Err(lost()),
        }
    }
}

pub(super) fn lost() -> BusError {
    BusError::Unavailable("the connection was lost".to_owned())
}

/// The connection of now.
#[derive(Clone)]
pub(super) struct Links(watch::Receiver<Result<Arc<Link>, BusError>>);

impl Links {
    /// The open connection, or why there is none.
    pub(super) fn current(&self) -> Result<Arc<Link>, BusError> {
        let link = self.0.borrow().clone()?;
        if link.is_open() {
            Ok(link)
        } else {
            Err(lost())
        }
    }

    /// The open connection; waits for it.
    pub(super) async fn next(&mut self) -> Result<Arc<Link>, BusError> {
        let open =
            |link: &Result<Arc<Link>, BusError>| link.as_ref().is_ok_and(|link| link.is_open());
        let gone = |_| BusError::Unavailable("the bus is gone".to_owned());
        self.0.wait_for(open).await.map_err(gone)?.clone()
    }
}

/// The addresses in a URL.
pub(super) fn servers(url: &str) -> Result<Vec<ServerAddr>, BusError> {
    // The text may hold a password, so the error does not repeat it.
    let invalid = |_| BusError::Invalid("the bus URL is not `nats://HOST:PORT`".to_owned());
    url.split(',')
        .map(|server| server.trim().parse().map_err(invalid))
        .collect()
}

/// The connections to come, and the task that makes them.
pub(super) fn keep(
    settings: Settings,
    servers: Vec<ServerAddr>,
) -> (Links, impl Future<Output = ()>) {
    let first = BusError::Unavailable("not connected yet".to_owned());
    let (links, current) = watch::channel(Err(first));
    let keep = async move {
        let mut pause = PAUSES.0;
        loop {
            match open(&settings, &servers).await {
                Ok(link) => {
                    info!("connected to the bus");
                    let link = Arc::new(link);
                    links.send_modify(|now| *now = Ok(link.clone()));
                    link.closed().await;
                    warn!("the connection to the bus was lost");
                    links.send_modify(|now| *now = Err(lost()));
                    pause = PAUSES.0;
                }
                Err(cause) => {
                    if links.borrow().as_ref().err() != Some(&cause) {
                        warn!(%cause, "no connection to the bus; it is tried again");
                    }
                    links.send_modify(|now| *now = Err(cause));
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    };
    (Links(current), keep)
}

async fn open(settings: &Settings, servers: &[ServerAddr]) -> Result<Link, BusError> {
    let (ended, over) = watch::channel(false);
    let event = move |event: Event| {
        match event {
            Event::Disconnected | Event::Closed => {
                ended.send_replace(true);
            }
            Event::SlowConsumer(_) => warn!("a listener does not keep up and misses messages"),
            _ => {}
        }
        ready(())
    };
    let client = ConnectOptions::with_auth_callback(once(servers))
        .name(&settings.name)
        .connection_timeout(PATIENCE)
        .ping_interval(PING)
        .subscription_capacity(LISTENER_QUEUE)
        .client_capacity(QUEUE)
        .ignore_discovered_servers()
        .max_reconnects(1)
        .reconnect_delay_callback(|_| Duration::ZERO)
        .event_callback(event)
        .connect(servers)
        .await
        .map_err(|cause| BusError::Unavailable(cause.to_string()))?;
    check(&client)?;
    let jetstream = ContextBuilder::new()
        .timeout(PATIENCE)
        .build(client.clone());
    let link = Link {
        client,
        jetstream,
        over,
    };
    tokio::select! {
        prepared = streams::prepare(&link.jetstream, settings.replicas) => prepared?,
        () = link.closed() => return Err(lost()),
    }
    Ok(link)
}

/// Gives the credentials of the URL once. The library asks for them at each
/// connection, so a second one does not come about.
fn once(
    servers: &[ServerAddr],
) -> impl Fn(Vec<u8>) -> std::future::Ready<Result<Auth, AuthError>> + use<> {
    let named = servers.iter().find(|server| server.username().is_some());
    let user = named.and_then(|server| server.username().map(str::to_owned));
    let password = named.and_then(|server| server.password().map(str::to_owned));
    let given = AtomicBool::new(false);
    move |_| {
        if given.swap(true, Ordering::SeqCst) {
            return ready(Err(AuthError::new("a client has one connection")));
        }
        let mut auth = Auth::new();
        match (&user, &password) {
            (Some(token), None) => auth.token = Some(token.clone()),
            _ => {
                auth.username.clone_from(&user);
                auth.password.clone_from(&password);
            }
        }
        ready(Ok(auth))
    }
}

/// Whether the server can do what is asked of it.
fn check(client: &Client) -> Result<(), BusError> {
    let (major, minor, patch) = OLDEST;
    let info = client.server_info();
    if !client.is_server_compatible(major, minor, patch) {
        return Err(BusError::Invalid(format!(
            "the server is `{}`, {major}.{minor} is needed",
            info.version
        )));
    }
    if info.max_payload < MAX_REQUEST {
        return Err(BusError::Invalid(format!(
            "the server takes {} bytes at a time, {MAX_REQUEST} are needed; raise its `max_payload`",
            info.max_payload
        )));
    }
    Ok(())
}
