//! Stands before a vehicle service, and passes calls on, or says what it is
//! told: an answer that gets lost after the vehicle moved is lost here.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use reqwest::Client;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::background::Background;
use crate::ports;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The service's own answer.
    Passes,
    /// 503 with `effect: none`: not now, and nothing happened.
    Unable,
    /// Read whole, never passed on; then the connection is closed.
    Silent,
    /// Passed on and done; then the connection is closed without the answer.
    Lost,
}

/// The stand-in; it stops with this value.
#[derive(Debug)]
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    _server: Background,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    calls: Word,
    settling: Word,
    heard: u64,
}

impl StandIn {
    /// Before the service at `target`, passing everything on.
    pub fn before(target: SocketAddr) -> StandIn {
        let listener = ports::listener();
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let shared = Arc::new(Mutex::new(Shared {
            target,
            calls: Word::Passes,
            settling: Word::Passes,
            heard: 0,
        }));
        let told = shared.clone();
        let server = Background::run("stand-in", async move {
            listener.set_nonblocking(true).expect("a socket option");
            let listener = TcpListener::from_std(listener).expect("a listener");
            serve(listener, told).await;
        });
        StandIn {
            address,
            shared,
            _server: server,
        }
    }

    /// Where to connect instead of the service.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What becomes of calls that callers are behind.
    pub fn calls(&self, word: Word) {
        lock(&self.shared).calls = word;
    }

    /// What becomes of the gateway's own questions about operations.
    pub fn settling(&self, word: Word) {
        lock(&self.shared).settling = word;
    }

    /// How many calls came that callers are behind.
    pub fn heard(&self) -> u64 {
        lock(&self.shared).heard
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().expect("no call panicked")
}

async fn serve(listener: TcpListener, shared: Arc<Mutex<Shared>>) {
    let client = Client::builder().no_proxy().build();
    let client = client.expect("a client without TLS settings");
    loop {
        let (stream, _) = listener.accept().await.expect("a listener accepts");
        tokio::spawn(connection(stream, client.clone(), shared.clone()));
    }
}

async fn connection(stream: TcpStream, client: Client, shared: Arc<Mutex<Shared>>) {
    let service = service_fn(|request| call(client.clone(), shared.clone(), request));
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // It ends in a fault whenever an answer was lost, which is what we are for.
    drop(served.await);
}

/// The connection ends here, without an answer.
#[derive(Debug)]
struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("broken off")
    }
}

impl std::error::Error for BrokenOff {}

type Said = Result<Response<Full<Bytes>>, BrokenOff>;

async fn call(client: Client, shared: Arc<Mutex<Shared>>, request: Request<Incoming>) -> Said {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| BrokenOff)?.to_bytes();
    let (word, target) = {
        let mut shared = lock(&shared);
        let settles = parts.uri.path().starts_with("/internal/operations/");
        shared.heard += u64::from(!settles);
        let word = if settles {
            shared.settling
        } else {
            shared.calls
        };
        (word, shared.target)
    };
    match word {
        Word::Passes => pass(&client, target, parts, body).await,
        Word::Unable => Ok(unable()),
        Word::Silent => Err(BrokenOff),
        Word::Lost => {
            pass(&client, target, parts, body).await?;
            Err(BrokenOff)
        }
    }
}

async fn pass(
    client: &Client,
    target: SocketAddr,
    parts: http::request::Parts,
    body: Bytes,
) -> Said {
    let mut headers = parts.headers;
    for own in [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION] {
        headers.remove(own);
    }
    let request = client.request(parts.method, format!("http://{target}{}", parts.uri));
    let request = request.headers(headers).body(body);
    let answer = request.send().await.map_err(|_| BrokenOff)?;
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    for own in [CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION] {
        headers.remove(own);
    }
    let body = answer.bytes().await.map_err(|_| BrokenOff)?;
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

fn unable() -> Response<Full<Bytes>> {
    let problem = json!({
        "type": "urn:interlock:problem:swarm-unavailable", "title": "Swarm unavailable",
        "status": 503, "detail": "not now", "effect": "none",
    });
    let mut response = Response::new(Full::from(problem.to_string()));
    *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
    let kind = http::HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests;
