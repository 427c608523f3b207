//! An identity provider as the gateway sees one: OpenID Connect discovery and
//! a JSON Web Key Set on loopback, with the faults such a server can have.

mod keys;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

use crate::background::Background;
use crate::ports;

pub use keys::{Algorithm, Claims, SigningKey};

/// The audience that the gateway under test expects.
pub const AUDIENCE: &str = "interlock";

/// How the provider answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Serving,
    /// 500 to everything.
    Failing,
    /// Accepts and never answers.
    Hanging,
    /// Answers with a body that has no end worth waiting for (64 MiB).
    Huge,
    /// Answers the key set with this text.
    Garbage(String),
}

/// The provider; it stops with this value.
#[derive(Debug)]
pub struct Idp {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    server: Option<Background>,
}

#[derive(Debug)]
struct Shared {
    issuer: String,
    mood: Mood,
    /// The last one signs.
    keys: Vec<SigningKey>,
    fetches: u64,
    made: u32,
}

impl Idp {
    /// A provider with one ES256 key.
    pub fn start() -> Idp {
        let listener = ports::listener();
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let shared = Shared {
            issuer: format!("http://{address}"),
            mood: Mood::Serving,
            keys: vec![SigningKey::generate("key-1", Algorithm::Es256)],
            fetches: 0,
            made: 1,
        };
        let shared = Arc::new(Mutex::new(shared));
        let server = Some(serve(listener, shared.clone()));
        Idp {
            address,
            shared,
            server,
        }
    }

    /// `iss` of its tokens, and where discovery starts.
    pub fn issuer(&self) -> String {
        self.lock().issuer.clone()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes how it answers.
    pub fn set(&self, mood: Mood) {
        self.lock().mood = mood;
    }

    /// Stops listening: connections are refused.
    pub fn close(&mut self) {
        self.server = None;
    }

    /// Listens again after [`Idp::close`].
    ///
    /// # Panics
    /// When another process has taken the port.
    pub fn open(&mut self) {
        let listener = std::net::TcpListener::bind(self.address).expect("the port is still free");
        self.server = Some(serve(listener, self.shared.clone()));
    }

    /// Adds a key, which signs from now on; the older ones stay published.
    pub fn add_key(&self, algorithm: Algorithm) {
        let mut shared = self.lock();
        shared.made += 1;
        let id = format!("key-{}", shared.made);
        shared.keys.push(SigningKey::generate(&id, algorithm));
    }

    /// Replaces all keys by a new one: tokens of the old ones are no longer
    /// good.
    pub fn rotate(&self, algorithm: Algorithm) {
        self.lock().keys.clear();
        self.add_key(algorithm);
    }

    /// How often the key set was asked for.
    pub fn fetches(&self) -> u64 {
        self.lock().fetches
    }

    /// Claims of a good token for `subject`, valid for an hour.
    pub fn claims(&self, subject: &str) -> Claims {
        Claims::of(&self.issuer(), AUDIENCE, subject)
    }

    /// A token signed with the current key.
    pub fn sign(&self, claims: &Claims) -> String {
        self.current().sign(claims)
    }

    /// The key that signs now.
    pub fn current(&self) -> SigningKey {
        self.lock()
            .keys
            .last()
            .expect("there is always a key")
            .clone()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared
            .lock()
            .expect("no server of the harness panicked")
    }
}

fn serve(listener: std::net::TcpListener, shared: Arc<Mutex<Shared>>) -> Background {
    let router = Router::new()
        .route("/.well-known/openid-configuration", get(discovery))
        .route("/jwks", get(key_set))
        .with_state(shared);
    Background::run("idp", async move {
        listener.set_nonblocking(true).expect("a socket option");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        axum::serve(listener, router)
            .await
            .expect("a server that never ends");
    })
}

async fn discovery(State(shared): State<Arc<Mutex<Shared>>>) -> Response {
    let (mood, issuer) = {
        let shared = shared.lock().expect("no handler panicked");
        (shared.mood.clone(), shared.issuer.clone())
    };
    let document = json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}/jwks"),
        "authorization_endpoint": format!("{issuer}/authorize"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "EdDSA"],
    });
    answer(mood, document).await
}

async fn key_set(State(shared): State<Arc<Mutex<Shared>>>) -> Response {
    let (mood, keys) = {
        let mut shared = shared.lock().expect("no handler panicked");
        shared.fetches += 1;
        let keys: Vec<Value> = shared.keys.iter().map(|key| key.public().clone()).collect();
        (shared.mood.clone(), keys)
    };
    if let Mood::Garbage(text) = mood {
        return ([("content-type", "application/json")], text).into_response();
    }
    answer(mood, json!({ "keys": keys })).await
}

async fn answer(mood: Mood, document: Value) -> Response {
    match mood {
        Mood::Serving | Mood::Garbage(_) => axum::Json(document).into_response(),
        Mood::Failing => ::http::StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mood::Hanging => std::future::pending().await,
        Mood::Huge => {
            let body = vec![b' '; 64 * 1024 * 1024];
            ([("content-type", "application/json")], Body::from(body)).into_response()
        }
    }
}

#[cfg(test)]
mod tests;
