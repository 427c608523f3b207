//! The hierarchy over its HTTP side, on both databases, with a gateway that keeps the registry's
//! rules. Every race of the hierarchy is one test here.

mod breaks;
mod changes;
pub(crate) mod gateway;
mod heard;
mod pages;
mod races;
pub(crate) mod rig;
