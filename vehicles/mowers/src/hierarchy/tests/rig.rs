//! One replica of the service without its listener, asked as the gateway would ask it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use interlock_guard::{Guard, Key, KeySet, Keys, SystemClock, body_digest};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use sqlx::Row as _;
use tempfile::TempDir;
use tower::ServiceExt;
use uuid::Uuid;

use super::gateway::Gateway;
use crate::bus::Bus;
use crate::bus::local::LocalBus;
use crate::commands::Control;
use crate::crash::Crash;
use crate::gateway_link::GatewayLink;
use crate::hierarchy::listen;
use crate::records::testkit::Store;
use crate::records::{Place, Records};
use crate::service::Fleet;
use crate::service::router::router;
use crate::service::settings::{Limits, Settings, Timeouts};

const KID: &str = "test";
const SECRET: [u8; 32] = [9; 32];

/// The keys that gateway and service share.
pub(crate) fn keys() -> KeySet {
    KeySet::new(vec![Key::new(KID, &SECRET).unwrap()]).unwrap()
}

/// A replica and what is around it.
pub(crate) struct Rig {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) gateway: Gateway,
    pub(crate) bus: LocalBus,
    place: Place,
    router: Router,
    _store: Option<Store>,
    _folder: Arc<TempDir>,
}

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

    /// The id in a body that was expected with this status.
    pub(crate) fn id(&self, status: u16) -> Uuid {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()["id"].as_str().unwrap().parse().unwrap()
    }

    /// Expects a problem: status, slug, effect.
    pub(crate) fn is_problem(&self, status: u16, slug: &str, effect: &str) -> Value {
        let problem = self.json();
        assert_eq!(self.status.as_u16(), status, "{problem}");
        assert_eq!(
            problem["type"],
            format!("urn:interlock:problem:{slug}"),
            "{problem}"
        );
        assert_eq!(problem["effect"], effect, "{problem}");
        assert_eq!(self.headers["content-type"], "application/problem+json");
        problem
    }
}

/// A call as the gateway would make it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) row: &'static str,
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) operation: Uuid,
    pub(crate) deadline: Timestamp,
    pub(crate) revision: Option<u64>,
}

impl Call {
    pub(crate) fn new(row: &'static str, path: impl Into<String>) -> Self {
        Self {
            row,
            path: path.into(),
            body: String::new(),
            operation: Uuid::now_v7(),
            deadline: Timestamp::now() + Duration::from_secs(10),
            revision: None,
        }
    }

    pub(crate) fn with(row: &'static str, path: impl Into<String>, body: &Value) -> Self {
        Self {
            body: body.to_string(),
            ..Self::new(row, path)
        }
    }

