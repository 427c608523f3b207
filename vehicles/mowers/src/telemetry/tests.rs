use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Seen, Telemetry};
use crate::commands::testkit::{Asking, Holder, Rig, mower, noon, state};
use crate::contract::Activity;

fn read(what: &str) -> Asking {
    let path = format!("/api/v1/fleet/mowers/{}/{what}", mower(1));
    let row = match what {
        "state" => "mowers.mower.state",
        "map" => "mowers.mower.map",
        _ => "mowers.mower.capabilities",
    };
    Asking::new(row, path, &Value::Null)
}

#[test]
fn states_only_go_forward() {
    let telemetry = Telemetry::default();
    let at = |seconds| noon() + SignedDuration::from_secs(seconds);
    let hear = |seq, seconds| {
        let state = state(mower(1), Activity::Mowing, seq, at(seconds));
        telemetry.hear(state)
    };
    assert!(hear(5, 5));
    assert!(!hear(5, 5));
    assert!(!hear(4, 4));
    assert!(hear(6, 6));
    assert!(!hear(7, 3), "an old state with a new number");
    assert!(hear(1, 9), "its gateway counts anew");
    let latest = telemetry.latest(mower(1)).expect("a state");
    assert_eq!(latest.state.seq, 1);
    assert_eq!(telemetry.latest(mower(2)), None);
}

#[test]
fn a_state_says_how_old_it_is() {
    let seen = Seen {
        state: state(mower(1), Activity::Mowing, 1, noon()),
    };
    let shown = |milliseconds| {
        let now = noon() + SignedDuration::from_millis(milliseconds);
        serde_json::to_value(seen.view(now)).expect("JSON")
    };
    assert_eq!(shown(30_000)["stale"], false);
    assert_eq!(shown(30_001)["stale"], true);
    assert_eq!(shown(30_001)["age_ms"], 30_001);
    assert_eq!(shown(0)["activity"], "mowing");
    assert_eq!(shown(-500)["age_ms"], 0);
}

#[tokio::test]
async fn the_state_comes_from_memory_even_while_the_records_are_down() {
    let rig = Rig::new(1).await;
    rig.fleet
        .telemetry
        .hear(state(mower(1), Activity::Mowing, 3, rig.now()));
    rig.fleet.records.pool().close().await;
    rig.pass(60_000);
    let shown = rig.send(&read("state")).await.json();
    assert_eq!((&shown["seq"], &shown["stale"]), (&json!(3), &json!(true)));
}

#[tokio::test]
async fn what_only_the_holder_knows_is_asked_of_it() {
    let rig = Rig::new(1).await;
    for what in ["state", "map", "capabilities"] {
        let reply = rig.send(&read(what)).await;
        let none = (503, "not-held".to_owned(), "none".to_owned());
        assert_eq!(reply.problem(), none, "{what}");
    }
    let _map = Holder::answer(&rig.bus, "gateway.mower.*.map", |asked| {
        assert_eq!(asked["account_id"], "acme");
        Some(json!({ "found": { "revision": 7, "dock": [0.0, 1.0], "areas": [] } }))
    })
    .await;
    let map = rig.send(&read("map")).await.json();
    assert_eq!(
        (&map["mower_id"], &map["revision"]),
        (&json!(mower(1)), &json!(7))
    );
    let _capabilities = Holder::answer(&rig.bus, "gateway.mower.*.capabilities", |_| {
        Some(json!({ "error": { "code": "unavailable", "detail": "no link" } }))
    })
    .await;
    assert_eq!(rig.send(&read("capabilities")).await.status, 503);
    let kept = state(mower(1), Activity::Docked, 9, rig.now());
    let _state = Holder::answer(&rig.bus, "gateway.mower.*.state", move |_| {
        Some(json!({ "found": kept }))
    })
    .await;
    assert_eq!(rig.send(&read("state")).await.json()["seq"], 9);
}
