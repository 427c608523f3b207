//! The bodies that change the hierarchy, read strictly.

use interlock_guard::json::Json;
use interlock_surface::ids::is_id;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::model::QuietHours;
use super::roster::{ConnectionKind, Reach};
use crate::service::body::{Body, plain_object};
use crate::service::problem::Problem;

#[cfg(test)]
mod tests;

/// Longest label.
const LABEL: usize = 80;
/// Longest address, and longest source of a rule.
const ADDRESS: usize = 200;
/// Longest serial number.
const SERIAL: usize = 64;
/// The most rules of one site: three for each day.
const RULES: usize = 21;
/// The most bytes of a connection's options, as JSON.
const OPTIONS: usize = 4 * 1024;
/// The most groups that a body may name; the configured limit may be lower.
const GROUPS: usize = 64;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Parts of names under which secrets are kept. Options travel on the bus and are shown to
/// everybody who may see the mower.
const SECRETS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "private_key",
    "privatekey",
];

/// An account to make, or to bring up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewAccount {
    /// Its scope id.
    pub(super) id: String,
    /// A label.
    pub(super) name: String,
    /// What its plan includes.
    pub(super) features: Vec<String>,
    /// The time zone of its default site.
    pub(super) time_zone: String,
}

/// What is to change of an account: whether it is suspended.
///
/// # Errors
/// [`Problem`] with every fault.
pub(super) fn suspended(bytes: &[u8]) -> Result<bool, Problem> {
    let mut body = Body::open(bytes)?;
    let given = body.required("suspended");
    let suspended = body.flag("suspended", given);
    body.end()?;
    suspended.ok_or(Problem::Internal)
}

/// What is given of a site. Of a new one, name and time zone are there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SiteFields {
    /// A label.
    pub(super) name: Option<String>,
    /// Where it is.
    pub(super) address: Option<String>,
    /// IANA time zone.
    pub(super) time_zone: Option<String>,
    /// Degrees north; `Some(None)` takes it away.
    pub(super) latitude: Option<Option<f64>>,
    /// Degrees east; `Some(None)` takes it away.
    pub(super) longitude: Option<Option<f64>>,
    /// When nothing may start.
    pub(super) quiet_hours: Option<Vec<QuietHours>>,
}

/// A group to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewGroup {
    /// A label.
    pub(super) name: String,
    /// The site it belongs to.
    pub(super) site_id: Option<Uuid>,
}

/// A mower to register.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NewMower {
    /// A label.
    pub(super) name: String,
    /// Who made it.
    pub(super) vendor: String,
    /// Which model.
    pub(super) model: String,
    /// Serial number.
    pub(super) serial: String,
    /// How it is reached.
    pub(super) connection: Reach,
    /// Its site.
    pub(super) site_id: Option<Uuid>,
    /// The groups it is in.
    pub(super) group_ids: Vec<Uuid>,
}

/// What is to change of a mower.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MowerFields {
    /// A label.
    pub(super) name: Option<String>,
    /// Who made it.
    pub(super) vendor: Option<String>,
    /// Which model.
    pub(super) model: Option<String>,
    /// Serial number.
    pub(super) serial: Option<String>,
    /// How it is reached.
    pub(super) connection: Option<Reach>,
    /// Whether nothing but sight and stops is left.
    pub(super) quarantined: Option<bool>,
}

/// Where a mower shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// Its site.
    pub(super) site_id: Uuid,
    /// Its groups; none where none are given.
    pub(super) group_ids: Vec<Uuid>,
}

impl NewAccount {
    /// Reads the body of the internal row, or the payload of an event, whose other members are
    /// left alone.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(super) fn read(bytes: &[u8], strict: bool) -> Result<Self, Problem> {
        let mut body = Body::open(bytes)?;
        let id = body.required("id");
        let id = body.text("id", id, 1, interlock_surface::ids::MAX_ID);
        if id.as_deref().is_some_and(|id| !is_id(id)) {
            body.fault("`id` must be of `A-Z a-z 0-9 . _ : -`, first a letter or digit");
        }
        let name = body.required("name");
        let name = body.text("name", name, 1, LABEL);
        let features = match body.take("features") {
            Some(given) => words(&mut body, "features", given),
            None => Some(Vec::new()),
        };
        let zone = body.required("time_zone");
        let time_zone = time_zone(&mut body, zone);
        match strict {
            true => body.end()?,
            false => body.end_open()?,
        }
        match (id, name, features, time_zone) {
            (Some(id), Some(name), Some(features), Some(time_zone)) => Ok(Self {
                id,
                name,
                features,
                time_zone,
            }),
            _ => Err(Problem::Internal),
        }
    }
}

impl SiteFields {
    /// Reads what is given of a site; `new`: name and time zone are required.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(super) fn read(bytes: &[u8], new: bool) -> Result<Self, Problem> {
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

impl NewGroup {
    /// Reads a group to make.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let mut body = Body::open(bytes)?;
        let name = body.required("name");
        let name = body.text("name", name, 1, LABEL);
        let site = body.take("site_id");
        let site_id = body.id("site_id", site);
        body.end()?;
        Ok(Self {
            name: name.ok_or(Problem::Internal)?,
            site_id,
        })
    }
}

