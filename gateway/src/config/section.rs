//! A section of the file, read key by key: every value is checked where it is
//! taken, every fault is collected, and what was not taken is unknown.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::{Table, Value};

use super::Environment;
use super::fault::Fault;

/// What all sections share.
pub(super) struct Reading<'env> {
    pub(super) env: &'env Environment,
    pub(super) faults: RefCell<Vec<Fault>>,
    /// The variables that were asked for.
    pub(super) asked: RefCell<BTreeSet<String>>,
}

impl<'env> Reading<'env> {
    pub(super) fn new(env: &'env Environment) -> Self {
        Self {
            env,
            faults: RefCell::default(),
            asked: RefCell::default(),
        }
    }

    pub(super) fn fault(&self, key: impl Into<String>, message: impl Into<String>) {
        self.faults.borrow_mut().push(Fault {
            key: key.into(),
            message: message.into(),
        });
    }

    /// The value of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<&'env str> {
        self.asked.borrow_mut().insert(name.to_owned());
        self.env.get(name).map(String::as_str)
    }
}

/// One table of the file, its values taken out one by one.
pub(super) struct Section<'reading> {
    reading: &'reading Reading<'reading>,
    path: String,
    table: Table,
    /// Tables in an array have no variables of their own.
    overridable: bool,
}

impl<'reading> Section<'reading> {
    pub(super) fn root(reading: &'reading Reading<'reading>, table: Table) -> Self {
        Self {
            reading,
            path: String::new(),
            table,
            overridable: true,
        }
    }

    pub(super) fn reading(&self) -> &'reading Reading<'reading> {
        self.reading
    }

    /// Where the section stands, for faults.
    pub(super) fn at(&self, key: &str) -> String {
        match (self.path.as_str(), key) {
            ("", key) => key.to_owned(),
            (path, "") => path.to_owned(),
            (path, key) => format!("{path}.{key}"),
        }
    }

    pub(super) fn fault(&self, key: &str, message: impl Into<String>) {
        self.reading.fault(self.at(key), message);
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// A table; empty when it is missing.
    pub(super) fn section(&mut self, key: &str) -> Section<'reading> {
        let table = match self.table.remove(key) {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(_) => {
                self.fault(key, "a table is expected");
                Table::new()
            }
        };
        Section {
            reading: self.reading,
            path: self.at(key),
            table,
            overridable: self.overridable,
        }
    }

    /// An array of tables; empty when it is missing.
    pub(super) fn sections(&mut self, key: &str) -> Vec<Section<'reading>> {
        let list = match self.table.remove(key) {
            None => Vec::new(),
            Some(Value::Array(list)) => list,
            Some(_) => {
                self.fault(key, "an array of tables is expected");
                Vec::new()
            }
        };
        let mut sections = Vec::with_capacity(list.len());
        for (index, value) in list.into_iter().enumerate() {
            let path = self.at(&format!("{key}[{index}]"));
            match value {
                Value::Table(table) => sections.push(Section {
                    reading: self.reading,
                    path,
                    table,
                    overridable: false,
                }),
                _ => self.reading.fault(path, "a table is expected"),
            }
        }
        sections
    }

    /// A non-empty text.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.take(key)? {
            Taken::Variable(text) | Taken::File(Value::String(text)) if !text.is_empty() => {
                Some(text)
            }
            _ => {
                self.fault(key, "a non-empty text is expected");
                None
            }
        }
    }

    /// A text that must be there. `what` says what to write.
    pub(super) fn required(&mut self, key: &str, what: &str) -> Option<String> {
        if !self.given(key) {
            self.fault(key, format!("missing; write {what}"));
            return None;
        }
        self.text(key)
    }

    /// A text that `parse` understands. `what` says what to write.
    pub(super) fn parsed<T>(
        &mut self,
        key: &str,
        what: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(key)?;
        self.understood(key, text, what, parse)
    }

    /// A text that `parse` understands, or a list of them; `None` when one is
    /// not understood.
    pub(super) fn parsed_list<T>(
        &mut self,
        key: &str,
        what: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let texts = match self.table.get(key) {
            Some(Value::Array(_)) => self.texts(key)?,
            _ => vec![self.text(key)?],
        };
        // Not stopped by the first that is wrong: all faults are told.
        let values: Vec<Option<T>> = texts
            .into_iter()
            .map(|text| self.understood(key, text, what, &parse))
            .collect();
        values.into_iter().collect()
    }

    fn understood<T>(
        &self,
        key: &str,
        text: String,
        what: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = parse(&text);
        if value.is_none() {
            // What stands before an `@` in an address may be a password.
            let shown = match text.rsplit_once('@') {
                Some((_, host)) => format!("...@{host}"),
                None => text,
            };
            self.fault(key, format!("`{shown}` is not {what}"));
        }
        value
    }

    /// A path, which must be there.
    pub(super) fn path(&mut self, key: &str, what: &str) -> Option<PathBuf> {
        self.required(key, what).map(PathBuf::from)
    }

    /// A list of non-empty texts; a variable separates them by commas.
    pub(super) fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        let list = match self.take(key)? {
            Taken::Variable(text) => text
                .split(',')
                .map(|item| Some(item.trim().to_owned()))
                .collect(),
            Taken::File(Value::Array(list)) => list
                .into_iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>(),
            Taken::File(_) => None,
        };
        match list {
            Some(list) if list.iter().all(|item| !item.is_empty()) => Some(list),
            _ => {
                self.fault(key, "a list of non-empty texts is expected");
                None
            }
        }
    }

    /// A whole number within `range`.
    pub(super) fn number(&mut self, key: &str, default: u32, range: RangeInclusive<u32>) -> u32 {
        let Some(taken) = self.take(key) else {
            return default;
        };
        let number = match taken {
            Taken::Variable(text) => text.parse().ok(),
            Taken::File(Value::Integer(number)) => u32::try_from(number).ok(),
            Taken::File(_) => None,
        };
        match number {
            Some(number) if range.contains(&number) => number,
            _ => {
                self.fault(
                    key,
                    format!(
                        "a whole number from {} to {} is expected",
                        range.start(),
                        range.end()
                    ),
                );
                default
            }
        }
    }

    /// A duration in milliseconds within `range`.
    pub(super) fn millis(
        &mut self,
        key: &str,
        default: Duration,
        range: RangeInclusive<u32>,
    ) -> Duration {
        let default = u32::try_from(default.as_millis()).unwrap_or(u32::MAX);
        millis(self.number(key, default, range))
    }

    /// Whether the key is in the file or the environment.
    pub(super) fn given(&self, key: &str) -> bool {
        self.has(key) || self.overriding(key).is_some()
    }

    /// Reports every key that was not taken.
    pub(super) fn finish(self) {
        for key in self.table.keys() {
            self.fault(key, "unknown key; remove it or correct its name");
        }
    }

    fn take(&mut self, key: &str) -> Option<Taken> {
        let file = self.table.remove(key);
        match self.overriding(key) {
            Some(text) => Some(Taken::Variable(text.to_owned())),
            None => file.map(Taken::File),
        }
    }

    fn overriding(&self, key: &str) -> Option<&'reading str> {
        if !self.overridable {
            return None;
        }
        let name = self.at(key).replace('.', "_").to_ascii_uppercase();
        self.reading.variable(&format!("INTERLOCK_{name}"))
    }
}

enum Taken {
    Variable(String),
    File(Value),
}

/// Milliseconds as a duration.
pub(super) fn millis(number: u32) -> Duration {
    Duration::from_millis(u64::from(number))
}
