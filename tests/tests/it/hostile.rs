//! Bytes that no well-behaved client sends. Each case names the entry of
//! `bugs.rs` that it closes; nothing of it reaches the service, or exactly one
//! clean request does.

mod bodies;
mod forwarded;
mod framing;
mod headers;
mod paths;
mod slow;
mod stage;
mod tokens;
