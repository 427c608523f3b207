//! The routes: one list, held equal to the surface both ways.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use interlock_guard::{Guard, require_grant};
use interlock_surface::{Listener, Match, ROWS, Row, ServedBy, find};
use thiserror::Error;

use super::problem::Problem;
use super::{Service, handlers};

#[cfg(test)]
mod tests;

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
    let mut router = Router::new();
    for (row, handler) in bind(ROUTES)? {
        let method = Method::from_bytes(row.method.as_str().as_bytes()).ok();
        let filter = method.and_then(|method| MethodFilter::try_from(method).ok());
        let filter = filter.ok_or(RouterError::Method(row.name))?;
        let layer = from_fn_with_state(Arc::clone(guard), require_grant);
        router = router.route(row.path, handler(filter).route_layer(layer));
    }
    let routes = router.fallback(handlers::not_found).with_state(service);
    // Around the routes, not in each: a route adds its `Allow` to whatever answers another verb.
    Ok(Router::new()
        .fallback_service(routes)
        .layer(from_fn(listed)))
}

/// What is not in the surface is refused before anything else looks at it: the router's patterns
/// take any text for a parameter, the surface does not.
async fn listed(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().as_str(), request.uri().path());
    match find(Listener::Service(SERVICE), method, path) {
        Match::Found { .. } => next.run(request).await,
        Match::NotFound => Problem::NotFound.into_response(),
        Match::MethodNotAllowed { allow } => {
            let mut response = Problem::MethodNotAllowed.into_response();
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static(allow));
            response
        }
    }
}

/// Finds the row of each route, and that no row is left.
fn bind(
    routes: &'static [(&'static str, Handler)],
) -> Result<Vec<(&'static Row, Handler)>, RouterError> {
    if let Some(row) = rows().find(|row| !routes.iter().any(|(name, _)| *name == row.name)) {
        return Err(RouterError::Unserved(row.name));
    }
    let bound = routes.iter().map(|(name, handler)| {
        let row = rows().find(|row| row.name == *name);
        row.map(|row| (row, *handler))
            .ok_or(RouterError::Unlisted(name))
    });
    bound.collect()
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
