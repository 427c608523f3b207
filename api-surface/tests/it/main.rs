//! Tests of the whole crate: its laws on broken tables, and its documents.

#[cfg(test)]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "only a part of it is needed here"
)]
#[path = "../../build/compile.rs"]
mod compile;

#[cfg(test)]
mod failures;
#[cfg(test)]
mod goldens;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod templates;
#[cfg(test)]
mod ways;
