//! Tells the gateway which swarm this is and that the service lives.
//!
//! Nothing here is needed to stop a swarm, so the service never waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use interlock_guard::{Clock, FEED_HEADER, Keys, sign_feed};
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use uuid::Uuid;

use crate::contract::state::SwarmState;
use crate::fence::STALE_AFTER_SECONDS;
use crate::link::SwarmLink;
use crate::service::router::SERVICE;

#[cfg(test)]
mod tests;

/// Between two heartbeats.
const BEAT: Duration = Duration::from_secs(1);

/// The gateway has this long to answer a call.
const PATIENCE: Duration = Duration::from_secs(1);

/// Beats after which the swarm is registered again: a gateway that lost its registry without
/// this service noticing learns of the swarm again.
const REGISTER_EVERY: u32 = 30;

/// Failures in a row between two lines in the log.
const LOG_EVERY: u32 = 60;

/// The most bytes of a refusal that are read.
const MOST_BYTES: usize = 16 * 1024;

/// What the gateway adds to the refusal of an old revision.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stale {
    current_revision: u64,
}

/// The feed of one swarm to one gateway.
pub struct Feed {
    /// `host:port` of the gateway's operations listener.
    pub gateway: String,
    /// The swarm's id.
    pub swarm: String,
    /// The scope it lies in.
    pub account: String,
    /// Grows with every start of the service, also when its file is lost: the time of the start.
    pub revision: u64,
    /// The keys shared with the gateway.
    pub keys: Keys,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The link whose health is reported.
    pub link: Arc<dyn SwarmLink>,
}

/// Why a call to the gateway failed.
#[derive(Debug, Error)]
pub enum FeedFailure {
    /// The call could not be made.
    #[error("the call cannot be made: {0}")]
    Call(String),
    /// No answer in time.
    #[error("no answer within {} ms", PATIENCE.as_millis())]
    Silent,
    /// The gateway knows a later revision of the swarm.
    #[error("the gateway knows revision {current} already; going on from there")]
    Stale {
        /// Which one.
        current: u64,
    },
    /// The gateway did not accept it.
    #[error("the gateway answered {0}")]
    Refused(StatusCode),
}

impl Feed {
    /// Registers and beats for ever.
    pub async fn run(mut self) {
        let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
        let mut ticks = tokio::time::interval(BEAT);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut registered_for = None;
        let mut failures = 0;
        tracing::info!("serving without waiting for the gateway's registry: stops must work");
        loop {
            ticks.tick().await;
            match self.beat(&client, registered_for).await {
                Ok(beats) => {
                    if failures > 0 || registered_for.is_none() {
                        tracing::info!(swarm = self.swarm, "the gateway knows this swarm");
                    }
                    (registered_for, failures) = (Some(beats), 0);
                }
                Err(error) => {
                    if failures % LOG_EVERY == 0 {
                        tracing::warn!(failures, "feed to the gateway failed: {error}");
                    }
                    (registered_for, failures) = (None, failures.saturating_add(1));
                }
            }
        }
    }

    /// One beat, after a registration where one is due; the beats since that. A registration that
    /// is refused stops no beat: an older one may stand.
    async fn beat(
        &mut self,
        client: &Client<HttpConnector, Full<Bytes>>,
        registered_for: Option<u32>,
    ) -> Result<u32, FeedFailure> {
        let (registered, beats) = match registered_for {
            Some(beats) if beats < REGISTER_EVERY => (Ok(()), beats.saturating_add(1)),
            Some(_) | None => {
                let path = format!("/registry/objects/Swarm/{}", self.swarm);
                let object = json!({ "revision": self.revision, "parents": [self.account] });
                let put = self.call(client, Method::PUT, &path, object.to_string());
                let put = put.await;
                if let Err(FeedFailure::Stale { current }) = put {
                    // A clock set back since the last start. The next beat says it again.
                    self.revision = current.saturating_add(1);
                }
                (put, 0)
            }
        };
        let checks = checks(&self.link.state(), self.clock.as_ref());
        let body = json!({ "owner": SERVICE, "checks": checks }).to_string();
        self.call(client, Method::POST, "/registry/heartbeat", body)
            .await?;
        registered.map(|()| beats)
    }

    async fn call(
        &self,
        client: &Client<HttpConnector, Full<Bytes>>,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<(), FeedFailure> {
        let failed = |error: &dyn std::fmt::Display| FeedFailure::Call(error.to_string());
        let signed = (method.as_str(), path, body.as_bytes());
        let token = sign_feed(
            &self.keys,
            SERVICE,
            signed,
            Uuid::new_v4(),
            self.clock.now(),
        )
        .map_err(|error| failed(&error))?;
        let request = Request::builder()
            .method(&method)
            .uri(format!("http://{}{path}", self.gateway))
            .header("content-type", "application/json")
            .header(FEED_HEADER, token)
            .body(Full::from(body))
            .map_err(|error| failed(&error))?;
        let response = tokio::time::timeout(PATIENCE, client.request(request))
            .await
            .map_err(|_| FeedFailure::Silent)?
            .map_err(|error| failed(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let body = Limited::new(response.into_body(), MOST_BYTES).collect();
        let told: Option<Stale> = match tokio::time::timeout(PATIENCE, body).await {
            Ok(Ok(body)) => serde_json::from_slice(&body.to_bytes()).ok(),
            // What it says more of the refusal is not needed.
            Ok(Err(_)) | Err(_) => None,
        };
        Err(match told {
            Some(told) if status == StatusCode::CONFLICT => FeedFailure::Stale {
                current: told.current_revision,
            },
            _ => FeedFailure::Refused(status),
        })
    }
}

/// The health of the swarm link, as the gateway shows it. A link that is down is degraded, not
/// unhealthy: a restart would not help.
fn checks(state: &SwarmState, clock: &dyn Clock) -> serde_json::Value {
    let live = state.bridge.is_live();
    let age = state.age_seconds(clock.now());
    // A swarm whose reports are not understood keeps its link and tells nothing.
    let fresh = live && age.is_some_and(|age| age <= STALE_AFTER_SECONDS);
    let description = match (&state.reason, age) {
        (Some(reason), _) if !live => format!("no live link to the swarm: {reason}"),
        (_, Some(age)) if !fresh => format!("no report was understood for {age:.1} s"),
        _ => "the swarm reports".to_owned(),
    };
    json!({
        "swarm_bridge": {
            "status": if fresh { "Healthy" } else { "Degraded" },
            "description": description,
            "data": {
                "swarmBridge": state.bridge,
                "lastStateAgeSeconds": age,
            },
        },
    })
}
