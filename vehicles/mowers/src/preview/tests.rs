use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::Previews;
use crate::commands::testkit::{Asking, Cut, Holder, Rig, mower, noon};
use crate::service::problem::Problem;

const PREVIEWS: &str = "gateway.mower.*.path.preview";

fn preview(number: u128) -> Asking {
    let path = format!("/api/v1/fleet/mowers/{}/path-preview", mower(number));
    let body = json!({ "area_ids": [Uuid::from_u128(1)], "pattern": { "kind": "double" } });
    Asking::new("mowers.path.preview", path, &body)
}

fn path() -> Value {
    json!({ "path": {
        "legs": [{ "kind": "lane", "points": [[0.0, 0.0], [1.0, 0.0]] }],
        "points_total": 2, "path_hash": "ab".repeat(32), "length_m": 1.0, "area_m2": 0.2,
        "est_duration_s": 3.0, "est_battery_percent": 0.1, "map_revision": 4,
        "assumptions": ["dry grass"], "truncated": false,
    } })
}

#[tokio::test]
async fn a_path_is_relayed_and_nothing_is_kept() {
    let rig = Rig::new(1).await;
    let holder = Holder::answer(&rig.bus, PREVIEWS, |_| Some(path())).await;
    let reply = rig.send(&preview(1)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let shown = reply.json();
    assert_eq!(shown["path_hash"], "ab".repeat(32));
    assert_eq!(shown["path"][0]["kind"], "lane");
    assert_eq!(shown["map_revision"], "4");
    let asked = holder.asked();
    assert_eq!(asked[0].1["account_id"], "acme");
    assert_eq!(asked[0].1["requested_by"], "https://idp anna");
    assert_eq!(asked[0].1["pattern"]["kind"], "double");
    assert_eq!((rig.count().await, rig.bus.published()), (0, 0));
}

#[tokio::test]
async fn a_proposal_has_a_fence() {
    let rig = Rig::new(1).await;
    rig.send(&Asking::stop(mower(1))).await;
    let holder = Holder::answer(&rig.bus, PREVIEWS, |_| Some(path())).await;
    let path = format!("/internal/mowers/{}/preview", mower(1));
    let body = json!({ "area_ids": [Uuid::from_u128(1)], "duration_min": 20, "speed_mps": 0.5,
        "blade_height_mm": 40, "ttl_seconds": 60 });
    let asking = Asking::new("mowers.internal.preview", path, &body);
    let reply = rig.send(&asking).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let asked = &holder.asked()[0].1;
    for name in ["duration_min", "speed_mps", "blade_height_mm"] {
        assert_eq!(asked[name], body[name], "the mower is asked for all of it");
    }
    let shown = reply.json();
    let stop_epoch = rig.fleet.control.epochs.current(mower(1));
    let fence =
        json!({ "path_hash": "ab".repeat(32), "hierarchy_rev": 1, "stop_epoch": stop_epoch });
    assert_eq!(shown["fence"], fence);
    assert_eq!(shown["conflicted"], false);
    assert_eq!(shown["preview"]["points_total"], 2);
}

#[tokio::test]
async fn each_error_has_its_status() {
    for (code, status, slug, layer) in [
        ("unsupported", 409, "path-preview-unsupported", None),
        ("rejected", 409, "path-preview-rejected", None),
        ("preview_running", 409, "preview-running", None),
        ("timeout", 504, "gateway-timeout", Some("mower")),
        ("unavailable", 503, "path-preview-unavailable", None),
        ("not_found", 503, "path-preview-unavailable", None),
        ("failed", 503, "path-preview-unavailable", None),
        ("forbidden", 404, "not-found", None),
    ] {
        let rig = Rig::new(1).await;
        let answer = json!({ "error": { "code": code, "detail": "the reason" } });
        let _holder = Holder::answer(&rig.bus, PREVIEWS, move |_| Some(answer.clone())).await;
        let reply = rig.send(&preview(1)).await;
        let wanted = (status, slug.to_owned(), "none".to_owned());
        assert_eq!(reply.problem(), wanted, "{code}");
        assert_eq!(reply.json()["layer"].as_str(), layer, "{code}");
        assert_eq!(
            reply.text.contains("the reason"),
            !matches!(code, "forbidden" | "preview_running"),
            "{code}"
        );
    }
}

#[tokio::test]
async fn nobody_answers() {
    let rig = Rig::new(1).await;
    let (status, slug, _) = rig.send(&preview(1)).await.problem();
    assert_eq!(
        (status, slug.as_str()),
        (503, "path-preview-unavailable"),
        "no shard at all"
    );
    rig.bus.cut(Cut::All);
    let (status, slug, _) = rig.send(&preview(1)).await.problem();
    assert_eq!(
        (status, slug.as_str()),
        (503, "path-preview-unavailable"),
        "no bus"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_device_gateway_times_out_after_the_mower_would_have() {
    let bus = crate::bus::LocalBus::new();
    let _listener = crate::bus::Bus::listen(&bus, PREVIEWS)
        .await
        .expect("a listener");
    let begun = tokio::time::Instant::now();
    let within = crate::service::settings::Timeouts::default().service;
    let subject = crate::bus::subject::preview(mower(1));
    let asked = crate::bus::Bus::request(&bus, &subject, bytes::Bytes::new(), within).await;
    let problem = super::silent(&asked.expect_err("silence"));
    assert!(
        matches!(problem, Problem::GatewayTimeout { layer, .. } if layer.as_str() == "device-gateway")
    );
    assert_eq!(begun.elapsed().as_secs(), 85);
}

#[tokio::test]
async fn who_hangs_up_frees_the_mower() {
    let rig = Rig::new(1).await;
    let holder = Holder::answer(&rig.bus, PREVIEWS, |_| None).await;
    let over = "gateway.mower.*.path.over";
    let mut over = crate::bus::Bus::listen(&*rig.bus, over)
        .await
        .expect("a listener");
    let asking = preview(1);
    {
        let waiting = rig.send(&asking);
        let asked = async {
            while holder.asked().is_empty() {
                tokio::task::yield_now().await;
            }
            rig.send(&preview(1)).await
        };
        tokio::select! {
            reply = waiting => panic!("{}", reply.text),
            second = asked => {
                let (status, slug, _) = second.problem();
                assert_eq!((status, slug.as_str()), (409, "preview-running"));
            }
        }
    }
    let begun = rig.fleet.previews.begin(mower(1), "acme", "anna", noon());
    assert!(begun.is_ok(), "{begun:?}");
    let told = over.next().await.expect("a word to the mower's holder");
    let told: Value = serde_json::from_slice(&told.payload).expect("JSON");
    assert_eq!(told["request_id"], holder.asked()[0].1["request_id"]);
}

#[test]
fn four_of_an_account_at_once() {
    let previews = Previews::default();
    let begin = |number, account: &str| previews.begin(mower(number), account, "anna", noon());
    let mut running: Vec<_> = (1..=4)
        .map(|number| begin(number, "acme").expect("room"))
        .collect();
    let limit = Problem::PreviewLimit { retry_after_s: 5 };
    assert_eq!(begin(5, "acme").err(), Some(limit));
    assert!(begin(6, "other").is_ok());
    assert_eq!(begin(1, "acme").err(), Some(Problem::PreviewRunning));
    running.pop();
    assert!(begin(5, "acme").is_ok());
}

#[test]
fn ten_a_minute_of_one_caller() {
    let previews = Previews::default();
    let begin = |caller: &str, seconds: u64| {
        let now = noon() + Duration::from_secs(seconds);
        previews.begin(mower(1), "acme", caller, now).map(drop)
    };
    for second in 0..10 {
        assert_eq!(begin("anna", second), Ok(()));
    }
    let limit = Problem::PreviewLimit { retry_after_s: 51 };
    assert_eq!(begin("anna", 10), Err(limit));
    assert_eq!(begin("bert", 10), Ok(()));
    assert_eq!(begin("anna", 60), Ok(()));
}

#[tokio::test]
async fn too_many_previews_say_when_to_come_again() {
    let rig = Rig::new(1).await;
    let _holder = Holder::answer(&rig.bus, PREVIEWS, |_| Some(path())).await;
    for _ in 0..10 {
        assert_eq!(rig.send(&preview(1)).await.status, 200);
    }
    let reply = rig.send(&preview(1)).await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.headers["retry-after"], "61");
    let other = preview(1).by("bert");
    assert_eq!(rig.send(&other).await.status, 200);
}
