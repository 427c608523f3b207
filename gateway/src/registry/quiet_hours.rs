//! Hours in which a place wants quiet, as its own wall clocks show them.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

/// The days of a week, Monday first, as attributes write them.
const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

/// Minutes of a day; `24:00` is its end.
const DAY: u16 = 24 * 60;

/// The most windows one scope may have.
const WINDOWS: usize = 32;

/// When it is to be quiet at one scope. The list may be empty: then it never
/// is, whatever the scopes above say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QuietHours {
    zone: TimeZone,
    windows: Vec<Window>,
}

/// From one minute to another, on the days it begins on. One that ends no later
/// than it begins goes on into the next day.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    from: u16,
    to: u16,
    /// By position in [`DAYS`].
    days: [bool; 7],
}

impl QuietHours {
    /// Reads the attribute `quiet_hours` for clocks of `zone`.
    ///
    /// # Errors
    /// What is wrong, to be read after the attribute's name.
    pub(super) fn parse(value: &Value, zone: TimeZone) -> Result<Self, String> {
        let list = value.as_array().ok_or("must be a list of windows")?;
        if list.len() > WINDOWS {
            return Err(format!("may hold {WINDOWS} windows at most"));
        }
        let windows = list.iter().enumerate().map(|(index, window)| {
            Window::parse(window).map_err(|cause| format!("window {}: {cause}", index + 1))
        });
        Ok(Self {
            zone,
            windows: windows.collect::<Result<_, _>>()?,
        })
    }

    /// Whether it is quiet time at `now`.
    pub(super) fn hold(&self, now: Timestamp) -> bool {
        let there = self.zone.to_datetime(now);
        let today = there.weekday();
        // Hours and minutes of a civil time are never negative.
        let minute = u16::try_from(there.hour()).unwrap_or_default() * 60
            + u16::try_from(there.minute()).unwrap_or_default();
        self.windows
            .iter()
            .any(|window| window.holds(today, minute))
    }
}

impl Window {
    fn parse(value: &Value) -> Result<Self, String> {
        let fields = value
            .as_object()
            .ok_or("must be an object with `from` and `to`")?;
        let known = ["from", "to", "days", "source"];
        if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("`{}` is no field of it", name.escape_debug()));
        }
        let from = minute(fields, "from")?;
        let to = minute(fields, "to")?;
        if from == to || from == DAY {
            return Err("a whole day is written from `00:00` to `24:00`".to_owned());
        }
        // Where the hours come from is for people.
        if fields.get("source").is_some_and(|text| !text.is_string()) {
            return Err("`source` must be a text".to_owned());
        }
        Ok(Self {
            from,
            to,
            days: days(fields.get("days"))?,
        })
    }

    fn holds(&self, today: Weekday, minute: u16) -> bool {
        let on = |day: Weekday| {
            let given = self.days.iter().zip(DAYS);
            given
                .into_iter()
                .any(|(on, (_, known))| *on && known == day)
        };
        if self.from < self.to {
            return on(today) && (self.from..self.to).contains(&minute);
        }
        (on(today) && minute >= self.from) || (on(today.previous()) && minute < self.to)
    }
}

/// `HH:MM` as minutes of the day.
fn minute(fields: &Map<String, Value>, name: &str) -> Result<u16, String> {
    let wrong = || format!("`{name}` must be a time such as `20:00`");
    let text = fields.get(name).and_then(Value::as_str).ok_or_else(wrong)?;
    let part = |text: &str| match text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()) {
        true => text.parse::<u16>().ok(),
        false => None,
    };
    let (hours, minutes) = text.split_once(':').ok_or_else(wrong)?;
    match (part(hours), part(minutes)) {
        (Some(hours @ 0..=23), Some(minutes @ 0..=59)) => Ok(hours * 60 + minutes),
        (Some(24), Some(0)) => Ok(DAY),
        _ => Err(wrong()),
    }
}

/// The days on which a window begins; all of them when none are named.
fn days(value: Option<&Value>) -> Result<[bool; 7], String> {
    let Some(value) = value else {
        return Ok([true; 7]);
    };
    let list = value
        .as_array()
        .filter(|list| !list.is_empty())
        .ok_or("`days` must be a list such as `[\"mon\", \"tue\"]`")?;
    let mut days = [false; 7];
    for name in list {
        let name = name.as_str().unwrap_or_default();
        let mut known = days.iter_mut().zip(DAYS);
        match known.find(|(_, (day, _))| *day == name) {
            Some((on, _)) => *on = true,
            None => {
                let text = "`days` holds names from `mon` to `sun`, not";
                return Err(format!("{text} `{}`", name.escape_debug()));
            }
        }
    }
    Ok(days)
}

#[cfg(test)]
mod tests;
