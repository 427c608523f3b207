//! Lists show what the caller may see, and nothing of the rest.

use serde_json::{Value, json};
use uuid::Uuid;

use super::rig::{Call, Rig};
use crate::records::testkit::on_both;

/// Reads all pages; the ids, and how many pages there were.
async fn read(rig: &Rig, row: &'static str, path: &str, limit: usize) -> (Vec<Uuid>, usize) {
    let (mut ids, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let join = if path.contains('?') { '&' } else { '?' };
        let page = rig
            .get(row, &format!("{path}{join}limit={limit}{after}"))
            .await
            .json();
        pages += 1;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= limit);
        ids.extend(
            items
                .iter()
                .map(|item| item["id"].as_str().unwrap().parse::<Uuid>().unwrap()),
        );
        match &page["next"] {
            Value::Null => return (ids, pages),
            next => after = format!("&after={}", next.as_str().unwrap()),
        }
    }
}

const ALL: &str = "/api/v1/fleet/mowers?account=acme";

#[tokio::test]
async fn pages_hold_only_what_is_visible() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let mut ids = Vec::new();
        for n in 0..9 {
            ids.push(rig.register(&format!("S-{n}")).await);
        }
        let (found, pages) = read(&rig, "mowers.mower.list", ALL, 3).await;
        assert_eq!((&found, pages), (&ids, 3));
        // The last ones, one between, and the whole of what would be a page.
        for n in [1, 3, 4, 5, 8] {
            rig.gateway.hide(ids[n]);
        }
        let visible = vec![ids[0], ids[2], ids[6], ids[7]];
        for limit in [1, 2, 3, 4, 50] {
            let (found, pages) = read(&rig, "mowers.mower.list", ALL, limit).await;
            assert_eq!(found, visible, "{limit}");
            assert_eq!(
                pages,
                visible.len().div_ceil(limit),
                "a page for nobody, {limit}"
            );
        }
        rig.gateway.judges(false);
        let silent = rig.get("mowers.mower.list", ALL).await;
        silent.is_problem(503, "authz-unavailable", "none");
    })
    .await;
}

#[tokio::test]
async fn containers_list_their_members() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let site = rig.site("Depot").await;
        let (inside, spanning) = (
            rig.group("In", Some(site)).await,
            rig.group("All", None).await,
        );
        let (one, two, three) = (
            rig.register("1").await,
            rig.register("2").await,
            rig.register("3").await,
        );
        rig.place(one, site, &[inside, spanning]).await.id(200);
        rig.place(two, site, &[]).await.id(200);
        rig.gateway.hide(two);
        let of_site = format!("/api/v1/fleet/sites/{site}/mowers");
        assert_eq!(
            read(&rig, "mowers.site.mowers", &of_site, 50).await.0,
            [one]
        );
        let of_group = format!("/api/v1/fleet/groups/{spanning}/mowers");
        assert_eq!(
            read(&rig, "mowers.group.mowers", &of_group, 50).await.0,
            [one]
        );
        let home = rig.default_site().await;
        let of_home = format!("/api/v1/fleet/sites/{home}/mowers");
        assert_eq!(
            read(&rig, "mowers.site.mowers", &of_home, 50).await.0,
            [three]
        );
        let group = rig
            .get(
                "mowers.group.get",
                &format!("/api/v1/fleet/groups/{inside}"),
            )
            .await;
        assert_eq!(group.json()["mower_ids"], json!([one]));
        assert_eq!(group.json()["site_id"], json!(site));
        rig.gateway.hide(one);
        let group = rig
            .get(
                "mowers.group.get",
                &format!("/api/v1/fleet/groups/{inside}"),
            )
            .await;
        assert_eq!(group.json()["mower_ids"], json!([]));
        let missing = format!("/api/v1/fleet/sites/{}/mowers", Uuid::now_v7());
        let missing = rig.get("mowers.site.mowers", &missing).await;
        missing.is_problem(404, "not-found", "none");
    })
    .await;
}

