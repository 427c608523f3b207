//! Something to try at once: a site, a group and three simulated mowers,
//! registered through the gateway as any user would.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::failure::Failure;
use crate::up::http::{Answer, call};

/// The account that everything belongs to.
pub(crate) const ACCOUNT: &str = "acme";

/// The mowers: serial number, name, kind, meters of lawn.
const MOWERS: [(&str, &str, &str, [u32; 2]); 3] = [
    ("DEMO-0001", "Front lawn", "luba", [20, 15]),
    ("DEMO-0002", "Orchard", "luba", [30, 20]),
    ("DEMO-0003", "Courtyard", "openmower", [12, 10]),
];

const FLEET: &str = "/api/v1/fleet";

/// How long it may take until the gateway has heard of what the service has
/// made, and until somebody talks to the mowers.
const HEARD: Duration = Duration::from_secs(30);

/// How often it is asked again.
const LOOK: Duration = Duration::from_millis(200);

/// The gateway, and the token of somebody who may register mowers where it
/// asks for one.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

/// Makes the demo, or finds it where a kept state has it already. Gives what a
/// person needs to go on: the ids.
pub(crate) async fn seed(gateway: &Door) -> Result<Value, Failure> {
    let page = made(gateway, "GET", &listed("/mowers?limit=200&"), None).await?;
    let mut mowers = known(&page);
    if mowers.is_empty() {
        mowers = register(gateway).await?;
    }
    // A device gateway takes up to a lease's length to hold them.
    for mower in &mowers {
        let id = mower.get("id").and_then(Value::as_str).unwrap_or_default();
        made(gateway, "GET", &format!("/mowers/{id}/state"), None).await?;
    }
    Ok(json!({
        "gateway": format!("http://{}", gateway.address),
        "account": ACCOUNT,
        "mowers": mowers,
    }))
}

/// The mowers of the demo in a page of all mowers.
fn known(page: &Value) -> Vec<Value> {
    let ours = |mower: &&Value| {
        let serial = mower.get("serial").and_then(Value::as_str);
        MOWERS.iter().any(|(demo, ..)| Some(*demo) == serial)
    };
    let items = page.get("items").and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter(ours)
        .map(shown)
        .collect()
}

async fn register(gateway: &Door) -> Result<Vec<Value>, Failure> {
    let site = json!({ "name": "Demo garden", "time_zone": "Europe/Berlin" });
    let site = made(gateway, "POST", &listed("/sites?"), Some(&site)).await?;
    let group = json!({ "name": "Demo mowers", "site_id": site.get("id") });
    let group = made(gateway, "POST", &listed("/groups?"), Some(&group)).await?;
    let mut mowers = Vec::new();
    for (number, (serial, name, profile, [width, height])) in MOWERS.into_iter().enumerate() {
        let mower = json!({
            "name": name,
            "vendor": "Interlock",
            "model": format!("Simulated {profile}"),
            "serial": serial,
            "connection": {
                "kind": "simulated",
                "options": {
                    "profile": profile,
                    "width_m": width,
                    "height_m": height,
                    "seed": number + 1,
                    // Nobody waits for a lawn to be mown in its own time.
                    "speed": 5,
                },
            },
            "site_id": site.get("id"),
            "group_ids": [group.get("id")],
        });
        let mower = made(gateway, "POST", &listed("/mowers?"), Some(&mower)).await?;
        mowers.push(shown(&mower));
    }
    Ok(mowers)
}

/// What is worth showing of a mower.
fn shown(mower: &Value) -> Value {
    let field = |name: &str| mower.get(name).cloned().unwrap_or_default();
    json!({
        "id": field("id"),
        "serial": field("serial"),
        "name": field("name"),
        "site_id": field("site_id"),
        "group_ids": field("group_ids"),
    })
}

/// The path of what belongs to the account as a whole.
fn listed(path: &str) -> String {
    format!("{path}account={ACCOUNT}")
}

/// Calls until it is done: right after the start, and right after a site was
/// made, the gateway may not have heard of it yet.
async fn made(
    gateway: &Door,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Failure> {
    let path = format!("{FLEET}{path}");
    let deadline = Instant::now() + HEARD;
    loop {
        let answer = call(
            gateway.address,
            method,
            &path,
            gateway.token.as_deref(),
            body,
        )
        .await;
        let refused = match answer {
            Ok(Answer { status, body }) if (200..300).contains(&status) => {
                return serde_json::from_str(&body).map_err(|cause| Failure::Demo {
                    call: format!("{method} {path}"),
                    answer: format!("is not JSON: {cause}"),
                });
            }
            Ok(Answer { status, body }) => {
                let answer = format!("{status} {}", body.trim());
                (matches!(status, 403 | 404 | 409 | 503), answer)
            }
            Err(cause) => (true, cause.to_string()),
        };
        let (may_pass, answer) = refused;
        if !may_pass || Instant::now() > deadline {
            return Err(Failure::Demo {
                call: format!("{method} {path}"),
                answer,
            });
        }
        sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests;
