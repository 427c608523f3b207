//! One service: a request out, an outcome back.

use std::sync::Arc;

use http::uri::Uri;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use metrics::{Counter, counter};
use tokio::time::{Instant, timeout_at};

use crate::telemetry::names;
use crate::upstream::addresses::{Address, Addresses};
use crate::upstream::body::UpstreamBody;
use crate::upstream::deadline::{Attempt, Budget, Deadline};
use crate::upstream::headers::{check_framing, prepare_request, prepare_response, says_close};
use crate::upstream::outcome::{NotSentCause, Outcome, UnknownCause};
use crate::upstream::pool::{Connection, Lease, Pool};
use crate::upstream::{Endpoint, EndpointError, Lane, Outbound, OutboundBody, UpstreamLimits};

pub(super) struct Service {
    pub(super) addresses: Addresses,
    limits: UpstreamLimits,
    normal: Counters,
    stop: Counters,
}

/// One lane's counters.
struct Counters {
    answered: Counter,
    not_sent: Counter,
    unknown: Counter,
    opened: Counter,
}

/// The way to one address in one lane.
struct Line<'a> {
    address: &'a Address,
    pool: &'a Arc<Pool>,
    opened: &'a Counter,
    limits: &'a UpstreamLimits,
}

/// Why there is no response.
enum Fault {
    /// Nothing was written; the request comes back if nobody took it.
    NotSent(NotSentCause, Option<Box<Request<OutboundBody>>>),
    Unknown(UnknownCause),
}

impl Service {
    pub(super) fn new(endpoint: &Endpoint, limits: &UpstreamLimits) -> Result<Self, EndpointError> {
        Ok(Self {
            addresses: Addresses::new(endpoint, limits)?,
            limits: limits.clone(),
            normal: Counters::new(Lane::Normal, &endpoint.service),
            stop: Counters::new(Lane::Stop, &endpoint.service),
        })
    }

    /// Sends a request to the address in use. Where nothing was sent, it goes
    /// to the next one within the same attempt. What may have been sent is not
    /// sent again, except that a repeatable request which got no byte of an
    /// answer is tried once more elsewhere.
    pub(super) async fn forward(&self, lane: Lane, outbound: Outbound, budget: &Budget) -> Outcome {
        let deadline = Deadline::start(budget, self.addresses.count());
        let mut attempt = deadline.attempt();
        let first = self.addresses.in_use();
        let spare = match self.addresses.has_others() {
            true => outbound.spare(),
            false => None,
        };
        let mut outcome = self.at(first, lane, outbound, attempt).await;
        let Some(spare) = spare else {
            return outcome;
        };
        let mut repeatable = spare.repeatable;
        for other in self.addresses.after(first, Instant::now()) {
            match &outcome {
                Outcome::NotSent { .. } if Instant::now() < attempt.head => {}
                Outcome::Unknown { .. } if repeatable && outcome.is_silence() => {
                    repeatable = false;
                    attempt = deadline.attempt();
                }
                _ => break,
            }
            let Some(again) = spare.spare() else {
                break;
            };
            outcome = self.at(other, lane, again, attempt).await;
        }
        outcome
    }

    /// One attempt at one address.
    pub(super) async fn at(
        &self,
        address: &Address,
        lane: Lane,
        outbound: Outbound,
        attempt: Attempt,
    ) -> Outcome {
        let counters = match lane {
            Lane::Normal => &self.normal,
            Lane::Stop => &self.stop,
        };
        let line = Line {
            address,
            pool: address.pool(lane),
            opened: &counters.opened,
            limits: &self.limits,
        };
        let outcome = line.attempt(outbound, attempt).await;
        match &outcome {
            Outcome::Answered(_) => counters.answered.increment(1),
            Outcome::NotSent { .. } => counters.not_sent.increment(1),
            Outcome::Unknown { .. } => counters.unknown.increment(1),
        }
        if outcome.is_silence() {
            self.addresses.failed(address, Instant::now());
        }
        outcome
    }
}

