//! The members of a JSON body, taken one by one; every fault is kept, and what is left over is
//! refused by name.

use interlock_guard::json::Json;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::problem::Problem;

#[cfg(test)]
mod tests;

/// More unknown names than this are counted, not listed.
const MOST_NAMED: usize = 10;

/// A body, or an object inside it, with the members not yet read and the faults found.
#[derive(Debug)]
pub struct Body {
    /// Where this object stands, with a dot behind it; empty at the top.
    place: String,
    members: Vec<(String, Json)>,
    faults: Vec<String>,
}

impl Body {
    /// Opens a body.
    ///
    /// # Errors
    /// [`Problem::Unreadable`] when it is no JSON or repeats a name, [`Problem::Invalid`] when it
    /// is no object.
    pub fn open(bytes: &[u8]) -> Result<Self, Problem> {
        match Json::parse(bytes) {
            Ok(Json::Object(members)) => Ok(Self::of(String::new(), members)),
            Ok(other) => Err(Problem::Invalid(vec![format!(
                "the body must be a JSON object, not {}",
                other.kind()
            )])),
            Err(error) => Err(Problem::Unreadable(error.to_string())),
        }
    }

    fn of(place: String, members: Vec<(String, Json)>) -> Self {
        Self {
            place,
            members,
            faults: Vec::new(),
        }
    }

    /// Refuses what was not taken, and answers with every fault.
    ///
    /// # Errors
    /// [`Problem::Invalid`].
    pub fn end(mut self) -> Result<(), Problem> {
        self.refuse_rest();
        match self.faults.is_empty() {
            true => Ok(()),
            false => Err(Problem::Invalid(self.faults)),
        }
    }

    /// A member's name in full.
    #[must_use]
    pub fn full(&self, name: &str) -> String {
        format!("`{}{name}`", self.place)
    }

    /// Answers with every fault; what was not taken is left alone. For messages, whose senders may
    /// say more one day.
    ///
    /// # Errors
    /// [`Problem::Invalid`].
    pub fn end_open(self) -> Result<(), Problem> {
        match self.faults.is_empty() {
            true => Ok(()),
            false => Err(Problem::Invalid(self.faults)),
        }
    }

