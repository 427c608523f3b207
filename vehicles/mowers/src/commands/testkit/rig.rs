//! The service of one account with one site and one group.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use interlock_guard::{Clock, GRANT_HEADER, Guard, Key, KeySet, Keys, body_digest};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;
use uuid::Uuid;

use super::bus::CutBus;
use super::gateway::{self, Rights};
use super::records::noon;
use crate::commands::Control;
use crate::commands::record::Record;
use crate::commands::store;
use crate::crash::Crash;
use crate::gateway_link::GatewayLink;
use crate::hierarchy::reconcile::load_roster;
use crate::hierarchy::roster::Roster;
use crate::records::testkit::Store;
use crate::records::{Place, Records};
use crate::service::Fleet;
use crate::service::router::router;
use crate::service::settings::{Limits, Settings, Timeouts};

pub(crate) const ACCOUNT: &str = "acme";
pub(crate) const SITE: Uuid = Uuid::from_u128(0x51);
pub(crate) const GROUP: Uuid = Uuid::from_u128(0x61);

const SECRET: [u8; 32] = [9; 32];

/// Longer than any loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What outlasts a process.
type Outlasting = (Arc<TempDir>, Place, Arc<CutBus>, Arc<HandClock>);

/// The mower of this number.
pub(crate) fn mower(number: u128) -> Uuid {
    Uuid::from_u128(0x1000 + number)
}

/// A clock that a test sets.
#[derive(Debug)]
pub(crate) struct HandClock(AtomicI64);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).expect("a time")
    }
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

    /// The word of a problem, and what it says of the mowers.
    pub(crate) fn problem(&self) -> (u16, String, String) {
        let problem = self.json();
        let kind = problem["type"].as_str().unwrap_or_default();
        let slug = kind.trim_start_matches("urn:interlock:problem:");
        let effect = problem["effect"].as_str().unwrap_or_default();
        (self.status.as_u16(), slug.to_owned(), effect.to_owned())
    }
}

/// A request as the gateway would send it, every part of it open to change.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) row: &'static str,
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) operation: Uuid,
    pub(crate) caller: Value,
    pub(crate) asked_at: Option<Timestamp>,
    pub(crate) revision: Option<u64>,
    pub(crate) fence: Option<Value>,
}

impl Asking {
    pub(crate) fn new(row: &'static str, path: impl Into<String>, body: &Value) -> Self {
        Self {
            row,
            path: path.into(),
            body: match body {
                Value::Null => String::new(),
                body => body.to_string(),
            },
            operation: Uuid::now_v7(),
            caller: person("anna"),
            asked_at: None,
            revision: Some(1),
            fence: None,
        }
    }

    /// A command to a mower.
    pub(crate) fn command(to: Uuid, command: Value) -> Self {
        let kind = command["kind"].as_str().unwrap_or_default().to_owned();
        let row = row_named(&format!("mowers.command.{kind}"));
        let body = json!({ "command": command, "area_clear_confirmed": true });
        Self::new(row, format!("/api/v1/fleet/mowers/{to}/commands"), &body)
    }

    /// A command to the group.
    pub(crate) fn group(command: Value) -> Self {
        let kind = command["kind"].as_str().unwrap_or_default().to_owned();
        let row = row_named(&format!("mowers.group.{kind}"));
        let body = json!({ "command": command, "area_clear_confirmed": true });
        Self::new(row, format!("/api/v1/fleet/groups/{GROUP}/commands"), &body)
    }

    /// A stop of a mower, without a body.
    pub(crate) fn stop(of: Uuid) -> Self {
        let path = format!("/api/v1/fleet/mowers/{of}/emergency-stop");
        Self::new("mowers.mower.stop", path, &Value::Null)
    }

    /// A stop of the account.
    pub(crate) fn stop_account() -> Self {
        let path = format!("/api/v1/fleet/emergency-stop?account={ACCOUNT}");
        Self::new("mowers.account.stop", path, &Value::Null)
    }

    pub(crate) fn settle(operation: Uuid) -> Self {
        let path = format!("/internal/operations/{operation}/settle");
        Self::new("mowers.internal.settle", path, &Value::Null)
    }

    pub(crate) fn record(id: Uuid) -> Self {
        let path = format!("/api/v1/fleet/commands/{id}?account={ACCOUNT}");
        Self::new("mowers.command.get", path, &Value::Null)
    }

    pub(crate) fn by(mut self, subject: &str) -> Self {
        self.caller = person(subject);
        self
    }

