//! The one integration binary: what holds for the whole, not for a crate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod bugs;
mod crashes;
mod fleet;
mod fleet_api;
mod goldens;
mod grants;
mod hostile;
mod matrix;
mod metrics;
mod outage;
mod pair;
mod personas;
mod problems;
mod races;
mod readme;
mod reload;
mod repository;
mod secrets;
mod stops;
mod system;
mod tour;
mod untouched;
mod verbs;