/// Reads the new name of a group, if one is given.
///
/// # Errors
/// [`Problem`] with every fault.
pub(super) fn group_change(bytes: &[u8]) -> Result<Option<String>, Problem> {
    let mut body = Body::open(bytes)?;
    let name = body.take("name");
    let name = body.text("name", name, 1, LABEL);
    body.end()?;
    Ok(name)
}

impl NewMower {
    /// Reads a mower to register.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let mut body = Body::open(bytes)?;
        let fields = mower_fields(&mut body, true);
        let site = body.take("site_id");
        let site_id = body.id("site_id", site);
        let groups = body.take("group_ids");
        let group_ids = body.ids("group_ids", groups, GROUPS);
        body.end()?;
        match (
            fields.name,
            fields.vendor,
            fields.model,
            fields.serial,
            fields.connection,
        ) {
            (Some(name), Some(vendor), Some(model), Some(serial), Some(connection)) => Ok(Self {
                name,
                vendor,
                model,
                serial,
                connection,
                site_id,
                group_ids: group_ids.unwrap_or_default(),
            }),
            _ => Err(Problem::Internal),
        }
    }
}

impl MowerFields {
    /// Reads what is to change of a mower.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let mut body = Body::open(bytes)?;
        let mut fields = mower_fields(&mut body, false);
        let quarantined = body.take("quarantined");
        fields.quarantined = body.flag("quarantined", quarantined);
        body.end()?;
        Ok(fields)
    }
}

impl Placement {
    /// Reads where a mower shall be.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let mut body = Body::open(bytes)?;
        let site = body.required("site_id");
        let site_id = body.id("site_id", site);
        let groups = body.take("group_ids");
        let group_ids = body.ids("group_ids", groups, GROUPS);
        body.end()?;
        Ok(Self {
            site_id: site_id.ok_or(Problem::Internal)?,
            group_ids: group_ids.unwrap_or_default(),
        })
    }
}

fn given(body: &mut Body, name: &str, required: bool) -> Option<Json> {
    match required {
        true => body.required(name),
        false => body.take(name),
    }
}

fn mower_fields(body: &mut Body, new: bool) -> MowerFields {
    let mut text = |name: &str, most: usize| {
        let value = given(body, name, new);
        body.text(name, value, 1, most)
    };
    let (name, vendor) = (text("name", LABEL), text("vendor", LABEL));
    let (model, serial) = (text("model", LABEL), text("serial", SERIAL));
    let value = given(body, "connection", new);
    MowerFields {
        name,
        vendor,
        model,
        serial,
        connection: body.object("connection", value, connection),
        quarantined: None,
    }
}

fn connection(body: &mut Body) -> Option<Reach> {
    let kind = body.required("kind")?;
    let kind = match &kind {
        Json::Text(text) => ConnectionKind::named(text),
        _ => None,
    };
    if kind.is_none() {
        let known = ConnectionKind::ALL.map(ConnectionKind::as_str).join("`, `");
        body.fault(format!("`connection.kind` must be one of `{known}`"));
    }
    let options = match body.take("options") {
        None => Some(Map::new()),
        Some(Json::Object(members)) => options(body, plain_object(members)),
        Some(other) => {
            let kind = other.kind();
            body.fault(format!(
                "`connection.options` must be an object, not {kind}"
            ));
            None
        }
    };
    Some(Reach {
        kind: kind?,
        options: options?,
    })
}

/// SECURITY: options are stored, sent to device gateways and shown. A secret belongs into the
/// configuration of the device gateway.
fn options(body: &mut Body, options: Map<String, Value>) -> Option<Map<String, Value>> {
    let options = Value::Object(options);
    let mut found = Vec::new();
    secrets("connection.options", &options, &mut found);
    for place in &found {
        body.fault(format!(
            "`{place}` looks like a secret, which does not belong here: keep it in the \
             configuration of the device gateway, and give only the name it has there"
        ));
    }
    let bytes = options.to_string().len();
    if bytes > OPTIONS {
        body.fault(format!(
            "`connection.options` must have at most {OPTIONS} bytes as JSON, not {bytes}"
        ));
    }
    match options {
        Value::Object(members) if found.is_empty() && bytes <= OPTIONS => Some(members),
        _ => None,
    }
}

fn secrets(place: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                let place = format!("{place}.{}", name.escape_debug());
                let folded = name.to_lowercase();
                match SECRETS.iter().any(|secret| folded.contains(secret)) {
                    true => found.push(place),
                    false => secrets(&place, inner, found),
                }
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                secrets(&format!("{place}[{index}]"), inner, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn time_zone(body: &mut Body, given: Option<Json>) -> Option<String> {
    let name = body.text("time_zone", given, 1, LABEL)?;
    match TimeZone::get(&name) {
        Ok(_) => Some(name),
        Err(_) => {
            body.fault("`time_zone` must be a name of the IANA time zone database, such as `Europe/Berlin`");
            None
        }
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

/// Different words, none empty.
fn words(body: &mut Body, name: &str, given: Json) -> Option<Vec<String>> {
    let items = match given {
        Json::List(items) => items,
        _ => Vec::from([Json::Null]),
    };
    let mut words: Vec<String> = Vec::with_capacity(items.len());
    let count = items.len();
    for item in items {
        match item {
            Json::Text(word) if is_id(&word) && !words.contains(&word) => words.push(word),
            _ => {}
        }
    }
    if words.len() == count {
        return Some(words);
    }
    body.fault(format!("`{name}` must be an array of different words"));
    None
}
