//! The whole service on a real listener, with a real simulator behind it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use interlock_guard::{Clock, Guard, Key, KeySet, Keys, SystemClock, body_digest, server};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::contract::state::SwarmState;
use crate::crash::CrashAt;
use crate::database::Database;
use crate::limits::Limits;
use crate::link::SwarmLink;
use crate::link::tcp::{TcpLink, TcpLinkConfig};
use crate::operations::{Beginning, Operations};
use crate::service::Service;
use crate::service::router::router;
use crate::sim;
use crate::sim::swarm::SwarmConfig;

const KID: &str = "test";
const SECRET: [u8; 32] = [9; 32];

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

/// What the swarm counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) starts: u64,
    pub(crate) flights: u64,
    pub(crate) commands: u64,
}

/// One life of the service.
pub(crate) struct Life {
    pub(crate) service: Arc<Service>,
    pub(crate) states: watch::Receiver<Arc<SwarmState>>,
    address: String,
    ending: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

/// The service, its files and its swarm.
pub(crate) struct Rig {
    pub(crate) directory: TempDir,
    pub(crate) swarm: String,
    pub(crate) life: Life,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// A request as the gateway would send it, every part of it open to change.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) row: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) operation: Uuid,
    pub(crate) asked_at: Timestamp,
    pub(crate) deadline: Timestamp,
    pub(crate) fence: Option<Value>,
    pub(crate) jti: Uuid,
}

impl Call {
    pub(crate) fn new(row: &'static str, path: &str, body: &str) -> Self {
        let now = Timestamp::now();
        Self {
            row,
            method: interlock_surface::row(row).unwrap().method.as_str(),
            path: path.to_owned(),
            body: body.to_owned(),
            operation: Uuid::new_v4(),
            asked_at: now,
            deadline: now + Duration::from_secs(10),
            fence: None,
            jti: Uuid::new_v4(),
        }
    }

    pub(crate) fn start(body: &Value) -> Self {
        Self::new("drones.mission.start", "/api/missions", &body.to_string())
    }

    pub(crate) fn land() -> Self {
        Self::new("drones.swarm.land", "/api/swarm/land", "")
    }

    pub(crate) fn abort(mission: &str, body: &str) -> Self {
        Self::new(
            "drones.mission.abort",
            &format!("/api/missions/{mission}/abort"),
            body,
        )
    }

    pub(crate) fn settle(operation: Uuid) -> Self {
        let path = format!("/internal/operations/{operation}/settle");
        Self::new("drones.internal.settle", &path, "")
    }

    pub(crate) fn mission(id: &str) -> Self {
        Self::new("drones.mission.get", &format!("/api/missions/{id}"), "")
    }

    /// The grant for exactly this call.
    pub(crate) fn grant(&self) -> String {
        let now = Timestamp::now().as_second();
        let mut claims = json!({
            "iss": "interlock", "aud": "drones", "iat": now, "exp": now + 30, "jti": self.jti,
            "caller": {"kind": "Person", "issuer": "https://idp.example", "subject": "alice"},
            "row": self.row, "action": "tested", "decision": self.jti,
            "method": self.method, "path": self.path, "body": body_digest(self.body.as_bytes()),
            "operation": self.operation, "askedAt": self.asked_at.as_millisecond(),
            "deadline": self.deadline.as_millisecond(),
        });
        if let Some(fence) = &self.fence {
            claims["approval"] = json!({
                "plan": self.jti, "digest": "00",
                "approver": {"issuer": "https://idp.example", "subject": "bob"},
                "proposer": {"issuer": "https://idp.example", "subject": "alice"},
                "attempt": 1, "fence": fence,
            });
        }
        let header = Header {
            typ: Some("interlock-grant+jwt".to_owned()),
            kid: Some(KID.to_owned()),
            ..Header::new(Algorithm::HS256)
        };
        encode(
            &header,
            &claims,
            &EncodingKey::from_secret(&SECRET).unwrap(),
        )
        .unwrap()
    }
}

/// One drone, straight out and back down: about forty simulated seconds.
pub(crate) fn route() -> Value {
    json!({
        "name": "field", "type": "waypoint", "droneCount": 1, "spacingMeters": 3.0,
        "waypoints": [{"x": 0.0, "y": 0.0, "z": 10.0}, {"x": 20.0, "y": 0.0, "z": 10.0}],
    })
}

/// Three drones in a V from the pads, which come too close.
pub(crate) fn conflicting() -> Value {
    json!({
        "name": "vee", "type": "formation", "formation": "v", "droneCount": 3,
        "spacingMeters": 3.0, "waypoints": [{"x": 40.0, "y": 0.0, "z": 10.0}],
    })
}

/// A swarm that takes connections and never says a word.
pub(crate) struct Silent {
    pub(crate) address: String,
    _listener: TcpListener,
}

impl Silent {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self {
            address: listener.local_addr().unwrap().to_string(),
            _listener: listener,
        }
    }
}

