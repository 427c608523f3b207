use axum::http::StatusCode;
use interlock_surface::Method;

use super::{ROUTES, RouterError, bind, rows};
use crate::service::tests::rig::Rig;

const VERBS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const ID: &str = "0199aaaa-0000-7000-8000-000000000001";

#[test]
fn a_route_list_that_differs_from_the_surface_is_refused() {
    assert!(bind(ROUTES).is_ok());
    let short: &'static [_] = ROUTES.split_last().unwrap().1;
    let unserved = bind(short).err();
    assert_eq!(
        unserved,
        Some(RouterError::Unserved("drones.internal.settle"))
    );
    let long: &'static [_] = Box::leak(
        [ROUTES, &[("drones.swarm.launch", ROUTES[0].1)]]
            .concat()
            .into_boxed_slice(),
    );
    let unlisted = bind(long).err();
    assert_eq!(unlisted, Some(RouterError::Unlisted("drones.swarm.launch")));
}

/// The router serves the rows and nothing else: a row answers its method (401, for want of a
/// grant), every other verb is 405, every other path 404.
#[tokio::test]
async fn the_router_equals_the_surface() {
    let rig = Rig::new().await;
    let paths: Vec<(String, Vec<Method>)> = rows()
        .map(|row| {
            let methods = rows()
                .filter(|other| other.path == row.path)
                .map(|other| other.method);
            let path = row.path.replace("{mission}", ID).replace("{operation}", ID);
            (path, methods.collect())
        })
        .collect();
    assert_eq!(paths.len(), 7);
    for (path, methods) in &paths {
        for verb in VERBS {
            let served = methods.iter().any(|method| method.as_str() == *verb);
            let status = rig.plain(verb, path).await.status;
            let expected = if served {
                StatusCode::UNAUTHORIZED
            } else {
                StatusCode::METHOD_NOT_ALLOWED
            };
            assert_eq!(status, expected, "{verb} {path}");
        }
        for other in [
            format!("{path}/"),
            format!("{path}/more"),
            format!("/x{path}"),
        ] {
            let status = rig.plain("POST", &other).await.status;
            assert_eq!(status, StatusCode::NOT_FOUND, "{other}");
        }
    }
    // Rows of the gateway are not served here.
    for path in ["/api/mission-plans", "/health", "/", "/internal"] {
        assert_eq!(
            rig.plain("GET", path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    assert_eq!(
        rig.counters().await,
        Default::default(),
        "nothing reached the swarm"
    );
}
