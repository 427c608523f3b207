//! Anna commands a group of which she sees a part.
//!
//! She is operator of two mowers and viewer of a third, and holds a role on the
//! group that commands many and shows nothing. Beside it stands a twin of what
//! she sees: a group of three mowers on which she has the same rights. Every
//! answer about the one equals, to the byte, the answer about the other, so
//! that nothing tells that the first has five.

use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::system::System;
use interlock_tests::wire::Raw;
use serde_json::{Value, json};

use super::stage::{self, Caller, made, mowers, start};
use crate::personas::stage::fleet::{area, join};
use crate::personas::stage::text;

struct Scene {
    system: System,
    anna: Caller,
    /// Five mowers, of which she knows the second, third and fifth.
    north: Group,
    /// Three mowers, and she knows them all.
    twin: Group,
}

struct Group {
    id: String,
    /// m1 and m2, which she commands, and m3, which she sees.
    known: [String; 3],
    hidden: Vec<String>,
}

impl Group {
    /// An answer about this group with its own names taken out.
    fn plain(&self, raw: &Raw) -> String {
        let mut text = format!("{} {:?}\n{}", raw.status, raw.headers, raw.text());
        for hidden in &self.hidden {
            assert!(!text.contains(hidden.as_str()), "{hidden} is told: {text}");
        }
        // Whether the records had a stop in time is a word on them, not on it.
        if text.contains("\"recorded\":false") {
            let length = raw.body.len();
            text = text.replace("\"recorded\":false", "\"recorded\":true");
            text = text.replace(&format!("\"{length}\""), &format!("\"{}\"", length - 1));
        }
        text = text.replace(&self.id, "GROUP");
        for (index, mower) in self.known.iter().enumerate() {
            text = text.replace(mower.as_str(), &format!("MOWER-{}", index + 1));
        }
        let body = raw
            .body
            .first()
            .map(|_| serde_json::from_slice::<Value>(&raw.body));
        if let Some(Ok(body)) = body {
            for name in ["bulk_id", "issued_at", "expires_at"] {
                if let Some(value) = body[name].as_str() {
                    text = text.replace(value, name);
                }
            }
            let items = body["items"].as_array().cloned().unwrap_or_default();
            for (index, item) in items.iter().enumerate() {
                if let Some(command) = item["command_id"].as_str() {
                    text = text.replace(command, &format!("COMMAND-{index}"));
                }
            }
        }
        text
    }
}

async fn scene() -> Scene {
    let system = start().await;
    let manager = Caller::persona(&system, Persona::Manager);
    let site = json!({ "name": "Depot", "time_zone": "Europe/Berlin" });
    let site = made(&system, &manager, "/sites", &site).await;
    let mut all = mowers(&system, 8).await.into_iter();
    let mut next = || all.next().expect("eight mowers");
    let (m4, m1, m2, m5, m3) = (next(), next(), next(), next(), next());
    let known_of_twin = [next(), next(), next()];
    let mut groups = Vec::new();
    for (name, known, hidden) in [
        ("North", [m1, m2, m3], vec![m4, m5]),
        ("South", known_of_twin, vec![]),
    ] {
        let body = json!({ "name": name, "site_id": site });
        let id = made(&system, &manager, "/groups", &body).await;
        for mower in known.iter().chain(&hidden) {
            let to = json!({ "site_id": site });
            let path = format!("/mowers/{mower}/placement");
            let call = manager.call(&system, "PUT", &path).json(&to);
            call.send().await.expect(200);
            join(&system, &id, mower).await;
        }
        groups.push(Group { id, known, hidden });
    }
    let twin = groups.pop().expect("two groups");
    let north = groups.pop().expect("two groups");
    let grants = json!({
        "operator": [north.known[0], north.known[1], twin.known[0], twin.known[1]],
        "viewer": [north.known[2], twin.known[2]],
        "bulk-only": [north.id, twin.id],
    });
    let anna = Caller::of(&system, ACCOUNT, "anna", &grants);
    Scene {
        system,
        anna,
        north,
        twin,
    }
}

impl Scene {
    /// The same call of Anna about both groups; the answer about the first.
    fn alike(&self, method: &str, path: impl Fn(&Group) -> String, body: &str, status: u16) -> Raw {
        let ask = |group: &Group| self.anna.raw(&self.system, method, &path(group), body);
        let (north, twin) = (ask(&self.north), ask(&self.twin));
        assert_eq!(north.status, status, "{}", north.text());
        assert_eq!(self.north.plain(&north), self.twin.plain(&twin), "{method}");
        north
    }
}

fn json_of(raw: &Raw) -> Value {
    serde_json::from_slice(&raw.body).expect("JSON")
}

/// Mower and result of each item.
fn results(answer: &Value) -> Vec<(String, String)> {
    let items = answer["items"].as_array().expect("items");
    let pair = |item: &Value| (text(&item["mower_id"]), text(&item["result"]));
    items.iter().map(pair).collect()
}

