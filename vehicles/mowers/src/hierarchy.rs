//! account > site > group > mower: what there is, and how it changes.
//!
//! The rows are the truth. A change writes rows, tells the gateway's registry, and commits, in
//! this order and under the lock of its account; whatever breaks off in between is put right from
//! the rows.

mod accounts;
mod bodies;
mod change;
pub mod events;
mod feed;
mod groups;
pub mod listen;
mod listing;
pub mod model;
mod mowers;
mod objects;
pub mod outbox;
mod reads;
pub mod reconcile;
pub mod references;
mod repair;
mod reply;
pub mod roster;
pub mod routes;
pub mod rows;
mod sites;
mod snapshot;
mod ticket;
mod writes;

#[cfg(test)]
pub(crate) mod tests;
