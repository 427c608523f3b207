//! What a caller does not see is answered, to the byte, like what never was:
//! in lists and their cursors, in filters, in bodies, on paths beside the
//! caller's own object.

use interlock_tests::personas::{ACCOUNT, FOREIGN, Persona};
use interlock_tests::system::System;
use interlock_tests::wire::Raw;
use serde_json::{Value, json};

use super::stage::{Caller, NEVER, made, mowers, registered_with, start};
use crate::personas::stage::fleet::{command_at, join};
use crate::personas::stage::text;

/// The same answer, whichever of the two ids is named.
fn alike(what: &str, hidden: &Raw, missing: &Raw) {
    let (hidden, missing) = (told(hidden), told(missing));
    assert_eq!(hidden, missing, "{what}");
}

/// An answer without the id that every problem has of its own.
fn told(raw: &Raw) -> String {
    let own = raw.header("x-request-id").unwrap_or("-").to_owned();
    let whole = format!("{} {:?}\n{}", raw.status, raw.headers, raw.text());
    whole.replace(&own, "ID")
}

#[tokio::test]
async fn a_page_has_neither_gap_nor_count_nor_cursor_of_what_is_hidden() {
    let system = start().await;
    let all = mowers(&system, 6).await;
    let mine = [all[1].clone(), all[3].clone()];
    let grants = json!({ "operator": mine });
    let bob = Caller::of(&system, ACCOUNT, "bob", &grants);
    let pause = json!({ "command": { "kind": "pause_mow" } });
    for mower in &all {
        command_at(&system, mower, &pause).await;
    }
    for list in ["/mowers", "/commands"] {
        let whole = bob.get(&system, list).await.expect(200).json();
        let whole = whole["items"].as_array().unwrap().clone();
        assert_eq!(whole.len(), 2, "{list}: {whole:?}");
        // One at a time: as many pages as items, and the last one says so.
        let (mut pages, mut path) = (Vec::new(), format!("{list}?limit=1"));
        loop {
            let page = bob.get(&system, &path).await.expect(200).json();
            let items = page["items"].as_array().unwrap();
            assert_eq!(items.len(), 1, "{path}: {page}");
            pages.extend(items.clone());
            match page["next"].as_str() {
                None => break,
                Some(next) => path = format!("{list}?limit=1&after={next}"),
            }
        }
        assert_eq!(pages, whole, "{list}");
    }
}

#[tokio::test]
async fn a_filter_and_a_cursor_do_not_tell_hidden_from_missing() {
    let system = start().await;
    let all = mowers(&system, 2).await;
    let bob = Caller::of(&system, ACCOUNT, "bob", &json!({ "viewer": [all[0]] }));
    let foreign = Caller::persona(&system, Persona::Foreign);
    let pause = json!({ "command": { "kind": "pause_mow" } });
    let seen = text(&command_at(&system, &all[0], &pause).await["command_id"]);
    let hidden = text(&command_at(&system, &all[1], &pause).await["command_id"]);
    for (what, path, id) in [
        ("a mower as a filter", "/commands?mower=", &all[1]),
        ("a command as a cursor", "/commands?after=", &hidden),
        ("a command", "/commands/", &hidden),
    ] {
        for caller in [&bob, &foreign] {
            let get = |id: &str| caller.raw(&system, "GET", &format!("{path}{id}"), "");
            alike(what, &get(id), &get(NEVER));
        }
    }
    // What is seen is a filter and a cursor.
    for path in [
        format!("/commands?mower={}", all[0]),
        format!("/commands?after={seen}"),
    ] {
        bob.get(&system, &path).await.expect(200);
    }
    bob.get(&system, &format!("/commands/{seen}"))
        .await
        .expect(200);
}

/// A site, a group and a mower of each of two callers who manage nothing of
/// the other's.
struct Parts {
    system: System,
    mine: [String; 3],
    caller: Caller,
    theirs: [String; 3],
}

async fn parts() -> Parts {
    let system = start().await;
    let manager = Caller::persona(&system, Persona::Manager);
    let mut parts = Vec::new();
    for name in ["East", "West"] {
        let site = json!({ "name": name, "time_zone": "UTC" });
        let site = made(&system, &manager, "/sites", &site).await;
        let group = json!({ "name": name, "site_id": site });
        let group = made(&system, &manager, "/groups", &group).await;
        let mower = registered_with(|body| {
            body["site_id"] = json!(site);
            body["group_ids"] = json!([group]);
        });
        let mower = made(&system, &manager, "/mowers", &mower).await;
        parts.push([site, group, mower]);
    }
    let theirs = parts.pop().unwrap();
    let mine = parts.pop().unwrap();
    let grants = json!({ "manager": [mine[0]], "operator": [mine[0]] });
    let caller = Caller::of(&system, ACCOUNT, "mike", &grants);
    Parts {
        system,
        mine,
        caller,
        theirs,
    }
}

