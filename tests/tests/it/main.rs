//! The one integration binary: what holds for the whole, not for a crate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod goldens;
mod matrix;
mod outage;
mod personas;
mod problems;
mod readme;
mod repository;
mod stops;
mod system;
mod tour;
mod untouched;
mod verbs;
