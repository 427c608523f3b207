use std::time::Duration;

use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use rig::{Call, Counters, Rig, Silent, conflicting, route, simulate};

mod lives;
pub(crate) mod rig;
mod stops;
mod unclear;

/// Previews a mission and gives the fence of it.
async fn fence(rig: &Rig, body: &Value) -> Value {
    let call = Call::new(
        "drones.internal.preview",
        "/internal/preview",
        &body.to_string(),
    );
    let preview = rig.check(&call, 200, "", "").await.json();
    assert_eq!(preview["conflicted"], false, "{preview}");
    preview["fence"].clone()
}

#[tokio::test]
async fn a_mission_is_previewed_started_and_completed() {
    let mut rig = Rig::new().await;
    let mut call = Call::start(&route());
    call.fence = Some(fence(&rig, &route()).await);
    let reply = rig.check(&call, 201, "", "").await;
    let mission = reply.json();
    let id = call.operation.to_string();
    assert_eq!(mission["id"], id);
    assert_eq!(mission["status"], "Active");
    assert_eq!(reply.headers["location"], format!("/api/missions/{id}"));
    let ended = rig.until_status(&id, "Completed").await;
    assert!(ended["endedAtUtc"].is_string(), "{ended}");
    let state = Call::new("drones.swarm.state", "/api/swarm/state", "");
    let state = rig.check(&state, 200, "", "").await.json();
    assert_eq!(state["bridgeMode"], "Simulated");
    assert_eq!(state["activeMissionComplete"], true);
    let expected = Counters {
        starts: 1,
        flights: 1,
        commands: 0,
    };
    assert_eq!(rig.counters().await, expected);
}

#[tokio::test]
async fn a_repeated_operation_is_answered_and_not_flown_again() {
    let rig = Rig::slow().await;
    let call = Call::start(&route());
    let first = rig.check(&call, 201, "", "").await;
    let again = Call {
        jti: Uuid::new_v4(),
        ..call.clone()
    };
    let second = rig.check(&again, 201, "", "").await;
    assert_eq!(first.text, second.text);
    assert_eq!(first.headers["location"], second.headers["location"]);
    let other = Call {
        jti: Uuid::new_v4(),
        body: conflicting().to_string(),
        ..call
    };
    rig.check(&other, 409, "operation-reused", "none").await;
    assert_eq!(rig.counters().await.starts, 1);
}

#[tokio::test]
async fn of_racing_starts_one_flies() {
    let rig = Rig::slow().await;
    let calls: Vec<Call> = (0..20).map(|_| Call::start(&route())).collect();
    let replies = calls.iter().map(|call| rig.send(call));
    let replies = futures_util::future::join_all(replies).await;
    let count = |status| {
        replies
            .iter()
            .filter(|reply| reply.status == status)
            .count()
    };
    assert_eq!(count(StatusCode::CREATED), 1, "{replies:?}");
    assert_eq!(count(StatusCode::CONFLICT), 19, "{replies:?}");
    assert_eq!(rig.counters().await.starts, 1);
}