#[tokio::test]
async fn a_reference_does_not_tell_hidden_from_missing() {
    let Parts {
        system,
        mine: [site, group, mower],
        caller,
        theirs: [other_site, other_group, other_mower],
    } = parts().await;
    let foreign = Caller::persona(&system, Persona::Foreign);
    let register = |change: &dyn Fn(&mut Value)| registered_with(change).to_string();
    let place =
        |site: &str, groups: &[&str]| json!({ "site_id": site, "group_ids": groups }).to_string();
    let placement = format!("/mowers/{mower}/placement");
    let added = |mower: &str| format!("/groups/{group}/mowers/{mower}");
    // What, by whom, how, the status, and the call about theirs and about nothing.
    type Case<'a> = (&'a str, &'a Caller, &'a str, u16, [(String, String); 2]);
    let cases: Vec<Case<'_>> = vec![
        (
            "the site of a placement",
            &caller,
            "PUT",
            422,
            [&other_site, NEVER].map(|id| (placement.clone(), place(id, &[]))),
        ),
        (
            "a group of a placement",
            &caller,
            "PUT",
            422,
            [&other_group, NEVER].map(|id| (placement.clone(), place(&site, &[id]))),
        ),
        (
            "where to move the content of a site",
            &caller,
            "DELETE",
            422,
            [&other_site, NEVER].map(|id| (format!("/sites/{site}?move_to={id}"), String::new())),
        ),
        (
            "a mower for a group",
            &caller,
            "PUT",
            404,
            [&other_mower, NEVER].map(|id| (added(id), String::new())),
        ),
        (
            "a mower to take out of a group",
            &caller,
            "DELETE",
            404,
            [&other_mower, NEVER].map(|id| (added(id), String::new())),
        ),
        (
            "another account's site for a mower",
            &foreign,
            "POST",
            422,
            [&site, NEVER].map(|id| {
                let body = register(&|body| body["site_id"] = json!(id));
                ("/mowers".to_owned(), body)
            }),
        ),
        (
            "another account's group for a mower",
            &foreign,
            "POST",
            422,
            [&group, NEVER].map(|id| {
                let body = register(&|body| body["group_ids"] = json!([id]));
                ("/mowers".to_owned(), body)
            }),
        ),
        (
            "another account's site for a group",
            &foreign,
            "POST",
            422,
            [&site, NEVER].map(|id| {
                let body = json!({ "name": "G", "site_id": id });
                ("/groups".to_owned(), body.to_string())
            }),
        ),
    ];
    for (what, by, method, status, [(to_hidden, hidden), (to_missing, missing)]) in cases {
        let hidden = by.raw(&system, method, &to_hidden, &hidden);
        assert_eq!(hidden.status, status, "{what}: {}", hidden.text());
        let missing = by.raw(&system, method, &to_missing, &missing);
        alike(what, &hidden, &missing);
    }
    // What is seen and not managed reads the same as a reference; of a mower in
    // the path it is told, as a path tells it.
    let grants = json!({ "manager": [site], "viewer": [other_site] });
    let seer = Caller::of(&system, ACCOUNT, "sue", &grants);
    let seen = seer.raw(&system, "PUT", &placement, &place(&other_site, &[]));
    let missing = seer.raw(&system, "PUT", &placement, &place(NEVER, &[]));
    alike("a site that is only seen", &seen, &missing);
    let seen = seer.raw(&system, "PUT", &added(&other_mower), "");
    assert_eq!(seen.status, 403, "{}", seen.text());
    // And none of that changed anything.
    let manager = Caller::persona(&system, Persona::Manager);
    let kept = manager.get(&system, &format!("/mowers/{mower}")).await;
    let kept = kept.expect(200).json();
    assert_eq!(kept["site_id"], site.as_str());
    assert_eq!(kept["group_ids"], json!([group]));
}

#[tokio::test]
async fn a_serial_number_that_is_taken_does_not_tell_by_whom() {
    let system = start().await;
    let manager = Caller::persona(&system, Persona::Manager);
    let foreign = Caller::persona(&system, Persona::Foreign);
    let mut body = registered_with(|body| body["serial"] = json!("SN-1"));
    let mower = made(&system, &manager, "/mowers", &body).await;
    let own = manager.post(&system, "/mowers", &body).await.expect(409);
    body["name"] = json!("Another");
    let other = foreign.post(&system, "/mowers", &body).await.expect(409);
    assert_eq!(own.problem(), "already-registered");
    assert_eq!(
        own.text(),
        other.text(),
        "the own account reads like another"
    );
    for word in [ACCOUNT, mower.as_str(), FOREIGN] {
        assert!(!other.text().contains(word), "`{word}`: {}", other.text());
    }
}

/// A member of another account cannot be in a group, so a command to many does
/// not reach it.
#[tokio::test]
async fn a_group_has_no_mower_of_another_account() {
    let system = start().await;
    let manager = Caller::persona(&system, Persona::Manager);
    let foreign = Caller::persona(&system, Persona::Foreign);
    let mine = &mowers(&system, 1).await[0];
    let theirs = made(&system, &foreign, "/mowers", &registered_with(|_| {})).await;
    let group = made(&system, &manager, "/groups", &json!({ "name": "North" })).await;
    join(&system, &group, mine).await;
    // Somebody who manages in both accounts cannot do it either.
    let both = system.idp.claims("both");
    let both = both.with("interlock_tenants", json!([ACCOUNT, FOREIGN]));
    let admin = json!({ "admin": [ACCOUNT, FOREIGN] });
    let both = Caller(system.idp.sign(&both.with("interlock_grants", admin)));
    for by in [&manager, &foreign, &both] {
        let path = format!("/groups/{group}/mowers/{theirs}");
        by.call(&system, "PUT", &path).send().await.expect(404);
    }
    let to = registered_with(|body| body["group_ids"] = json!([group]));
    let path = format!("/mowers?account={FOREIGN}");
    let refused = both.post(&system, &path, &to).await.expect(422);
    assert_eq!(refused.problem(), "unknown-reference");
    let path = format!("/groups/{group}/emergency-stop");
    let stopped = both.call(&system, "POST", &path).send().await;
    let stopped = stopped.expect(202).json();
    assert_eq!(stopped["accepted"], 1, "{stopped}");
    assert_eq!(stopped["items"][0]["mower_id"], mine.as_str());
}
