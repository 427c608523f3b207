//! The fields of a body that a row declares. One that stands inside another is
//! declared with its parents, `command.area_ids`; what lies inside a declared
//! field is the service's to judge.

use interlock_surface::Row;
use serde_json::{Map, Value};

use super::body::BodyError;

/// The fields that a row takes.
pub(super) struct Known(Vec<&'static str>);

impl Known {
    /// Those that the row declares, and the kind that chose it.
    pub(super) fn of(row: &Row) -> Self {
        let declared = row.acting.iter().chain(row.annotation).copied();
        Self(declared.chain(row.kind_field).collect())
    }

    /// Whether every field is known.
    ///
    /// # Errors
    /// Names the first that is not, with its parents.
    pub(super) fn check(&self, fields: &Map<String, Value>) -> Result<(), BodyError> {
        self.below("", fields)
    }

    /// Leaves out every field that is not known.
    pub(super) fn keep(&self, fields: &mut Map<String, Value>) {
        self.keep_below("", fields);
    }

    fn below(&self, parents: &str, fields: &Map<String, Value>) -> Result<(), BodyError> {
        for (name, value) in fields {
            let path = format!("{parents}{name}");
            match (self.finds(&path, name), value) {
                (Found::Field, _) => {}
                (Found::Parent, Value::Object(inner)) => self.below(&format!("{path}."), inner)?,
                (Found::Parent, _) => return Err(BodyError::NotNested(path)),
                (Found::Nothing, _) => return Err(BodyError::UnknownField(path)),
            }
        }
        Ok(())
    }

    fn keep_below(&self, parents: &str, fields: &mut Map<String, Value>) {
        fields.retain(|name, value| {
            let path = format!("{parents}{name}");
            match (self.finds(&path, name), value) {
                (Found::Field, _) => true,
                (Found::Parent, Value::Object(inner)) => {
                    self.keep_below(&format!("{path}."), inner);
                    true
                }
                _ => false,
            }
        });
    }

    /// What a field is. A name that holds a dot itself could pass for a path,
    /// and is none.
    fn finds(&self, path: &str, name: &str) -> Found {
        let inside = |declared: &&str| {
            let rest = declared.strip_prefix(path);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        if name.contains('.') {
            Found::Nothing
        } else if self.0.contains(&path) {
            Found::Field
        } else if self.0.iter().any(inside) {
            Found::Parent
        } else {
            Found::Nothing
        }
    }
}

enum Found {
    Field,
    Parent,
    Nothing,
}

/// The value of a declared field.
pub(crate) fn at<'a>(fields: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let mut value = fields.get(names.next()?)?;
    for name in names {
        value = value.as_object()?.get(name)?;
    }
    Some(value)
}

/// What of a body decides: the acting fields, and the kind where there are
/// several. By the paths that rows declare, so that no two bodies mix.
pub(crate) fn acting(row: &Row, fields: &Map<String, Value>) -> Map<String, Value> {
    let paths = row.acting.iter().copied().chain(row.kind_field);
    paths
        .filter_map(|path| Some((path.to_owned(), at(fields, path)?.clone())))
        .collect()
}

/// How long the command is to live, in milliseconds, where the row has a field
/// that says so: 0 when it does not, or is no number that could be a time.
pub(crate) fn life(row: &Row, fields: &Map<String, Value>) -> i64 {
    let mut lives = row.acting.iter().filter_map(|path| {
        let factor = match path.rsplit('.').next()? {
            "ttl_ms" => 1,
            "ttl_seconds" => 1000,
            _ => return None,
        };
        let value = at(fields, path)?;
        // `5.0` is forwarded as `5`; a part of a unit counts as a whole one.
        let whole = value
            .as_i64()
            .or(value.as_f64().map(|value| value.ceil() as i64))?;
        Some(whole.saturating_mul(factor))
    });
    let first = lives.next().unwrap_or_default();
    lives.fold(first, i64::max)
}

/// Puts the fields of an approved plan where the write that it becomes takes
/// them: at the top, or beside its kind.
///
/// # Errors
/// Names a field that the write does not take.
pub(crate) fn becomes(
    row: &Row,
    plan: &Map<String, Value>,
) -> Result<Map<String, Value>, BodyError> {
    let known = Known::of(row);
    let command = row.command_field();
    let mut top = Map::new();
    let mut beside = Map::new();
    for (name, value) in plan {
        let nested = command.map(|command| format!("{command}.{name}"));
        let inside = |path: &String| known.0.contains(&path.as_str());
        if nested.as_ref().is_some_and(inside) {
            beside.insert(name.clone(), value.clone());
        } else if known.0.contains(&name.as_str()) {
            top.insert(name.clone(), value.clone());
        } else {
            return Err(BodyError::UnknownField(name.clone()));
        }
    }
    let kind = row.kind.zip(row.kind_field);
    if let Some((kind, field)) = kind {
        let leaf = field.rsplit('.').next().unwrap_or(field);
        let level = if command.is_some() {
            &mut beside
        } else {
            &mut top
        };
        level.insert(leaf.to_owned(), kind.into());
    }
    if let Some(command) = command {
        top.insert(command.to_owned(), Value::Object(beside));
    }
    Ok(top)
}

#[cfg(test)]
mod tests;