#[tokio::test]
async fn the_default_site_is_listed_only_when_asked_for() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let (home, site) = (rig.default_site().await, rig.site("Depot").await);
        let path = "/api/v1/fleet/sites?account=acme";
        assert_eq!(read(&rig, "mowers.site.list", path, 50).await.0, [site]);
        let with = format!("{path}&include_default=true");
        assert_eq!(
            read(&rig, "mowers.site.list", &with, 1).await,
            (vec![home, site], 2)
        );
        let shown = rig
            .get("mowers.site.get", &format!("/api/v1/fleet/sites/{home}"))
            .await;
        assert_eq!(shown.json()["is_default"], true);
        let group = rig.group("North", None).await;
        let groups = read(
            &rig,
            "mowers.group.list",
            "/api/v1/fleet/groups?account=acme",
            5,
        )
        .await;
        assert_eq!(groups, (vec![group], 1));
    })
    .await;
}

#[tokio::test]
async fn a_query_that_is_wrong_says_so() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let check = async |query: &str, faults: Value| {
            let path = format!("/api/v1/fleet/mowers{query}");
            let problem = rig.get("mowers.mower.list", &path).await;
            let problem = problem.is_problem(422, "invalid-request", "none");
            assert_eq!(problem["errors"]["request"], faults);
        };
        check("", json!(["the query parameter `account` must name one"])).await;
        check(
            "?account=acme&limit=0&after=x",
            json!([
                "`limit` must be a whole number from 1 to 200",
                "`after` must be the `next` of an earlier page",
            ]),
        )
        .await;
    })
    .await;
}

#[tokio::test]
async fn permissions_ask_for_every_action_of_a_mower() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let id = rig.register("S-1").await;
        rig.gateway.only_show(id);
        let path = format!("/api/v1/fleet/mowers/{id}/permissions");
        let shown = rig.get("mowers.mower.permissions", &path).await.json();
        assert_eq!(shown["mower_id"], json!(id));
        let permissions = shown["permissions"].as_array().unwrap();
        let named: Vec<&str> = permissions
            .iter()
            .map(|it| it["action"].as_str().unwrap())
            .collect();
        for action in [
            "mower_get",
            "start_mow",
            "manual_drive",
            "mower_stop",
            "mow_plan_propose",
        ] {
            assert!(named.contains(&action), "{action} in {named:?}");
        }
        assert!(!named.contains(&"site_start_mow") && !named.contains(&"mow_plan_dispatch"));
        for it in permissions {
            assert_eq!(it["allowed"], false);
            assert_eq!(it["problem"], "forbidden", "a refusal has a name");
        }
    })
    .await;
}

#[tokio::test]
async fn the_internal_row_tells_what_changed() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let id = rig.register("S-1").await;
        let gone = rig.register("S-2").await;
        let path = format!("/api/v1/fleet/mowers/{gone}");
        rig.send(&Call::new("mowers.mower.delete", path)).await;
        let told = rig
            .get("mowers.internal.hierarchy", "/internal/hierarchy")
            .await
            .json();
        let objects = told["objects"].as_array().unwrap();
        let find = |id: &str| objects.iter().find(|it| it["id"] == *id).unwrap();
        assert_eq!(find("acme")["type"], "Scope");
        assert_eq!(find("acme")["attributes"]["features"], json!(["control"]));
        let site = rig.default_site().await;
        assert_eq!(find(&id.to_string())["parents"], json!([site]));
        assert_eq!(find(&gone.to_string()).get("parents"), None);
        let later = told["revision"].as_i64().unwrap() + 1_000_000;
        let path = format!("/internal/hierarchy?since={later}");
        let nothing = rig.get("mowers.internal.hierarchy", &path).await.json();
        assert_eq!(nothing["objects"], json!([]));
    })
    .await;
}
