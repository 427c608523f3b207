//! The drone service: missions, preview, deconfliction, and the link to the swarm.
//!
//! Positions are meters in one world frame (east, north, up) around the world
//! origin; times are seconds of flight or UTC instants, as each item says.

pub mod approach;
pub mod clock;
pub mod contract;
pub mod fence;
pub mod geometry;
pub mod json;
pub mod limits;
pub mod link;
pub mod paths;
pub mod preview;
pub mod sim;
