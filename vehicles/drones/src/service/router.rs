//! The routes: one list, held equal to the surface both ways.

use std::sync::Arc;

use axum::Router;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use interlock_guard::{Guard, require_grant};
use interlock_surface::{ROWS, Row, ServedBy};
use thiserror::Error;

use super::{Service, handlers};

/// The name of this service in the surface, in grants and in the feed.
pub const SERVICE: &str = "drones";

type Handler = fn(MethodFilter) -> MethodRouter<Arc<Service>>;

/// Which handler serves which row.
const ROUTES: &[(&str, Handler)] = &[
    ("drones.swarm.state", |method| on(method, handlers::state)),
    ("drones.swarm.land", |method| on(method, handlers::land)),
    ("drones.mission.start", |method| on(method, handlers::start)),
    ("drones.mission.get", |method| on(method, handlers::mission)),
    ("drones.mission.abort", |method| on(method, handlers::abort)),
    ("drones.internal.preview", |method| {
        on(method, handlers::preview_mission)
    }),
    ("drones.internal.settle", |method| {
        on(method, handlers::settle)
    }),
];

/// The rows that this service serves.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
        .filter(|row| row.service == SERVICE && row.served_by == ServedBy::Service)
}

/// The router. Every route asks `guard` first; a path or a method that is not in the surface is
/// answered without it.
///
/// # Errors
/// [`RouterError`], when the list above and the surface differ.
pub fn router(service: Arc<Service>, guard: &Arc<Guard>) -> Result<Router, RouterError> {
    if let Some(row) = rows().find(|row| !ROUTES.iter().any(|(name, _)| *name == row.name)) {
        return Err(RouterError::Unserved(row.name));
    }
    let mut router = Router::new();
    for (name, handler) in ROUTES {
        let row = rows().find(|row| row.name == *name);
        let row = row.ok_or(RouterError::Unlisted(name))?;
        let method = Method::from_bytes(row.method.as_str().as_bytes()).ok();
        let filter = method.and_then(|method| MethodFilter::try_from(method).ok());
        let filter = filter.ok_or(RouterError::Method(name))?;
        let layer = from_fn_with_state(Arc::clone(guard), require_grant);
        router = router.route(row.path, handler(filter).route_layer(layer));
    }
    Ok(router
        .fallback(handlers::not_found)
        .method_not_allowed_fallback(handlers::method_not_allowed)
        .with_state(service))
}

/// How the routes and the surface differ.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RouterError {
    /// A row nobody serves.
    #[error("row `{0}` of the surface has no handler")]
    Unserved(&'static str),
    /// A handler without a row.
    #[error("handler `{0}` is in no row of the surface")]
    Unlisted(&'static str),
    /// A method that cannot be routed.
    #[error("row `{0}` has a method that cannot be routed")]
    Method(&'static str),
}
