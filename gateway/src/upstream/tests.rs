//! Raw TCP services against the client: what the socket saw decides.

mod answers;
mod fake;
mod framing;
mod headers;
mod pooling;
mod replicas;
mod sockets;
mod stop_replicas;
mod stops;
