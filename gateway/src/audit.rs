//! Decision records: intent before, outcome after, one hash chain.
