//! The fleet over HTTP as its callers use and misuse it: what one may see and
//! do with a part of it, and what nobody gets out of it by trying.

mod accounts;
mod bodies;
mod bus;
mod confusion;
mod driving;
mod faults;
mod hidden;
mod numbers;
mod replays;
mod stage;
mod worked;
