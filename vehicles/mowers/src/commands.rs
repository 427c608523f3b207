//! Commands to mowers: written down, handed to the bus, and followed until
//! their end.
//!
//! Motion is recorded and committed before it is published, and never repeated.
//! A stop is published first, repeated while it may help, and recorded after.

pub mod epochs;
pub mod life;
pub mod pacer;
pub mod record;
pub mod request;
pub mod spool;
pub mod status;
pub mod store;

#[cfg(test)]
pub(crate) mod testkit;

pub use record::{AreaClear, Decided, Late, Outcome, Record};
pub use request::Request;
