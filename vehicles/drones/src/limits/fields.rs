//! The members of a request, taken one by one; what is left over is refused.

use interlock_guard::json::Json;

use crate::geometry::Point;

/// More unknown names than this are counted, not listed.
const MOST_NAMED: usize = 10;

/// The object a request is, with the members not yet read.
pub(super) struct Fields(Vec<(String, Json)>);

impl Fields {
    /// Opens a body, or says why it is no object.
    pub(super) fn open(body: &[u8], faults: &mut Vec<String>) -> Option<Self> {
        match Json::parse(body) {
            Ok(Json::Object(members)) => Some(Self(members)),
            Ok(other) => {
                let kind = other.kind();
                faults.push(format!("the body must be a JSON object, not {kind}"));
                None
            }
            Err(error) => {
                faults.push(format!("the body is not valid JSON: {error}"));
                None
            }
        }
    }

    /// Takes the member with this name, if there is one.
    pub(super) fn take(&mut self, name: &str) -> Option<Json> {
        let index = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.swap_remove(index).1)
    }

    /// Refuses every member that was not taken, by name.
    pub(super) fn refuse_rest(self, faults: &mut Vec<String>) {
        refuse_unknown("", self.0, faults);
    }
}

fn refuse_unknown(place: &str, rest: Vec<(String, Json)>, faults: &mut Vec<String>) {
    let count = rest.len();
    for (name, _) in rest.into_iter().take(MOST_NAMED) {
        faults.push(format!("unknown field {}{place}", quoted(&name)));
    }
    if count > MOST_NAMED {
        let more = count - MOST_NAMED;
        faults.push(format!("{more} more unknown fields{place}"));
    }
}

/// The value of a required string.
pub(super) fn text(name: &str, given: Option<Json>, faults: &mut Vec<String>) -> Option<String> {
    match given {
        Some(Json::Text(text)) => return Some(text),
        None => faults.push(format!("`{name}` is required")),
        Some(other) => faults.push(format!("`{name}` must be a string, not {}", other.kind())),
    }
    None
}

/// The items of a required array.
pub(super) fn list(name: &str, given: Option<Json>, faults: &mut Vec<String>) -> Option<Vec<Json>> {
    match given {
        Some(Json::List(items)) => return Some(items),
        None => faults.push(format!("`{name}` is required")),
        Some(other) => faults.push(format!("`{name}` must be an array, not {}", other.kind())),
    }
    None
}

/// A finite number.
pub(super) fn number(what: &str, given: Json, faults: &mut Vec<String>) -> Option<f64> {
    match given {
        Json::Number(number) => match number.as_f64().filter(|value| value.is_finite()) {
            Some(value) => return Some(value + 0.0),
            None => faults.push(format!("{what} must be a finite number")),
        },
        other => faults.push(format!(
            "{what} must be a number in meters, not {}",
            other.kind()
        )),
    }
    None
}

/// A point with exactly `x`, `y` and `z`.
pub(super) fn point(index: usize, given: Json, faults: &mut Vec<String>) -> Option<Point> {
    let members = match given {
        Json::Object(members) => members,
        other => {
            let kind = other.kind();
            faults.push(format!(
                "`waypoints[{index}]` must be an object with `x`, `y` and `z`, not {kind}"
            ));
            return None;
        }
    };
    let mut fields = Fields(members);
    let mut coordinate = |axis: &str| {
        let what = format!("`waypoints[{index}].{axis}`");
        match fields.take(axis) {
            Some(value) => number(&what, value, faults),
            None => {
                faults.push(format!("{what} is required"));
                None
            }
        }
    };
    let (x, y, z) = (coordinate("x"), coordinate("y"), coordinate("z"));
    refuse_unknown(&format!(" in `waypoints[{index}]`"), fields.0, faults);
    Some(Point::new(x?, y?, z?))
}

/// What a caller wrote, in backticks, cut to a length that fits a message.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{}`", shown.escape_debug())
}
