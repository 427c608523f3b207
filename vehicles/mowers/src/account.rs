//! Creates an account: the operator's command, which calls the running service through its own
//! door, with a grant that its own key signs.

use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use interlock_guard::{FeedError, GRANT_HEADER, Keys, sign_internal};
use jiff::Timestamp;
use serde_json::json;
use thiserror::Error;
use uuid::Uuid;

use crate::config::Config;

/// The row that is called.
const ROW: &str = "mowers.internal.account";

/// The service has this long: it asks on the bus, and waits until a replica has told the gateway.
const WITHIN: Duration = Duration::from_secs(30);

/// The most bytes of the answer that are read.
const MOST_BYTES: usize = 64 * 1024;

/// The account that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its scope id.
    pub id: String,
    /// A label.
    pub name: String,
    /// What its plan includes.
    pub features: Vec<String>,
    /// The time zone of its default site.
    pub time_zone: String,
}

/// Why there is no such account.
#[derive(Debug, Error)]
pub enum AccountError {
    /// The call cannot be made.
    #[error("the call cannot be signed: {0}")]
    Signing(#[from] FeedError),
    /// The service does not answer.
    #[error("the service at `{0}` does not answer: {1}; it must be running")]
    Silent(String, String),
    /// The service refused.
    #[error("the service answered {0}: {1}")]
    Refused(u16, String),
}

/// Makes the account, or brings it up to date; what the service says of it, as JSON.
///
/// # Errors
/// [`AccountError`].
pub async fn create(config: &Config, wanted: &Wanted) -> Result<String, AccountError> {
    let row = interlock_surface::row(ROW).ok_or(FeedError::Signing)?;
    let body = json!({
        "id": wanted.id,
        "name": wanted.name,
        "features": wanted.features,
        "time_zone": wanted.time_zone,
    });
    let body = Bytes::from(body.to_string());
    let keys = Keys::new(config.keys.clone());
    let call = (row.path, &*body);
    let grant = sign_internal(&keys, row, call, Uuid::now_v7(), Timestamp::now())?;
    let address = config.listen.to_string();
    let silent =
        |error: &dyn std::fmt::Display| AccountError::Silent(address.clone(), error.to_string());
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("http://{address}{}", row.path))
        .header(CONTENT_TYPE, "application/json")
        .header(GRANT_HEADER, grant)
        .body(Full::from(body))
        .map_err(|error| silent(&error))?;
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    let answering = async {
        let response = client.request(request).await;
        let response = response.map_err(|error| silent(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST_BYTES).collect();
        let body = body.await.map_err(|error| silent(&error))?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        match status.is_success() {
            true => Ok(text),
            false => Err(AccountError::Refused(status.as_u16(), text)),
        }
    };
    let late = format!("no answer within {} s", WITHIN.as_secs());
    tokio::time::timeout(WITHIN, answering)
        .await
        .unwrap_or_else(|_| Err(silent(&late)))
}
