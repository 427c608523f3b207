//! Reads TOML tables key by key, noting the line of everything.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::compile::fault::{Fault, Law};
use crate::compile::source::Source;

/// A value and the line it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Line, counted from 1.
    pub line: usize,
}

/// One table. Keys are taken out of it; what is left at the end is unknown.
pub struct Reader<'s> {
    source: &'s Source,
    table: DeTable<'s>,
    /// Line of the table's header.
    pub line: usize,
}

impl<'s> Reader<'s> {
    /// Parses a file.
    pub fn parse(source: &'s Source) -> Result<Self, Fault> {
        match DeTable::parse(&source.text) {
            Ok(table) => Ok(Self {
                source,
                table: table.into_inner(),
                line: 1,
            }),
            Err(error) => {
                let line = error.span().map_or(1, |span| source.line(span.start));
                let text = error.message().replace('\n', ", ");
                Err(source.fault(line, Law::Malformed, text))
            }
        }
    }

    /// The tables of an array, `[[key]]`; none when the key is absent.
    pub fn tables(&mut self, key: &str, faults: &mut Vec<Fault>) -> Vec<Self> {
        let Some((line, value)) = self.take(key) else {
            return Vec::new();
        };
        let DeValue::Array(array) = value else {
            faults.push(self.expected(line, key, "an array of tables"));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in array {
            let line = self.source.line(element.span().start);
            match element.into_inner() {
                DeValue::Table(table) => tables.push(Self {
                    source: self.source,
                    table,
                    line,
                }),
                _ => faults.push(self.expected(line, key, "an array of tables")),
            }
        }
        tables
    }

    /// A text that may be absent.
    pub fn text(&mut self, key: &str, faults: &mut Vec<Fault>) -> Option<Located<String>> {
        let (line, value) = self.take(key)?;
        if let DeValue::String(text) = value {
            return Some(Located {
                value: text.into_owned(),
                line,
            });
        }
        faults.push(self.expected(line, key, "a text"));
        None
    }

    /// A text that must be there.
    pub fn need(&mut self, key: &str, faults: &mut Vec<Fault>) -> Option<Located<String>> {
        if !self.table.contains_key(key) {
            faults.push(self.missing(key));
            return None;
        }
        self.text(key, faults)
    }

    /// Texts in an array; none when the key is absent.
    pub fn texts(&mut self, key: &str, faults: &mut Vec<Fault>) -> Vec<Located<String>> {
        let Some((line, value)) = self.take(key) else {
            return Vec::new();
        };
        let DeValue::Array(array) = value else {
            faults.push(self.expected(line, key, "an array of texts"));
            return Vec::new();
        };
        let mut texts = Vec::new();
        for element in array {
            let line = self.source.line(element.span().start);
            match element.into_inner() {
                DeValue::String(text) => texts.push(Located {
                    value: text.into_owned(),
                    line,
                }),
                _ => faults.push(self.expected(line, key, "an array of texts")),
            }
        }
        texts
    }

    /// Texts by name, `[table.key]`; none when the key is absent.
    pub fn pairs(
        &mut self,
        key: &str,
        faults: &mut Vec<Fault>,
    ) -> Vec<(Located<String>, Located<String>)> {
        let Some((line, value)) = self.take(key) else {
            return Vec::new();
        };
        let DeValue::Table(table) = value else {
            faults.push(self.expected(line, key, "a table of texts"));
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, value) in table {
            let line = self.source.line(name.span().start);
            let name = Located {
                value: name.into_inner().into_owned(),
                line,
            };
            match value.into_inner() {
                DeValue::String(text) => {
                    pairs.push((
                        name,
                        Located {
                            value: text.into_owned(),
                            line,
                        },
                    ));
                }
                _ => faults.push(self.expected(line, key, "a table of texts")),
            }
        }
        pairs.sort_by_key(|(name, _)| name.line);
        pairs
    }

    /// A truth value; false when the key is absent.
    pub fn flag(&mut self, key: &str, faults: &mut Vec<Fault>) -> Located<bool> {
        match self.take(key) {
            None => Located {
                value: false,
                line: self.line,
            },
            Some((line, DeValue::Boolean(value))) => Located { value, line },
            Some((line, _)) => {
                faults.push(self.expected(line, key, "`true` or `false`"));
                Located { value: false, line }
            }
        }
    }

    /// A whole number of the type asked for, which may be absent.
    pub fn number<N: std::str::FromStr>(
        &mut self,
        key: &str,
        faults: &mut Vec<Fault>,
    ) -> Option<Located<N>> {
        let (line, value) = self.take(key)?;
        if let DeValue::Integer(integer) = &value
            && integer.radix() == 10
            && let Ok(value) = integer.as_str().parse()
        {
            return Some(Located { value, line });
        }
        faults.push(self.expected(line, key, "a whole number in range"));
        None
    }

    /// A whole number that must be there.
    pub fn need_number<N: std::str::FromStr>(
        &mut self,
        key: &str,
        faults: &mut Vec<Fault>,
    ) -> Option<Located<N>> {
        if !self.table.contains_key(key) {
            faults.push(self.missing(key));
            return None;
        }
        self.number(key, faults)
    }

    /// Reports every key that nobody took.
    pub fn finish(self, faults: &mut Vec<Fault>) {
        for (key, _) in self.table {
            let line = self.source.line(key.span().start);
            let text = format!("`{}` means nothing here; remove it", key.get_ref());
            faults.push(self.source.fault(line, Law::UnknownKey, text));
        }
    }

    fn take(&mut self, key: &str) -> Option<(usize, DeValue<'s>)> {
        let (key, value): (Spanned<_>, Spanned<DeValue<'s>>) = self.table.remove_entry(key)?;
        Some((self.source.line(key.span().start), value.into_inner()))
    }

    fn missing(&self, key: &str) -> Fault {
        self.source.fault(
            self.line,
            Law::Malformed,
            format!("`{key}` is missing; add it"),
        )
    }

    fn expected(&self, line: usize, key: &str, what: &str) -> Fault {
        self.source
            .fault(line, Law::Malformed, format!("`{key}` must be {what}"))
    }
}