    fn grant(&self, method: &str) -> String {
        let now = Timestamp::now();
        let claims = json!({
            "iss": "interlock", "aud": "mowers", "iat": now.as_second(),
            "exp": now.as_second() + 30, "jti": Uuid::now_v7(),
            "caller": {
                "kind": "Person", "issuer": "https://idp.example", "subject": "anna",
                "standing": {"tenants": ["acme"], "roles": [["admin", "acme"]], "suspended": false},
            },
            "row": self.row, "action": "tested", "decision": Uuid::now_v7(),
            "method": method, "path": self.path, "body": body_digest(self.body.as_bytes()),
            "operation": self.operation, "askedAt": now.as_millisecond(),
            "deadline": self.deadline.as_millisecond(), "revision": self.revision,
        });
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

/// A mower to register.
pub(crate) fn mower(serial: &str) -> Value {
    json!({
        "name": serial, "vendor": "acme", "model": "one", "serial": serial,
        "connection": {"kind": "simulated"},
    })
}

pub(crate) fn register(body: &Value) -> Call {
    Call::with(
        "mowers.mower.register",
        "/api/v1/fleet/mowers?account=acme",
        body,
    )
}

impl Rig {
    /// A replica on these records, with an account `acme` that the gateway knows.
    pub(crate) async fn new(store: Store) -> Self {
        let gateway = Gateway::new(keys()).await;
        let (records, place) = (store.records.clone(), store.place.clone());
        let limits = Limits::default();
        let mut rig = Self::of(
            records,
            place,
            gateway,
            LocalBus::new(),
            limits,
            Crash::default(),
        )
        .await;
        rig._store = Some(store);
        let body = json!({"id": "acme", "name": "Acme", "features": ["control"],
            "time_zone": "Europe/Berlin"});
        let reply = rig.account(&body).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
        rig
    }

    /// Asks for an account, which this replica makes.
    pub(crate) async fn account(&self, body: &Value) -> Reply {
        let making = tokio::spawn(listen::make_accounts(Arc::clone(&self.fleet)));
        let call = Call::with("mowers.internal.account", "/internal/accounts", body);
        let reply = self.send(&call).await;
        making.abort();
        reply
    }

    /// Another replica beside this one, or the next life of it: its own connections and memory.
    pub(crate) async fn beside(&self, crash: Crash) -> Self {
        let records = Records::open(&self.place).await.unwrap();
        let (place, gateway) = (self.place.clone(), self.gateway.clone());
        let limits = Limits::default();
        Self::of(records, place, gateway, self.bus.clone(), limits, crash).await
    }

    /// The same replica with other quotas.
    pub(crate) async fn limited(&self, limits: Limits) -> Self {
        let records = Records::open(&self.place).await.unwrap();
        let (place, gateway) = (self.place.clone(), self.gateway.clone());
        Self::of(
            records,
            place,
            gateway,
            self.bus.clone(),
            limits,
            Crash::default(),
        )
        .await
    }

    async fn of(
        records: Records,
        place: Place,
        gateway: Gateway,
        bus: LocalBus,
        limits: Limits,
        crash: Crash,
    ) -> Self {
        let clock = Arc::new(SystemClock);
        let keys = Keys::new(keys());
        let shared: Arc<dyn Bus> = Arc::new(bus.clone());
        let folder = Arc::new(TempDir::new().unwrap());
        let spool = folder.path().join("spool");
        let replica = Uuid::now_v7().to_string();
        let control = Control::open(&records, &spool, &replica, Timestamp::now()).await;
        let fleet = Arc::new(Fleet {
            records,
            bus: shared,
            clock: clock.clone(),
            roster: Default::default(),
            gateway: GatewayLink::new(vec![gateway.address.clone()], keys.clone(), clock.clone()),
            settings: Settings {
                limits,
                timeouts: Timeouts::default(),
                emergency_stop_ttl: Duration::from_secs(10),
                shard_lease: jiff::SignedDuration::from_secs(10),
                command_ttl_max: Duration::from_secs(300),
                command_retention: Duration::from_secs(90 * 86_400),
                safety_retention: Duration::from_secs(3 * 365 * 86_400),
                export: None,
                judged_within: Duration::from_secs(10),
                spool,
            },
            outbox: Default::default(),
            control: control.unwrap(),
            telemetry: Default::default(),
            previews: Default::default(),
            drives: Default::default(),
            crash,
        });
        let guard = Arc::new(Guard::new("mowers", keys, clock));
        Self {
            router: router(Arc::clone(&fleet), &guard).unwrap(),
            _folder: folder,
            fleet,
            gateway,
            bus,
            place,
            _store: None,
        }
    }

    /// Sends a call with its grant.
    pub(crate) async fn send(&self, call: &Call) -> Reply {
        let method = interlock_surface::row(call.row).unwrap().method.as_str();
        let request = Request::builder()
            .method(method)
            .uri(&call.path)
            .header("interlock-grant", call.grant(method))
            .body(Body::from(call.body.clone()))
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// Reads `path` as this row.
    pub(crate) async fn get(&self, row: &'static str, path: &str) -> Reply {
        self.send(&Call::new(row, path)).await
    }

    pub(crate) async fn register(&self, serial: &str) -> Uuid {
        self.send(&register(&mower(serial))).await.id(201)
    }

    pub(crate) async fn site(&self, name: &str) -> Uuid {
        let body = json!({"name": name, "time_zone": "Europe/Berlin"});
        let path = "/api/v1/fleet/sites?account=acme";
        self.send(&Call::with("mowers.site.create", path, &body))
            .await
            .id(201)
    }

    pub(crate) async fn group(&self, name: &str, site: Option<Uuid>) -> Uuid {
        let body = match site {
            Some(site) => json!({"name": name, "site_id": site}),
            None => json!({"name": name}),
        };
        let path = "/api/v1/fleet/groups?account=acme";
        self.send(&Call::with("mowers.group.create", path, &body))
            .await
            .id(201)
    }

    pub(crate) async fn place(&self, mower: Uuid, site: Uuid, groups: &[Uuid]) -> Reply {
        let body = json!({"site_id": site, "group_ids": groups});
        let path = format!("/api/v1/fleet/mowers/{mower}/placement");
        self.send(&Call::with("mowers.mower.place", path, &body))
            .await
    }

    pub(crate) async fn delete_site(&self, site: Uuid, move_to: Option<Uuid>) -> Reply {
        let query = move_to
            .map(|to| format!("?move_to={to}"))
            .unwrap_or_default();
        let path = format!("/api/v1/fleet/sites/{site}{query}");
        self.send(&Call::new("mowers.site.delete", path)).await
    }

    pub(crate) async fn default_site(&self) -> Uuid {
        let mut records = self.fleet.records.pool().acquire().await.unwrap();
        let site = super::super::rows::default_site(&mut records, "acme").await;
        site.unwrap().unwrap().id
    }

    /// How many rows a table has.
    pub(crate) async fn count(&self, text: &'static str) -> i64 {
        let row = sqlx::query(text).fetch_one(self.fleet.records.pool()).await;
        row.unwrap().try_get("n").unwrap()
    }

    /// The mower as its row has it.
    pub(crate) async fn row_of(&self, mower: Uuid) -> Option<super::super::model::Mower> {
        let mut records = self.fleet.records.pool().acquire().await.unwrap();
        super::super::rows::mower(&mut records, mower)
            .await
            .unwrap()
    }

    /// Rows and registry say the same, revision for revision, of everything.
    pub(crate) async fn agrees(&self) {
        let mut records = self.fleet.records.pool().acquire().await.unwrap();
        let accounts = super::super::rows::accounts(&mut records).await.unwrap();
        let mut names = std::collections::HashSet::new();
        for account in accounts {
            let objects = super::super::objects::of_whole_account(&mut records, &account).await;
            for (_, object) in objects.unwrap() {
                let name = format!("{}/{}", object.kind, object.id);
                let known = self.gateway.known(&name);
                let known = known.unwrap_or_else(|| panic!("the registry does not know {name}"));
                assert_eq!(known.revision, object.revision, "{name}");
                let state = object.state.unwrap();
                let attributes = Value::Object(state.attributes);
                assert_eq!(known.state, Some((state.parents, attributes)), "{name}");
                names.insert(name);
            }
        }
        assert_eq!(self.gateway.there(), names);
        assert_eq!(self.count("SELECT COUNT(*) AS n FROM changes").await, 0);
    }
}
