//! The members of an object, taken one by one; what is left over is refused.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::Faults;
use super::strict::Strict;

/// More unknown names than this are counted, not listed.
const MOST_NAMED: usize = 10;

/// An object, with the members not yet taken.
pub(crate) struct Fields {
    /// Where it stands in the body; empty for the body itself.
    place: String,
    members: Map<String, Value>,
}

impl Fields {
    /// Opens a body, or says why it is no object.
    pub(crate) fn open(body: &[u8], faults: &mut Faults) -> Option<Self> {
        match serde_json::from_slice::<Strict>(body) {
            Ok(Strict(value)) => Self::object("", value, faults),
            Err(error) => {
                faults
                    .0
                    .push(format!("the body is not valid JSON: {error}"));
                None
            }
        }
    }

    /// Opens an object inside of a body.
    pub(crate) fn object(place: &str, value: Value, faults: &mut Faults) -> Option<Self> {
        match value {
            Value::Object(members) => Some(Self {
                place: place.to_owned(),
                members,
            }),
            other => {
                let what = match place {
                    "" => "the body".to_owned(),
                    place => format!("`{place}`"),
                };
                let kind = kind(&other);
                faults
                    .0
                    .push(format!("{what} must be a JSON object, not {kind}"));
                None
            }
        }
    }

    /// The full name of a member.
    pub(crate) fn name(&self, name: &str) -> String {
        match self.place.as_str() {
            "" => format!("`{name}`"),
            place => format!("`{place}.{name}`"),
        }
    }

    /// A member that may be absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name)
    }

    /// A member that must be there.
    pub(crate) fn required(&mut self, name: &str, faults: &mut Faults) -> Option<Value> {
        let value = self.take(name);
        if value.is_none() {
            faults.0.push(format!("{} is required", self.name(name)));
        }
        value
    }

    /// Whether the member is there; says so when it is not.
    pub(crate) fn demand(&self, name: &str, faults: &mut Faults) -> bool {
        let there = self.members.contains_key(name);
        if !there {
            faults.0.push(format!("{} is required", self.name(name)));
        }
        there
    }

    /// A number in a range.
    pub(crate) fn number(
        &mut self,
        name: &str,
        range: RangeInclusive<f64>,
        faults: &mut Faults,
    ) -> Option<f64> {
        let value = self.take(name)?;
        let number = value.as_f64().filter(|number| range.contains(number));
        if number.is_none() {
            let (low, high) = (range.start(), range.end());
            self.fault(
                name,
                &format!("a number from {low} to {high}"),
                &value,
                faults,
            );
        }
        // Not minus zero: it would be another text for the same number.
        number.map(|number| number + 0.0)
    }

    /// A whole number in a range that fits its type.
    pub(crate) fn integer<T: TryFrom<i64>>(
        &mut self,
        name: &str,
        range: RangeInclusive<i64>,
        faults: &mut Faults,
    ) -> Option<T> {
        let value = self.take(name)?;
        let number = value.as_i64().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            let (low, high) = (range.start(), range.end());
            let wanted = format!("a whole number from {low} to {high}");
            self.fault(name, &wanted, &value, faults);
        }
        number
    }

    /// True or false.
    pub(crate) fn flag(&mut self, name: &str, faults: &mut Faults) -> Option<bool> {
        let value = self.take(name)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.fault(name, "true or false", &value, faults);
        }
        flag
    }

    /// A text that `read` takes.
    pub(crate) fn text<T>(
        &mut self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&str) -> Option<T>,
        faults: &mut Faults,
    ) -> Option<T> {
        let value = self.take(name)?;
        let read = value.as_str().and_then(read);
        if read.is_none() {
            self.fault(name, wanted, &value, faults);
        }
        read
    }

    /// An id.
    pub(crate) fn uuid(&mut self, name: &str, faults: &mut Faults) -> Option<Uuid> {
        self.text(name, "a UUID", |text| Uuid::try_parse(text).ok(), faults)
    }

    /// Refuses every member that was not taken, by name.
    pub(crate) fn refuse_rest(self, faults: &mut Faults) {
        let count = self.members.len();
        for name in self.members.keys().take(MOST_NAMED) {
            let name = self.name(&shown(name));
            faults.0.push(format!("unknown field {name}"));
        }
        if count > MOST_NAMED {
            let more = count - MOST_NAMED;
            faults.0.push(format!("{more} more unknown fields"));
        }
    }

    /// Says what a member should have been.
    pub(crate) fn fault(&self, name: &str, wanted: &str, given: &Value, faults: &mut Faults) {
        let given = match given {
            Value::Bool(_) | Value::Number(_) => format!("`{given}`"),
            Value::String(text) => format!("`{}`", shown(text)),
            other => kind(other).to_owned(),
        };
        let name = self.name(name);
        faults
            .0
            .push(format!("{name} must be {wanted}, not {given}"));
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// What a caller wrote, cut to a length that fits a message.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.escape_debug().to_string()
}
