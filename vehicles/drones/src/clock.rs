//! The wall clock as an argument, so that a test decides what time it is.

pub use interlock_guard::{Clock, SystemClock};
