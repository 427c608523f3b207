//! Client pools, forwarding and what came of it.
//!
//! A small HTTP/1.1 client of our own, because the difference between "no byte
//! left" and "nobody knows" is the difference between a retry and a second
//! flight, and only the socket can tell it (RFC 9110, section 9.2.2). Nothing
//! is ever resent after a byte of it was written, except what changes nothing
//! and a stop, which does no harm twice.

mod addresses;
mod body;
mod deadline;
mod forward;
mod headers;
mod io;
mod outcome;
mod pool;
mod stop;
#[cfg(test)]
mod tests;
mod timeouts;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};
use interlock_surface::Timeout;
use thiserror::Error;

pub use body::{Answer, BodyError, OutboundBody, UpstreamBody, collect};
pub use outcome::{NotSentCause, Outcome, UnknownCause, effect_of};
pub use stop::ANSWER_BYTES as STOP_ANSWER_BYTES;

pub use timeouts::Timeouts;

use crate::grant::Grant;
use forward::Service;

/// Two lanes to every service, each with its own connections and its own
/// limit, so that no amount of other traffic stands before a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Everything that is not a stop.
    Normal,
    /// Class safety-write only.
    Stop,
}

impl Lane {
    /// The lane's name in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Stop => "stop",
        }
    }
}

/// One service and where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The service's name as the surface has it, such as `drones`.
    pub service: String,
    /// `host:port` of each replica, plain HTTP/1.1; at least one.
    pub authorities: Vec<String>,
}

/// Bounds on what one address of a service may cost.
#[derive(Clone, Debug)]
pub struct UpstreamLimits {
    /// Requests in flight per address in the normal lane, streams included.
    pub normal_concurrency: usize,
    /// Requests in flight per address in the stop lane.
    pub stop_concurrency: usize,
    /// Idle connections kept per address and lane.
    pub max_idle: usize,
    /// How long an idle connection may be taken up again.
    pub idle_timeout: Duration,
    /// Largest response head, in bytes.
    pub max_head_bytes: usize,
    /// Most header lines in a response head.
    pub max_headers: usize,
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        Self {
            normal_concurrency: 512,
            stop_concurrency: 256,
            max_idle: 64,
            // Below the usual 30 s of a service, so that it is we who close.
            idle_timeout: Duration::from_secs(20),
            max_head_bytes: 32 * 1024,
            max_headers: 100,
        }
    }
}

/// What is sent to a service: built from the row and the validated
/// parameters, never from the raw request.
#[derive(Debug)]
pub struct Outbound {
    /// The row's method.
    pub method: Method,
    /// Path and query exactly as the grant names them.
    pub path_and_query: PathAndQuery,
    /// End-to-end fields of the caller's request. Hop-by-hop fields, framing,
    /// credentials and everything named `Interlock-*` are dropped here again.
    pub headers: HeaderMap,
    /// The grant, set after the strip so that no `Connection` line removes it.
    pub grant: Grant,
    /// The caller's address, sent as the one `X-Forwarded-For`.
    pub client: Option<IpAddr>,
    /// The body as inspected, or the caller's stream.
    pub body: OutboundBody,
    /// Whether the response is a stream that outlives the total deadline.
    pub stream: bool,
    /// Whether it changes nothing when it is done twice: it may be asked of
    /// another replica when one gave no answer.
    pub repeatable: bool,
}

/// A stop: its body is always whole, so that it can be tried again.
#[derive(Clone, Debug)]
pub struct StopCall {
    /// The row's method.
    pub method: Method,
    /// Path and query exactly as the grant names them.
    pub path_and_query: PathAndQuery,
    /// As in [`Outbound::headers`].
    pub headers: HeaderMap,
    /// As in [`Outbound::grant`].
    pub grant: Grant,
    /// As in [`Outbound::client`].
    pub client: Option<IpAddr>,
    /// The body as inspected.
    pub body: Bytes,
}

/// An endpoint that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum EndpointError {
    /// Not `host:port`.
    #[error(
        "upstream `{service}`: `{authority}` is not `host:port`; write it like `127.0.0.1:9001`"
    )]
    Authority {
        /// The service.
        service: String,
        /// What was given.
        authority: String,
    },
    /// No address at all.
    #[error("upstream `{service}` has no address; write at least one `host:port`")]
    NoAddress {
        /// The service.
        service: String,
    },
    /// The same service twice.
    #[error("upstream `{service}` is configured twice; keep one")]
    Duplicate {
        /// The service.
        service: String,
    },
}

/// The services behind the gateway.
pub struct Upstreams {
    services: HashMap<String, Arc<Service>>,
}

impl Upstreams {
    /// Prepares both lanes of every endpoint; connects to nothing.
    pub fn new(endpoints: &[Endpoint], limits: &UpstreamLimits) -> Result<Self, EndpointError> {
        let mut services = HashMap::with_capacity(endpoints.len());
        for endpoint in endpoints {
            let service = Arc::new(Service::new(endpoint, limits)?);
            if services.insert(endpoint.service.clone(), service).is_some() {
                return Err(EndpointError::Duplicate {
                    service: endpoint.service.clone(),
                });
            }
        }
        Ok(Self { services })
    }

    /// Sends one request and says what came of it. It goes to another address
    /// of the service only where nothing was sent, or once more where it is
    /// repeatable and no byte of an answer came.
    pub async fn forward(
        &self,
        lane: Lane,
        service: &str,
        outbound: Outbound,
        timeout: &Timeout,
    ) -> Outcome {
        match self.services.get(service) {
            Some(service) => service.forward(lane, outbound, &timeout.into()).await,
            None => Outcome::NotSent {
                cause: NotSentCause::NoService,
            },
        }
    }

    /// Sends a stop in the stop lane, to one address after the other, until one
    /// says that it is done or the total budget is spent. An address that is
    /// silent for the time of an attempt is not given up: the next is asked
    /// beside it.
    pub async fn forward_stop(&self, service: &str, stop: &StopCall, timeout: &Timeout) -> Outcome {
        match self.services.get(service) {
            Some(service) => service.forward_stop(stop, &timeout.into()).await,
            None => Outcome::NotSent {
                cause: NotSentCause::NoService,
            },
        }
    }

    #[cfg(test)]
    fn idle_count(&self, lane: Lane) -> usize {
        self.services
            .values()
            .flat_map(|service| service.addresses.all())
            .map(|address| address.pool(lane).idle_count())
            .sum()
    }
}
