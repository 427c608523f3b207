//! Whom the request addresses (RFC 9110 section 7.2), in one spelling.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use http::HeaderMap;
use http::header::HOST;

/// Why a `Host` is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HostError {
    /// No `Host` header.
    #[error("the `Host` header is missing; send exactly one")]
    Missing,
    /// Not `name`, `name:port`, `address:port` or `[address]:port`.
    #[error("the `Host` is malformed; write `name` or `name:port`")]
    Malformed,
    /// Well-formed, but not an authority of this listener (421).
    #[error("this gateway does not answer for that host; check the address and `listen.hosts`")]
    Misdirected,
}

/// A host and a port in canonical form: lower case, no trailing dot, IPv6 in
/// its RFC 5952 form, the default ports 80 and 443 left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authority {
    host: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`.
    ///
    /// # Errors
    /// [`HostError::Malformed`]; user information (`user@`) is malformed too.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (address, after) = rest.split_once(']').ok_or(HostError::Malformed)?;
            let address: Ipv6Addr = address.parse().map_err(|_| HostError::Malformed)?;
            let port = match after.strip_prefix(':') {
                Some(port) => Some(port),
                None if after.is_empty() => None,
                None => return Err(HostError::Malformed),
            };
            (format!("[{address}]"), port)
        } else {
            let (name, port) = match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            };
            let name = name.strip_suffix('.').unwrap_or(name);
            if !name.split('.').all(label) || name.len() > 253 {
                return Err(HostError::Malformed);
            }
            (name.to_ascii_lowercase(), port)
        };
        let port = match port {
            None => None,
            Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(text.parse().map_err(|_| HostError::Malformed)?)
            }
            Some(_) => return Err(HostError::Malformed),
        };
        Ok(Self {
            host,
            port: port.and_then(written),
        })
    }

    /// Whether the host is this machine by name or address.
    pub fn loopback(&self) -> bool {
        self.host == "localhost" || self.address().is_some_and(|address| address.is_loopback())
    }

    /// The host, where it is an address and not a name.
    pub fn address(&self) -> Option<IpAddr> {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        bare.parse().ok()
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(out, "{}:{port}", self.host),
            None => out.write_str(&self.host),
        }
    }
}

/// A port as it is written in an authority: the default ones are left out.
fn written(port: u16) -> Option<u16> {
    (!matches!(port, 80 | 443)).then_some(port)
}

/// RFC 1123 label, and `_`, which internal names use.
fn label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The authorities a listener answers for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostRules {
    /// Open mode: loopback names and addresses with the listener's own port.
    /// Any other name is a web page that pointed its own name at loopback
    /// (DNS rebinding).
    Open {
        /// The port the listener is bound to.
        port: u16,
    },
    /// Enforced mode: the configured authorities, compared whole.
    Enforced {
        /// Every accepted authority; a port other than 80 and 443 is part of
        /// it.
        hosts: Vec<Authority>,
    },
    /// The operations listener: an address, or `localhost`. Any other name
    /// could be a web page's own, pointed here (DNS rebinding).
    Operations,
}

impl HostRules {
    /// Whether callers need no credentials here.
    pub fn open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether the listener answers for `host`.
    ///
    /// # Errors
    /// [`HostError::Misdirected`] when it does not.
    pub fn admit(&self, host: &Authority) -> Result<(), HostError> {
        let ours = match self {
            Self::Open { port } => host.loopback() && host.port == written(*port),
            Self::Enforced { hosts } => hosts.contains(host),
            Self::Operations => host.loopback() || host.address().is_some(),
        };
        if ours {
            Ok(())
        } else {
            Err(HostError::Misdirected)
        }
    }
}

/// The canonical `Host` of a request whose headers are known to be single.
///
/// # Errors
/// [`HostError::Missing`] or [`HostError::Malformed`].
pub fn host(headers: &HeaderMap) -> Result<Authority, HostError> {
    let value = headers.get(HOST).ok_or(HostError::Missing)?;
    Authority::parse(value.to_str().map_err(|_| HostError::Malformed)?)
}

#[cfg(test)]
mod tests;
