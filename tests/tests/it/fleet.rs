//! What fails around the fleet, caused in the real processes: what a start, a
//! stop and a read are told, what the mower does, and what is on record.

mod accounts;
mod bulk;
mod bus;
mod database;
mod deaths;
mod moves;
mod pair;
mod races;
mod refusals;
mod registry;
mod shards;
mod stand;
mod store;
mod table;
mod tour;
