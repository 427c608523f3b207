//! F14 and F15. A mower is moved or deleted while a command to it is on its way.

use std::future::Future;

use interlock_tests::chaos::{Chaos, Line};
use interlock_tests::gateway::Gateway;
use interlock_tests::http::{Answer, Call};
use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use serde_json::json;

use super::stand::{EMBEDDED, Mower, command, ends, height, latched, mower, records, start};
use crate::personas::stage::fleet::{FLEET, group, join};
use crate::personas::stage::text;

/// Two gateways, the way of the first to the service through a relay of its own.
struct Rig {
    system: System,
    aside: Chaos,
    mower: Mower,
    group: String,
}

impl Rig {
    async fn start() -> Rig {
        let aside = Chaos::nowhere();
        let system = System::start_with(Plan::PAIR.with_mowers(), |mut config| {
            let first = config.state.ends_with("gateway-1");
            if let Some((fleet, _)) = config.mowers.as_mut().filter(|_| first) {
                aside.aim(fleet[0]);
                *fleet = vec![aside.address()];
            }
            config
        })
        .await;
        let mower = mower(&system).await;
        let group = group(&system).await;
        join(&system, &group, &mower.id).await;
        let rig = Rig {
            system,
            aside,
            mower,
            group,
        };
        rig.second_knows(&format!("groups/{}", rig.group)).await;
        rig.second_knows(&format!("mowers/{}", rig.mower.id)).await;
        rig
    }

    /// Waits until the second gateway has heard of something from the first.
    async fn second_knows(&self, what: &str) {
        let path = format!("{FLEET}/{what}");
        poll::until_async("the second gateway knows it", async || {
            let call = self.system.gateways[1].http().get(&path);
            let token = Persona::Manager.token(&self.system.idp);
            (call.token(token).send().await.status == 200).then_some(())
        })
        .await;
    }

    fn path(&self, last: &str) -> String {
        format!("{FLEET}/mowers/{}/{last}", self.mower.id)
    }

    /// A call by somebody who may operate the group, and nothing else.
    fn call(&self, last: &str) -> Call {
        let idp = &self.system.idp;
        let claims = idp
            .claims("gina")
            .with("interlock_tenants", json!([ACCOUNT]));
        let claims = claims.with("interlock_grants", json!({ "operator": [self.group] }));
        let call = self.system.gateway().http().post(&self.path(last));
        call.token(Some(idp.sign(&claims)))
    }

    /// Makes `call` at the first gateway, does `meanwhile` at the second after
    /// the call was decided, and lets the call go on.
    async fn meanwhile(&self, call: Call, meanwhile: impl Future<Output = ()>) -> Answer {
        // Connections that wait for a use are gone, so that the call makes one.
        self.aside.set(Line::Cut);
        let probe = self.path("map");
        poll::until_async("the line is cut", async || {
            let answer = self.system.get(Persona::Viewer, &probe).await;
            (answer.status >= 500).then_some(())
        })
        .await;
        self.aside.set(Line::Hung);
        let before = self.aside.accepted();
        let calling = tokio::spawn(call.send());
        poll::until_async("the call is on its way", async || {
            (self.aside.accepted() > before).then_some(())
        })
        .await;
        meanwhile.await;
        self.aside.set(Line::Up);
        calling.await.expect("the call is made")
    }

    /// A call at the second gateway by the manager.
    async fn manage(&self, method: &str, path: &str) {
        let second: &Gateway = &self.system.gateways[1];
        let call = second.http().call(method, path);
        let token = Persona::Manager.token(&self.system.idp);
        let answer = call.token(token).send().await;
        answer.expect(204);
    }

    /// How often the service was asked for a command since the last look.
    fn asked(&self) -> usize {
        let heard = self.system.fleet.listen();
        let heard = String::from_utf8_lossy(&heard).into_owned();
        heard
            .matches(&format!("POST {}", self.path("commands")))
            .count()
    }
}

/// Moved out of the caller's reach: judged again, the mower is not there.
#[tokio::test]
async fn out_of_reach() {
    let rig = Rig::start().await;
    let membership = format!("{FLEET}/groups/{}/mowers/{}", rig.group, rig.mower.id);
    let call = rig.call("commands").json(&start(&rig.mower, 60));
    let answer = rig.meanwhile(call, rig.manage("DELETE", &membership)).await;
    assert_eq!(answer.problem(), "not-found", "{}", answer.text());
    assert_eq!(answer.expect(404).json()["effect"], "none");
    assert!(records(&rig.system, &rig.mower.id).await.is_empty());
}

/// Moved within it: judged again once, and done once.
#[tokio::test]
async fn within_reach() {
    let rig = Rig::start().await;
    let other = group(&rig.system).await;
    let membership = format!("{FLEET}/groups/{other}/mowers/{}", rig.mower.id);
    rig.second_knows(&format!("groups/{other}")).await;
    rig.asked();
    let call = rig.call("commands").json(&height(45));
    let answer = rig.meanwhile(call, rig.manage("PUT", &membership)).await;
    let id = text(&answer.expect(202).json()["command_id"]);
    assert_eq!(rig.asked(), 2, "judged again once");
    ends(&rig.system, &id, "executed").await;
    assert_eq!(records(&rig.system, &rig.mower.id).await.len(), 1);
}

/// A stop does not ask where the mower belongs by now.
#[tokio::test]
async fn under_a_stop() {
    let rig = Rig::start().await;
    let membership = format!("{FLEET}/groups/{}/mowers/{}", rig.group, rig.mower.id);
    let call = rig.call("emergency-stop");
    let answer = rig.meanwhile(call, rig.manage("DELETE", &membership)).await;
    answer.expect(202);
    latched(&rig.system, &rig.mower.id).await;
}

/// F15. What is deleted is gone for everybody, but for what is on record.
#[tokio::test]
async fn deleted_after_a_command() {
    let system = System::start(EMBEDDED).await;
    let mower = mower(&system).await;
    let told = command(&system, &mower.id, &height(45)).await.expect(202);
    let id = text(&told.json()["command_id"]);
    ends(&system, &id, "executed").await;
    let path = format!("{FLEET}/mowers/{}", mower.id);
    let gone = system.call(Persona::Manager, "DELETE", &path).send().await;
    gone.expect(204);
    system.get(Persona::Viewer, &path).await.expect(404);
    let again = command(&system, &mower.id, &height(50)).await;
    assert_eq!(again.expect(404).problem(), "not-found");
    ends(&system, &id, "executed").await;
}
