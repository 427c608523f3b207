//! Client pools, forwarding and what came of it.