    fn grant(&self, now: Timestamp) -> String {
        let seconds = now.as_second();
        let row = interlock_surface::row(self.row).expect("a row");
        let asked_at = self.asked_at.unwrap_or(now).as_millisecond();
        let mut claims = json!({
            "iss": "interlock", "aud": "mowers", "iat": seconds, "exp": seconds + 30,
            "jti": Uuid::now_v7(), "caller": self.caller, "row": self.row, "action": "tested",
            "decision": Uuid::from_u128(0xdec), "method": row.method.as_str(), "path": self.path,
            "body": body_digest(self.body.as_bytes()), "bundle": "b", "registry": 1,
            "operation": self.operation, "askedAt": asked_at, "deadline": asked_at + 10_000,
            "revision": self.revision,
        });
        if let Some(fence) = &self.fence {
            claims["approval"] = json!({
                "plan": Uuid::from_u128(0x91a), "digest": "d", "attempt": 1, "fence": fence,
                "approver": { "issuer": "https://idp", "subject": "bert" },
                "proposer": { "issuer": "https://idp", "subject": "anna" },
            });
        }
        let header = Header {
            typ: Some("interlock-grant+jwt".to_owned()),
            kid: Some("test".to_owned()),
            ..Header::new(Algorithm::HS256)
        };
        let key = EncodingKey::from_secret(&SECRET).expect("a key");
        encode(&header, &claims, &key).expect("a grant")
    }
}

fn row_named(name: &str) -> &'static str {
    interlock_surface::row(name)
        .unwrap_or_else(|| panic!("{name}"))
        .name
}

fn person(subject: &str) -> Value {
    json!({
        "kind": "Person", "issuer": "https://idp", "subject": subject, "actor": null,
        "standing": { "tenants": [ACCOUNT], "roles": [], "suspended": false },
    })
}

/// The service.
pub(crate) struct Rig {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) bus: Arc<CutBus>,
    pub(crate) rights: Arc<Rights>,
    pub(crate) folder: Arc<TempDir>,
    pub(crate) place: Place,
    clock: Arc<HandClock>,
    router: Router,
}

impl Rig {
    /// With so many mowers in the group, numbered from 1.
    pub(crate) async fn new(mowers: u128) -> Self {
        Self::with(mowers, Crash::default()).await
    }

    /// With a gateway for which a stop waits so long.
    pub(crate) async fn impatient(mowers: u128, patience: Duration) -> Self {
        Self::made(mowers, Crash::default(), patience).await
    }

    /// With its records in Postgres.
    pub(crate) async fn postgres(mowers: u128) -> Self {
        let store = Store::postgres().await;
        let (folder, place) = (TempDir::new().expect("a folder"), store.place.clone());
        Self::in_place((folder, place), mowers, Crash::default(), PATIENCE).await
    }

    /// With a point at which the service hangs as if it had died.
    pub(crate) async fn with(mowers: u128, crash: Crash) -> Self {
        Self::made(mowers, crash, PATIENCE).await
    }

    async fn made(mowers: u128, crash: Crash, patience: Duration) -> Self {
        let folder = TempDir::new().expect("a folder");
        let place = Place::File(folder.path().join("mowers.db"));
        Self::in_place((folder, place), mowers, crash, patience).await
    }

    async fn in_place(
        (folder, place): (TempDir, Place),
        mowers: u128,
        crash: Crash,
        patience: Duration,
    ) -> Self {
        let folder = Arc::new(folder);
        let records = Records::open(&place).await.expect("records");
        populate(&records, mowers).await;
        records.pool().close().await;
        let bus = Arc::new(CutBus::default());
        let clock = Arc::new(HandClock(AtomicI64::new(noon().as_millisecond())));
        Self::open((folder, place, bus, clock), Arc::default(), crash, patience).await
    }

    /// The same service after its process has died.
    pub(crate) async fn again(self) -> Self {
        let Self {
            fleet,
            bus,
            rights,
            folder,
            place,
            clock,
            ..
        } = self;
        fleet.records.pool().close().await;
        drop(fleet);
        Self::open(
            (folder, place, bus, clock),
            rights,
            Crash::default(),
            PATIENCE,
        )
        .await
    }

