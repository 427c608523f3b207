//! One service: a request out, an outcome back.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::uri::{Authority, Uri};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use metrics::{Counter, counter};
use tokio::time::{sleep, timeout_at};

use crate::effect::Effect;
use crate::telemetry::names;
use crate::upstream::body::{Answer, UpstreamBody};
use crate::upstream::deadline::{Attempt, Budget, Deadline};
use crate::upstream::headers::{check_framing, prepare_request, prepare_response, says_close};
use crate::upstream::outcome::{NotSentCause, Outcome, UnknownCause};
use crate::upstream::pool::{Connection, Lease, Pool};
use crate::upstream::{
    Endpoint, EndpointError, Lane, Outbound, OutboundBody, StopCall, UpstreamLimits,
};

/// Pauses between the attempts of a stop; the last one repeats.
const STOP_PAUSES: [Duration; 4] = [
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
];

/// Largest problem body of a stop that is read before it is tried again.
const STOP_PROBLEM_LIMIT: usize = 64 * 1024;

pub(super) struct Service {
    authority: String,
    host: HeaderValue,
    limits: UpstreamLimits,
    normal: LaneState,
    stop: LaneState,
}

/// One lane's connections and counters.
struct LaneState {
    pool: Arc<Pool>,
    answered: Counter,
    not_sent: Counter,
    unknown: Counter,
    opened: Counter,
}

/// Why there is no response.
enum Fault {
    /// Nothing was written; the request comes back if nobody took it.
    NotSent(NotSentCause, Option<Box<Request<OutboundBody>>>),
    Unknown(UnknownCause),
}

impl Service {
    pub(super) fn new(endpoint: &Endpoint, limits: &UpstreamLimits) -> Result<Self, EndpointError> {
        let bad = || EndpointError::Authority {
            service: endpoint.service.clone(),
            authority: endpoint.authority.clone(),
        };
        let authority: Authority = endpoint.authority.parse().map_err(|_| bad())?;
        if authority.port_u16().is_none_or(|port| port == 0) || authority.as_str().contains('@') {
            return Err(bad());
        }
        Ok(Self {
            authority: endpoint.authority.clone(),
            host: HeaderValue::from_str(authority.as_str()).map_err(|_| bad())?,
            limits: limits.clone(),
            normal: LaneState::new(Lane::Normal, &endpoint.service, limits),
            stop: LaneState::new(Lane::Stop, &endpoint.service, limits),
        })
    }

    fn lane(&self, lane: Lane) -> &LaneState {
        match lane {
            Lane::Normal => &self.normal,
            Lane::Stop => &self.stop,
        }
    }

    #[cfg(test)]
    pub(super) fn pool(&self, lane: Lane) -> &Arc<Pool> {
        &self.lane(lane).pool
    }

    pub(super) fn forward(
        &self,
        lane: Lane,
        outbound: Outbound,
        budget: &Budget,
    ) -> impl Future<Output = Outcome> {
        let attempt = Deadline::start(budget).attempt();
        self.attempt(lane, outbound, attempt)
    }

    pub(super) async fn forward_stop(&self, stop: &StopCall, budget: &Budget) -> Outcome {
        let deadline = Deadline::start(budget);
        let mut pauses = STOP_PAUSES.into_iter();
        let mut pause = Duration::ZERO;
        loop {
            let attempt = deadline.attempt();
            let outcome = self.attempt(Lane::Stop, stop.outbound(), attempt).await;
            let (outcome, again) = judge_stop(outcome).await;
            pause = pauses.next().unwrap_or(pause);
            // An attempt cut off while the service works on it would turn its
            // word that nothing happened into doubt.
            let in_time = match outcome {
                Outcome::Answered(_) => deadline.allows_whole(pause),
                _ => deadline.allows(pause),
            };
            if !again || !in_time {
                return outcome;
            }
            sleep(pause).await;
        }
    }

    async fn attempt(&self, lane: Lane, outbound: Outbound, attempt: Attempt) -> Outcome {
        let lane = self.lane(lane);
        let outcome = self.attempt_in(lane, outbound, attempt).await;
        match &outcome {
            Outcome::Answered(_) => lane.answered.increment(1),
            Outcome::NotSent { .. } => lane.not_sent.increment(1),
            Outcome::Unknown { .. } => lane.unknown.increment(1),
        }
        outcome
    }

