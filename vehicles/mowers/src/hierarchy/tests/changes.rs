//! What each change does, and what it refuses.

use serde_json::{Value, json};
use uuid::Uuid;

use super::breaks::reconcile;
use super::rig::{Call, Rig, mower, register};
use crate::hierarchy::outbox;
use crate::operations::{self, Standing};
use crate::records::testkit::on_both;
use crate::service::settings::Limits;

#[tokio::test]
async fn a_mower_goes_through_its_life() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let site = rig.site("Depot").await;
        let group = rig.group("North", Some(site)).await;
        let body = json!({
            "name": "Rasi", "vendor": "acme", "model": "one", "serial": "S-1",
            "connection": {"kind": "simulated", "options": {"width_m": 20}},
            "site_id": site, "group_ids": [group],
        });
        let reply = rig.send(&register(&body)).await;
        let id = reply.id(201);
        assert_eq!(
            reply.headers["location"],
            format!("/api/v1/fleet/mowers/{id}")
        );
        let shown = reply.json();
        for field in [
            "name",
            "vendor",
            "model",
            "serial",
            "connection",
            "site_id",
            "group_ids",
        ] {
            assert_eq!(shown[field], body[field], "{field}");
        }
        let object = format!("Mower/{id}");
        assert_eq!(
            rig.gateway.parents(&object),
            [site.to_string(), group.to_string()]
        );
        assert_eq!(
            rig.gateway.known(&object).unwrap().revision,
            shown["hierarchy_rev"]
        );

        let path = format!("/api/v1/fleet/mowers/{id}");
        let change = json!({"name": "Rasenmeister", "connection": {"kind": "cloud"}});
        let changed = rig
            .send(&Call::with("mowers.mower.change", &path, &change))
            .await
            .json();
        assert_eq!(changed["name"], "Rasenmeister");
        assert_eq!(changed["model"], "one");
        assert_eq!(
            changed["connection"],
            json!({"kind": "cloud", "options": {}})
        );
        assert!(changed["hierarchy_rev"].as_u64() > shown["hierarchy_rev"].as_u64());

        let other = rig.site("Yard").await;
        let moved = rig.place(id, other, &[]).await.json();
        assert_eq!(
            (&moved["site_id"], &moved["group_ids"]),
            (&json!(other), &json!([]))
        );
        assert_eq!(rig.gateway.parents(&object), [other.to_string()]);
        assert_eq!(rig.fleet.roster.find(id).unwrap().site_id, other);
        assert_eq!(rig.get("mowers.mower.get", &path).await.json(), moved);

        let gone = rig.send(&Call::new("mowers.mower.delete", &path)).await;
        assert_eq!((gone.status.as_u16(), gone.text.as_str()), (204, ""));
        rig.get("mowers.mower.get", &path)
            .await
            .is_problem(404, "not-found", "none");
        assert_eq!(rig.gateway.known(&object).unwrap().state, None);
        assert!(rig.fleet.roster.find(id).is_none());
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn sites_and_groups_are_made_changed_and_deleted() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let body = json!({
            "name": "Depot", "address": "Weg 1", "time_zone": "Europe/Berlin", "latitude": 51.5,
            "longitude": 7, "quiet_hours": [
                {"from": "20:00", "to": "07:00", "days": ["mon", "sun"], "source": "bylaw"}],
        });
        let path = "/api/v1/fleet/sites?account=acme";
        let reply = rig
            .send(&Call::with("mowers.site.create", path, &body))
            .await;
        let site = reply.id(201);
        let mut shown = reply.json();
        assert!(shown["created_at"].as_str().unwrap().ends_with('Z'));
        assert_eq!(
            shown["created_at"].as_str().unwrap().len(),
            "2026-05-01T10:00:00.000Z".len()
        );
        assert_eq!(shown["is_default"], false);
        for (field, value) in body.as_object().unwrap() {
            match field.as_str() {
                "longitude" => assert_eq!(shown[field].as_f64(), value.as_f64()),
                _ => assert_eq!(&shown[field], value),
            }
        }
        let (_, attributes) = rig
            .gateway
            .known(&format!("Scope/{site}"))
            .unwrap()
            .state
            .unwrap();
        assert_eq!(
            attributes,
            json!({
                "time_zone": "Europe/Berlin",
                "quiet_hours": [{"from": "20:00", "to": "07:00", "days": ["mon", "sun"]}],
            })
        );
        let path = format!("/api/v1/fleet/sites/{site}");
        let change = json!({"latitude": null, "quiet_hours": []});
        let changed = rig
            .send(&Call::with("mowers.site.change", &path, &change))
            .await
            .json();
        shown["quiet_hours"] = json!([]);
        shown.as_object_mut().unwrap().remove("latitude");
        assert_eq!(changed, shown);

        let group = rig.group("North", Some(site)).await;
        let spanning = rig.group("All", None).await;
        assert_eq!(
            rig.gateway.parents(&format!("Scope/{group}")),
            [site.to_string()]
        );
        assert_eq!(rig.gateway.parents(&format!("Scope/{spanning}")), ["acme"]);
        let path = format!("/api/v1/fleet/groups/{group}");
        let named = rig
            .send(&Call::with(
                "mowers.group.change",
                &path,
                &json!({"name": "South"}),
            ))
            .await;
        assert_eq!(named.json()["name"], "South");
        rig.delete_site(site, None)
            .await
            .is_problem(409, "site-not-empty", "none");
        let gone = rig.send(&Call::new("mowers.group.delete", &path)).await;
        assert_eq!(gone.status, 204);
        assert_eq!(rig.delete_site(site, None).await.status, 204);
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn membership_raises_the_revision_of_the_mower() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let (id, group) = (rig.register("S-1").await, rig.group("All", None).await);
        let first = rig.row_of(id).await.unwrap().hierarchy_rev;
        let path = format!("/api/v1/fleet/groups/{group}/mowers/{id}");
        let added = rig.send(&Call::new("mowers.group.add", &path)).await;
        assert_eq!(added.status, 204, "{}", added.text);
        let second = rig.row_of(id).await.unwrap();
        assert_eq!(second.group_ids, [group]);
        assert!(second.hierarchy_rev > first);
        assert!(
            rig.gateway
                .parents(&format!("Mower/{id}"))
                .contains(&group.to_string())
        );
        let again = rig.send(&Call::new("mowers.group.add", &path)).await;
        assert_eq!(again.status, 204);
        assert_eq!(
            rig.row_of(id).await.unwrap().hierarchy_rev,
            second.hierarchy_rev
        );
        let removed = rig.send(&Call::new("mowers.group.remove", &path)).await;
        assert_eq!(removed.status, 204);
        assert!(rig.row_of(id).await.unwrap().group_ids.is_empty());
        rig.send(&Call::new("mowers.group.add", &path)).await;
        let last = rig.row_of(id).await.unwrap().hierarchy_rev;
        let group_path = format!("/api/v1/fleet/groups/{group}");
        rig.send(&Call::new("mowers.group.delete", group_path))
            .await;
        let left = rig.row_of(id).await.unwrap();
        assert!(left.group_ids.is_empty() && left.hierarchy_rev > last);
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn a_deleted_site_moves_what_is_in_it() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let (from, to) = (rig.site("From").await, rig.site("To").await);
        let group = rig.group("North", Some(from)).await;
        let id = rig.register("S-1").await;
        rig.place(id, from, &[group]).await.id(200);
        let before = rig.row_of(id).await.unwrap().hierarchy_rev;
        rig.delete_site(from, None)
            .await
            .is_problem(409, "site-not-empty", "none");
        rig.delete_site(from, Some(from))
            .await
            .is_problem(422, "invalid-request", "none");
        let nowhere = rig.delete_site(from, Some(Uuid::now_v7())).await;
        nowhere.is_problem(422, "unknown-reference", "none");
        assert_eq!(rig.delete_site(from, Some(to)).await.status, 204);
        let after = rig.row_of(id).await.unwrap();
        assert_eq!((after.site_id, after.group_ids), (to, vec![group]));
        assert!(after.hierarchy_rev > before);
        assert_eq!(
            rig.gateway.parents(&format!("Scope/{group}")),
            [to.to_string()]
        );
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn the_default_site_stays() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let site = rig.default_site().await;
        let path = format!("/api/v1/fleet/sites/{site}");
        let rename = Call::with("mowers.site.change", &path, &json!({"name": "Home"}));
        rig.send(&rename)
            .await
            .is_problem(409, "default-site", "none");
        rig.delete_site(site, None)
            .await
            .is_problem(409, "default-site", "none");
        let zone = Call::with(
            "mowers.site.change",
            &path,
            &json!({"time_zone": "Asia/Tokyo"}),
        );
        assert_eq!(rig.send(&zone).await.json()["time_zone"], "Asia/Tokyo");
        let id = rig.register("S-1").await;
        assert_eq!(rig.row_of(id).await.unwrap().site_id, site);
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn quotas_are_kept() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let small = Limits {
            sites: 2,
            groups: 1,
            mowers: 1,
            groups_of_mower: 1,
            bulk: 1,
            ..Limits::default()
        };
        let rig = rig.limited(small).await;
        let check = async |call: Call| {
            let problem = rig
                .send(&call)
                .await
                .is_problem(409, "limit-reached", "none");
            assert!(
                problem["detail"].as_str().unwrap().contains("at most"),
                "{problem}"
            );
        };
        let site = rig.site("Second").await;
        let body = json!({"name": "Third", "time_zone": "UTC"});
        check(Call::with(
            "mowers.site.create",
            "/api/v1/fleet/sites?account=acme",
            &body,
        ))
        .await;
        let group = rig.group("One", None).await;
        let body = json!({"name": "Two"});
        check(Call::with(
            "mowers.group.create",
            "/api/v1/fleet/groups?account=acme",
            &body,
        ))
        .await;
        rig.register("S-1").await;
        check(register(&mower("S-2"))).await;
        let mut two = mower("S-3");
        two["group_ids"] = json!([group, group]);
        let problem = rig
            .send(&register(&two))
            .await
            .is_problem(422, "invalid-request", "none");
        assert_eq!(
            problem["errors"]["request"],
            json!(["`group_ids[1]` is repeated"])
        );
        assert_ne!(site, group);
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn references_that_are_missing_or_hidden_read_alike() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let (hidden, seen) = (rig.site("Hidden").await, rig.site("Seen").await);
        rig.gateway.hide(hidden);
        rig.gateway.only_show(seen);
        let mut answers = Vec::new();
        for site in [hidden, seen, Uuid::now_v7()] {
            let mut body = mower("S-1");
            body["site_id"] = json!(site);
            let reply = rig.send(&register(&body)).await;
            reply.is_problem(422, "unknown-reference", "none");
            answers.push(reply.text);
        }
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[1], answers[2]);
        assert!(
            rig.gateway
                .asked()
                .contains(&("site_change".to_owned(), hidden.to_string()))
        );
        let group = rig.group("Hidden", None).await;
        rig.gateway.hide(group);
        let mut body = mower("S-1");
        body["group_ids"] = json!([group]);
        rig.send(&register(&body))
            .await
            .is_problem(422, "unknown-reference", "none");
        let id = rig.register("S-1").await;
        rig.gateway.hide(id);
        let open = rig.group("Open", None).await;
        let path = format!("/api/v1/fleet/groups/{open}/mowers/{id}");
        let hidden = rig.send(&Call::new("mowers.group.add", path)).await;
        hidden.is_problem(404, "not-found", "none");
        let path = format!("/api/v1/fleet/groups/{open}/mowers/{}", Uuid::now_v7());
        let missing = rig.send(&Call::new("mowers.group.add", path)).await;
        assert_eq!(missing.text, hidden.text);
        rig.gateway.judges(false);
        body["group_ids"] = json!([open]);
        rig.send(&register(&body))
            .await
            .is_problem(503, "authz-unavailable", "none");
    })
    .await;
}

