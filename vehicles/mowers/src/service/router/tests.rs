use std::sync::Arc;

use axum::Router;
use interlock_guard::Guard;
use interlock_surface::Method;

use super::{AREAS, Route, RouterError, compare, routed};
use crate::service::Fleet;

/// The routes that are in the table, whether or not all are.
pub(crate) fn present(fleet: Arc<Fleet>, guard: &Arc<Guard>) -> Router {
    routed(fleet, guard, &AREAS.concat()).unwrap()
}

/// Routes of areas that are not in the table yet. This list only shrinks.
const AWAITED: &[&str] = &[];

#[test]
fn the_routes_equal_the_surface() {
    let awaited: Vec<String> = AWAITED.iter().map(|&name| name.to_owned()).collect();
    let expected = match awaited.is_empty() {
        true => Ok(()),
        false => Err(RouterError::Unserved(awaited)),
    };
    assert_eq!(compare(&AREAS.concat()), expected);
}

#[test]
fn a_route_without_a_row_is_refused() {
    let extra = Route::new(Method::Get, "/api/v1/fleet/all", AREAS[0][0].handler);
    let routes = [AREAS.concat(), vec![extra]].concat();
    let unlisted = vec!["GET /api/v1/fleet/all".to_owned()];
    assert_eq!(compare(&routes), Err(RouterError::Unlisted(unlisted)));
}
