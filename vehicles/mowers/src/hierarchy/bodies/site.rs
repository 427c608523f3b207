//! Sites: where they lie, and when it is quiet there.

use interlock_guard::json::Json;

use super::{ADDRESS, LABEL, given, time_zone, words};
use crate::hierarchy::model::QuietHours;
use crate::service::body::Body;
use crate::service::problem::Problem;

/// The most rules of one site: three for each day.
const RULES: usize = 21;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// What is given of a site. Of a new one, name and time zone are there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::hierarchy) struct SiteFields {
    /// A label.
    pub(in crate::hierarchy) name: Option<String>,
    /// Where it is.
    pub(in crate::hierarchy) address: Option<String>,
    /// IANA time zone.
    pub(in crate::hierarchy) time_zone: Option<String>,
    /// Degrees north; `Some(None)` takes it away.
    pub(in crate::hierarchy) latitude: Option<Option<f64>>,
    /// Degrees east; `Some(None)` takes it away.
    pub(in crate::hierarchy) longitude: Option<Option<f64>>,
    /// When nothing may start.
    pub(in crate::hierarchy) quiet_hours: Option<Vec<QuietHours>>,
}

impl SiteFields {
    /// Reads what is given of a site; `new`: name and time zone are required.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(in crate::hierarchy) fn read(bytes: &[u8], new: bool) -> Result<Self, Problem> {
        let mut body = Body::open(bytes)?;
        let name = given(&mut body, "name", new);
        let name = body.text("name", name, 1, LABEL);
        let address = body.take("address");
        let address = body.text("address", address, 0, ADDRESS);
        let zone = given(&mut body, "time_zone", new);
        let time_zone = time_zone(&mut body, zone);
        let latitude = degrees(&mut body, "latitude", 90.0);
        let longitude = degrees(&mut body, "longitude", 180.0);
        let rules = body.take("quiet_hours");
        let quiet_hours = body.objects("quiet_hours", rules, RULES, quiet_hours);
        body.end()?;
        Ok(Self {
            name,
            address,
            time_zone,
            latitude,
            longitude,
            quiet_hours,
        })
    }
}

fn degrees(body: &mut Body, name: &str, most: f64) -> Option<Option<f64>> {
    match body.take(name)? {
        Json::Null => Some(None),
        value => body.number(name, Some(value), -most, most).map(Some),
    }
}

fn quiet_hours(body: &mut Body) -> Option<QuietHours> {
    let from = time(body, "from");
    let to = time(body, "to");
    if from.is_some() && from == to {
        body.fault("quiet hours must not begin and end at the same minute");
    }
    let days = body.required("days");
    let days = days.and_then(|given| words(body, "days", given));
    let known = days.as_ref().is_some_and(|days| {
        !days.is_empty() && days.iter().all(|day| DAYS.contains(&day.as_str()))
    });
    if days.is_some() && !known {
        body.fault(format!("`days` must name some of `{}`", DAYS.join("`, `")));
    }
    let source = body.take("source");
    let source = body.text("source", source, 0, ADDRESS);
    Some(QuietHours {
        from: from?,
        to: to?,
        days: days?,
        source,
    })
}

/// `HH:MM`, 24 hours.
fn time(body: &mut Body, name: &str) -> Option<String> {
    let given = body.required(name)?;
    let read = match given {
        Json::Text(text) if is_time(text.as_bytes()) => Some(text),
        _ => None,
    };
    if read.is_none() {
        body.fault(format!("`{name}` must be a time of the day, `HH:MM`"));
    }
    read
}

fn is_time(text: &[u8]) -> bool {
    match text {
        [a, b, b':', c, d] => {
            let digits = [a, b, c, d].iter().all(|digit| digit.is_ascii_digit());
            digits && (*a < b'2' || (*a == b'2' && *b < b'4')) && *c < b'6'
        }
        _ => false,
    }
}
