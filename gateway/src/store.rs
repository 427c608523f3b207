//! The traits of the store and their two implementations.
