//! Who may tell the gateway which objects there are.

use interlock_gateway::store::{RedisConfig, RegistryObject, Store};
use interlock_tests::chaos::Chaos;
use interlock_tests::gateway::{Gateway, GatewayConfig, Storage};
use interlock_tests::http::Answer;
use interlock_tests::personas::ACCOUNT;
use interlock_tests::redis::Redis;
use interlock_tests::system::key;
use interlock_tests::vehicles::SWARM;
use jiff::Timestamp;
use jsonwebtoken::{EncodingKey, Header};
use serde_json::{Value, json};
use uuid::Uuid;

use super::forge;

/// One call to the registry, good but for what a test makes bad.
#[derive(Clone)]
struct Feed {
    method: &'static str,
    path: String,
    body: Value,
    claims: Value,
    header: Header,
    secret: Vec<u8>,
}

impl Feed {
    fn new(gateway: &Gateway, method: &'static str, path: &str, body: Value) -> Feed {
        let (kid, secret) = forge::key(&gateway.config.keys[0]);
        let now = Timestamp::now().as_second();
        let claims = json!({
            "iss": "drones", "aud": "interlock", "iat": now, "exp": now + 30,
            "jti": Uuid::new_v4().to_string(), "method": method, "path": path,
            "body": forge::digest_of(&body.to_string()),
        });
        let mut header = Header::new(jsonwebtoken::Algorithm::HS256);
        header.typ = Some("interlock-feed+jwt".to_owned());
        header.kid = Some(kid);
        Feed {
            method,
            path: path.to_owned(),
            body,
            claims,
            header,
            secret,
        }
    }

    fn put(gateway: &Gateway, object: &str, revision: u64) -> Feed {
        let body = json!({ "revision": revision, "parents": [ACCOUNT] });
        Feed::new(gateway, "PUT", &format!("/registry/objects/{object}"), body)
    }

    fn with(mut self, claim: &str, value: impl Into<Value>) -> Feed {
        self.claims[claim] = value.into();
        self
    }

    fn changed(mut self, change: impl FnOnce(&mut Feed)) -> Feed {
        change(&mut self);
        self
    }

    fn token(&self) -> String {
        let key = EncodingKey::from_secret(&self.secret).unwrap();
        jsonwebtoken::encode(&self.header, &self.claims, &key).unwrap()
    }

    async fn send(&self, gateway: &Gateway, tokens: &[String]) -> Answer {
        let mut call = gateway.ops().call(self.method, &self.path);
        for token in tokens {
            call = call.header("interlock-service", token);
        }
        call.json(&self.body).send().await
    }

    async fn signed(&self, gateway: &Gateway) -> Answer {
        self.send(gateway, &[self.token()]).await
    }
}

/// A gateway that nobody feeds but the test, and its store.
struct Alone {
    gateway: Gateway,
    redis: Redis,
    _folder: tempfile::TempDir,
}

fn alone() -> Alone {
    let folder = tempfile::tempdir().unwrap();
    let redis = Redis::start();
    let nowhere = Chaos::nowhere().address();
    let state = folder.path().to_owned();
    let mut config = GatewayConfig::new(nowhere, vec![key("drones-1")], state);
    config.storage = Storage::Redis {
        address: redis.address(),
        pool: 8,
    };
    Alone {
        gateway: Gateway::start("unfed", config, folder.path()),
        redis,
        _folder: folder,
    }
}

async fn objects(gateway: &Gateway) -> Value {
    let ready = gateway.ops().get("/readyz").send().await.json();
    ready["registry"]["objects"].clone()
}

/// A feed call that nobody signed, or that was signed for another.
#[tokio::test]
async fn an_unsigned_or_foreign_feed_call_is_401() {
    let alone = alone();
    let gateway = &alone.gateway;
    let swarm = format!("Swarm/{SWARM}");
    let good = || Feed::put(gateway, &swarm, 7);
    let now = Timestamp::now().as_second();
    let stranger = forge::key(&key("drones-1")).1;
    let before = objects(gateway).await;
    let unsigned: [(&str, Vec<String>); 4] = [
        ("nothing", vec![]),
        ("garbage", vec!["open sesame".to_owned()]),
        ("two tokens", vec![good().token(), good().token()]),
        (
            "no signature",
            vec![good().token().rsplit_once('.').unwrap().0.to_owned() + "."],
        ),
    ];
    for (what, tokens) in unsigned {
        let answer = good().send(gateway, &tokens).await;
        assert_eq!(answer.status, 401, "{what}: {}", answer.text());
    }
    for (what, feed) in [
        ("a wrong key", good().changed(|feed| feed.secret = stranger)),
        (
            "an unknown kid",
            good().changed(|feed| feed.header.kid = Some("drones-9".to_owned())),
        ),
        ("no kid", good().changed(|feed| feed.header.kid = None)),
        (
            "a grant's type",
            good().changed(|feed| feed.header.typ = Some("interlock-grant+jwt".to_owned())),
        ),
        (
            "another algorithm",
            good().changed(|feed| feed.header.alg = jsonwebtoken::Algorithm::HS384),
        ),
        ("another service", good().with("iss", "mowers")),
        ("another audience", good().with("aud", "drones")),
        ("another method", good().with("method", "DELETE")),
        (
            "another path",
            good().with("path", "/registry/objects/Swarm/swarm-2"),
        ),
        (
            "another body",
            good().changed(|feed| feed.body["parents"] = json!(["globex"])),
        ),
        (
            "expired",
            good().with("iat", now - 60).with("exp", now - 30),
        ),
        (
            "not yet",
            good().with("iat", now + 60).with("exp", now + 90),
        ),
        ("a life without end", good().with("exp", now + 86_400)),
    ] {
        let answer = feed.signed(gateway).await;
        assert_eq!(answer.status, 401, "{what}: {}", answer.text());
    }
    assert_eq!(objects(gateway).await, before);

    // The same, whole, is taken once; a copy of it never.
    let whole = good();
    whole.signed(gateway).await.expect(200);
    let after = objects(gateway).await;
    assert_ne!(after, before);
    let again = whole.signed(gateway).await.expect(401);
    assert!(again.text().contains("used before"), "{}", again.text());
    assert_eq!(objects(gateway).await, after);
}

