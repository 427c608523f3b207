//! The drone service: missions, preview, deconfliction, and the link to the swarm.
//!
//! Positions are meters in one world frame (east, north, up) around the world
//! origin; times are seconds of flight or UTC instants, as each item says.

pub mod approach;
pub mod clock;
pub mod config;
pub mod contract;
pub mod crash;
pub mod database;
pub mod epoch;
pub mod feed;
pub mod fence;
pub mod geometry;
pub mod limits;
pub mod link;
pub mod missions;
pub mod operations;
pub mod paths;
pub mod preview;
pub mod service;
pub mod sim;
