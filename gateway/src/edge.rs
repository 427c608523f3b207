//! One canonical form of a request, or a refusal.
