//! Raw TCP services against the client: what the socket saw decides.

mod answers;
mod fake;
mod framing;
mod headers;
mod pooling;
mod sockets;
mod stops;