/// A simulated swarm, its address.
pub(crate) async fn simulate(speed: f64, lose_radio: Vec<(u32, u64)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = SwarmConfig {
        drones: 3,
        radio_losses: lose_radio,
        ..SwarmConfig::default()
    };
    tokio::spawn(async move { sim::serve(listener, &config, None, speed).await });
    address.to_string()
}

impl Life {
    async fn begin(database: PathBuf, swarm: &str) -> Self {
        let clock: Arc<SystemClock> = Arc::new(SystemClock);
        let database = Database::open(&database).await.unwrap();
        let (operations, legacy) = Operations::open(
            database,
            "swarm-1",
            Beginning {
                now: clock.now(),
                writer: Uuid::new_v4(),
            },
        )
        .await
        .unwrap();
        let config = TcpLinkConfig {
            address: swarm.to_owned(),
            writer: legacy.writer,
            swarm: "swarm-1".to_owned(),
            epoch: legacy.starts,
        };
        let link = Arc::new(TcpLink::spawn(config, clock.clone()));
        let states = link.states();
        let link: Arc<dyn SwarmLink> = link;
        let left = (operations, legacy);
        let service = Service::new(
            Limits::default(),
            link,
            clock.clone(),
            left,
            CrashAt::default(),
        );
        let key = Key::new(KID, &SECRET).unwrap();
        let keys = Keys::new(KeySet::new(vec![key]).unwrap());
        let guard = Arc::new(Guard::new("drones", keys, clock));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (ending, end) = watch::channel(false);
        let routes = router(Arc::clone(&service), &guard).unwrap();
        let (watching, recording) = (Arc::clone(&service), Arc::clone(&service));
        let watched = states.clone();
        let tasks = vec![
            tokio::spawn(server::serve(listener, routes, end)),
            tokio::spawn(async move { watching.watch(watched).await }),
            tokio::spawn(async move { recording.record().await }),
        ];
        Self {
            service,
            states,
            address,
            ending,
            tasks,
        }
    }

    /// As if killed: nothing is waited for, nothing is noted.
    async fn kill(self) {
        for task in &self.tasks {
            task.abort();
        }
        for task in self.tasks {
            let _ = task.await;
        }
        let weak = Arc::downgrade(&self.service);
        drop(self.service);
        // Connections still hold the service until they notice; the file's lock goes with it.
        while weak.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    }

    async fn end(self) {
        self.ending.send_replace(true);
        let mut tasks = self.tasks.into_iter();
        tasks.next().unwrap().await.unwrap();
        self.service.close().await.unwrap();
        for task in tasks {
            task.abort();
            let _ = task.await;
        }
    }
}

impl Rig {
    /// A service with a live swarm, a hundred times as fast as life.
    pub(crate) async fn new() -> Self {
        Self::with(&simulate(100.0, Vec::new()).await)
            .await
            .live()
            .await
    }

