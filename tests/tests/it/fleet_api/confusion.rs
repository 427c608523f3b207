//! An id is of one kind of thing, and means nothing where another is asked for.

use interlock_surface::{BodyRule, Row};
use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::wire::Raw;
use serde_json::json;
use uuid::Uuid;

use super::stage::{Caller, NEVER, made, start};
use crate::personas::public;
use crate::personas::stage::fleet::{self, command_at, mower};
use crate::personas::stage::{self, text};

/// A body that is good but for what it names, so that the path decides.
fn body(row: &Row) -> String {
    let never = || Some(NEVER.to_owned());
    let code = Some("A".repeat(32));
    let body = fleet::body(row, NEVER, never(), code);
    match (body, row.body) {
        (Some(body), _) => body.to_string(),
        (None, BodyRule::Required) => "{}".to_owned(),
        (None, BodyRule::None | BodyRule::Optional) => String::new(),
    }
}

fn told(raw: &Raw) -> String {
    format!("{} {:?}\n{}", raw.status, raw.headers, raw.text())
}

#[tokio::test]
async fn an_id_of_another_kind_is_an_id_that_never_was() {
    let system = start().await;
    let admin = json!({ "admin": [ACCOUNT] });
    let admin = Caller::of(&system, ACCOUNT, "adam", &admin);
    let site = json!({ "name": "Depot", "time_zone": "UTC" });
    let site = made(&system, &admin, "/sites", &site).await;
    let group = made(&system, &admin, "/groups", &json!({ "name": "North" })).await;
    let mower = mower(&system).await;
    let pause = json!({ "command": { "kind": "pause_mow" } });
    let command = text(&command_at(&system, &mower, &pause).await["command_id"]);
    let plan = fleet::pending(&system).await;
    let drone_plan = stage::pending(&system).await;
    let ids = [
        ("site", &site),
        ("group", &group),
        ("mower", &mower),
        ("command", &command),
        ("plan", &plan),
        ("drone plan", &drone_plan),
    ];
    let mut tried = 0;
    for row in public().filter(|row| row.service == "mowers") {
        let parameters: Vec<&str> = row
            .path
            .split('/')
            .filter(|it| it.starts_with('{'))
            .collect();
        let [parameter] = parameters[..] else {
            continue;
        };
        let own = parameter.trim_matches(['{', '}']);
        let short = row
            .path
            .strip_prefix(fleet::FLEET)
            .expect("a path of the fleet");
        let ask = |id: &str| {
            let path = short.replace(parameter, id);
            let key = format!("Idempotency-Key: {}\r\n", Uuid::new_v4());
            let raw = admin.raw_with(&system, row.method.as_str(), &path, &body(row), &key);
            (raw.status, told(&raw))
        };
        let (status, never) = ask(NEVER);
        // A frame is of a session, and its body is read by the service.
        assert_eq!(status, 404, "{}: {never}", row.name);
        for (kind, id) in ids.iter().filter(|(kind, _)| *kind != own) {
            let (_, answer) = ask(id);
            assert_eq!(answer, never, "{} for a {kind}", row.name);
            tried += 1;
        }
    }
    assert!(tried > 250, "{tried} calls were compared");
    // A plan of the mowers is none of the drones either.
    for verb in ["", "/approve", "/reject", "/dispatch"] {
        let path = format!("/api/mission-plans/{plan}{verb}");
        let method = if verb.is_empty() { "GET" } else { "POST" };
        let call = system.call(Persona::Approver, method, &path);
        let call = match verb {
            "/dispatch" => call.json(&json!({ "approvalCode": "A".repeat(32) })),
            _ => call,
        };
        let answer = call.send().await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
}

/// One object has one id in one spelling.
#[tokio::test]
async fn another_spelling_of_an_id_reaches_nothing_else() {
    let system = start().await;
    let viewer = Caller::persona(&system, Persona::Viewer);
    let mower = mower(&system).await;
    let id = Uuid::parse_str(&mower).unwrap();
    let own = viewer.raw(&system, "GET", &format!("/mowers/{mower}"), "");
    // Letters of either case are one id (RFC 9562 section 4), forwarded as one.
    let upper = format!("/mowers/{}", mower.to_uppercase());
    assert_eq!(viewer.raw(&system, "GET", &upper, ""), own);
    for spelling in [
        id.simple().to_string(),
        format!("%7B{mower}%7D"),
        id.urn().to_string(),
        format!("{mower}%00"),
        format!("{mower}%20"),
        format!("{mower}."),
        format!("{mower};a=b"),
        mower.replacen('0', "%30", 1),
        mower.replacen('0', "\u{ff10}", 1),
        "%F0%9F%A4%96".to_owned(),
        "..".to_owned(),
        "null".to_owned(),
        "-1".to_owned(),
    ] {
        for (method, verb) in [("GET", ""), ("POST", "/emergency-stop")] {
            let raw = viewer.raw(&system, method, &format!("/mowers/{spelling}{verb}"), "");
            let refused = matches!(raw.status, 400 | 404 | 405);
            assert!(
                refused,
                "{method} {spelling}: {} {}",
                raw.status,
                raw.text()
            );
        }
    }
    let state = viewer.get(&system, &format!("/mowers/{mower}/state")).await;
    assert_eq!(state.expect(200).json()["emergency"]["latched"], false);
}