/// A service that is who it says writes its own objects, and only forward.
#[tokio::test]
async fn a_service_writes_its_own_objects_forward() {
    let alone = alone();
    let gateway = &alone.gateway;
    let swarm = format!("Swarm/{SWARM}");
    Feed::put(gateway, &swarm, 7)
        .signed(gateway)
        .await
        .expect(200);

    for kind in ["Mower", "Plan", "Gateway", "swarm", "Anything"] {
        let foreign = Feed::put(gateway, &format!("{kind}/one"), 1);
        let answer = foreign.signed(gateway).await;
        assert_eq!(answer.status, 403, "{kind}: {}", answer.text());
        assert_eq!(answer.problem(), "forbidden");
    }

    // Of the own type, but another service's.
    let store = Store::redis(RedisConfig::at(alone.redis.url()))
        .await
        .unwrap();
    let theirs = RegistryObject {
        kind: "Swarm".to_owned(),
        id: "swarm-2".to_owned(),
        owner: "mowers".to_owned(),
        revision: 1,
        parents: vec!["globex".to_owned()],
        attributes: serde_json::Map::new(),
    };
    store.registry.put(&theirs).await.unwrap();
    let path = "/registry/objects/Swarm/swarm-2";
    let put = Feed::put(gateway, "Swarm/swarm-2", 99);
    let delete = Feed::new(gateway, "DELETE", path, json!({ "revision": 99 }));
    for feed in [put, delete] {
        let answer = feed.signed(gateway).await.expect(403);
        assert!(answer.text().contains("mowers"), "{}", answer.text());
    }
    let beat = json!({ "owner": "mowers", "checks": {} });
    let beat = Feed::new(gateway, "POST", "/registry/heartbeat", beat);
    beat.signed(gateway).await.expect(403);

    // Back in time, as itself and as its own end.
    let older = Feed::put(gateway, &swarm, 6)
        .signed(gateway)
        .await
        .expect(409);
    assert_eq!(older.problem(), "stale-revision");
    let path = format!("/registry/objects/{swarm}");
    let gone = Feed::new(gateway, "DELETE", &path, json!({ "revision": 6 }));
    gone.signed(gateway).await.expect(409);
    let gone = Feed::new(gateway, "DELETE", &path, json!({ "revision": 8 }));
    gone.signed(gateway).await.expect(200);
    let late = Feed::put(gateway, &swarm, 7)
        .signed(gateway)
        .await
        .expect(409);
    assert_eq!(late.json()["currentRevision"], 8);
}

/// What is signed may still be nonsense, and then changes nothing.
#[tokio::test]
async fn a_signed_body_is_read_as_strictly_as_a_callers() {
    let alone = alone();
    let gateway = &alone.gateway;
    let path = format!("/registry/objects/Swarm/{SWARM}");
    let before = objects(gateway).await;
    for body in [
        r#"{"revision":1,"revision":2,"parents":["acme"]}"#,
        r#"{"revision":1,"parents":["acme"],"attributes":{"a":1,"a":2}}"#,
        r#"{"revision":1,"parents":["acme"],"attributes":{"a":{"b":1,"b":2}}}"#,
        r#"{"revision":1,"parents":["acme"],"more":1}"#,
        r#"{"revision":-1,"parents":["acme"]}"#,
        r#"{"revision":1.5,"parents":["acme"]}"#,
        r#"{"revision":1,"parents":["not a scope"]}"#,
        r#"{"revision":1,"parents":"acme"}"#,
        r#"{"revision":1,"parents":["acme"]} {}"#,
        "\u{feff}{\"revision\":1,\"parents\":[\"acme\"]}",
        "[]",
        "",
    ] {
        let feed = Feed::new(gateway, "PUT", &path, Value::Null);
        let token = feed.with("body", forge::digest_of(body)).token();
        let call = gateway
            .ops()
            .call("PUT", &path)
            .header("interlock-service", &token);
        let answer = call.body("application/json", body.to_owned()).send().await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
    }
    assert_eq!(objects(gateway).await, before);
}
