//! Which rows a method and a path mean on a listener.

use thiserror::Error;

use crate::ids::{is_id, is_uuid};
use crate::params::{Params, canonical};
use crate::row::{Row, Segment};
use crate::terms::{Method, ParamKind};

/// A listener, and with it the rows that exist there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listener {
    /// The gateway's front door: every row that is not internal.
    Public,
    /// The gateway's operations listener.
    Ops,
    /// The vehicle service of this name: the rows it serves, internal ones too.
    Service(&'static str),
}

/// What a method and a path mean.
#[derive(Debug, PartialEq, Eq)]
pub enum Match {
    /// A row, or several that differ in command kind only.
    Found {
        /// The rows of this method and path.
        rows: Candidates,
        /// The path's parameters.
        params: Params,
        /// The request is a HEAD, judged and answered as its GET, bodiless.
        head: bool,
    },
    /// The path exists, the method does not.
    MethodNotAllowed {
        /// Value for the `Allow` header, sorted.
        allow: &'static str,
    },
    /// No row has this path.
    NotFound,
}

/// The rows of one method and path: one, or one for each command kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates {
    pub(crate) first: &'static Row,
    pub(crate) rest: &'static [&'static Row],
}

/// A command kind that the path does not know. Never a write by default.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UnknownKind {
    /// No kind was given where one is needed.
    #[error("a command kind is needed, one of {known}")]
    Missing {
        /// The kinds of this path.
        known: String,
    },
    /// The kind is not among the path's.
    #[error("`{}` is no command kind of this path, which knows {known}", .kind.escape_debug())]
    Unlisted {
        /// What was asked.
        kind: String,
        /// The kinds of this path.
        known: String,
    },
}

impl Candidates {
    /// Any one of them. Service, path, body rule and body limit are the same
    /// in all; class, relation and action are not: those need [`choose`].
    ///
    /// [`choose`]: Self::choose
    pub const fn any(self) -> &'static Row {
        self.first
    }

    /// All of them, in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = &'static Row> {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// Whether the row depends on the kind in the body.
    pub const fn by_kind(self) -> bool {
        self.first.kind.is_some()
    }

    /// The row of a command kind. Where the path has no kinds, `kind` is not
    /// looked at.
    ///
    /// # Errors
    /// When the path has kinds and `kind` is none of them.
    pub fn choose(self, kind: Option<&str>) -> Result<&'static Row, UnknownKind> {
        if !self.by_kind() {
            return Ok(self.first);
        }
        if let Some(row) = self.iter().find(|row| row.kind == kind) {
            return Ok(row);
        }
        let known: Vec<String> = self
            .iter()
            .filter_map(|row| row.kind)
            .map(|kind| format!("`{kind}`"))
            .collect();
        let known = known.join(", ");
        Err(match kind {
            None => UnknownKind::Missing { known },
            Some(kind) => UnknownKind::Unlisted {
                kind: kind.to_owned(),
                known,
            },
        })
    }
}

/// The routes of one listener, at position n those with n segments.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) listener: Listener,
    pub(crate) by_length: &'static [&'static [Route]],
}

/// One path shape and its methods.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) segments: &'static [Segment],
    pub(crate) methods: &'static [(Method, Candidates)],
    pub(crate) allow: &'static str,
}

/// Finds the rows of `method` and `path` on `listener`.
///
/// `path` is canonical and without a query. Any text is answered: what is not
/// in the table does not exist.
pub fn find(listener: Listener, method: &str, path: &str) -> Match {
    let Some(route) = route(listener, path) else {
        return Match::NotFound;
    };
    let head = method == "HEAD";
    let method = if head {
        Some(Method::Get)
    } else {
        Method::parse(method)
    };
    let candidates = route
        .methods
        .iter()
        .find(|(listed, _)| Some(*listed) == method);
    let Some((_, rows)) = candidates else {
        return Match::MethodNotAllowed { allow: route.allow };
    };
    Match::Found {
        rows: *rows,
        params: params(rows.any().segments, path),
        head,
    }
}

fn route(listener: Listener, path: &str) -> Option<&'static Route> {
    let path = path.strip_prefix('/')?;
    let routes = crate::ROUTES
        .iter()
        .find(|routes| routes.listener == listener)?;
    routes
        .by_length
        .get(path.split('/').count())?
        .iter()
        .find(|route| fits(route.segments, path))
}

fn fits(segments: &[Segment], path: &str) -> bool {
    segments
        .iter()
        .zip(path.split('/'))
        .all(|(segment, text)| match segment {
            Segment::Literal(literal) => *literal == text,
            Segment::Param(_, ParamKind::Uuid) => is_uuid(text),
            Segment::Param(_, ParamKind::Text) => is_id(text),
        })
}

fn params(segments: &'static [Segment], path: &str) -> Params {
    let mut params = Params::default();
    for (segment, text) in segments.iter().zip(path.split('/').skip(1)) {
        if let Segment::Param(name, kind) = *segment
            && let Some(value) = canonical(kind, text)
        {
            params.push(name, value);
        }
    }
    params
}

#[cfg(test)]
mod tests;
