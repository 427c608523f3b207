//! The policy enforcement point: the only way from a caller to a vehicle
//! service, and the only crate that knows the store and the upstreams.

pub mod admission;
pub mod audit;
pub mod authn;
pub mod authorize;
pub mod canonical;
pub mod clock;
pub mod config;
pub mod crash;
pub mod detached;
mod durable;
pub mod edge;
pub mod effect;
pub mod gateway;
pub mod grant;
pub mod health;
pub mod idempotency;
pub mod identity;
pub mod ops;
pub mod pipeline;
pub mod plans;
pub mod policy;
pub mod problem;
pub mod registry;
pub mod reply;
pub mod rotation;
pub mod serve;
pub mod server;
pub mod start;
pub mod stop;
pub mod store;
pub mod telemetry;
#[cfg(test)]
mod testkit;
pub mod upstream;
