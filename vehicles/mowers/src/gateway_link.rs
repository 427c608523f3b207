//! The way to the gateway: it is told what there is, and asked what a caller may do with it.
//!
//! Calls go to the operations listener, signed with the service's key. Several gateways share one
//! registry, so one that answers is enough; each must hear the heartbeat itself.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use interlock_guard::evaluations::{self, EvaluationsError, MAX_QUESTIONS, Question, Verdict};
use interlock_guard::{Clock, FEED_HEADER, FeedError, Granted, Keys, sign_feed};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;
use uuid::Uuid;

use crate::service::SERVICE;

#[cfg(test)]
mod tests;

/// The gateway has this long to answer a change of the registry.
const PATIENCE: Duration = Duration::from_secs(1);

/// And this long to judge up to ten thousand questions.
const JUDGING: Duration = Duration::from_secs(2);

/// The most bytes of an answer that are read: ten thousand verdicts.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// One object of the registry, as it is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// `Scope` or `Mower`.
    pub kind: &'static str,
    /// Its id, unique among its kind.
    pub id: String,
    /// Higher than every one before.
    pub revision: u64,
    /// What it is; `None` deletes it.
    pub state: Option<ObjectState>,
}

/// What is known of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectState {
    /// The scopes it lies in directly.
    pub parents: Vec<String>,
    /// Facts for policies.
    pub attributes: Map<String, Value>,
}

/// Why the gateway did not do what was asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LinkError {
    /// No gateway is configured.
    #[error("no gateway is configured: `gateway_ops` names none")]
    None,
    /// No gateway took the call or answered in time. It may have been done.
    #[error("no gateway answered: {0}")]
    Unavailable(String),
    /// The registry knows a later revision, or this one with other content.
    #[error("the registry is at revision {current}")]
    Stale {
        /// Which one.
        current: u64,
    },
    /// The gateway did not accept it.
    #[error("the gateway answered {status}: {detail}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What it said.
        detail: String,
    },
    /// The call could not be made: nothing was sent.
    #[error("the call to the gateway cannot be made: {0}")]
    Unmade(String),
    /// An answer that cannot be read.
    #[error("the gateway's answer cannot be read: {0}")]
    Malformed(String),
}

/// The gateways of this service.
pub struct GatewayLink {
    /// `host:port` of each operations listener.
    gateways: Vec<String>,
    keys: Keys,
    clock: Arc<dyn Clock>,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// A signed call, ready to be sent once to one gateway.
struct Signed {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

struct Answered {
    status: StatusCode,
    body: Bytes,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told {
    sequence: Option<u64>,
    current_revision: Option<u64>,
    detail: String,
}

impl GatewayLink {
    /// A link to these operations listeners, each `host:port`.
    #[must_use]
    pub fn new(gateways: Vec<String>, keys: Keys, clock: Arc<dyn Clock>) -> Self {
        Self {
            gateways,
            keys,
            clock,
            client: Client::builder(TokioExecutor::new()).build(HttpConnector::new()),
        }
    }

    /// Whether there is a gateway to tell anything.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        !self.gateways.is_empty()
    }

    /// Puts or deletes one object; the number of the change in the registry's log, which stays
    /// the same for a repeat. Without a gateway there is nobody to tell, and it is done.
    ///
    /// # Errors
    /// [`LinkError`]; `Unavailable` may have been done.
    pub async fn feed(&self, object: &Object) -> Result<u64, LinkError> {
        if self.gateways.is_empty() {
            return Ok(0);
        }
        let path = format!("/registry/objects/{}/{}", object.kind, object.id);
        let (method, body) = match &object.state {
            Some(state) => (
                Method::PUT,
                json!({
                    "revision": object.revision,
                    "parents": state.parents,
                    "attributes": state.attributes,
                }),
            ),
            None => (Method::DELETE, json!({ "revision": object.revision })),
        };
        let body = Bytes::from(body.to_string());
        let make = || self.sign(method.clone(), &path, body.clone());
        let answered = self.first(make, PATIENCE).await?;
        // What an answer says more is read where it can be.
        let told: Told = serde_json::from_slice(&answered.body).unwrap_or_default();
        match (answered.status, told.current_revision) {
            (status, _) if status.is_success() => Ok(told.sequence.unwrap_or_default()),
            (StatusCode::CONFLICT, Some(current)) => Err(LinkError::Stale { current }),
            (status, _) => Err(LinkError::Refused {
                status: status.as_u16(),
                detail: told.detail,
            }),
        }
    }