    async fn open(
        (folder, place, bus, clock): Outlasting,
        rights: Arc<Rights>,
        crash: Crash,
        patience: Duration,
    ) -> Self {
        let records = Records::open(&place).await.expect("records");
        let ops = gateway::serve(Arc::clone(&rights)).await;
        let keys = Keys::new(
            KeySet::new(vec![Key::new("test", &SECRET).expect("a key")]).expect("a key set"),
        );
        let spool = folder.path().join("spool.jsonl");
        let shared_clock: Arc<dyn Clock> = Arc::<HandClock>::clone(&clock);
        let control = Control::open(&records, &spool, "fleet", clock.now()).await;
        let fleet = Arc::new(Fleet {
            gateway: GatewayLink::new(vec![ops], keys.clone(), Arc::clone(&shared_clock)),
            bus: Arc::<CutBus>::clone(&bus),
            clock: Arc::clone(&shared_clock),
            roster: Roster::default(),
            settings: settings(spool, patience),
            outbox: Default::default(),
            control: control.expect("control"),
            telemetry: Default::default(),
            previews: Default::default(),
            drives: Default::default(),
            records,
            crash,
        });
        load_roster(&fleet).await.expect("the roster");
        let guard = Arc::new(Guard::new("mowers", keys, shared_clock));
        let router = router(Arc::clone(&fleet), &guard).expect("a router");
        Self {
            fleet,
            bus,
            rights,
            folder,
            place,
            clock,
            router,
        }
    }

    /// The time passes.
    pub(crate) fn pass(&self, milliseconds: i64) {
        self.clock.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    /// The present.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Sends a request as the gateway would.
    pub(crate) async fn send(&self, asking: &Asking) -> Reply {
        let row = interlock_surface::row(asking.row).expect("a row");
        let request = Request::builder()
            .method(row.method.as_str())
            .uri(&asking.path)
            .header(GRANT_HEADER, asking.grant(self.now()))
            .body(Body::from(asking.body.clone()))
            .expect("a request");
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        Reply {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).expect("text"),
        }
    }

    /// The record of a command.
    pub(crate) async fn record(&self, id: Uuid) -> Option<Record> {
        store::find(&self.fleet.records, id).await.expect("a read")
    }

    /// How many commands are on record.
    pub(crate) async fn count(&self) -> i64 {
        sqlx::query_scalar("SELECT COUNT(*) FROM commands")
            .fetch_one(self.fleet.records.pool())
            .await
            .expect("a count")
    }

    /// The caller may do this with that mower.
    pub(crate) fn allow(&self, action: &str, id: Uuid) {
        self.rights.allow(action, &id.to_string());
    }

    /// The mower is placed elsewhere: its revision rises.
    pub(crate) async fn place(&self, mower: Uuid, revision: i64) {
        sqlx::query("UPDATE mowers SET hierarchy_rev = $1 WHERE id = $2")
            .bind(revision)
            .bind(mower.to_string())
            .execute(self.fleet.records.pool())
            .await
            .expect("a move");
    }
}

fn settings(spool: PathBuf, patience: Duration) -> Settings {
    Settings {
        limits: Limits::default(),
        timeouts: Timeouts::default(),
        emergency_stop_ttl: Duration::from_secs(10),
        shard_lease: jiff::SignedDuration::from_secs(10),
        command_ttl_max: Duration::from_secs(300),
        command_retention: Duration::from_secs(90 * 86_400),
        safety_retention: Duration::from_secs(3 * 365 * 86_400),
        export: None,
        judged_within: patience,
        spool,
    }
}

async fn populate(records: &Records, mowers: u128) {
    let mut change = records.begin().await.expect("a transaction");
    let account = "INSERT INTO accounts (id, name, features, time_zone, hierarchy_rev, created_ms)
         VALUES ('acme', 'Acme', '[\"control\"]', 'UTC', 1, 0)";
    let site = format!(
        "INSERT INTO sites (id, account_id, name, time_zone, quiet_hours, is_default, rev, created_ms, changed_ms)
         VALUES ('{SITE}', 'acme', 'Depot', 'UTC', '[]', 0, 1, 0, 0)"
    );
    let group = format!(
        "INSERT INTO mower_groups (id, account_id, site_id, name, rev, created_ms, changed_ms)
         VALUES ('{GROUP}', 'acme', '{SITE}', 'North', 1, 0, 0)"
    );
    let mut statements = vec![account.to_owned(), site, group];
    let row = |number: u128| {
        let id = mower(number);
        format!(
            "('{id}', 'acme', '{SITE}', 'm', 'v', 'x', 's{number}', 'simulated', '{{}}', 1, 0, 0)"
        )
    };
    let rows: Vec<String> = (1..=mowers).map(row).collect();
    for some in rows.chunks(500) {
        statements.push(format!(
            "INSERT INTO mowers (id, account_id, site_id, name, vendor, model, serial,
                 connection_kind, connection_options, hierarchy_rev, created_ms, changed_ms)
             VALUES {}",
            some.join(", ")
        ));
    }
    statements.push(format!(
        "INSERT INTO group_members (mower_id, group_id) SELECT id, '{GROUP}' FROM mowers"
    ));
    for statement in statements {
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .execute(&mut *change)
            .await
            .expect("a row");
    }
    change.commit().await.expect("a commit");
}