#[tokio::test]
async fn a_change_of_what_moved_since_it_was_judged_is_refused() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let id = rig.register("S-1").await;
        let judged = rig.row_of(id).await.unwrap().hierarchy_rev;
        let site = rig.site("Yard").await;
        rig.place(id, site, &[]).await.id(200);
        let mut delete = Call::new("mowers.mower.delete", format!("/api/v1/fleet/mowers/{id}"));
        delete.revision = Some(judged);
        let problem = rig
            .send(&delete)
            .await
            .is_problem(409, "authz-stale", "none");
        let now = rig.row_of(id).await.unwrap().hierarchy_rev;
        assert_eq!(problem["revision"], now);
        delete.revision = Some(now);
        assert_eq!(rig.send(&delete).await.status, 204);
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn a_repeated_operation_is_answered_as_before_and_done_once() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let call = register(&mower("S-1"));
        let (first, second) = (rig.send(&call).await, rig.send(&call).await);
        assert_eq!((first.status, &first.text), (second.status, &second.text));
        assert_eq!(
            first.headers.get("location"),
            second.headers.get("location")
        );
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 1);
        let mut other = Call::with(
            "mowers.site.create",
            "/api/v1/fleet/sites?account=acme",
            &json!({"name": "Yard", "time_zone": "UTC"}),
        );
        other.operation = call.operation;
        rig.send(&other)
            .await
            .is_problem(409, "operation-reused", "none");
        let settled = settle(&rig, call.operation).await;
        assert_eq!(
            (&settled["state"], &settled["effect"]),
            (&json!("done"), &json!("done"))
        );
        assert_eq!(settled["answer"]["status"], 201);
        assert_eq!(settled["answer"]["body"], first.json());
        let mut late = register(&mower("S-2"));
        let settled = settle(&rig, late.operation).await;
        assert_eq!(settled, json!({"state": "tombstoned", "effect": "none"}));
        rig.send(&late)
            .await
            .is_problem(409, "operation-tombstoned", "none");
        late.operation = Uuid::now_v7();
        late.deadline = jiff::Timestamp::now() - std::time::Duration::from_secs(1);
        rig.send(&late).await.is_problem(503, "too-late", "none");
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 1);
        let found = operations::find(rig.fleet.records.pool(), call.operation)
            .await
            .unwrap();
        assert!(matches!(found.unwrap().standing, Standing::Done(..)));
        rig.agrees().await;
    })
    .await;
}

