//! Fetching a key set: OpenID Connect Discovery 1.0 and RFC 8414, over HTTP
//! that trusts nothing it is sent. Nothing in a token chooses an address.

use std::time::Duration;

use http::StatusCode;
use reqwest::{Client, Url, redirect};
use serde_json::Value;

use crate::edge::host::Authority;
use crate::edge::json::{self, JsonError};

/// The largest answer read, in bytes.
pub const ANSWER_BYTES: usize = 256 * 1024;

/// Why a key set could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// An address that is neither `https` nor, for an issuer on this machine,
    /// loopback `http`.
    #[error("`{0}` is not an `https` address (plain `http` is for an issuer on loopback only)")]
    Address(String),
    /// The HTTP client could not be made.
    #[error("the HTTP client could not be made: {0}")]
    Client(#[source] reqwest::Error),
    /// No answer, a broken one, or none in time.
    #[error("no answer from the issuer: {0}")]
    Http(#[from] reqwest::Error),
    /// Any status but 200; redirects are not followed.
    #[error("the issuer answered {0}; 200 was expected, and redirects are not followed")]
    Status(StatusCode),
    /// More than [`ANSWER_BYTES`].
    #[error("the issuer's answer is larger than {ANSWER_BYTES} bytes")]
    Large,
    /// The discovery document is not strict JSON.
    #[error("the discovery document is malformed: {0}")]
    Document(#[from] JsonError),
    /// The document is of another issuer (OpenID Connect Discovery section 4.3).
    #[error("the discovery document names another issuer")]
    Issuer,
    /// The document has no `jwks_uri`.
    #[error("the discovery document has no `jwks_uri`")]
    NoJwksUri,
}

/// Where one issuer's key set comes from.
#[derive(Debug)]
pub struct HttpSource {
    client: Client,
    issuer: String,
    document: Url,
    loopback: bool,
}

impl HttpSource {
    /// A source for `issuer`, whose discovery document lies at
    /// `discovery_url` or at the issuer's well-known address. One fetch, both
    /// requests of it, takes at most twice `timeout`.
    ///
    /// # Errors
    /// [`FetchError::Address`] or [`FetchError::Client`].
    pub fn new(
        issuer: &str,
        discovery_url: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, FetchError> {
        let document = match discovery_url {
            Some(url) => url.to_owned(),
            None => format!(
                "{}/.well-known/openid-configuration",
                issuer.trim_end_matches('/')
            ),
        };
        // The URL parser would trim them, and `iss` is compared as written.
        if issuer.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(FetchError::Address(issuer.to_owned()));
        }
        let document = Url::parse(&document).map_err(|_| FetchError::Address(document))?;
        let loopback = on_loopback(&document);
        admitted(&document, loopback)?;
        let mut client = Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(timeout)
            .user_agent("interlock");
        if loopback {
            client = client.no_proxy();
        }
        Ok(Self {
            client: client.build().map_err(FetchError::Client)?,
            issuer: issuer.to_owned(),
            document,
            loopback,
        })
    }

    /// Fetches the key set's bytes, not yet vetted.
    ///
    /// # Errors
    /// [`FetchError`] says which step failed.
    pub async fn fetch(&self) -> Result<Vec<u8>, FetchError> {
        let document = json::parse(&self.get(self.document.clone()).await?)?;
        if document.get("issuer").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(FetchError::Issuer);
        }
        let uri = document
            .get("jwks_uri")
            .and_then(Value::as_str)
            .ok_or(FetchError::NoJwksUri)?;
        let uri = Url::parse(uri).map_err(|_| FetchError::Address(uri.to_owned()))?;
        admitted(&uri, self.loopback)?;
        self.get(uri).await
    }

    async fn get(&self, url: Url) -> Result<Vec<u8>, FetchError> {
        let mut answer = self.client.get(url).send().await?;
        if answer.status() != StatusCode::OK {
            return Err(FetchError::Status(answer.status()));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            if bytes.len() + chunk.len() > ANSWER_BYTES {
                return Err(FetchError::Large);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

/// Whether an address is plain `http` on this machine.
pub(crate) fn on_loopback(url: &Url) -> bool {
    url.scheme() == "http"
        && url
            .host_str()
            .and_then(|host| Authority::parse(host).ok())
            .is_some_and(|host| host.loopback())
}

/// `https` anywhere, `http` only from loopback to loopback: an issuer on the
/// net must not send us to a service on this machine.
fn admitted(url: &Url, loopback: bool) -> Result<(), FetchError> {
    if url.scheme() == "https" || (loopback && on_loopback(url)) {
        Ok(())
    } else {
        Err(FetchError::Address(url.to_string()))
    }
}
