//! How a mower is reached: a kind, and what the adapter of that kind wants to know.

use interlock_guard::json::Json;
use serde_json::{Map, Value};

use crate::hierarchy::roster::{ConnectionKind, Reach};
use crate::service::body::{Body, plain_object};
use crate::sim;

/// The most bytes of a connection's options, as JSON.
const OPTIONS: usize = 4 * 1024;

/// Parts of names under which secrets are kept. Options travel on the bus and are shown to
/// everybody who may see the mower.
const SECRETS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "private_key",
    "privatekey",
];

/// Reads how a mower is reached. What its adapter would refuse is refused here: later there is
/// nobody to tell.
pub(super) fn connection(body: &mut Body) -> Option<Reach> {
    let kind = body.required("kind")?;
    let kind = match &kind {
        Json::Text(text) => ConnectionKind::named(text),
        _ => None,
    };
    if kind.is_none() {
        let known = ConnectionKind::ALL.map(ConnectionKind::as_str).join("`, `");
        body.fault(format!("`connection.kind` must be one of `{known}`"));
    }
    let options = match body.take("options") {
        None => Some(Map::new()),
        Some(Json::Object(members)) => options(body, plain_object(members)),
        Some(other) => {
            let kind = other.kind();
            body.fault(format!(
                "`connection.options` must be an object, not {kind}"
            ));
            None
        }
    };
    let (kind, options) = (kind?, options?);
    if kind == ConnectionKind::Simulated
        && let Err(sim::OptionsError(faults)) = sim::Options::read(&options)
    {
        for fault in faults {
            let name = fault.name.escape_debug();
            body.fault(format!("`connection.options.{name}` {}", fault.why));
        }
        return None;
    }
    Some(Reach { kind, options })
}

/// SECURITY: options are stored, sent to device gateways and shown. A secret belongs into the
/// configuration of the device gateway.
fn options(body: &mut Body, options: Map<String, Value>) -> Option<Map<String, Value>> {
    let options = Value::Object(options);
    let mut found = Vec::new();
    secrets("connection.options", &options, &mut found);
    for place in &found {
        body.fault(format!(
            "`{place}` looks like a secret, which does not belong here: keep it in the \
             configuration of the device gateway, and give only the name it has there"
        ));
    }
    let bytes = options.to_string().len();
    if bytes > OPTIONS {
        body.fault(format!(
            "`connection.options` must have at most {OPTIONS} bytes as JSON, not {bytes}"
        ));
    }
    match options {
        Value::Object(members) if found.is_empty() && bytes <= OPTIONS => Some(members),
        _ => None,
    }
}

fn secrets(place: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                let place = format!("{place}.{}", name.escape_debug());
                let folded = name.to_lowercase();
                match SECRETS.iter().any(|secret| folded.contains(secret)) {
                    true => found.push(place),
                    false => secrets(&place, inner, found),
                }
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                secrets(&format!("{place}[{index}]"), inner, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
