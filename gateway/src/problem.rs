//! RFC 9457 problem details: the only file that chooses a status.
