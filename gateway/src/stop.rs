//! The stop lane: shares nothing with the store.
