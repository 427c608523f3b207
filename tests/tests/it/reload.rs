//! What is in force changes while the gateway runs: policies and keys.

mod edits;
mod keys;
mod refusals;
mod stage;
