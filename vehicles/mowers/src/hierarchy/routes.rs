//! The rows of the hierarchy and their handlers.

use axum::routing::on;
use interlock_surface::Method::{Delete, Get, Patch, Post, Put};

use super::{reads, writes};
use crate::service::router::Route;

const ACCOUNT: &str = "/internal/accounts/{account}";
const MOWERS: &str = "/api/v1/fleet/mowers";
const MOWER: &str = "/api/v1/fleet/mowers/{mower}";
const SITES: &str = "/api/v1/fleet/sites";
const SITE: &str = "/api/v1/fleet/sites/{site}";
const GROUPS: &str = "/api/v1/fleet/groups";
const GROUP: &str = "/api/v1/fleet/groups/{group}";
const MEMBER: &str = "/api/v1/fleet/groups/{group}/mowers/{mower}";

/// Which handler serves which row.
pub const ROUTES: &[Route] = &[
    Route::new(Get, MOWERS, |method| on(method, reads::mowers)),
    Route::new(Get, MOWER, |method| on(method, reads::mower)),
    Route::new(Get, "/api/v1/fleet/mowers/{mower}/permissions", |method| {
        on(method, reads::permissions)
    }),
    Route::new(Get, SITES, |method| on(method, reads::sites)),
    Route::new(Get, SITE, |method| on(method, reads::site)),
    Route::new(Get, "/api/v1/fleet/sites/{site}/mowers", |method| {
        on(method, reads::site_mowers)
    }),
    Route::new(Get, GROUPS, |method| on(method, reads::groups)),
    Route::new(Get, GROUP, |method| on(method, reads::group)),
    Route::new(Get, "/api/v1/fleet/groups/{group}/mowers", |method| {
        on(method, reads::group_mowers)
    }),
    Route::new(Get, "/internal/hierarchy", |method| {
        on(method, reads::hierarchy)
    }),
    Route::new(Post, "/internal/accounts", |method| {
        on(method, writes::make_account)
    }),
    Route::new(Patch, ACCOUNT, |method| on(method, writes::change_account)),
    Route::new(Delete, ACCOUNT, |method| on(method, writes::delete_account)),
    Route::new(Post, SITES, |method| on(method, writes::create_site)),
    Route::new(Patch, SITE, |method| on(method, writes::change_site)),
    Route::new(Delete, SITE, |method| on(method, writes::delete_site)),
    Route::new(Post, GROUPS, |method| on(method, writes::create_group)),
    Route::new(Patch, GROUP, |method| on(method, writes::change_group)),
    Route::new(Delete, GROUP, |method| on(method, writes::delete_group)),
    Route::new(Put, MEMBER, |method| on(method, writes::add_to_group)),
    Route::new(Delete, MEMBER, |method| {
        on(method, writes::remove_from_group)
    }),
    Route::new(Post, MOWERS, |method| on(method, writes::register)),
    Route::new(Patch, MOWER, |method| on(method, writes::change_mower)),
    Route::new(Put, "/api/v1/fleet/mowers/{mower}/placement", |method| {
        on(method, writes::place)
    }),
    Route::new(Delete, MOWER, |method| on(method, writes::delete_mower)),
];