impl Line<'_> {
    async fn attempt(&self, outbound: Outbound, attempt: Attempt) -> Outcome {
        let connect = attempt.connect();
        let Some(place) = self.pool.place(connect).await else {
            return Outcome::NotSent {
                cause: NotSentCause::Saturated,
            };
        };
        let is_read = outbound.method == Method::GET || outbound.method == Method::HEAD;
        let body_end = (!outbound.stream).then_some(attempt.total);
        let request = request(outbound, self.address);
        let exchange = self.exchange(request, connect, attempt.head);
        let (connection, response) = match exchange.await {
            Ok(answered) => answered,
            Err(Fault::NotSent(cause, _)) => return Outcome::NotSent { cause },
            Err(Fault::Unknown(cause)) => return Outcome::Unknown { cause },
        };
        match accept(response, is_read) {
            Ok((response, reusable)) => Outcome::Answered(response.map(|incoming| {
                let lease = Lease {
                    connection,
                    pool: Arc::clone(self.pool),
                    place,
                    reusable,
                };
                UpstreamBody::live(incoming, lease, body_end)
            })),
            Err(cause) => Outcome::Unknown { cause },
        }
    }

    /// One exchange, on an idle connection if there is one. An idle connection
    /// that turns out to be closed before anything was written is replaced by a
    /// fresh one, once.
    async fn exchange(
        &self,
        request: Request<OutboundBody>,
        connect: Instant,
        head: Instant,
    ) -> Result<(Connection, Response<Incoming>), Fault> {
        let mut request = request;
        let mut idle = self.pool.take();
        loop {
            let (mut connection, is_fresh) = match idle.take() {
                Some(connection) => (connection, false),
                None => (self.open(connect).await?, true),
            };
            match send(&mut connection, request, head).await {
                Ok(response) => return Ok((connection, response)),
                Err(Fault::NotSent(NotSentCause::Closed, Some(unsent))) if !is_fresh => {
                    request = *unsent;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    async fn open(&self, by: Instant) -> Result<Connection, Fault> {
        let opening = Box::pin(Connection::open(&self.address.authority, self.limits));
        match timeout_at(by, opening).await {
            Ok(Ok(connection)) => {
                self.opened.increment(1);
                Ok(connection)
            }
            Ok(Err(fault)) => Err(Fault::NotSent(NotSentCause::Connect(fault), None)),
            Err(_) => Err(Fault::NotSent(NotSentCause::ConnectTimeout, None)),
        }
    }
}

impl Counters {
    fn new(lane: Lane, service: &str) -> Self {
        let (service, lane) = (service.to_owned(), lane.as_str());
        let calls = |outcome: &'static str| {
            counter!(
                names::UPSTREAM_CALLS,
                "service" => service.clone(), "lane" => lane, "outcome" => outcome
            )
        };
        Self {
            answered: calls("answered"),
            not_sent: calls("not_sent"),
            unknown: calls("unknown"),
            opened: counter!(
                names::UPSTREAM_CONNECTIONS,
                "service" => service.clone(), "lane" => lane
            ),
        }
    }
}

impl Outbound {
    /// The same again, where its body is whole.
    fn spare(&self) -> Option<Self> {
        let OutboundBody::Whole(body) = &self.body else {
            return None;
        };
        Some(Self {
            method: self.method.clone(),
            path_and_query: self.path_and_query.clone(),
            headers: self.headers.clone(),
            grant: self.grant.clone(),
            client: self.client,
            body: OutboundBody::Whole(body.clone()),
            stream: self.stream,
            repeatable: self.repeatable,
        })
    }
}

fn request(outbound: Outbound, address: &Address) -> Request<OutboundBody> {
    let mut request = Request::new(outbound.body);
    *request.method_mut() = outbound.method;
    *request.uri_mut() = Uri::from(outbound.path_and_query);
    *request.headers_mut() = outbound.headers;
    prepare_request(
        request.headers_mut(),
        &address.host,
        outbound.grant,
        outbound.client,
    );
    request
}

/// Writes the request and waits for the response head. On any failure the
/// socket is sealed first, so that what we say about it stays true.
async fn send(
    connection: &mut Connection,
    request: Request<OutboundBody>,
    head: Instant,
) -> Result<Response<Incoming>, Fault> {
    let wire = Arc::clone(&connection.wire);
    wire.begin();
    let sending = connection.sender.try_send_request(request);
    match timeout_at(head, connection.wait_for(sending)).await {
        Ok(Ok(response)) if wire.sent() => Ok(response),
        Ok(Ok(_)) => {
            // Sealing decides: the request may have left in this very moment.
            if wire.seal() {
                Err(Fault::Unknown(UnknownCause::BadHead(
                    "it came before the request",
                )))
            } else {
                Err(Fault::NotSent(NotSentCause::Unasked, None))
            }
        }
        Ok(Err(mut fault)) => {
            if wire.seal() {
                Err(Fault::Unknown(head_fault(fault.error())))
            } else {
                let unsent = fault.take_message().map(Box::new);
                Err(Fault::NotSent(NotSentCause::Closed, unsent))
            }
        }
        Err(_) => {
            if wire.seal() {
                Err(Fault::Unknown(UnknownCause::HeadTimeout))
            } else {
                Err(Fault::NotSent(NotSentCause::Deadline, None))
            }
        }
    }
}

/// Judges a response head; also says whether the connection may be kept.
fn accept(
    mut response: Response<Incoming>,
    is_read: bool,
) -> Result<(Response<Incoming>, bool), UnknownCause> {
    let status = response.status();
    if status.is_informational() {
        // 101, for an upgrade nobody asked for.
        return Err(UnknownCause::BadHead("an upgrade nobody asked for"));
    }
    check_framing(response.version(), response.headers()).map_err(UnknownCause::BadHead)?;
    if status.is_redirection() && !(is_read && status == StatusCode::NOT_MODIFIED) {
        return Err(UnknownCause::Redirect(status.as_u16()));
    }
    let reusable = !says_close(response.headers());
    prepare_response(response.headers_mut());
    Ok((response, reusable))
}

fn head_fault(fault: &hyper::Error) -> UnknownCause {
    if fault.is_parse_too_large() {
        UnknownCause::BadHead("it is too large")
    } else if fault.is_parse() {
        UnknownCause::BadHead("it cannot be parsed")
    } else if fault.is_user() {
        UnknownCause::RequestBody
    } else {
        UnknownCause::Closed
    }
}
