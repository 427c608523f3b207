//! A system whose gateway or drone service ends at a point, and what a client
//! does about it: the same call again, with the same key.

use std::os::unix::process::ExitStatusExt;

use interlock_drones::crash as drones;
use interlock_gateway::crash;
use interlock_tests::gateway::{Gateway, GatewayConfig};
use interlock_tests::http::{Answer, Call};
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::process::Process;
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};

/// Open mode on the embedded store.
pub(super) const EMBEDDED: Plan = Plan::OPEN;

/// Open mode on Redis.
pub(super) const REDIS: Plan = Plan {
    redis: true,
    ..Plan::OPEN
};

/// What `abort` ends a process with.
const SIGABRT: i32 = 6;

/// Deadlines, and with them leases, that a test can wait for; far longer than
/// any step takes.
pub(crate) fn brisk(mut config: GatewayConfig) -> GatewayConfig {
    config.extra += "[limits]\nlease_margin_ms = 500\n";
    for name in ["write", "preview"] {
        config.extra += &format!(
            "[upstream.timeouts.{name}]\n\
             connect_ms = 500\nattempt_ms = 4000\ntotal_ms = 4000\ngateway_ms = 4500\n"
        );
    }
    config
}

/// A system whose gateway ends at `point`.
pub(super) async fn fragile(shape: Plan, point: &str) -> System {
    System::start_with(shape, |config| {
        let mut config = brisk(config);
        config.environment = crash_at(point);
        config
    })
    .await
}

fn crash_at(point: &str) -> Vec<(String, String)> {
    vec![(crash::CRASH_VARIABLE.to_owned(), point.to_owned())]
}

/// One call, as often as it takes.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) path: String,
    pub(super) body: Option<Value>,
    pub(super) key: Option<&'static str>,
}

impl Ask {
    /// A call on a plan, with a key.
    pub(super) fn on(plan: &str, verb: &str) -> Ask {
        Ask {
            path: format!("/api/mission-plans/{plan}/{verb}"),
            body: None,
            key: Some("once"),
        }
    }

    /// The dispatch of a plan, with a key.
    pub(super) fn dispatch(plan: &str, code: &str) -> Ask {
        Ask {
            body: Some(json!({ "approvalCode": code })),
            ..Ask::on(plan, "dispatch")
        }
    }

    /// The same without its key.
    pub(super) fn keyless(&self) -> Ask {
        Ask {
            key: None,
            ..self.clone()
        }
    }

    fn call(&self, system: &System) -> Call {
        let mut call = system.call(Persona::Operator, "POST", &self.path);
        if let Some(body) = &self.body {
            call = call.json(body);
        }
        match self.key {
            Some(key) => call.key(key),
            None => call,
        }
    }

    /// The answer at once.
    pub(super) async fn send(&self, system: &System) -> Answer {
        self.call(system).send().await
    }

    /// Makes the call on which the gateway ends: nothing is said to the caller.
    pub(super) async fn lost(&self, system: &mut System) {
        let answer = self.call(system).try_send().await;
        assert!(answer.is_err(), "answered: {answer:?}");
        aborted(&mut system.gateway_mut().process);
    }

    /// The first answer that is not of a call still in doubt.
    pub(super) async fn settled(&self, system: &System) -> Answer {
        let what = format!("{} is out of doubt", self.path);
        poll::until_async(&what, async || {
            let answer = self.send(system).await;
            let open = ["request-in-progress", "outcome-unknown"];
            (!open.contains(&answer.problem().as_str())).then_some(answer)
        })
        .await
    }
}

/// Waits for the end of a process, which must be that of a crash point.
pub(crate) fn aborted(process: &mut Process) {
    let status = process.wait();
    assert_eq!(status.signal(), Some(SIGABRT), "ended otherwise: {status}");
}

/// Starts the gateway again, to end nowhere, and waits until it is ready.
pub(super) async fn restart(gateway: &mut Gateway) {
    gateway.config.environment.clear();
    gateway.restart();
    gateway.ready().await;
}

/// Starts the gateway again, to end at `point`, which it may reach before
/// anybody sees that it is ready.
pub(super) fn doom(gateway: &mut Gateway, point: &str) {
    gateway.config.environment = crash_at(point);
    gateway.restart();
}

/// Starts the drone service again, to end at `point` or nowhere, and waits
/// until the swarm reports to it.
pub(super) async fn restart_service(system: &mut System, point: Option<&str>) {
    let environment = point.map(|point| (drones::CRASH_VARIABLE.to_owned(), point.to_owned()));
    system.drones.config_mut().environment = environment.into_iter().collect();
    system.drones.restart();
    poll::until_async("the swarm reports", async || {
        let state = system.get(Persona::Viewer, "/api/swarm/state").await;
        (state.status == 200 && state.json()["bridgeMode"] == "Simulated").then_some(())
    })
    .await;
    system.gateway().ready().await;
}

/// A plan as it is shown.
pub(super) async fn plan(system: &System, id: &str) -> Value {
    let path = format!("/api/mission-plans/{id}");
    system.get(Persona::Viewer, &path).await.expect(200).json()
}

/// The answer, the plan and the simulator say the same, and go on to: flown
/// once, or not flown and never to be.
pub(super) async fn agrees(system: &System, id: &str, ask: &Ask, answer: &Answer) {
    let counted = system.sim.counters();
    let plan = plan(system, id).await;
    let flown = match answer.status {
        201 => {
            assert_eq!(plan["status"], "Dispatched", "{plan}");
            assert_eq!(plan["missionId"], answer.json()["id"]);
            1
        }
        409 => {
            assert_eq!(answer.json()["effect"], "none", "{}", answer.text());
            assert_eq!(plan["status"], "Refused", "{plan}");
            assert_eq!(plan["refusal"]["effect"], "none", "{plan}");
            0
        }
        _ => panic!("answered {} {}", answer.status, answer.text()),
    };
    assert_eq!((counted.starts, counted.flights), (flown, flown));
    // The code is spent, whoever presents it.
    let again = ask.keyless().send(system).await;
    assert_eq!(again.problem(), "plan-state", "{}", again.text());
    // The key still means the same.
    let again = ask.settled(system).await;
    match answer.status {
        201 => {
            assert_eq!(again.header("idempotency-replayed"), Some("true"));
            assert_eq!(again.expect(201).json(), answer.json());
        }
        _ => assert_eq!(again.problem(), "plan-state", "{}", again.text()),
    }
    assert_eq!(system.sim.counters(), counted);
}
