//! Calls as a well-behaved client makes them.

use std::net::SocketAddr;

use ::http::{HeaderMap, Method};
use bytes::Bytes;
use reqwest::Client;
use serde_json::Value;

use crate::poll;

/// A client with a connection pool, aimed at one server.
#[derive(Clone, Debug)]
pub struct Http {
    client: Client,
    base: String,
}

impl Http {
    /// A client of the server at `address`. Follows no redirect and uses no
    /// proxy of the machine's environment.
    pub fn to(address: SocketAddr) -> Http {
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(poll::SOCKET)
            .build()
            .expect("a client without TLS settings");
        Http {
            client,
            base: format!("http://{address}"),
        }
    }

    /// A call that is still to be sent.
    ///
    /// # Panics
    /// When `method` is no token.
    pub fn call(&self, method: &str, path: &str) -> Call {
        let method = Method::from_bytes(method.as_bytes()).expect("a method is a token");
        Call {
            request: self.client.request(method, format!("{}{path}", self.base)),
        }
    }

    /// `GET path`.
    pub fn get(&self, path: &str) -> Call {
        self.call("GET", path)
    }

    /// `POST path`.
    pub fn post(&self, path: &str) -> Call {
        self.call("POST", path)
    }
}

/// A call that is still to be sent.
#[derive(Debug)]
#[must_use = "a call is made by `send`"]
pub struct Call {
    request: reqwest::RequestBuilder,
}

impl Call {
    /// With a bearer token, or without one.
    pub fn token(mut self, token: Option<impl AsRef<str>>) -> Call {
        if let Some(token) = token {
            self.request = self.request.bearer_auth(token.as_ref());
        }
        self
    }

    /// With an idempotency key.
    pub fn key(self, key: &str) -> Call {
        self.header("idempotency-key", key)
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: &str) -> Call {
        self.request = self.request.header(name, value);
        self
    }

    /// With a JSON body.
    pub fn json(mut self, body: &Value) -> Call {
        self.request = self.request.json(body);
        self
    }

    /// With a body of any bytes.
    pub fn body(mut self, kind: &str, body: impl Into<Bytes>) -> Call {
        let body: Bytes = body.into();
        self.request = self.request.header("content-type", kind).body(body);
        self
    }

    /// Makes the call.
    ///
    /// # Panics
    /// When no answer comes.
    pub async fn send(self) -> Answer {
        self.try_send().await.expect("the server answers")
    }

    /// Makes a call that may stay without an answer.
    ///
    /// # Errors
    /// Where the connection fails or breaks before the whole answer is there.
    pub async fn try_send(self) -> Result<Answer, reqwest::Error> {
        let response = self.request.send().await?;
        Ok(Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes().await?,
        })
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Answer {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(cause) => panic!("no JSON ({cause}): {} {}", self.status, self.text()),
        }
    }

    /// The last part of a problem's type, `plan-state` of
    /// `urn:interlock:problem:plan-state`; empty for other answers.
    pub fn problem(&self) -> String {
        if self.header("content-type") != Some("application/problem+json") {
            return String::new();
        }
        let kind = self.json()["type"].as_str().unwrap_or_default().to_owned();
        match kind.strip_prefix("urn:interlock:problem:") {
            Some(slug) => slug.to_owned(),
            None => panic!("a problem type of another namespace: `{kind}`"),
        }
    }

    /// This answer, when its status is `status`.
    ///
    /// # Panics
    /// With the whole answer when it is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        assert_eq!(
            self.status,
            status,
            "answered {} {}",
            self.status,
            self.text()
        );
        self
    }
}
