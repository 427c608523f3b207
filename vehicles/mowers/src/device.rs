//! The device gateway: the process that talks to mowers.

pub mod wire;
