//! Free ports on loopback.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;

use uuid::Uuid;

/// A listener on a port that the system chose.
pub fn listener() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port")
}

/// Where [`free`] looks: below the ports that the system gives to connections
/// going out (`net.ipv4.ip_local_port_range` begins at 32768), so that none of
/// them takes the port while its server is down, not even an attempt to reach
/// that server.
const KEPT: Range<u16> = 16_384..32_768;

/// A port that was free a moment ago, for programs that must be told theirs,
/// and that start again on it. Who starts such a program tries again with
/// another port when it was taken in between.
///
/// # Panics
/// When none is free.
pub fn free() -> SocketAddr {
    let [high, low, ..] = *Uuid::new_v4().as_bytes();
    let count = KEPT.end - KEPT.start;
    let first = u16::from_be_bytes([high, low]) % count;
    (0..count)
        .map(|step| KEPT.start + (first + step) % count)
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .find(|address| TcpListener::bind(address).is_ok())
        .expect("loopback has a free port")
}
