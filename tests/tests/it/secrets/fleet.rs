//! What people do with mowers, and the secrets that take part in it.

use interlock_tests::personas::Persona;
use interlock_tests::sent::Sent;
use interlock_tests::system::System;
use serde_json::json;

use super::{Run, Secret, get, post};
use crate::personas::stage::fleet::{FLEET, area, group, join, mower, pending};

/// Plans, commands, stops and questions about members, each with what is wrong
/// with it too.
pub(super) async fn run(system: &System, run: &mut Run) {
    system.fleet.listen();
    let plan = format!("{FLEET}/mow-plans/{}", pending(system).await);
    let (approve, dispatch) = (format!("{plan}/approve"), format!("{plan}/dispatch"));
    let approved = system
        .call(Persona::Approver, "POST", &approve)
        .send()
        .await;
    let code = approved.expect(200).json()["approvalCode"].clone();
    let code = code.as_str().expect("a code").to_owned();
    run.secrets.push(Secret::code(&code));
    run.ask(system, Persona::Viewer, get(&plan)).await;

    // The code where it does not belong, and then where it does.
    let right = json!({ "approvalCode": code }).to_string();
    let mower = mower(system).await;
    let commands = format!("{FLEET}/mowers/{mower}/commands");
    let named = json!({ "command": { "kind": "pause_mow" }, "approvalCode": code }).to_string();
    let parameter = json!({ "command": { "kind": "pause_mow", "code": code } }).to_string();
    for body in [&named, &parameter] {
        let status = run.ask(system, Persona::Operator, post(&commands, Some(body), None));
        assert!((400..500).contains(&status.await));
    }
    let reason = json!({ "command": { "kind": "emergency_stop", "more": code } }).to_string();
    let stop = post(&commands, Some(&reason), None);
    assert_eq!(run.ask(system, Persona::Viewer, stop).await, 202);
    let by_viewer = post(&dispatch, Some(&right), None);
    assert_eq!(run.ask(system, Persona::Viewer, by_viewer).await, 403);
    let mow = post(&dispatch, Some(&right), Some("mow-1"));
    assert_eq!(run.ask(system, Persona::Operator, mow).await, 202);
    run.ask(system, Persona::Operator, mow).await;
    let second = post(&dispatch, Some(&right), Some("mow-2"));
    assert_eq!(run.ask(system, Persona::Operator, second).await, 409);

    // What the service asks the gateway about: it sends the grant back.
    let group = group(system).await;
    join(system, &group, &mower).await;
    let lawn = area(system, &mower).await;
    let start = json!({
        "command": { "kind": "start_mow", "area_ids": [lawn] }, "area_clear_confirmed": true,
    });
    let start = start.to_string();
    let many = format!("{FLEET}/groups/{group}/commands");
    let bulk = post(&many, Some(&start), Some("bulk-1"));
    assert_eq!(run.ask(system, Persona::Dispatcher, bulk).await, 202);
    for list in ["mowers", "commands", "groups", "mow-plans"] {
        let list = format!("{FLEET}/{list}");
        assert_eq!(run.ask(system, Persona::Viewer, get(&list)).await, 200);
    }
    let stops = format!("{FLEET}/groups/{group}/emergency-stop");
    assert_eq!(
        run.ask(system, Persona::Viewer, post(&stops, None, None))
            .await,
        202
    );

    let sent = Sent::all(&system.fleet.listen());
    assert!(sent.len() > 10, "{} calls went to the fleet", sent.len());
    for sent in sent {
        run.secrets.push(Secret::token("a grant", sent.grant()));
    }
    let (_, keys) = system.gateway().config.mowers.as_ref().expect("mowers");
    run.secrets.push(Secret::key(&keys[0]));
}
