//! The path parameters of a request, validated and in canonical form.

use thiserror::Error;

use crate::ids::{is_id, is_uuid};
use crate::row::{Row, Segment};
use crate::terms::ParamKind;

/// Validated path parameters, UUIDs in lower case.
///
/// A request without parameters allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(Vec<(&'static str, String)>);

/// Why parameters do not fit a row.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ParamsError {
    /// The template names a parameter that was not given.
    #[error("the path of row `{row}` needs the parameter `{param}`, which was not given")]
    Missing {
        /// Name of the row.
        row: &'static str,
        /// Name of the parameter.
        param: &'static str,
    },
    /// The value is not of the parameter's kind.
    #[error("`{value}` is no {kind} and cannot be the parameter `{param}` of row `{row}`")]
    Invalid {
        /// Name of the row.
        row: &'static str,
        /// Name of the parameter.
        param: &'static str,
        /// What the parameter accepts.
        kind: ParamKind,
        /// What was given.
        value: String,
    },
}

impl Params {
    /// Parameters for calling `row`, each validated as a request's would be.
    ///
    /// # Errors
    /// When the template needs a value that is not among `values`, or one is
    /// not of its kind. Values the template does not name are left out.
    pub fn of(row: &'static Row, values: &[(&str, &str)]) -> Result<Self, ParamsError> {
        let mut params = Self::default();
        for (param, kind) in row.params() {
            let Some((_, value)) = values.iter().find(|(name, _)| *name == param) else {
                return Err(ParamsError::Missing {
                    row: row.name,
                    param,
                });
            };
            let Some(canonical) = canonical(kind, value) else {
                return Err(ParamsError::Invalid {
                    row: row.name,
                    param,
                    kind,
                    value: (*value).to_owned(),
                });
            };
            params.push(param, canonical);
        }
        Ok(params)
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(param, _)| *param == name)
            .map(|(_, value)| value.as_str())
    }

    /// All parameters in the order of the path.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Builds the path of `row` from its template, never from the raw text of
    /// a request, so that the bytes sent are the bytes decided on.
    ///
    /// # Errors
    /// When the template names a parameter that these do not hold.
    pub fn render(&self, row: &'static Row) -> Result<String, ParamsError> {
        let mut path = String::with_capacity(row.path.len() + 40 * self.0.len());
        for segment in row.segments {
            path.push('/');
            path.push_str(match *segment {
                Segment::Literal(text) => text,
                Segment::Param(param, _) => self.get(param).ok_or(ParamsError::Missing {
                    row: row.name,
                    param,
                })?,
            });
        }
        Ok(path)
    }

    pub(crate) fn push(&mut self, name: &'static str, value: String) {
        self.0.push((name, value));
    }
}

/// The canonical form of a parameter's text, or `None` when it is not one.
pub(crate) fn canonical(kind: ParamKind, text: &str) -> Option<String> {
    match kind {
        ParamKind::Uuid => is_uuid(text).then(|| text.to_ascii_lowercase()),
        ParamKind::Text => is_id(text).then(|| text.to_owned()),
    }
}

#[cfg(test)]
mod tests;