#[tokio::test]
async fn nothing_tells_of_the_members_that_anna_does_not_see() {
    let scene = scene().await;
    let Scene { system, north, .. } = &scene;
    let viewer = Caller::persona(system, Persona::Viewer);
    let [m1, m2, m3] = &north.known;

    // What she sees before she does anything.
    for path in ["", "/mowers"] {
        scene.alike(
            "GET",
            |group| format!("/groups/{}{path}", group.id),
            "",
            404,
        );
    }
    let listed = scene.anna.get(system, "/mowers").await.expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 6, "{listed}");
    for list in ["/groups", "/sites?include_default=true"] {
        let listed = scene.anna.get(system, list).await.expect(200).json();
        assert_eq!(listed, json!({ "items": [], "next": null }), "{list}");
    }

    // Her start, of each mower on its own lawn.
    for mower in north.known.iter().chain(&scene.twin.known) {
        area(system, mower).await;
    }
    let start = json!({
        "command": { "kind": "start_mow" }, "area_clear_confirmed": true,
    });
    let commands = |group: &Group| format!("/groups/{}/commands", group.id);
    let raw = scene.alike("POST", commands, &start.to_string(), 202);
    let answer = json_of(&raw);
    let bulk = text(&answer["bulk_id"]);
    let accepted = |index: usize, mower: &String| {
        json!({
            "mower_id": mower, "result": "accepted",
            "command_id": answer["items"][index]["command_id"], "reason": null,
        })
    };
    let expected = json!({
        "bulk_id": bulk, "kind": "start_mow", "target": { "type": "group", "id": north.id },
        "issued_at": answer["issued_at"], "expires_at": answer["expires_at"],
        "accepted": 2, "forbidden": 1, "failed": 0, "skipped": 0,
        "recorded": true, "meaning": "queued",
        "items": [
            accepted(0, m1), accepted(1, m2),
            { "mower_id": m3, "result": "forbidden", "command_id": null, "reason": "forbidden" },
        ],
    });
    assert_eq!(answer, expected);
    assert!(answer["items"][0]["command_id"].is_string(), "{answer}");
    assert_ne!(
        answer["items"][0]["command_id"],
        answer["items"][1]["command_id"]
    );

    // Two records, whoever looks; nothing of the one that was refused.
    for who in [&scene.anna, &viewer] {
        let listed = who.get(system, &format!("/commands?bulk={bulk}")).await;
        let listed = listed.expect(200).json();
        let items = listed["items"].as_array().unwrap();
        let mut of: Vec<String> = items.iter().map(|it| text(&it["mower_id"])).collect();
        of.sort();
        assert_eq!(of, [m1.clone(), m2.clone()], "{listed}");
        assert!(
            items.iter().all(|it| it["bulk_id"] == bulk.as_str()),
            "{listed}"
        );
        let told = who
            .get(system, &format!("/bulk/{bulk}"))
            .await
            .expect(200)
            .json();
        let result = |mower: &String| (mower.clone(), "accepted".to_owned());
        assert_eq!(results(&told), [result(m1), result(m2)], "{told}");
    }

    // Her stop: she cannot see the group and commands it, so she may stop it, and
    // stops what she sees.
    let stop = |group: &Group| format!("/groups/{}/emergency-stop", group.id);
    let stopped = json_of(&scene.alike("POST", stop, "", 202));
    let every = |mowers: &[&String]| -> Vec<(String, String)> {
        let pairs = mowers
            .iter()
            .map(|it| ((*it).clone(), "accepted".to_owned()));
        pairs.collect()
    };
    assert_eq!(results(&stopped), every(&[m1, m2, m3]), "{stopped}");
    assert_eq!(stopped["accepted"], 3);
    for mower in [m1, m2, m3] {
        let latched = |state: &Value| state["emergency"]["latched"] == true;
        stage::state(system, mower, "Anna's stop holds", latched).await;
    }
    for mower in &north.hidden {
        let state = viewer.get(system, &format!("/mowers/{mower}/state")).await;
        let state = state.expect(200).json();
        assert_eq!(state["emergency"]["latched"], false, "{state}");
    }

    // The same as a kind among the commands.
    let kind = json!({ "command": { "kind": "emergency_stop" } }).to_string();
    let again = json_of(&scene.alike("POST", commands, &kind, 202));
    assert_eq!(results(&again), every(&[m1, m2, m3]), "{again}");
}

#[tokio::test]
async fn a_viewer_of_the_account_stops_all_five() {
    let scene = scene().await;
    let Scene { system, north, .. } = &scene;
    let viewer = Caller::persona(system, Persona::Viewer);
    let path = format!("/groups/{}/emergency-stop", north.id);
    let answer = viewer.call(system, "POST", &path).send().await;
    let answer = answer.expect(202).json();
    let mut all: Vec<String> = north.known.iter().chain(&north.hidden).cloned().collect();
    all.sort();
    let stopped: Vec<String> = results(&answer)
        .into_iter()
        .map(|(mower, _)| mower)
        .collect();
    assert_eq!(stopped, all);
    assert_eq!(answer["accepted"], 5);
    for item in answer["items"].as_array().unwrap() {
        let command = text(&item["command_id"]);
        let record = stage::ended(system, &command).await;
        assert_eq!(record["priority"], "emergency", "{record}");
        assert_eq!(record["status"], "executed", "{record}");
        let time = |name: &str| text(&record[name]).parse::<jiff::Timestamp>().unwrap();
        let life = time("expires_at").duration_since(time("issued_at"));
        assert_eq!(life.as_millis(), 10_000, "{record}");
    }
    // Of the five stops Anna is told three.
    let bulk = text(&answer["bulk_id"]);
    let told = scene.anna.raw(system, "GET", &format!("/bulk/{bulk}"), "");
    let seen: Vec<String> = results(&json_of(&told))
        .into_iter()
        .map(|(it, _)| it)
        .collect();
    assert_eq!(seen, north.known);
    assert_eq!(json_of(&told)["accepted"], 3);
    north.plain(&told);
    // A viewer starts nothing, of one or of many.
    let resume = json!({ "command": { "kind": "resume_mow" }, "area_clear_confirmed": true });
    let commands = format!("/groups/{}/commands", north.id);
    let refused = viewer.post(system, &commands, &resume).await.expect(403);
    assert_eq!(refused.problem(), "forbidden");
}
