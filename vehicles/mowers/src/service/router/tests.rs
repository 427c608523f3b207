use interlock_surface::Method;

use super::{AREAS, Route, RouterError, compare};

#[test]
fn the_routes_equal_the_surface() {
    assert_eq!(compare(&AREAS.concat()), Ok(()));
}

#[test]
fn a_row_without_a_route_is_refused() {
    let mut routes = AREAS.concat();
    let last = routes.pop().unwrap();
    let unserved = vec![format!("{} {}", last.method.as_str(), last.path)];
    assert_eq!(compare(&routes), Err(RouterError::Unserved(unserved)));
}

#[test]
fn a_route_without_a_row_is_refused() {
    let extra = Route::new(Method::Get, "/api/v1/fleet/all", AREAS[0][0].handler);
    let routes = [AREAS.concat(), vec![extra]].concat();
    let unlisted = vec!["GET /api/v1/fleet/all".to_owned()];
    assert_eq!(compare(&routes), Err(RouterError::Unlisted(unlisted)));
}
