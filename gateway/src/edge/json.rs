//! Strict JSON: one reading of a text, or none.
//!
//! RFC 8259 leaves repeated names, depth and number range to each reader, so a
//! gateway and a service may understand one text differently. Here all three
//! are refused (the profile of RFC 7493, I-JSON).

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep objects and arrays may nest; a mission needs three levels.
pub const DEPTH: usize = 32;

/// The largest integer that every reader holds exactly: 2^53 - 1 (RFC 7493
/// section 2.2).
const EXACT: u64 = (1 << 53) - 1;

/// Why a text is not strict JSON. Names are given, values never are.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum JsonError {
    /// A byte order mark.
    #[error("the text starts with a byte order mark; send plain UTF-8")]
    ByteOrderMark,
    /// Not UTF-8.
    #[error("the text is not UTF-8 (byte {0})")]
    NotUtf8(usize),
    /// Not JSON, or more than one value.
    #[error("the text is not one JSON value (line {line}, column {column})")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// One name twice in one object.
    #[error("the name `{}` is given more than once in one object", .0.escape_debug())]
    Duplicate(String),
    /// Deeper than [`DEPTH`].
    #[error("the text nests deeper than {DEPTH} levels")]
    Depth,
    /// An integer beyond 2^53 - 1.
    #[error("an integer lies beyond 2^53 - 1 and would not arrive exactly; send it as a string")]
    Inexact,
}

/// Reads one JSON value and nothing after it.
///
/// # Errors
/// [`JsonError`] says which rule was broken, and where or at which name.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(JsonError::ByteOrderMark);
    }
    let text =
        std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8(error.valid_up_to()))?;
    let fault = Cell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    let strict = Strict {
        depth: 0,
        fault: &fault,
    };
    strict
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| {
            fault.take().unwrap_or(JsonError::Syntax {
                line: error.line(),
                column: error.column(),
            })
        })
}

/// Builds a [`Value`] and remembers which of our own rules stopped it: serde's
/// errors carry only text.
#[derive(Clone, Copy)]
struct Strict<'fault> {
    depth: usize,
    fault: &'fault Cell<Option<JsonError>>,
}

impl Strict<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH {
            return Err(self.refuse(JsonError::Depth));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }

    fn refuse<E: Error>(self, fault: JsonError) -> E {
        let error = E::custom(&fault);
        self.fault.set(Some(fault));
        error
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > EXACT {
            return Err(self.refuse(JsonError::Inexact));
        }
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        if value > EXACT {
            return Err(self.refuse(JsonError::Inexact));
        }
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // An integer too long for 64 bits arrives here; so do honest large
        // floats, of which no vehicle field has any.
        if value.abs() > EXACT as f64 {
            return Err(self.refuse(JsonError::Inexact));
        }
        match Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(self.refuse(JsonError::Inexact)),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(self.refuse(JsonError::Duplicate(name)));
            }
            let value = members.next_value_seed(inner)?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests;
