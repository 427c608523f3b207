//! A gateway's operations listener that judges as the test says.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What the caller may do: pairs of action and object id. `observe` is sight.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    pub(crate) allowed: Mutex<HashSet<(String, String)>>,
    /// It does not answer.
    pub(crate) silent: std::sync::atomic::AtomicBool,
    /// The revision that it has judged, of every object.
    pub(crate) revision: Mutex<Option<u64>>,
    /// How many questions were asked.
    pub(crate) asked: std::sync::atomic::AtomicUsize,
}

impl Rights {
    pub(crate) fn allow(&self, action: &str, id: &str) {
        let mut allowed = self.allowed.lock().expect("the rights");
        allowed.insert((action.to_owned(), id.to_owned()));
    }
}

/// Listens on a free port.
pub(crate) async fn serve(rights: Arc<Rights>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let router = Router::new()
        .route("/access/v1/evaluations", post(judge))
        .with_state(rights);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

async fn judge(State(rights): State<Arc<Rights>>, body: axum::Json<Value>) -> axum::Json<Value> {
    if rights.silent.load(std::sync::atomic::Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
    let allowed = rights.allowed.lock().expect("the rights").clone();
    let revision = *rights.revision.lock().expect("a revision");
    let questions = body["evaluations"].as_array().cloned().unwrap_or_default();
    rights
        .asked
        .fetch_add(questions.len(), std::sync::atomic::Ordering::SeqCst);
    let verdicts: Vec<Value> = questions
        .iter()
        .map(|question| {
            let action = question["action"]["name"].as_str().unwrap_or_default();
            let id = question["resource"]["id"].as_str().unwrap_or_default();
            // The registry knows no other types.
            let kind = question["resource"]["type"].as_str().unwrap_or_default();
            let known = ["Mower", "Scope"].contains(&kind);
            let may = |action: &str| known && allowed.contains(&(action.to_owned(), id.to_owned()));
            json!({
                "decision": may(action),
                "context": { "visible": may("observe") || may(action), "revision": revision },
            })
        })
        .collect();
    axum::Json(json!({ "evaluations": verdicts }))
}
