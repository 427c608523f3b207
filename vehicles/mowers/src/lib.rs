//! The mower service: a fleet of robotic mowers, its hierarchy, commands and
//! emergency stops, the bus to the device gateways, and the simulator they are
//! tested against.
//!
//! Positions are meters in a local frame (x east, y north) around the origin of
//! a mower's map; headings are degrees, 0 = east, counter-clockwise.

pub mod account;
pub mod bus;
pub mod commands;
pub mod config;
pub mod connection;
pub mod contract;
pub mod crash;
pub mod device;
pub mod drive;
pub mod gateway_link;
pub mod heartbeat;
pub mod hierarchy;
pub mod leader;
pub mod operations;
pub mod ops;
pub mod preview;
pub mod process;
pub mod records;
pub mod service;
pub mod sim;
pub mod telemetry;