    async fn attempt_in(&self, lane: &LaneState, outbound: Outbound, attempt: Attempt) -> Outcome {
        let pool = &lane.pool;
        let Some(place) = pool.place(attempt.connect).await else {
            return Outcome::NotSent {
                cause: NotSentCause::Saturated,
            };
        };
        let is_read = outbound.method == Method::GET || outbound.method == Method::HEAD;
        let body_end = (!outbound.stream).then_some(attempt.total);
        let request = self.request(outbound);
        let (connection, response) = match self.exchange(lane, request, &attempt).await {
            Ok(answered) => answered,
            Err(Fault::NotSent(cause, _)) => return Outcome::NotSent { cause },
            Err(Fault::Unknown(cause)) => return Outcome::Unknown { cause },
        };
        match accept(response, is_read) {
            Ok((response, reusable)) => Outcome::Answered(response.map(|incoming| {
                let lease = Lease {
                    connection,
                    pool: Arc::clone(pool),
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
        lane: &LaneState,
        request: Request<OutboundBody>,
        attempt: &Attempt,
    ) -> Result<(Connection, Response<Incoming>), Fault> {
        let mut request = request;
        let mut idle = lane.pool.take();
        loop {
            let (mut connection, is_fresh) = match idle.take() {
                Some(connection) => (connection, false),
                None => (self.open(lane, attempt).await?, true),
            };
            match send(&mut connection, request, attempt).await {
                Ok(response) => return Ok((connection, response)),
                Err(Fault::NotSent(NotSentCause::Closed, Some(unsent))) if !is_fresh => {
                    request = *unsent;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    async fn open(&self, lane: &LaneState, attempt: &Attempt) -> Result<Connection, Fault> {
        let opening = Box::pin(Connection::open(&self.authority, &self.limits));
        match timeout_at(attempt.connect, opening).await {
            Ok(Ok(connection)) => {
                lane.opened.increment(1);
                Ok(connection)
            }
            Ok(Err(fault)) => Err(Fault::NotSent(NotSentCause::Connect(fault), None)),
            Err(_) => Err(Fault::NotSent(NotSentCause::ConnectTimeout, None)),
        }
    }

    fn request(&self, outbound: Outbound) -> Request<OutboundBody> {
        let mut request = Request::new(outbound.body);
        *request.method_mut() = outbound.method;
        *request.uri_mut() = Uri::from(outbound.path_and_query);
        *request.headers_mut() = outbound.headers;
        prepare_request(
            request.headers_mut(),
            &self.host,
            outbound.grant,
            outbound.client,
        );
        request
    }
}

impl LaneState {
    fn new(lane: Lane, service: &str, limits: &UpstreamLimits) -> Self {
        let concurrency = match lane {
            Lane::Normal => limits.normal_concurrency,
            Lane::Stop => limits.stop_concurrency,
        };
        let (service, lane) = (service.to_owned(), lane.as_str());
        let calls = |outcome: &'static str| {
            counter!(
                names::UPSTREAM_CALLS,
                "service" => service.clone(), "lane" => lane, "outcome" => outcome
            )
        };
        Self {
            pool: Arc::new(Pool::new(concurrency, limits)),
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

impl StopCall {
    fn outbound(&self) -> Outbound {
        Outbound {
            method: self.method.clone(),
            path_and_query: self.path_and_query.clone(),
            headers: self.headers.clone(),
            grant: self.grant.clone(),
            client: self.client,
            body: OutboundBody::whole(self.body.clone()),
            stream: false,
        }
    }
}

/// Writes the request and waits for the response head. On any failure the
/// socket is sealed first, so that what we say about it stays true.
async fn send(
    connection: &mut Connection,
    request: Request<OutboundBody>,
    attempt: &Attempt,
) -> Result<Response<Incoming>, Fault> {
    let wire = Arc::clone(&connection.wire);
    wire.begin();
    let sending = connection.sender.try_send_request(request);
    match timeout_at(attempt.head, connection.wait_for(sending)).await {
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

/// Whether a stop may be tried again: nothing was sent, or the service says
/// that it did nothing and that this will pass.
async fn judge_stop(outcome: Outcome) -> (Outcome, bool) {
    match outcome {
        Outcome::NotSent { cause } => {
            let again = !matches!(cause, NotSentCause::NoService);
            (Outcome::NotSent { cause }, again)
        }
        Outcome::Answered(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {
            match Answer::read(response, STOP_PROBLEM_LIMIT).await {
                Ok(answer) => {
                    let again = answer.effect() == Effect::None;
                    (Outcome::Answered(answer.into_response()), again)
                }
                Err(cause) => (Outcome::Unknown { cause }, false),
            }
        }
        outcome => (outcome, false),
    }
}
