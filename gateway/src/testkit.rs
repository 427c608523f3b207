//! A whole gateway in this process, before a service that says what a test
//! tells it to.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::authn::testkit::{Idp, SigningKey, claims};
use crate::config::{Config, Environment};
use crate::gateway::Gateway;
use crate::grant::body_digest;
use crate::ops::{self, Ops};
use crate::pipeline;
use crate::registry::Object;
use crate::reply::Reply;
use crate::serve;
use crate::server::{self, Admission, Peer, RequestBody, ServerLimits};
use crate::start;
use crate::store::Heartbeat;
use crate::telemetry::Metrics;

/// The service, as configured; which one does not matter to the gateway.
pub(crate) const SERVICE: &str = "mowers";
/// The account that open mode means.
pub(crate) const ACCOUNT: &str = "acme";

/// The bundle of this repository.
const BUNDLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../policies/bundle");

/// What the service was asked.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: String,
    pub(crate) body: Bytes,
    /// The grant as sent.
    pub(crate) token: String,
    /// The claims in it.
    pub(crate) grant: Value,
}

impl Heard {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

type Answer = Box<dyn Fn(&Heard) -> (u16, Value) + Send + Sync>;

struct Script {
    answer: Mutex<Answer>,
    heard: Mutex<Vec<Heard>>,
}

impl Script {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            answer: Mutex::new(Box::new(|_| (200, json!({})))),
            heard: Mutex::default(),
        })
    }
}

/// The gateway and what stands around it.
pub(crate) struct Stage {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) ops: Arc<Ops>,
    script: Arc<Script>,
    port: u16,
    public: Mutex<Option<TcpListener>>,
    issuer: Option<(Idp, SigningKey)>,
    _folder: TempDir,
}

/// What a caller was told.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Told {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The last part of a problem's type.
    pub(crate) fn problem(&self) -> String {
        let kind = self.json()["type"].as_str().unwrap_or_default().to_owned();
        kind.rsplit(':').next().unwrap_or_default().to_owned()
    }
}

impl Stage {
    /// Everybody is the local operator.
    pub(crate) async fn open() -> Self {
        let script = Script::new();
        let service = stand_in(Arc::clone(&script)).await;
        Self::start(None, script, service, BUNDLE).await
    }

    /// Everybody is who a token says, and a policy file is laid over the bundle.
    pub(crate) async fn with_policy(name: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        copy(Path::new(BUNDLE), folder.path());
        std::fs::write(folder.path().join(name), text).expect("written");
        // Loaded once: from then on the folder may go.
        Self::enforced_by(&folder.path().display().to_string()).await
    }

    /// The same before a service of the test's own.
    pub(crate) async fn open_before(service: SocketAddr) -> Self {
        Self::start(None, Script::new(), service, BUNDLE).await
    }

    /// Everybody is who a token says.
    pub(crate) async fn enforced() -> Self {
        Self::enforced_by(BUNDLE).await
    }

    async fn enforced_by(policies: &str) -> Self {
        let key = SigningKey::new("ES256", "k");
        let idp = Idp::start(&[&key]).await;
        let script = Script::new();
        let service = stand_in(Arc::clone(&script)).await;
        Self::start(Some((idp, key)), script, service, policies).await
    }

    async fn start(
        issuer: Option<(Idp, SigningKey)>,
        script: Arc<Script>,
        service: SocketAddr,
        policies: &str,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let auth = match &issuer {
            None => "mode = \"open\"".to_owned(),
            Some((idp, _)) => format!(
                "mode = \"enforced\"\n[[auth.issuers]]\nissuer = \"{}\"\naudience = \"interlock\"",
                idp.url
            ),
        };
        let hosts = match &issuer {
            None => "",
            Some(_) => "hosts = [\"gateway.example\"]",
        };
        let text = format!(
            "audit.directory = \"{}\"\nstate.directory = \"{}\"\npolicies.path = \"{policies}\"\n\
             [listen]\naddress = \"127.0.0.1:0\"\nops = \"127.0.0.1:0\"\n{hosts}\n\
             [store]\nkind = \"embedded\"\npath = \"{}\"\n\
             [auth]\n{auth}\n\
             [[service]]\nname = \"{SERVICE}\"\nurl = \"http://{service}\"\nobject = \"{ACCOUNT}\"\n\
             key_env = \"KEY\"\n",
            at("audit"),
            at("state"),
            at("store.db"),
        );
        let env = Environment::from([("KEY".to_owned(), key())]);
        let config = Config::parse(&text, &env).expect("a configuration");
        let running = start::build(&config, Metrics::apart())
            .await
            .expect("a gateway");
        let port = running.address().expect("a bound listener").port();
        let stage = Self {
            port,
            public: Mutex::new(Some(running.public)),
            gateway: running.gateway,
            ops: running.ops,
            script,
            issuer,
            _folder: folder,
        };
        stage.beat();
        stage
    }

    /// The service says that it lives.
    pub(crate) fn beat(&self) {
        self.gateway.registry.heard(Heartbeat {
            owner: SERVICE.to_owned(),
            checks: json!({}),
            at: Timestamp::now(),
        });
    }

    /// What the service answers from now on.
    pub(crate) fn answers(&self, answer: impl Fn(&Heard) -> (u16, Value) + Send + Sync + 'static) {
        *self.script.answer.lock().expect("a script") = Box::new(answer);
    }

