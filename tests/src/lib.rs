//! The harness of the integration tests: real processes, real sockets, real
//! stores, and the ways to break them.
//!
//! | module | gives |
//! |---|---|
//! | [`process`] | a program of this workspace, its output, its signals |
//! | [`redis`] | a real Redis server |
//! | [`nats`] | a real NATS server with JetStream |
//! | [`postgres`] | a real PostgreSQL server |
//! | [`idp`] | an identity provider: discovery, keys, tokens, faults |
//! | [`personas`] | who calls, from nobody to a service |
//! | [`vehicles`] | the simulator and the drone service |
//! | [`gateway`] | the gateway, with its configuration file |
//! | [`system`] | all of them together |
//! | [`http`] | calls as a well-behaved client makes them |
//! | [`wire`] | bytes as a hostile client sends them |
//! | [`chaos`] | a TCP relay that can be cut, hung and reset |
//! | [`stand_in`] | a service that answers what it is told |
//! | [`console`] | runs the console blocks of a document |
//! | [`mod@bench`] | the measurements of `cargo xtask bench` |
//! | [`golden`] | compares with a file that people review |
//! | [`poll`] | waits for a state; nothing else waits |
//! | [`repository`] | the files of this checkout |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "a harness fails its test by panicking, with the reason"
)]

pub mod background;
pub mod bench;
pub mod chaos;
pub mod console;
pub mod gateway;
pub mod golden;
pub mod http;
pub mod idp;
pub mod mowers;
pub mod nats;
pub mod personas;
pub mod poll;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod redis;
pub mod repository;
pub mod sent;
pub mod stand_in;
pub mod system;
pub mod vehicles;
pub mod wire;