    /// Notes a fault.
    pub fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// Takes a member as it is.
    pub fn take(&mut self, name: &str) -> Option<Json> {
        let index = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.swap_remove(index).1)
    }

    /// Takes a member that must be there.
    pub fn required(&mut self, name: &str) -> Option<Json> {
        let taken = self.take(name);
        if taken.is_none() {
            self.fault(format!("`{}{name}` is required", self.place));
        }
        taken
    }

    /// A text of `least` to `most` characters, without blanks around it or control characters in it.
    pub fn text(
        &mut self,
        name: &str,
        given: Option<Json>,
        least: usize,
        most: usize,
    ) -> Option<String> {
        let place = format!("`{}{name}`", self.place);
        let text = match given? {
            Json::Text(text) => text,
            other => {
                self.fault(format!("{place} must be a string, not {}", other.kind()));
                return None;
            }
        };
        let length = text.chars().count();
        if !(least..=most).contains(&length) {
            self.fault(format!(
                "{place} must have {least} to {most} characters, not {length}"
            ));
            return None;
        }
        if text.trim() != text || text.chars().any(char::is_control) {
            self.fault(format!(
                "{place} must have no blanks around it and no control characters"
            ));
            return None;
        }
        Some(text)
    }

    /// A UUID.
    pub fn id(&mut self, name: &str, given: Option<Json>) -> Option<Uuid> {
        let place = format!("{}{name}", self.place);
        self.read_id(&place, given?)
    }

    fn read_id(&mut self, place: &str, given: Json) -> Option<Uuid> {
        let read = match &given {
            Json::Text(text) if interlock_surface::ids::is_uuid(text) => Uuid::try_parse(text).ok(),
            _ => None,
        };
        if read.is_none() {
            self.fault(format!("`{place}` must be a UUID"));
        }
        read
    }

    /// At most `most` different UUIDs.
    pub fn ids(&mut self, name: &str, given: Option<Json>, most: usize) -> Option<Vec<Uuid>> {
        let place = format!("{}{name}", self.place);
        let items = match given? {
            Json::List(items) => items,
            other => {
                self.fault(format!("`{place}` must be an array, not {}", other.kind()));
                return None;
            }
        };
        if items.len() > most {
            self.fault(format!("`{place}` must have at most {most} items"));
            return None;
        }
        let count = items.len();
        let mut ids = Vec::with_capacity(count);
        for (index, item) in items.into_iter().enumerate() {
            let Some(id) = self.read_id(&format!("{place}[{index}]"), item) else {
                continue;
            };
            match ids.contains(&id) {
                true => self.fault(format!("`{place}[{index}]` is repeated")),
                false => ids.push(id),
            }
        }
        Some(ids).filter(|ids| ids.len() == count)
    }

    /// A number between two bounds, both inclusive.
    pub fn number(
        &mut self,
        name: &str,
        given: Option<Json>,
        least: f64,
        most: f64,
    ) -> Option<f64> {
        let place = format!("`{}{name}`", self.place);
        let value = match &given? {
            Json::Number(number) => number
                .as_f64()
                .filter(|value| (least..=most).contains(value)),
            _ => None,
        };
        if value.is_none() {
            self.fault(format!("{place} must be a number from {least} to {most}"));
        }
        value
    }

    /// A whole number between two bounds, both inclusive.
    pub fn whole(&mut self, name: &str, given: Option<Json>, least: i64, most: i64) -> Option<i64> {
        let place = format!("`{}{name}`", self.place);
        let value = match &given? {
            Json::Number(number) => number
                .as_i64()
                .filter(|value| (least..=most).contains(value)),
            _ => None,
        };
        if value.is_none() {
            self.fault(format!(
                "{place} must be a whole number from {least} to {most}"
            ));
        }
        value
    }

    /// Yes or no.
    pub fn flag(&mut self, name: &str, given: Option<Json>) -> Option<bool> {
        match given? {
            Json::Bool(value) => Some(value),
            other => {
                let place = format!("`{}{name}`", self.place);
                self.fault(format!(
                    "{place} must be true or false, not {}",
                    other.kind()
                ));
                None
            }
        }
    }

    /// Reads an object inside this one: `read` takes its members, the rest is refused, and its
    /// faults are this one's.
    pub fn object<T>(
        &mut self,
        name: &str,
        given: Option<Json>,
        read: impl FnOnce(&mut Body) -> Option<T>,
    ) -> Option<T> {
        match given? {
            Json::Object(members) => {
                let place = format!("{}{name}.", self.place);
                let mut inner = Body::of(place, members);
                let value = read(&mut inner);
                inner.refuse_rest();
                let sound = inner.faults.is_empty();
                self.faults.append(&mut inner.faults);
                value.filter(|_| sound)
            }
            other => {
                let place = format!("`{}{name}`", self.place);
                self.fault(format!("{place} must be an object, not {}", other.kind()));
                None
            }
        }
    }

    /// Reads each object of an array of at most `most`.
    pub fn objects<T>(
        &mut self,
        name: &str,
        given: Option<Json>,
        most: usize,
        mut read: impl FnMut(&mut Body) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = match given? {
            Json::List(items) if items.len() <= most => items,
            _ => {
                let place = format!("`{}{name}`", self.place);
                self.fault(format!(
                    "{place} must be an array of at most {most} objects"
                ));
                return None;
            }
        };
        let count = items.len();
        let read_items = items.into_iter().enumerate();
        let values: Vec<T> = read_items
            .filter_map(|(index, item)| {
                self.object(&format!("{name}[{index}]"), Some(item), &mut read)
            })
            .collect();
        Some(values).filter(|values| values.len() == count)
    }

    fn refuse_rest(&mut self) {
        let rest = std::mem::take(&mut self.members);
        let count = rest.len();
        for (name, _) in rest.into_iter().take(MOST_NAMED) {
            self.fault(format!("unknown field {}", quoted(&self.place, &name)));
        }
        if count > MOST_NAMED {
            let more = count - MOST_NAMED;
            self.fault(format!("{more} more unknown fields"));
        }
    }
}

/// What a caller wrote, in backticks, cut to a length that fits a message.
fn quoted(place: &str, text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{place}{}`", shown.escape_debug())
}

/// The same as plain JSON values.
#[must_use]
pub fn plain(json: Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => Value::Number(number),
        Json::Text(text) => Value::String(text),
        Json::List(items) => Value::Array(items.into_iter().map(plain).collect()),
        Json::Object(members) => Value::Object(plain_object(members)),
    }
}

/// The members of an object as plain JSON values.
#[must_use]
pub fn plain_object(members: Vec<(String, Json)>) -> Map<String, Value> {
    let plain_members = members.into_iter();
    plain_members
        .map(|(name, value)| (name, plain(value)))
        .collect()
}
