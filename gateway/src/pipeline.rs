//! The security order as one straight function.
