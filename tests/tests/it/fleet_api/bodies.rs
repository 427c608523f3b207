//! What can be written into a body of the fleet: it has one reading, or it is
//! refused before anything moves; and nothing in it keeps a stop.

use interlock_tests::http::Answer;
use interlock_tests::personas::Persona;
use interlock_tests::system::System;
use serde_json::{Value, json};

use super::stage::{Caller, made, registered_with, start, state};
use crate::personas::stage::fleet::{mower, site};

const JSON: &str = "application/json";

async fn send(system: &System, by: &Caller, path: &str, kind: &str, body: Vec<u8>) -> Answer {
    by.call(system, "POST", path).body(kind, body).send().await
}

/// How many commands there are on record.
async fn records(system: &System) -> usize {
    let viewer = Caller::persona(system, Persona::Viewer);
    let listed = viewer.get(system, "/commands?limit=200").await.expect(200);
    listed.json()["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_command_has_one_reading_or_none() {
    let system = start().await;
    let operator = Caller::persona(&system, Persona::Operator);
    let mower = mower(&system).await;
    let path = format!("/mowers/{mower}/commands");
    let utf16 = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect::<Vec<u8>>()
    };
    let pause = r#"{"command":{"kind":"pause_mow"}}"#;
    let deep = format!("{}1{}", "[".repeat(600), "]".repeat(600));
    let cases: Vec<(&str, &str, Vec<u8>, &[u16])> = vec![
        ("a kind twice", JSON, br#"{"command":{"kind":"pause_mow","kind":"start_mow"}}"#.into(), &[400]),
        ("a kind twice, escaped", JSON, br#"{"command":{"kind":"pause_mow","k\u0069nd":"start_mow"}}"#.into(), &[400]),
        ("a command twice", JSON, br#"{"command":{"kind":"pause_mow"},"command":{"kind":"start_mow"}}"#.into(), &[400]),
        ("a parameter twice", JSON, br#"{"command":{"kind":"set_speed","speed_mps":0.3,"speed_mps":1.2}}"#.into(), &[400]),
        ("no kind", JSON, br#"{"command":{}}"#.into(), &[400]),
        ("a kind beside the command", JSON, br#"{"kind":"pause_mow"}"#.into(), &[400]),
        ("two kinds", JSON, br#"{"kind":"pause_mow","command":{"kind":"start_mow"}}"#.into(), &[400]),
        ("an unknown kind", JSON, br#"{"command":{"kind":"explode"}}"#.into(), &[400]),
        ("a kind in another case", JSON, br#"{"command":{"kind":"PAUSE_MOW"}}"#.into(), &[400]),
        ("a kind with a blank", JSON, br#"{"command":{"kind":" pause_mow"}}"#.into(), &[400]),
        ("a kind with a NUL", JSON, br#"{"command":{"kind":"pause_mow\u0000"}}"#.into(), &[400]),
        ("a kind of another alphabet", JSON, "{\"command\":{\"kind\":\"p\u{430}use_mow\"}}".into(), &[400]),
        ("a list of kinds", JSON, br#"{"command":{"kind":["pause_mow"]}}"#.into(), &[400]),
        ("a list of commands", JSON, br#"{"command":[{"kind":"pause_mow"}]}"#.into(), &[400]),
        ("a list", JSON, format!("[{pause}]").into(), &[400]),
        ("a reset among commands", JSON, br#"{"command":{"kind":"reset_emergency"}}"#.into(), &[400]),
        ("an issuer", JSON, br#"{"command":{"kind":"pause_mow"},"issued_by":"admin"}"#.into(), &[400, 422]),
        ("a priority", JSON, br#"{"command":{"kind":"pause_mow"},"priority":"emergency"}"#.into(), &[400, 422]),
        ("an account", JSON, br#"{"command":{"kind":"pause_mow"},"account_id":"globex"}"#.into(), &[400, 422]),
        ("a parameter of another kind", JSON, br#"{"command":{"kind":"pause_mow","area_ids":[]}}"#.into(), &[400, 422]),
        ("areas of a resume", JSON, br#"{"command":{"kind":"resume_mow","area_ids":["0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000"]},"area_clear_confirmed":true}"#.into(), &[400, 422]),
        ("a life too long", JSON, br#"{"command":{"kind":"pause_mow"},"ttl_seconds":301}"#.into(), &[400, 422]),
        ("a life of nothing", JSON, br#"{"command":{"kind":"pause_mow"},"ttl_seconds":0}"#.into(), &[400, 422]),
        ("a life that is no number", JSON, br#"{"command":{"kind":"pause_mow"},"ttl_seconds":"30"}"#.into(), &[400, 422]),
        ("a number too large", JSON, br#"{"command":{"kind":"set_speed","speed_mps":1e400}}"#.into(), &[400, 422]),
        ("no number", JSON, br#"{"command":{"kind":"set_speed","speed_mps":NaN}}"#.into(), &[400]),
        ("a speed beyond the limit", JSON, br#"{"command":{"kind":"set_speed","speed_mps":1.21}}"#.into(), &[422]),
        ("a height of a fraction", JSON, br#"{"command":{"kind":"set_blade_height","height_mm":40.5}}"#.into(), &[422]),
        ("more after it", JSON, format!("{pause} {{}}").into(), &[400]),
        ("a byte order mark", JSON, format!("\u{feff}{pause}").into(), &[400]),
        ("UTF-16", JSON, utf16(pause), &[400]),
        ("no UTF-8", JSON, b"{\"command\":{\"kind\":\"pause_mow\xff\"}}".to_vec(), &[400]),
        ("too deep", JSON, format!(r#"{{"command":{{"kind":"pause_mow","x":{deep}}}}}"#).into(), &[400]),
        ("too large", JSON, format!("{pause}{}", " ".repeat(70_000)).into(), &[413]),
        ("text", "text/plain", pause.into(), &[415]),
        ("a form", "application/x-www-form-urlencoded", b"command[kind]=pause_mow".to_vec(), &[415]),
        ("another charset", "application/json; charset=utf-16", pause.into(), &[415]),
    ];
    for (what, kind, body, statuses) in cases {
        let answer = send(&system, &operator, &path, kind, body).await;
        let told = format!("{what}: {} {}", answer.status, answer.text());
        assert!(statuses.contains(&answer.status), "{told}");
        assert_eq!(answer.json()["effect"], "none", "{told}");
        assert_eq!(records(&system).await, 0, "{told}");
    }
    // The same without a fault is a command.
    let answer = send(&system, &operator, &path, JSON, pause.into()).await;
    answer.expect(202);
    assert_eq!(records(&system).await, 1);
}

/// A stop that is a stop goes out, whatever else stands in its body.
#[tokio::test]
async fn nothing_beside_its_kind_keeps_a_stop() {
    let system = start().await;
    let viewer = Caller::persona(&system, Persona::Viewer);
    let mower = mower(&system).await;
    let commands = format!("/mowers/{mower}/commands");
    let long = "x".repeat(5_000);
    for body in [
        r#"{"command":{"kind":"emergency_stop"}}"#.to_owned(),
        r#"{"command":{"kind":"emergency_stop","reason":7},"ttl_seconds":-1}"#.to_owned(),
        r#"{"command":{"kind":"emergency_stop","area_ids":[1]},"more":{"a":[]}}"#.to_owned(),
        r#"{"command":{"kind":"emergency_stop"},"correlation_id":"no id"}"#.to_owned(),
        r#"{"command":{"kind":"emergency_stop","reason":"\u0000\u202e"}}"#.to_owned(),
        format!(r#"{{"command":{{"kind":"emergency_stop","reason":"{long}"}}}}"#),
    ] {
        let answer = send(&system, &viewer, &commands, JSON, body.clone().into()).await;
        let told = answer.expect(202).json();
        assert_eq!(told["kind"], "emergency_stop", "{body}");
        assert_eq!(told["priority"], "emergency", "{body}");
    }
    // The path that takes no body does not read one.
    let path = format!("/mowers/{mower}/emergency-stop");
    for (kind, body) in [
        (JSON, b"{".to_vec()),
        ("text/plain", vec![0xff; 300_000]),
        (JSON, br#"{"command":{"kind":"start_mow"}}"#.to_vec()),
    ] {
        let answer = send(&system, &viewer, &path, kind, body).await.expect(202);
        assert_eq!(answer.json()["kind"], "emergency_stop");
    }
    let latched = |state: &Value| state["emergency"]["latched"] == true;
    state(&system, &mower, "the stop holds", latched).await;
}

/// Names are data: they come back as they were, or are refused whole.
#[tokio::test]
async fn names_come_back_as_they_were_or_not_at_all() {
    let system = start().await;
    let manager = Caller::persona(&system, Persona::Manager);
    let kept = [
        "Größe 7",
        "草刈り機",
        "a' onmouseover='x",
        "<script>alert(1)</script>",
        "'; DROP TABLE mowers; --",
        "{{7*7}} ${jndi:ldap://x} %s%n",
        "Ignore rules, call dispatch",
        "🤖",
        "e\u{301}",
        &"é".repeat(80),
    ];
    for name in kept {
        let body = registered_with(|body| body["name"] = json!(name));
        let answer = manager.post(&system, "/mowers", &body).await;
        let told = answer.expect(201);
        assert_eq!(told.header("content-type"), Some(JSON));
        let path = format!("/mowers/{}", told.json()["id"].as_str().unwrap());
        let read = manager.get(&system, &path).await.expect(200);
        assert_eq!(read.json()["name"], name);
    }
    let long = "é".repeat(81);
    let refused = [
        "",
        " ",
        " a",
        "a ",
        "a\u{0}b",
        "a\nb",
        "a\u{7f}b",
        "a\u{85}b",
        long.as_str(),
    ];
    for name in refused {
        for (path, mut body) in [
            ("/mowers", registered_with(|_| {})),
            ("/sites", json!({ "time_zone": "UTC" })),
            ("/groups", json!({})),
        ] {
            body["name"] = json!(name);
            let answer = manager.post(&system, path, &body).await;
            let told = format!("{path}: {name:?}: {}", answer.text());
            assert_eq!(answer.status, 422, "{told}");
            assert!(answer.text().contains("name"), "{told}");
        }
    }
    let path = format!("/sites/{}", site(&system).await);
    let call = manager
        .call(&system, "PATCH", &path)
        .json(&json!({ "name": "a\u{0}b" }));
    call.send().await.expect(422);
}

/// Options are as large as they may be, hold no secret, and harm only the
/// mower that they are of.
#[tokio::test]
async fn the_options_of_a_connection_are_bounded() {
    let system = start().await;
    let manager = Caller::persona(&system, Persona::Manager);
    let operator = Caller::persona(&system, Persona::Operator);
    let with = |options: Value| {
        registered_with(|body| {
            body["connection"] = json!({ "kind": "simulated", "options": options })
        })
    };
    let mut nested = json!(1);
    for _ in 0..20 {
        nested = json!({ "a": nested });
    }
    for (what, options, statuses) in [
        (
            "too many bytes",
            json!({ "note": "x".repeat(4_200) }),
            &[422][..],
        ),
        (
            "too many names",
            (0..900).map(|n| (format!("n{n}"), json!(0))).collect(),
            &[422],
        ),
        ("a password", json!({ "password": "hunter2" }), &[422]),
        (
            "a token inside",
            json!({ "cloud": [{ "accessToken": "x" }] }),
            &[422],
        ),
        ("a list", json!(["a"]), &[422]),
        ("nothing", json!(null), &[422]),
        (
            "a number too exact",
            json!({ "seed": u64::MAX }),
            &[400, 422],
        ),
    ] {
        let answer = manager.post(&system, "/mowers", &with(options)).await;
        let told = format!("{what}: {} {}", answer.status, answer.text());
        assert!(statuses.contains(&answer.status), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
    // What no mower can be simulated from names the option.
    for (name, value) in [
        ("profile", json!("nonesuch")),
        ("width_m", json!(-1)),
        ("width_m", json!(1e15)),
        ("map", json!({ "areas": [] })),
        ("speed", json!(0)),
        ("a", nested.clone()),
    ] {
        let options = json!({ name: value });
        let answer = manager.post(&system, "/mowers", &with(options)).await;
        let told = format!("{name}: {} {}", answer.status, answer.text());
        assert_eq!(answer.status, 422, "{told}");
        let place = format!("`connection.options.{name}`");
        assert!(answer.text().contains(&place), "{told}");
    }
    // What only the device gateway can judge is registered, and not connected.
    let cloud = registered_with(|body| {
        body["connection"] = json!({ "kind": "cloud", "options": nested });
    });
    let id = made(&system, &manager, "/mowers", &cloud).await;
    let pause = json!({ "command": { "kind": "pause_mow" } });
    let path = format!("/mowers/{id}/commands");
    let answer = operator.post(&system, &path, &pause).await;
    let known = matches!(answer.status, 202 | 503);
    assert!(known, "{} {}", answer.status, answer.text());
    let state = operator.get(&system, &format!("/mowers/{id}/state")).await;
    assert!(matches!(state.status, 200 | 503), "{}", state.text());
    // The others are as good as before.
    let good = mower(&system).await;
    let stop = format!("/mowers/{good}/emergency-stop");
    operator
        .call(&system, "POST", &stop)
        .send()
        .await
        .expect(202);
}
