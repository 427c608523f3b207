//! Serves until a signal: two listeners, and the tasks beside them.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::config::Config;
use crate::gateway::Gateway;
use crate::grant::Keyrings;
use crate::ops::{self, Ops};
use crate::pipeline;
use crate::plans::settle;
use crate::policy;
use crate::problem::{Kind, Problem};
use crate::registry::{Follower, follow};
use crate::reply::{self, Reply};
use crate::rotation;
use crate::server::{self, Peer, RequestBody, ResponseBody, ServerLimits, Setup};

/// The registry snapshot in the state folder.
pub(crate) const SNAPSHOT: &str = "registry.json";

/// How long work whose caller has gone may take once the listeners are closed.
const DRAIN: Duration = Duration::from_secs(10);

/// How often this instance tells the others which bundle it decides by.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(1);

/// A gateway whose listeners are bound.
pub struct Running {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) ops: Arc<Ops>,
    pub(crate) rings: Keyrings,
    pub(crate) public: TcpListener,
    pub(crate) private: TcpListener,
    pub(crate) limits: ServerLimits,
}

impl Running {
    /// Where the public listener is bound.
    ///
    /// # Errors
    /// The system's, if the socket is gone.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.public.local_addr()
    }

    /// Where the operations listener is bound.
    ///
    /// # Errors
    /// The system's, if the socket is gone.
    pub fn ops_address(&self) -> std::io::Result<SocketAddr> {
        self.private.local_addr()
    }

    /// Serves until `shutdown`, then finishes what is in flight and closes the
    /// records.
    pub async fn serve(self, config: &Config, shutdown: impl Future<Output = ()>) {
        let gateway = self.gateway;
        let mut tasks = background(&gateway, self.rings, config);
        tasks.push(tokio::spawn(self.ops.metrics.clone().keep_small()));
        let (stop, stopped) = watch::channel(());
        let public = server::serve(
            self.public,
            setup("public", self.limits.clone()),
            Arc::new(public_handler(Arc::clone(&gateway))),
            ended(stopped.clone()),
        );
        let private = server::serve(
            self.private,
            setup("ops", self.limits),
            Arc::new(ops_handler(self.ops)),
            ended(stopped),
        );
        let signal = async {
            shutdown.await;
            info!("shutting down");
            drop(stop);
        };
        tokio::join!(public, private, signal);
        if timeout(DRAIN, gateway.detached.finished()).await.is_err() {
            warn!("work under way was cut off; what it left is settled after the next start");
        }
        for task in tasks {
            task.abort();
        }
        match gateway.audit.close().await {
            Ok(head) => info!(
                audit.seq = head.seq,
                audit.hash = head.hash,
                "records closed"
            ),
            Err(cause) => warn!(%cause, "the records were not closed cleanly"),
        }
    }
}

fn background(
    gateway: &Arc<Gateway>,
    rings: Keyrings,
    config: &Config,
) -> Vec<tokio::task::JoinHandle<()>> {
    let clock = Arc::clone(&gateway.clock);
    let authn = Arc::clone(&gateway.authn);
    let follower = Follower::new(
        Arc::clone(&gateway.registry),
        Arc::clone(&gateway.store.registry),
        config.state.join(SNAPSHOT),
    );
    vec![
        tokio::spawn(policy::watch(
            Arc::clone(&gateway.policies),
            Arc::clone(&clock),
            config.policies.poll,
        )),
        tokio::spawn(async move { authn.keep_fresh(&*clock).await }),
        tokio::spawn(follow(follower)),
        tokio::spawn(settle::keep_settling(Arc::clone(gateway))),
        tokio::spawn(announce(Arc::clone(gateway))),
        tokio::spawn(rotation::watch(rings, config.services.clone())),
    ]
}

async fn announce(gateway: Arc<Gateway>) {
    let mut ticks = tokio::time::interval(ANNOUNCE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let active = gateway.policies.active();
        // A store that is gone is told of by the follower.
        let _ = gateway
            .store
            .registry
            .announce(&gateway.instance, active.bundle.hash(), gateway.clock.now())
            .await;
    }
}

pub(crate) fn public_handler(
    gateway: Arc<Gateway>,
) -> impl Fn(Request<RequestBody>, Peer) -> BoxFuture + Send + Sync + 'static {
    move |request, peer| {
        let gateway = Arc::clone(&gateway);
        Box::pin(async move { boxed(pipeline::handle(gateway, request, peer).await) })
    }
}

fn ops_handler(
    ops: Arc<Ops>,
) -> impl Fn(Request<RequestBody>, Peer) -> BoxFuture + Send + Sync + 'static {
    move |request, peer| {
        let ops = Arc::clone(&ops);
        Box::pin(async move { boxed(ops::handle(ops, request, peer).await) })
    }
}

type BoxFuture = std::pin::Pin<Box<dyn Future<Output = Response<ResponseBody>> + Send>>;

fn boxed(reply: Reply) -> Response<ResponseBody> {
    reply.map(ResponseBody::new)
}

pub(crate) fn setup(name: &'static str, limits: ServerLimits) -> Setup {
    Setup {
        name,
        limits,
        panicked: || {
            boxed(reply::problem(
                &Problem::new(Kind::Internal, "the request could not be finished")
                    .effect(crate::effect::Effect::Maybe),
            ))
        },
    }
}

async fn ended(mut stopped: watch::Receiver<()>) {
    // An error says that the sender is gone: that is the signal.
    let _ = stopped.changed().await;
}