async fn settle(rig: &Rig, operation: Uuid) -> Value {
    let path = format!("/internal/operations/{operation}/settle");
    rig.send(&Call::new("mowers.internal.settle", path))
        .await
        .json()
}

#[tokio::test]
async fn an_account_is_made_once_and_brought_up_to_date() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let make = async |features: Value| {
            let body = json!({"id": "acme", "name": "Acme", "features": features,
                "time_zone": "Europe/Berlin"});
            rig.account(&body).await.json()
        };
        let (first, second) = (make(json!([])).await, make(json!(["control"])).await);
        assert_eq!(first["default_site_id"], second["default_site_id"]);
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM sites").await, 1);
        let (_, attributes) = rig.gateway.known("Scope/acme").unwrap().state.unwrap();
        assert_eq!(
            attributes,
            json!({"features": ["control"], "suspended": false})
        );
        rig.agrees().await;
    })
    .await;
}

fn of_account(row: &'static str, id: &str, body: &Value) -> Call {
    Call::with(row, format!("/internal/accounts/{id}"), body)
}

#[tokio::test]
async fn an_account_is_suspended_and_goes_on() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let known = || rig.gateway.known("Scope/acme").unwrap().state.unwrap().1;
        for suspended in [true, false, false] {
            let body = json!({ "suspended": suspended });
            let call = of_account("mowers.internal.account_change", "acme", &body);
            let reply = rig.send(&call).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            assert_eq!(reply.json()["suspended"], suspended);
            let expected = json!({"features": ["control"], "suspended": suspended});
            assert_eq!(known(), expected);
        }
        let body = json!({ "suspended": true });
        let call = of_account("mowers.internal.account_change", "nobody", &body);
        rig.send(&call).await.is_problem(404, "not-found", "none");
        let call = of_account("mowers.internal.account_change", "acme", &json!({}));
        let bad = rig.send(&call).await;
        bad.is_problem(422, "invalid-request", "none");
        rig.agrees().await;
    })
    .await;
}

