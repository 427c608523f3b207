//! The fields of one table, taken one by one; every fault is kept with the name of its field.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use interlock_guard::{KeyError, KeySet};
use toml::{Table, Value};

/// A table with the fields not yet read, and the faults found.
pub(super) struct Fields {
    /// The name of the table with a dot behind it; empty at the top.
    place: String,
    table: Table,
    faults: Vec<String>,
}

impl Fields {
    /// The whole configuration.
    pub(super) fn new(table: Table) -> Self {
        Self {
            place: String::new(),
            table,
            faults: Vec::new(),
        }
    }

    /// Refuses what was not taken, and gives every fault.
    pub(super) fn end(mut self) -> Vec<String> {
        self.refuse_rest();
        self.faults
    }

    /// Notes a fault that belongs to no field.
    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Notes what is wrong with a field.
    pub(super) fn wrong(&mut self, name: &str, fault: &str) {
        self.faults.push(format!("`{}{name}` {fault}", self.place));
    }

    fn keep<T>(&mut self, name: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|fault| self.wrong(name, &fault)).ok()
    }

    /// A text that may be missing.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        match self.table.remove(name)? {
            Value::String(text) => {
                let value = read(&text);
                self.keep(name, value)
            }
            other => {
                let kind = other.type_str();
                self.wrong(
                    name,
                    &format!("must be a string, not a value of type {kind}"),
                );
                None
            }
        }
    }

    /// A text that must be there.
    pub(super) fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if !self.table.contains_key(name) {
            self.wrong(name, "is required");
            return None;
        }
        self.optional(name, read)
    }

    /// One text or a list of texts; none where it is missing.
    pub(super) fn texts<T>(
        &mut self,
        name: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let items = match self.table.remove(name) {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(one) => vec![one],
        };
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let value = match &item {
                Value::String(text) => read(text),
                other => Err(format!(
                    "must hold strings, not a value of type {}",
                    other.type_str()
                )),
            };
            values.extend(self.keep(name, value));
        }
        values
    }

    /// A whole number within bounds, or the usual one.
    pub(super) fn whole(&mut self, name: &str, usual: u64, bounds: RangeInclusive<u64>) -> u64 {
        let Some(value) = self.table.remove(name) else {
            return usual;
        };
        let read = value
            .as_integer()
            .and_then(|value| u64::try_from(value).ok());
        match read.filter(|value| bounds.contains(value)) {
            Some(value) => value,
            None => {
                let (least, most) = bounds.into_inner();
                self.wrong(
                    name,
                    &format!("must be a whole number from {least} to {most}"),
                );
                usual
            }
        }
    }

    /// A number within bounds, or the usual one.
    pub(super) fn number(&mut self, name: &str, usual: f64, bounds: RangeInclusive<f64>) -> f64 {
        let read = match self.table.remove(name) {
            None => return usual,
            Some(Value::Float(value)) => Some(value),
            Some(Value::Integer(value)) => i32::try_from(value).ok().map(f64::from),
            Some(_) => None,
        };
        match read.filter(|value| bounds.contains(value)) {
            Some(value) => value,
            None => {
                let (least, most) = bounds.into_inner();
                self.wrong(name, &format!("must be a number from {least} to {most}"));
                usual
            }
        }
    }

    /// A table inside of this one; an empty one where it is missing.
    pub(super) fn table<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Fields) -> Option<T>,
    ) -> Option<T> {
        let table = match self.table.remove(name) {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(_) => {
                self.wrong(name, "must be a table");
                return None;
            }
        };
        let mut inner = Fields {
            place: format!("{}{name}.", self.place),
            table,
            faults: Vec::new(),
        };
        let value = read(&mut inner);
        inner.refuse_rest();
        self.faults.append(&mut inner.faults);
        value
    }

    /// The keys: from the environment, else from `key_file`, else from `keys`.
    ///
    /// SECURITY: no fault shows a secret.
    pub(super) fn keys(
        &mut self,
        variable: &str,
        environment: Option<String>,
        file: impl Fn(&Path) -> io::Result<String>,
    ) -> Option<KeySet> {
        let listed = self.table.remove("keys");
        let path = self.optional("key_file", |text| Ok(text.to_owned()));
        let (source, read) = match (environment, listed, path) {
            (Some(text), _, _) => {
                let read = KeySet::parse(&text);
                return self.keep_keys(variable, read);
            }
            (None, Some(_), Some(_)) => {
                self.fault("`keys` and `key_file` are two places; give one".to_owned());
                return None;
            }
            (None, None, Some(path)) => match file(Path::new(&path)) {
                Ok(text) => ("key_file", KeySet::parse(&text.replace('\n', ","))),
                Err(error) => {
                    self.wrong("key_file", &format!("cannot be read: {error}"));
                    return None;
                }
            },
            (None, Some(Value::Array(items)), None) => {
                let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                let joined = texts.map(|texts| texts.join(","));
                let read = joined.map_or(Err(KeyError::Form), |joined| KeySet::parse(&joined));
                ("keys", read)
            }
            (None, Some(_), None) => {
                self.wrong("keys", "must be an array of `kid:base64url`");
                return None;
            }
            (None, None, None) => {
                self.fault(format!(
                    "`key_file` or `keys` is required, or in the environment {variable}"
                ));
                return None;
            }
        };
        self.keep_keys(source, read)
    }

    fn keep_keys(&mut self, source: &str, read: Result<KeySet, KeyError>) -> Option<KeySet> {
        self.keep(
            source,
            read.map_err(|error| format!("is no key set: {error}")),
        )
    }

    fn refuse_rest(&mut self) {
        let names: Vec<String> = self.table.keys().cloned().collect();
        for name in names {
            self.wrong(&name, "is not a field");
        }
    }
}

/// What the registry takes as an id.
pub(super) fn identifier(text: &str) -> Result<String, String> {
    match interlock_surface::ids::is_id(text) {
        true => Ok(text.to_owned()),
        false => {
            Err("must be 1 to 64 of `A-Z a-z 0-9 . _ : -`, first a letter or digit".to_owned())
        }
    }
}

/// One of these words.
pub(super) fn named(words: &'static [&'static str]) -> impl Fn(&str) -> Result<String, String> {
    move |text| match words.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("must be one of `{}`", words.join("`, `"))),
    }
}

/// `host:port`.
pub(super) fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Ok(text.to_owned())
        }
        _ => Err("must be `http://host:port`".to_owned()),
    }
}
