//! What a vehicle service trusts, and what the gateway's registry trusts: one
//! signed statement about one request, or nothing.

mod feed;
mod fleet;
mod forge;
mod refused;
mod replayed;

pub(crate) use forge::digest_of;

/// An id that no mission has.
const NOWHERE: &str = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000";