    /// Tells every gateway that this service lives; each failure.
    pub async fn beat(&self, checks: &Map<String, Value>) -> Vec<LinkError> {
        let body = Bytes::from(json!({ "owner": SERVICE, "checks": checks }).to_string());
        let beats = self.gateways.iter();
        let beats: Vec<_> = beats.map(|gateway| self.beat_to(gateway, &body)).collect();
        let results = join_all(beats).await;
        results.into_iter().filter_map(Result::err).collect()
    }

    async fn beat_to(&self, gateway: &str, body: &Bytes) -> Result<(), LinkError> {
        let call = self.sign(Method::POST, "/registry/heartbeat", body.clone())?;
        let answered = self.send(gateway, call, PATIENCE).await?;
        match answered.status.is_success() {
            true => Ok(()),
            false => Err(LinkError::Refused {
                status: answered.status.as_u16(),
                detail: String::new(),
            }),
        }
    }

    /// Asks what the caller of `granted` may do; one verdict for each question, in their order.
    /// The grant's row must be one that judges members.
    ///
    /// # Errors
    /// [`LinkError`]. Nobody may act on a guess.
    pub async fn judge(
        &self,
        granted: &Granted,
        questions: &[Question<'_>],
    ) -> Result<Vec<Verdict>, LinkError> {
        let mut verdicts = Vec::with_capacity(questions.len());
        for some in questions.chunks(MAX_QUESTIONS) {
            let make = || {
                let now = self.clock.now();
                let signed =
                    evaluations::request(&self.keys, SERVICE, granted, some, Uuid::new_v4(), now)?;
                Ok(Signed {
                    method: signed.method,
                    path: signed.path.to_owned(),
                    headers: signed.headers.into_iter().collect(),
                    body: signed.body.into(),
                })
            };
            let answered = self.first(make, JUDGING).await?;
            let status = answered.status.as_u16();
            verdicts.extend(evaluations::answer(status, &answered.body, some.len())?);
        }
        Ok(verdicts)
    }

    /// The first answer that any gateway gives. A call is signed anew for each: a token counts
    /// once.
    async fn first(
        &self,
        make: impl Fn() -> Result<Signed, LinkError>,
        within: Duration,
    ) -> Result<Answered, LinkError> {
        let mut failed = LinkError::None;
        for gateway in &self.gateways {
            match self.send(gateway, make()?, within).await {
                Ok(answered) if answered.status != StatusCode::SERVICE_UNAVAILABLE => {
                    return Ok(answered);
                }
                Ok(answered) => {
                    failed = LinkError::Refused {
                        status: answered.status.as_u16(),
                        detail: format!("{gateway} is not available"),
                    };
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn sign(&self, method: Method, path: &str, body: Bytes) -> Result<Signed, LinkError> {
        let call = (method.as_str(), path, &*body);
        let token = sign_feed(&self.keys, SERVICE, call, Uuid::new_v4(), self.clock.now())?;
        let mut headers = HeaderMap::new();
        let value = token.try_into().map_err(|_| FeedError::Signing)?;
        headers.insert(FEED_HEADER, value);
        headers.insert(
            axum::http::header::CONTENT_TYPE,
            axum::http::HeaderValue::from_static("application/json"),
        );
        Ok(Signed {
            method,
            path: path.to_owned(),
            headers,
            body,
        })
    }

    async fn send(
        &self,
        gateway: &str,
        call: Signed,
        within: Duration,
    ) -> Result<Answered, LinkError> {
        let failed =
            |error: &dyn std::fmt::Display| LinkError::Unavailable(format!("{gateway}: {error}"));
        let mut request = Request::new(Full::from(call.body));
        *request.method_mut() = call.method;
        *request.uri_mut() = format!("http://{gateway}{}", call.path)
            .parse()
            .map_err(|error| failed(&error))?;
        *request.headers_mut() = call.headers;
        let answering = async {
            let response = self.client.request(request).await;
            let response = response.map_err(|error| failed(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MOST_BYTES).collect();
            let body = body.await.map_err(|error| failed(&error))?;
            Ok(Answered {
                status,
                body: body.to_bytes(),
            })
        };
        let silent = format!("no answer within {} ms", within.as_millis());
        tokio::time::timeout(within, answering)
            .await
            .unwrap_or_else(|_| Err(failed(&silent)))
    }
}

impl From<FeedError> for LinkError {
    fn from(error: FeedError) -> Self {
        Self::Unmade(error.to_string())
    }
}

impl From<EvaluationsError> for LinkError {
    fn from(error: EvaluationsError) -> Self {
        match error {
            EvaluationsError::Refused { status, detail } => Self::Refused { status, detail },
            EvaluationsError::Malformed(text) => Self::Malformed(text),
            unmade @ (EvaluationsError::TooMany(_) | EvaluationsError::Signing(_)) => {
                Self::Unmade(unmade.to_string())
            }
        }
    }
}
