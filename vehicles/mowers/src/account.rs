//! Creates, suspends and removes accounts: the operator's commands, which call the running service
//! through its own door, with a grant that its own key signs.

use std::time::Duration;

use axum::http::Request;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use interlock_guard::{FeedError, GRANT_HEADER, Keys, sign_internal};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use uuid::Uuid;

use crate::config::Config;

/// The service has this long: it tells the gateway of each thing that changes before it answers.
const WITHIN: Duration = Duration::from_secs(60);

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

/// Why nothing is known to have changed.
#[derive(Debug, Error)]
pub enum AccountError {
    /// The call cannot be made.
    #[error("the call cannot be signed: {0}")]
    Signing(#[from] FeedError),
    /// No account has such an id.
    #[error("`{0}` is no id of an account: write `A-Z a-z 0-9 . _ : -`, first a letter or digit")]
    NoId(String),
    /// The service does not answer.
    #[error("the service at `{0}` does not answer: {1}; it must be running")]
    Silent(String, String),
    /// The service refused.
    #[error("the service refused with {status}: {words}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What it said.
        words: String,
    },
}

/// A refusal in words: title and detail of a problem, and whether something may have changed. Any
/// other answer as it came.
fn refused(status: u16, text: &str) -> AccountError {
    #[derive(Deserialize)]
    struct Problem {
        title: String,
        #[serde(default)]
        detail: String,
        #[serde(default)]
        effect: String,
    }
    let words = match serde_json::from_str::<Problem>(text) {
        Err(_) => text.trim().to_owned(),
        Ok(problem) => {
            let changed = match problem.effect.as_str() {
                "none" => "; nothing was changed",
                _ => "; it may have been done: look before you repeat it",
            };
            match problem.detail.as_str() {
                "" => format!("{}{changed}", problem.title),
                detail => format!("{}: {detail}{changed}", problem.title),
            }
        }
    };
    AccountError::Refused { status, words }
}

/// Asks for the account, or for it to be brought up to date; what the service says of it, as JSON.
///
/// # Errors
/// [`AccountError`].
pub async fn create(config: &Config, wanted: &Wanted) -> Result<String, AccountError> {
    let body = json!({
        "id": wanted.id,
        "name": wanted.name,
        "features": wanted.features,
        "time_zone": wanted.time_zone,
    });
    let path = "/internal/accounts".to_owned();
    call(config, "mowers.internal.account", path, body.to_string()).await
}

/// Suspends an account, or lets it go on; what the service says of it, as JSON.
///
/// # Errors
/// [`AccountError`].
pub async fn suspend(config: &Config, id: &str, suspended: bool) -> Result<String, AccountError> {
    let body = json!({ "suspended": suspended }).to_string();
    call(config, "mowers.internal.account_change", path_of(id)?, body).await
}

/// Removes an account with all of its mowers, groups and sites.
///
/// # Errors
/// [`AccountError`].
pub async fn delete(config: &Config, id: &str) -> Result<(), AccountError> {
    let path = path_of(id)?;
    let none = String::new();
    call(config, "mowers.internal.account_delete", path, none)
        .await
        .map(drop)
}

fn path_of(id: &str) -> Result<String, AccountError> {
    match interlock_surface::ids::is_id(id) {
        true => Ok(format!("/internal/accounts/{id}")),
        false => Err(AccountError::NoId(id.to_owned())),
    }
}

/// Calls a row of the service, and gives the body of its answer.
async fn call(
    config: &Config,
    row: &str,
    path: String,
    body: String,
) -> Result<String, AccountError> {
    let row = interlock_surface::row(row).ok_or(FeedError::Signing)?;
    let body = Bytes::from(body);
    let keys = Keys::new(config.keys.clone());
    let grant = sign_internal(&keys, row, (&path, &body), Uuid::now_v7(), Timestamp::now())?;
    let address = config.listen.to_string();
    let silent =
        |error: &dyn std::fmt::Display| AccountError::Silent(address.clone(), error.to_string());
    let mut request = Request::builder()
        .method(row.method.as_str())
        .uri(format!("http://{address}{path}"))
        .header(GRANT_HEADER, grant);
    if !body.is_empty() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    let request = request
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
            false => Err(refused(status.as_u16(), &text)),
        }
    };
    let late = format!("no answer within {} s", WITHIN.as_secs());
    tokio::time::timeout(WITHIN, answering)
        .await
        .unwrap_or_else(|_| Err(silent(&late)))
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn a_refusal_is_told_in_words() {
        let check = |text: &str, told: &str| assert_eq!(refused(409, text).to_string(), told);
        check(
            r#"{"title":"Pending","detail":"it comes","effect":"maybe","status":409}"#,
            "the service refused with 409: Pending: it comes; it may have been done: look before you repeat it",
        );
        check(
            r#"{"title":"Not found","effect":"none"}"#,
            "the service refused with 409: Not found; nothing was changed",
        );
        check("gone\n", "the service refused with 409: gone");
    }
}
