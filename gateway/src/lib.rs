//! The policy enforcement point: the only way from a caller to a vehicle
//! service, and the only crate that knows the store and the upstreams.

pub mod audit;
pub mod authn;
pub mod authorize;
pub mod canonical;
pub mod clock;
pub mod config;
pub mod edge;
pub mod effect;
pub mod grant;
pub mod idempotency;
pub mod identity;
pub mod ops;
pub mod pipeline;
pub mod plans;
pub mod problem;
pub mod registry;
pub mod stop;
pub mod store;
pub mod upstream;
