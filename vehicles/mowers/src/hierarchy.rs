//! account > site > group > mower: what there is, and how it changes.
//!
//! The rows are the truth. A change writes rows, tells the gateway's registry, and commits, in
//! this order and under the lock of its account; whatever breaks off in between is put right from
//! the rows.

pub mod outbox;
pub mod roster;
pub mod routes;
