//! The configuration, typed; every fault reported at once.