/// All of it goes, for the gateway and for the shards too; nobody else's does.
#[tokio::test]
async fn an_account_is_removed_with_all_that_is_in_it() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let beta = json!({"id": "beta", "name": "Beta", "time_zone": "UTC"});
        rig.account(&beta).await;
        let site = rig.site("Yard").await;
        let group = rig.group("North", Some(site)).await;
        let (first, second) = (rig.register("S-1").await, rig.register("S-2").await);
        rig.place(first, site, &[group]).await.id(200);
        outbox::publish_all(&rig.fleet).await.unwrap();

        // The registry takes only a part: nothing is removed.
        rig.gateway.takes(Some(2));
        let path = "/internal/accounts/acme";
        let delete = || Call::new("mowers.internal.account_delete", path);
        let refused = rig.send(&delete()).await;
        refused.is_problem(503, "registry-unavailable", "none");
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 2);
        rig.gateway.takes(None);
        reconcile(&rig).await;
        rig.agrees().await;
        let gone = rig.send(&delete()).await;
        assert_eq!(gone.status, 204, "{}", gone.text);
        for node in [
            "Scope/acme".to_owned(),
            format!("Scope/{site}"),
            format!("Scope/{group}"),
            format!("Mower/{first}"),
            format!("Mower/{second}"),
        ] {
            let known = rig.gateway.known(&node).unwrap();
            assert_eq!(known.state, None, "{node}");
        }
        assert!(rig.gateway.known("Scope/beta").unwrap().state.is_some());
        for mower in [first, second] {
            assert!(rig.fleet.roster.find(mower).is_none());
        }
        let removed = "SELECT COUNT(*) AS n FROM outbox WHERE subject = 'mower.removed'";
        assert_eq!(rig.count(removed).await, 2);
        for kept in [
            "SELECT COUNT(*) AS n FROM accounts WHERE id = 'beta'",
            "SELECT COUNT(*) AS n FROM sites WHERE account_id = 'beta'",
        ] {
            assert_eq!(rig.count(kept).await, 1, "{kept}");
        }
        let none = rig.send(&delete()).await;
        none.is_problem(404, "not-found", "none");
        // The name and the serials are free again.
        rig.register("S-1").await;
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn a_mower_goes_into_quarantine_and_out_of_it() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let id = rig.register("S-1").await;
        let path = format!("/api/v1/fleet/mowers/{id}");
        let mut revision = rig.row_of(id).await.unwrap().hierarchy_rev;
        for (body, quarantined) in [
            (json!({"quarantined": true}), true),
            // What is not named stays.
            (json!({"name": "Bad one"}), true),
            (json!({"quarantined": false}), false),
        ] {
            let call = Call::with("mowers.mower.change", path.clone(), &body);
            let reply = rig.send(&call).await;
            assert_eq!(reply.id(200), id);
            assert_eq!(reply.json()["quarantined"], quarantined);
            let (_, attributes) = rig
                .gateway
                .known(&format!("Mower/{id}"))
                .unwrap()
                .state
                .unwrap();
            assert_eq!(attributes, json!({ "quarantined": quarantined }));
            let now = rig.row_of(id).await.unwrap().hierarchy_rev;
            assert!(now > revision);
            revision = now;
            let member = rig.fleet.roster.find(id).unwrap();
            assert_eq!(member.quarantined, quarantined);
        }
        rig.agrees().await;
    })
    .await;
}
