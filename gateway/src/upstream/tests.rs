//! Raw TCP services against the client.