    /// A service with a live swarm whose missions last.
    pub(crate) async fn slow() -> Self {
        Self::with(&simulate(1.0, Vec::new()).await)
            .await
            .live()
            .await
    }

    /// A service with a link to this address.
    pub(crate) async fn with(swarm: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let life = Life::begin(directory.path().join("drones.db"), swarm).await;
        Self {
            directory,
            swarm: swarm.to_owned(),
            life,
            client: Client::builder(TokioExecutor::new()).build(HttpConnector::new()),
        }
    }

    /// Waits until the swarm reports.
    pub(crate) async fn live(mut self) -> Self {
        self.when(|state| state.bridge.is_live()).await;
        self
    }

    /// Waits until the swarm reports this.
    pub(crate) async fn when(&mut self, condition: impl FnMut(&SwarmState) -> bool) {
        let mut condition = condition;
        self.life
            .states
            .wait_for(|state| condition(state))
            .await
            .unwrap();
    }

    /// The next life of the service on the same file. `killed`: the last one broke off.
    pub(crate) async fn restart(self, killed: bool) -> Self {
        if killed {
            self.life.kill().await;
        } else {
            self.life.end().await;
        }
        let path = self.directory.path().join("drones.db");
        let life = Life::begin(path, &self.swarm).await;
        // A new client: the old one's connections ended with the last life.
        let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
        Self {
            life,
            client,
            ..self
        }
    }

    /// Sends a call with its grant.
    pub(crate) async fn send(&self, call: &Call) -> Reply {
        self.raw(call.method, &call.path, &call.body, Some(&call.grant()))
            .await
    }

    /// Sends something without a grant.
    pub(crate) async fn plain(&self, method: &str, path: &str) -> Reply {
        self.raw(method, path, "", None).await
    }

    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        body: &str,
        grant: Option<&str>,
    ) -> Reply {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.life.address));
        if let Some(grant) = grant {
            request = request.header("interlock-grant", grant);
        }
        let request = request.body(Full::from(body.to_owned())).unwrap();
        let response = self.client.request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// Sends a call and compares status, problem slug (empty: none) and effect.
    pub(crate) async fn check(&self, call: &Call, status: u16, slug: &str, effect: &str) -> Reply {
        let reply = self.send(call).await;
        assert_eq!(
            reply.status.as_u16(),
            status,
            "{} {}",
            call.path,
            reply.text
        );
        if !slug.is_empty() {
            let problem = reply.json();
            assert_eq!(
                problem["type"],
                format!("urn:interlock:problem:{slug}"),
                "{problem}"
            );
            assert_eq!(problem["effect"], effect, "{problem}");
            assert_eq!(problem["status"], status, "{problem}");
            assert_eq!(reply.headers["content-type"], "application/problem+json");
        }
        reply
    }

    /// Asks the swarm what it counted, over a connection of its own.
    pub(crate) async fn counters(&self) -> Counters {
        let stream = TcpStream::connect(&self.swarm).await.unwrap();
        let mut stream = BufReader::new(stream);
        stream.write_all(b"{\"op\":\"counters\"}\n").await.unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let counted: Value = serde_json::from_str(&line).unwrap();
        let count = |name: &str| counted[name].as_u64().unwrap();
        Counters {
            starts: count("starts"),
            flights: count("flights"),
            commands: count("commands"),
        }
    }

    /// A second connection that holds the database's write lock.
    pub(crate) async fn lock_database(&self) -> sqlx::SqliteConnection {
        use sqlx::{Connection, Executor};
        let path = self.directory.path().join("drones.db");
        let url = format!("sqlite://{}", path.display());
        let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
        connection.execute("BEGIN IMMEDIATE").await.unwrap();
        connection
    }

    /// Waits until the mission stands like this.
    pub(crate) async fn until_status(&mut self, id: &str, status: &str) -> Value {
        loop {
            let mission = self.send(&Call::mission(id)).await.json();
            if mission["status"] == status {
                return mission;
            }
            self.life.states.changed().await.unwrap();
        }
    }
}
