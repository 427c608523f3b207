//! The plan engine's endpoints: generic over services, one row each.

mod decide;
mod dispatch;
mod propose;
mod show;

pub(crate) use decide::{decide, kept};
pub(crate) use dispatch::{dispatch, is_transient};
pub(crate) use propose::propose;
pub(crate) use show::{get, list, location};

/// How often a transition is judged anew when another one was faster.
const ROUNDS: usize = 8;
