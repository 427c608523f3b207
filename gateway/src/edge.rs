//! One canonical form of a request, or a refusal.
//!
//! Whatever is decided on is what is forwarded, so two spellings of one
//! request must never exist behind this module. It refuses and never repairs:
//! a proxy that normalises differently from its neighbour is a way around the
//! policy.

use std::net::SocketAddr;

use http::Method;
use http::request::Parts;
use interlock_policies::Mode;
use interlock_surface::{Class, Row};

use crate::config::ListenConfig;

pub mod body;
pub mod fields;
pub mod headers;
pub mod host;
pub mod json;
pub mod path;
pub mod query;

#[cfg(test)]
mod tests;

use headers::HeaderError;
use host::{HostError, HostRules};
use path::PathError;
use query::{Query, QueryError};

/// What the edge of one listener accepts.
#[derive(Clone, Debug)]
pub struct EdgeRules {
    /// The authorities this listener answers for.
    pub hosts: HostRules,
}

impl EdgeRules {
    /// The rules of the public listener, once its port is known.
    pub fn new(mode: Mode, listen: &ListenConfig, port: u16) -> Self {
        let hosts = match mode {
            Mode::Open => HostRules::Open { port },
            Mode::Enforced => HostRules::Enforced {
                hosts: listen.hosts.clone(),
            },
        };
        Self { hosts }
    }

    /// The rules of the operations listener.
    pub fn operations() -> Self {
        Self {
            hosts: HostRules::Operations,
        }
    }
}

/// Why a request has no canonical form here. The text is safe to show to the
/// caller: it never holds a header value, a query value or a token.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EdgeError {
    /// `CONNECT`: this is a gateway, not a tunnel.
    #[error("`CONNECT` is not offered; send the request itself")]
    Connect,
    /// The request target is not an origin-form path.
    #[error(
        "the request target must be a path such as `/health`, or an absolute `http` or `https` URI whose authority is the `Host`"
    )]
    Target,
    /// The path has no canonical form.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The query has no canonical form, or carries what may not be in a query.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The `Host` header is missing, doubled, malformed or not ours.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A header is doubled, malformed or not supported.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Another web origin asks a gateway that needs no credentials.
    #[error(
        "this gateway runs in open mode and takes requests of other web origins for stops only; call it without a browser, or from its own origin"
    )]
    CrossSite,
}

/// A request in its one canonical form: the proof that [`clean`] ran.
#[derive(Clone, Debug)]
pub struct Clean {
    method: Method,
    path: String,
    /// Why it cannot be read, where it cannot: no reason to refuse a stop.
    query: Result<Query, QueryError>,
    host: String,
    peer: SocketAddr,
    foreign: bool,
    expects_continue: bool,
}

impl Clean {
    /// The method, exactly as sent.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The canonical path, without the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The canonical authority the caller addressed, such as `localhost:8080`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The other end of the connection.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Whether the connection comes from this machine.
    pub fn loopback(&self) -> bool {
        self.peer.ip().to_canonical().is_loopback()
    }

    /// Whether the caller waits for `100 Continue` before it sends the body.
    pub fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// Refuses a query that has no canonical form. Whoever may be asking for a
    /// stop is not asked this.
    ///
    /// # Errors
    /// [`EdgeError::Query`] says what is wrong with it.
    pub fn readable(&self) -> Result<(), EdgeError> {
        match &self.query {
            Ok(_) => Ok(()),
            Err(cause) => Err(EdgeError::Query(cause.clone())),
        }
    }

    /// The query, once `row` is known to accept every parameter of it.
    ///
    /// # Errors
    /// [`QueryError`], which for a parameter that the row does not accept is
    /// [`QueryError::Undeclared`] and names the first.
    pub fn query_for(&self, row: &Row) -> Result<&Query, QueryError> {
        let query = self.query.as_ref().map_err(Clone::clone)?;
        query.only(row.query)?;
        Ok(query)
    }

    /// What of the query `row` accepts; the rest is left out, and of one that
    /// cannot be read all of it.
    pub fn query_of(&self, row: &Row) -> Query {
        let query = self.query.as_ref();
        query.map(|query| query.kept(row.query)).unwrap_or_default()
    }

    /// Refuses what another web origin sends in open mode, where the browser of
    /// the operator is all the credential there is (cross-site request
    /// forgery). A stop passes: stopping is never the dangerous answer.
    ///
    /// # Errors
    /// [`EdgeError::CrossSite`].
    pub fn admits(&self, class: Class) -> Result<(), EdgeError> {
        if self.foreign && class != Class::SafetyWrite {
            return Err(EdgeError::CrossSite);
        }
        Ok(())
    }
}

/// Brings a request to its canonical form. Whether its query has one is asked
/// later, with [`Clean::readable`].
///
/// Cannot see what hyper removes while parsing: a `#fragment` of the target
/// (dropped by `http::Uri`), a repeated `Content-Length` of the same value, and
/// a `Content-Length` beside `Transfer-Encoding` (hyper then closes the
/// connection after the answer). None reaches a decision or an upstream, since
/// path and framing are built anew.
///
/// # Errors
/// [`EdgeError`] says what is wrong and what to send instead.
pub fn clean(parts: &Parts, peer: SocketAddr, rules: &EdgeRules) -> Result<Clean, EdgeError> {
    if parts.method == Method::CONNECT {
        return Err(EdgeError::Connect);
    }
    let expects_continue = headers::check(parts.version, &parts.headers)?;
    let host = host::host(&parts.headers)?;
    origin_form(parts, &host)?;
    rules.hosts.admit(&host)?;
    let path = path::canonical(parts.uri.path())?;
    let query = Query::parse(parts.uri.query());
    Ok(Clean {
        method: parts.method.clone(),
        path: path.to_owned(),
        query,
        foreign: rules.hosts.open() && headers::foreign(&parts.headers, &host),
        host: host.to_string(),
        peer,
        expects_continue,
    })
}

/// RFC 9112 section 3.2: origin-form, or absolute-form for the same authority.
/// Authority-form and asterisk-form have no path to judge.
fn origin_form(parts: &Parts, host: &host::Authority) -> Result<(), EdgeError> {
    match (parts.uri.scheme_str(), parts.uri.authority()) {
        (None, None) => Ok(()),
        (Some("http" | "https"), Some(authority)) => {
            let target = host::Authority::parse(authority.as_str())?;
            if target == *host {
                Ok(())
            } else {
                Err(EdgeError::Target)
            }
        }
        _ => Err(EdgeError::Target),
    }
}
