//! Asks the PDP and makes the permit, or the refusal.
