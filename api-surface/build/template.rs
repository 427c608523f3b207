//! Path templates, their shape, and which can match the same path.

use crate::compile::fault::Law;
use crate::compile::reader::Located;
use crate::compile::terms::ParamKind;
use crate::compile::text::{is_id, is_uuid};

/// A path template, cut at its slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(pub Vec<Piece>);

/// What stands between two slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// This very text.
    Literal(String),
    /// A parameter.
    Param(String, ParamKind),
}

/// Line, where it is not the path's own, law and text of a bad template.
type Bad = (Option<usize>, Law, String);

impl Template {
    /// Reads a template; `text_params` are the parameters that are no UUID.
    pub fn parse(path: &str, text_params: &[Located<String>]) -> Result<Self, Bad> {
        let bad = |text: String| Err((None, Law::PathForm, text));
        let Some(rest) = path.strip_prefix('/') else {
            return bad(format!("`{path}` must begin with a slash"));
        };
        let mut pieces = Vec::new();
        for text in rest.split('/') {
            if let Some(name) = text
                .strip_prefix('{')
                .and_then(|text| text.strip_suffix('}'))
            {
                let name = name.to_owned();
                let known = |piece: &Piece| matches!(piece, Piece::Param(p, _) if *p == name);
                if !is_word(&name) || pieces.iter().any(known) {
                    return bad(format!("`{text}` must be a lower-case word, used once"));
                }
                let text = text_params.iter().any(|param| param.value == name);
                let kind = if text {
                    ParamKind::Text
                } else {
                    ParamKind::Uuid
                };
                pieces.push(Piece::Param(name, kind));
            } else if is_word(text) {
                pieces.push(Piece::Literal(text.to_owned()));
            } else {
                return bad(format!(
                    "`{text}` in `{path}` must be a lower-case word or `{{name}}`"
                ));
            }
        }
        let template = Self(pieces);
        for param in text_params {
            if !template.names(&param.value) {
                let text = format!(
                    "`{}` in text_params is no parameter of `{path}`",
                    param.value
                );
                return Err((Some(param.line), Law::ParamNotInPath, text));
            }
        }
        Ok(template)
    }

    /// Whether a parameter has this name.
    pub fn names(&self, name: &str) -> bool {
        self.0
            .iter()
            .any(|piece| matches!(piece, Piece::Param(param, _) if param == name))
    }

    /// Whether both match exactly the same paths: the names of parameters do
    /// not make paths differ.
    pub fn same_shape(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|pair| match pair {
                (Piece::Literal(a), Piece::Literal(b)) => a == b,
                (Piece::Param(_, a), Piece::Param(_, b)) => a == b,
                _ => false,
            })
    }

    /// Whether some path is matched by both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|pair| match pair {
                (Piece::Literal(a), Piece::Literal(b)) => a == b,
                (Piece::Literal(text), Piece::Param(_, kind))
                | (Piece::Param(_, kind), Piece::Literal(text)) => match kind {
                    ParamKind::Uuid => is_uuid(text),
                    ParamKind::Text => is_id(text),
                },
                // A UUID is an id, so any two parameters have texts in common.
                (Piece::Param(..), Piece::Param(..)) => true,
            })
    }
}

fn is_word(text: &str) -> bool {
    text.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
}
