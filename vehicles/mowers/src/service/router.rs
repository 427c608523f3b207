//! The routes, equal to the rows of the surface both ways.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::ALLOW;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use interlock_guard::{Guard, require_grant};
use interlock_surface::{Listener, Match, Method, ROWS, Row, ServedBy, find};
use thiserror::Error;

use super::problem::Problem;
use super::{Fleet, SERVICE, health, settle};
use crate::{commands, drive, hierarchy, preview, telemetry};

#[cfg(test)]
mod tests;

/// One route: all rows of one method and path, whatever their kinds.
#[derive(Clone, Copy)]
pub struct Route {
    method: Method,
    path: &'static str,
    handler: fn(MethodFilter) -> MethodRouter<Arc<Fleet>>,
}

impl Route {
    /// The rows at `method` and `path` are served by `handler`.
    #[must_use]
    pub const fn new(
        method: Method,
        path: &'static str,
        handler: fn(MethodFilter) -> MethodRouter<Arc<Fleet>>,
    ) -> Self {
        Self {
            method,
            path,
            handler,
        }
    }
}

/// Every area of the service with its routes. A new area adds its line here.
const AREAS: &[&[Route]] = &[
    hierarchy::routes::ROUTES,
    commands::handlers::ROUTES,
    drive::handlers::ROUTES,
    preview::handlers::ROUTES,
    telemetry::handlers::ROUTES,
    settle::ROUTES,
    health::ROUTES,
];

/// The rows that this service serves.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
        .filter(|row| row.service == SERVICE && row.served_by == ServedBy::Service)
}

/// The router of the whole service. Every route asks `guard` first; a path or a method that is not
/// in the surface is answered without it.
///
/// # Errors
/// [`RouterError`], when the areas and the surface differ.
pub fn router(fleet: Arc<Fleet>, guard: &Arc<Guard>) -> Result<Router, RouterError> {
    let routes = AREAS.concat();
    compare(&routes)?;
    routed(fleet, guard, &routes)
}

/// The router of some routes.
fn routed(fleet: Arc<Fleet>, guard: &Arc<Guard>, routes: &[Route]) -> Result<Router, RouterError> {
    let mut router = Router::new();
    for route in routes {
        let method = axum::http::Method::from_bytes(route.method.as_str().as_bytes()).ok();
        let filter = method.and_then(|method| MethodFilter::try_from(method).ok());
        let filter = filter.ok_or(RouterError::Method(route.path))?;
        let layer = from_fn_with_state(Arc::clone(guard), require_grant);
        router = router.route(route.path, (route.handler)(filter).route_layer(layer));
    }
    let routes = router.fallback(not_found).with_state(fleet);
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

async fn not_found() -> Problem {
    Problem::NotFound
}

/// Finds that every row has a route, and every route a row.
fn compare(routes: &[Route]) -> Result<(), RouterError> {
    let surface: BTreeSet<(&str, &str)> =
        rows().map(|row| (row.path, row.method.as_str())).collect();
    let routed: BTreeSet<(&str, &str)> = routes
        .iter()
        .map(|route| (route.path, route.method.as_str()))
        .collect();
    let named = |set: Vec<&(&str, &str)>| {
        let names = set.into_iter();
        let names = names.map(|(path, method)| format!("{method} {path}"));
        names.collect::<Vec<_>>()
    };
    let unserved = named(surface.difference(&routed).collect());
    let unlisted = named(routed.difference(&surface).collect());
    if !unlisted.is_empty() {
        return Err(RouterError::Unlisted(unlisted));
    }
    if !unserved.is_empty() {
        return Err(RouterError::Unserved(unserved));
    }
    Ok(())
}

/// How the routes and the surface differ.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RouterError {
    /// Rows nobody serves.
    #[error("rows of the surface without a handler: {}", .0.join(", "))]
    Unserved(Vec<String>),
    /// Handlers without a row.
    #[error("handlers that are in no row of the surface: {}", .0.join(", "))]
    Unlisted(Vec<String>),
    /// A method that cannot be routed.
    #[error("`{0}` has a method that cannot be routed")]
    Method(&'static str),
}