#[tokio::test]
async fn what_must_not_fly_is_refused_and_nothing_is_sent() {
    let rig = Rig::slow().await;
    let seen = fence(&rig, &route()).await;
    let refuse = async |change: &dyn Fn(&mut Call), status, slug| {
        let mut call = Call::start(&route());
        change(&mut call);
        rig.check(&call, status, slug, "none").await
    };

    let bad = json!({"name": "", "type": "swim", "waypoints": [], "droneCount": 9, "x": 1});
    let reply = refuse(&|call| call.body = bad.to_string(), 400, "invalid-request").await;
    assert_eq!(
        reply.json()["errors"]["request"].as_array().unwrap().len(),
        5,
        "{}",
        reply.text
    );

    let reply = refuse(
        &|call| call.body = conflicting().to_string(),
        409,
        "conflicting",
    )
    .await;
    let meters = reply.json()["conflicts"][0]["distanceMeters"].as_f64();
    assert!(meters.is_some_and(|meters| meters < 2.0), "{}", reply.text);

    let ago = Timestamp::now() - Duration::from_secs(1);
    refuse(&|call| call.deadline = ago, 503, "too-late").await;

    let with = |name: &str, value: Value| {
        let mut fence = seen.clone();
        fence[name] = value;
        fence
    };
    let epoch = with("stopEpoch", json!(7));
    refuse(
        &|call| call.fence = Some(epoch.clone()),
        409,
        "stopped-since",
    )
    .await;
    let hash = with("pathHash", json!("00"));
    refuse(&|call| call.fence = Some(hash.clone()), 409, "moved").await;
    let mut starts = seen["starts"].clone();
    starts[0]["x"] = json!(0.6);
    let moved = with("starts", starts);
    refuse(&|call| call.fence = Some(moved.clone()), 409, "moved").await;
    let unreadable = json!({"stopEpoch": "three"});
    refuse(
        &|call| call.fence = Some(unreadable.clone()),
        400,
        "invalid-request",
    )
    .await;

    assert_eq!(rig.counters().await, Counters::default());
    let mut call = Call::start(&route());
    call.fence = Some(seen);
    rig.check(&call, 201, "", "").await;
    rig.check(&Call::start(&route()), 409, "mission-active", "none")
        .await;
    assert_eq!(rig.counters().await.starts, 1);
}

#[tokio::test]
async fn without_a_live_swarm_nothing_starts_and_the_reason_is_told() {
    let silent = Silent::new().await;
    let rig = Rig::with(&silent.address).await;
    let reply = rig
        .check(&Call::start(&route()), 503, "stale-state", "none")
        .await;
    assert!(
        reply.text.contains("has not reported any position"),
        "{}",
        reply.text
    );
    let state = Call::new("drones.swarm.state", "/api/swarm/state", "");
    assert_eq!(rig.send(&state).await.json()["bridgeMode"], "Disconnected");
}

#[tokio::test]
async fn a_mission_that_never_was_is_not_found() {
    let rig = Rig::slow().await;
    let id = Uuid::new_v4().to_string();
    rig.check(&Call::mission(&id), 404, "not-found", "none")
        .await;
    rig.check(&Call::abort(&id, ""), 404, "not-found", "none")
        .await;
    assert_eq!(rig.counters().await, Counters::default());
}

#[tokio::test]
async fn a_call_without_its_own_grant_is_refused() {
    let rig = Rig::slow().await;
    let call = Call::start(&route());
    let grant = call.grant();
    let (path, body) = (call.path.as_str(), call.body.as_str());
    let refused = async |method: &str, path: &str, body: &str, grant: Option<&str>| {
        let reply = rig.raw(method, path, body, grant).await;
        assert_eq!(
            reply.status,
            StatusCode::UNAUTHORIZED,
            "{method} {path}: {}",
            reply.text
        );
        assert_eq!(reply.json()["effect"], "none");
    };
    refused("POST", path, body, None).await;
    refused("POST", "/api/swarm/land", "", Some(&grant)).await;
    refused("GET", "/api/swarm/state", "", Some(&grant)).await;
    refused("POST", "/api/missions?again=1", body, Some(&grant)).await;
    refused("POST", path, &conflicting().to_string(), Some(&grant)).await;
    refused("POST", path, "", Some(&grant)).await;
    let land = Call::land().grant();
    refused("POST", path, body, Some(&land)).await;
    assert_eq!(rig.counters().await, Counters::default());
    assert_eq!(
        rig.raw("POST", path, body, Some(&grant)).await.status,
        StatusCode::CREATED
    );
    refused("POST", path, body, Some(&grant)).await;
    assert_eq!(rig.counters().await.starts, 1);
}

#[tokio::test]
async fn a_swarm_that_refuses_is_told_apart_from_one_that_is_gone() {
    let rig = Rig::with(&simulate(1.0, vec![(0, 0)]).await)
        .await
        .live()
        .await;
    let call = Call::start(&route());
    rig.check(&call, 409, "swarm-refused", "none").await;
    assert_eq!(rig.counters().await.flights, 0);
}
