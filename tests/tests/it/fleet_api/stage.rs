//! Callers with rights on parts of a fleet, and what they look at.

use std::fs;

use interlock_tests::gateway::GatewayConfig;
use interlock_tests::http::{Answer, Call};
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use interlock_tests::wire::{Raw, Wire};
use serde_json::{Value, json};

use crate::personas::stage::fleet::{FLEET, mower, registration};
use crate::personas::stage::text;
use crate::problems::machinery::copy;

/// An id that no object has.
pub(super) const NEVER: &str = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000";

/// A system with a role that commands many at once and gives nothing else.
pub(super) async fn start() -> System {
    System::start_with(Plan::ENFORCED.with_mowers(), with_bulk_role).await
}

fn with_bulk_role(mut config: GatewayConfig) -> GatewayConfig {
    let bundle = config.state.join("bundle");
    copy(&config.bundle, &bundle);
    let grants = json!({
        "format": 1, "roles": { "bulk-only": ["bulk"] }, "people": [], "identities": [],
    });
    fs::write(bundle.join("grants.json"), grants.to_string()).unwrap();
    config.bundle = bundle;
    config
}

/// Somebody with a token.
#[derive(Clone, Debug)]
pub(super) struct Caller(pub(super) String);

impl Caller {
    /// A member of `account` with roles on scopes: `{"operator": ["m1"]}`.
    pub(super) fn of(system: &System, account: &str, name: &str, grants: &Value) -> Caller {
        let claims = system.idp.claims(name);
        let claims = claims.with("interlock_tenants", json!([account]));
        let claims = claims.with("interlock_grants", grants.clone());
        Caller(system.idp.sign(&claims))
    }

    /// One of those that every test knows.
    pub(super) fn persona(system: &System, persona: Persona) -> Caller {
        Caller(persona.token(&system.idp).expect("a token"))
    }

    pub(super) fn call(&self, system: &System, method: &str, path: &str) -> Call {
        let call = system
            .gateway()
            .http()
            .call(method, &format!("{FLEET}{path}"));
        call.token(Some(&self.0))
    }

    pub(super) async fn get(&self, system: &System, path: &str) -> Answer {
        self.call(system, "GET", path).send().await
    }

    pub(super) async fn post(&self, system: &System, path: &str, body: &Value) -> Answer {
        self.call(system, "POST", path).json(body).send().await
    }

    /// The answer on a connection of its own, to the byte but for the time.
    pub(super) fn raw(&self, system: &System, method: &str, path: &str, body: &str) -> Raw {
        self.raw_with(system, method, path, body, "")
    }

    /// The same with more header lines, each with its end.
    pub(super) fn raw_with(
        &self,
        system: &System,
        method: &str,
        path: &str,
        body: &str,
        more: &str,
    ) -> Raw {
        let address = system.gateway().address();
        let mut head = format!(
            "{method} {FLEET}{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n{more}",
            self.0
        );
        if !body.is_empty() {
            let length = body.len();
            head += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        let mut wire = Wire::connect(address);
        wire.send(format!("{head}\r\n{body}"));
        let mut raw = wire.answer_to(method).expect("an answer");
        for (name, value) in &mut raw.headers {
            if name == "date" {
                "now".clone_into(value);
            }
        }
        raw
    }
}

/// What a manager makes, as it is told.
pub(super) async fn made(system: &System, by: &Caller, what: &str, body: &Value) -> String {
    let answer = by.post(system, what, body).await;
    text(&answer.expect(201).json()["id"])
}

/// A group of the site with so many fresh mowers, in the order of their ids.
pub(super) async fn mowers(system: &System, many: usize) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..many {
        all.push(mower(system).await);
    }
    all.sort();
    all
}

/// A registration with something changed.
pub(super) fn registered_with(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = registration();
    change(&mut body);
    body
}

/// Waits until the mower's state is as `wanted` says.
pub(super) async fn state(
    system: &System,
    mower: &str,
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    let viewer = Caller::persona(system, Persona::Viewer);
    poll::until_async(what, async || {
        let answer = viewer.get(system, &format!("/mowers/{mower}/state")).await;
        let state = (answer.status == 200).then(|| answer.json())?;
        wanted(&state).then_some(state)
    })
    .await
}

/// Waits for the end of a command, and returns its record.
pub(super) async fn ended(system: &System, command: &str) -> Value {
    let viewer = Caller::persona(system, Persona::Viewer);
    poll::until_async(&format!("command {command} ends"), async || {
        let answer = viewer.get(system, &format!("/commands/{command}")).await;
        let record = answer.expect(200).json();
        let open = ["pending", "accepted"]
            .iter()
            .any(|it| record["status"] == *it);
        (!open).then_some(record)
    })
    .await
}