    /// What the service was asked since the last look.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        std::mem::take(&mut *self.script.heard.lock().expect("a script"))
    }

    /// A token of a person with these roles, and a member of these accounts.
    pub(crate) fn token(&self, subject: &str, tenants: &[&str], grants: Value) -> String {
        self.signed(json!({}), subject, tenants, grants)
    }

    /// A token of an agent that acts for such a person.
    pub(crate) fn agent(&self, subject: &str, tenants: &[&str], grants: Value) -> String {
        let delegated = json!({ "act": { "sub": "bot" } });
        self.signed(delegated, subject, tenants, grants)
    }

    fn signed(&self, more: Value, subject: &str, tenants: &[&str], grants: Value) -> String {
        let (idp, key) = self.issuer.as_ref().expect("an issuer");
        let mut claims = claims(&idp.url);
        for (name, value) in more.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        claims["sub"] = subject.into();
        claims["exp"] = (Timestamp::now().as_second() + 300).into();
        claims["interlock_tenants"] = json!(tenants);
        claims["interlock_grants"] = grants;
        key.token(&claims)
    }

    /// Calls the public listener, as the bearer of `token` or without one.
    pub(crate) async fn call(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Told {
        let mut request = http::Request::builder().method(method).uri(path);
        request = request.header("host", self.host());
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let bytes = body.map(|body| Bytes::from(body.to_string()));
        let request = request.body(RequestBody::whole(bytes.unwrap_or_default()));
        let gateway = Arc::clone(&self.gateway);
        told(pipeline::handle(gateway, request.expect("a request"), peer()).await).await
    }

    /// Calls the operations listener as the service.
    pub(crate) async fn feed(&self, method: &str, path: &str, body: &Value) -> Told {
        let bytes = Bytes::from(body.to_string());
        let now = Timestamp::now().as_second();
        let claims = json!({
            "iss": SERVICE, "aud": "interlock", "iat": now, "exp": now + 30,
            "jti": Uuid::new_v4(), "method": method, "path": path, "body": body_digest(&bytes),
        });
        let header = Header {
            typ: Some("interlock-feed+jwt".to_owned()),
            kid: Some("k".to_owned()),
            ..Header::new(Algorithm::HS256)
        };
        let signing = EncodingKey::from_secret(&SECRET).expect("a key");
        let token = encode(&header, &claims, &signing).expect("a token");
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .header("interlock-service", token)
            .body(RequestBody::whole(bytes));
        let ops = Arc::clone(&self.ops);
        told(ops::handle(ops, request.expect("a request"), peer()).await).await
    }

    /// Serves the public listener for callers with sockets, until the test ends.
    pub(crate) fn listen(&self) -> SocketAddr {
        let public = self
            .public
            .lock()
            .expect("a listener")
            .take()
            .expect("not served yet");
        let address = public.local_addr().expect("an address");
        let gateway = Arc::clone(&self.gateway);
        let handler = serve::public_handler(gateway);
        let setup = serve::setup("public", ServerLimits::default());
        tokio::spawn(server::serve(
            public,
            setup,
            Arc::new(handler),
            std::future::pending(),
        ));
        address
    }

    /// The authority that this gateway answers for.
    pub(crate) fn host(&self) -> HeaderValue {
        let host = match &self.issuer {
            Some(_) => "gateway.example".to_owned(),
            None => format!("127.0.0.1:{}", self.port),
        };
        HeaderValue::from_str(&host).expect("a host")
    }

    /// Registers an object of the service in this gateway's memory.
    pub(crate) fn register(
        &self,
        (kind, id): (&str, &str),
        revision: u64,
        parents: &[&str],
        attributes: Value,
    ) {
        self.gateway
            .registry
            .apply(&object((kind, id), revision, parents, attributes));
    }
}

/// An object of the service.
pub(crate) fn object(
    (kind, id): (&str, &str),
    revision: u64,
    parents: &[&str],
    attributes: Value,
) -> Object {
    Object {
        kind: kind.to_owned(),
        id: id.to_owned(),
        owner: SERVICE.to_owned(),
        revision,
        parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
        attributes: attributes.as_object().cloned().unwrap_or_default(),
        deleted: false,
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => {
                std::fs::create_dir(&target).expect("a folder");
                copy(&entry.path(), &target);
            }
            false => {
                std::fs::copy(entry.path(), target).expect("copied");
            }
        }
    }
}

const SECRET: [u8; 32] = [7; 32];

fn key() -> String {
    format!("k:{}", URL_SAFE_NO_PAD.encode(SECRET))
}

fn peer() -> Peer {
    Peer {
        address: SocketAddr::from(([127, 0, 0, 1], 50_000)),
        admission: Admission::Normal,
    }
}

async fn told(reply: Reply) -> Told {
    let (parts, body) = reply.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes());
    Told {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.unwrap_or_default(),
    }
}

async fn stand_in(script: Arc<Script>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new().fallback(answer).with_state(script);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

async fn answer(State(script): State<Arc<Script>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let token = parts.headers["interlock-grant"]
        .to_str()
        .expect("a token")
        .to_owned();
    let claims = token.split('.').nth(1).expect("claims");
    let claims = URL_SAFE_NO_PAD.decode(claims).expect("base64url");
    let heard = Heard {
        method: parts.method,
        path: parts.uri.to_string(),
        body: to_bytes(body, usize::MAX).await.expect("a body"),
        grant: serde_json::from_slice(&claims).expect("claims"),
        token,
    };
    let (status, body) = script.answer.lock().expect("a script")(&heard);
    script.heard.lock().expect("a script").push(heard);
    let status = StatusCode::from_u16(status).expect("a status");
    (
        status,
        [("content-type", "application/json")],
        body.to_string(),
    )
        .into_response()
}
