//! Free ports on loopback.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// A listener on a port that the system chose.
pub fn listener() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port")
}

/// A port that was free a moment ago, for programs that must be told theirs.
/// Who starts such a program tries again with another port when it was taken
/// in between.
pub fn free() -> SocketAddr {
    listener()
        .local_addr()
        .expect("a bound listener has an address")
}
