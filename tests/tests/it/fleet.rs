//! What fails around the fleet, caused in the real processes: what a start, a
//! stop and a read are told, what the mower does, and what is on record.

mod bus;
mod database;
mod deaths;
mod shards;
mod stand;
