//! What this service needs of a gateway, on a real listener: a registry with its rules about
//! revisions, and judgements by a list of what is hidden and what is only seen.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use interlock_guard::{FEED_HEADER, KeySet, server, verify_feed};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What the registry knows of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) revision: u64,
    /// Parents and attributes; `None` is a tombstone.
    pub(crate) state: Option<(Vec<String>, Value)>,
    sequence: u64,
}

#[derive(Default)]
struct Inner {
    objects: HashMap<String, Known>,
    sequence: u64,
    /// So many changes are taken; the next ones are refused.
    takes: Option<usize>,
    beats: Vec<Value>,
    hidden: HashSet<String>,
    only_seen: HashSet<String>,
    judges: bool,
    asked: Vec<(String, String)>,
}

/// The gateway.
#[derive(Clone)]
pub(crate) struct Gateway {
    pub(crate) address: String,
    inner: Arc<Mutex<Inner>>,
    keys: Arc<KeySet>,
}

impl Gateway {
    pub(crate) async fn new(keys: KeySet) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateway = Self {
            address: listener.local_addr().unwrap().to_string(),
            inner: Arc::default(),
            keys: Arc::new(keys),
        };
        gateway.with(|inner| inner.judges = true);
        let router = Router::new().fallback(take).with_state(gateway.clone());
        let (ending, end) = watch::channel(false);
        tokio::spawn(async move {
            server::serve(listener, router, end).await;
            drop(ending);
        });
        gateway
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.inner.lock().unwrap())
    }

    /// What it knows of `Kind/id`.
    pub(crate) fn known(&self, object: &str) -> Option<Known> {
        self.with(|inner| inner.objects.get(object).cloned())
    }

    /// The objects that are there.
    pub(crate) fn there(&self) -> HashSet<String> {
        self.with(|inner| {
            let objects = inner.objects.iter();
            let there = objects.filter(|(_, known)| known.state.is_some());
            there.map(|(name, _)| name.clone()).collect()
        })
    }

    /// The parents of an object that is there.
    pub(crate) fn parents(&self, object: &str) -> Vec<String> {
        let known = self.known(object).and_then(|known| known.state);
        known.unwrap_or_else(|| panic!("{object} is not there")).0
    }

    /// Takes so many more changes and refuses the rest; `None` takes all.
    pub(crate) fn takes(&self, count: Option<usize>) {
        self.with(|inner| inner.takes = count);
    }

    /// Forgets everything, as a store that lost its content.
    pub(crate) fn forget(&self) {
        self.with(|inner| inner.objects.clear());
    }

    /// Whether it answers questions.
    pub(crate) fn judges(&self, judges: bool) {
        self.with(|inner| inner.judges = judges);
    }

    /// The caller may not know of this object.
    pub(crate) fn hide(&self, id: impl ToString) {
        self.with(|inner| inner.hidden.insert(id.to_string()));
    }

    /// The caller may know of it, and do nothing with it.
    pub(crate) fn only_show(&self, id: impl ToString) {
        self.with(|inner| inner.only_seen.insert(id.to_string()));
    }

    /// The questions so far: action and id.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        self.with(|inner| inner.asked.clone())
    }

    pub(crate) fn beats(&self) -> Vec<Value> {
        self.with(|inner| inner.beats.clone())
    }

    /// Puts something under the registry's own rules.
    fn put(&self, name: String, revision: u64, state: Option<(Vec<String>, Value)>) -> Response {
        self.with(|inner| {
            match &mut inner.takes {
                Some(0) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
                Some(left) => *left -= 1,
                None => {}
            }
            if let Some(known) = inner.objects.get(&name) {
                if known.revision == revision && known.state == state {
                    let body = json!({"sequence": known.sequence, "revision": revision});
                    return axum::Json(body).into_response();
                }
                if known.revision >= revision {
                    let body = json!({"currentRevision": known.revision, "detail": "stale"});
                    return (StatusCode::CONFLICT, axum::Json(body)).into_response();
                }
            }
            inner.sequence += 1;
            let sequence = inner.sequence;
            let known = Known {
                revision,
                state,
                sequence,
            };
            inner.objects.insert(name, known);
            axum::Json(json!({"sequence": sequence, "revision": revision})).into_response()
        })
    }

    fn evaluate(&self, body: &Value) -> Response {
        let asked = body["evaluations"].as_array().unwrap();
        assert!(
            body["grant"]
                .as_str()
                .is_some_and(|grant| !grant.is_empty())
        );
        self.with(|inner| {
            if !inner.judges {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            let verdicts = asked.iter().map(|ask| {
                let action = ask["action"]["name"].as_str().unwrap().to_owned();
                let (kind, id) = (&ask["resource"]["type"], &ask["resource"]["id"]);
                let id = id.as_str().unwrap().to_owned();
                let name = format!("{}/{id}", kind.as_str().unwrap());
                let known = inner
                    .objects
                    .get(&name)
                    .filter(|known| known.state.is_some());
                let visible = known.is_some() && !inner.hidden.contains(&id);
                let may = visible && (action == "observe" || !inner.only_seen.contains(&id));
                inner.asked.push((action, id));
                json!({"decision": may, "context": {"visible": visible}})
            });
            let verdicts: Vec<Value> = verdicts.collect();
            axum::Json(json!({"evaluations": verdicts})).into_response()
        })
    }
}

async fn take(State(gateway): State<Gateway>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let token = parts.headers[FEED_HEADER].to_str().unwrap();
    let call = (parts.method.as_str(), parts.uri.path(), &*body);
    verify_feed(&gateway.keys, "mowers", token, call, Timestamp::now()).expect("a signed call");
    let body: Value = serde_json::from_slice(&body).unwrap();
    match parts.uri.path() {
        "/registry/heartbeat" => {
            gateway.with(|inner| inner.beats.push(body));
            axum::Json(json!({"shared": true})).into_response()
        }
        "/access/v1/evaluations" => gateway.evaluate(&body),
        path => {
            let name = path
                .strip_prefix("/registry/objects/")
                .expect("a path of the feed");
            let revision = body["revision"].as_u64().unwrap();
            let state = (parts.method == "PUT").then(|| {
                let parents = body["parents"].as_array().unwrap().iter();
                let parents = parents.map(|parent| parent.as_str().unwrap().to_owned());
                (parents.collect(), body["attributes"].clone())
            });
            gateway.put(name.to_owned(), revision, state)
        }
    }
}
