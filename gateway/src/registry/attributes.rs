//! The attributes of registered objects that policies judge by.
//!
//! They are read once, when a change is taken over. At the feed a wrong one is
//! refused by name; one that comes by another way (a snapshot, another
//! gateway's store) and cannot be read stands for the answer that moves
//! nothing.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use thiserror::Error;

use super::SCOPE_TYPE;
use super::quiet_hours::QuietHours;

/// The most features one scope may have.
const FEATURES: usize = 64;
/// The longest name of a feature, in bytes.
const FEATURE_BYTES: usize = 64;

/// An attribute that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("attribute `{name}` {fault}")]
pub struct AttributeError {
    /// The attribute.
    pub name: &'static str,
    /// What is wrong with it.
    pub fault: String,
}

/// What policies know of one object or scope besides its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// What an account has booked; none where nothing is said, and everything is
    /// included.
    pub(super) features: Option<BTreeSet<String>>,
    /// The account pays for nothing or is shut for another reason.
    pub(super) suspended: bool,
    /// None where nothing is said: then the next scope above counts.
    pub(super) quiet_hours: Option<QuietHours>,
    /// The object is not to be used until somebody has looked at it.
    pub(super) quarantined: bool,
}

impl Attributes {
    /// Reads those that are known; others are for people and stay unread.
    ///
    /// # Errors
    /// The first that cannot be read, or that has no meaning on this type.
    pub(super) fn parse(kind: &str, all: &Map<String, Value>) -> Result<Self, AttributeError> {
        let scope = kind == SCOPE_TYPE;
        let misplaced = ["features", "suspended", "time_zone", "quiet_hours"]
            .into_iter()
            .filter(|_| !scope)
            .chain(["quarantined"].into_iter().filter(|_| scope))
            .find(|name| all.contains_key(*name));
        if let Some(name) = misplaced {
            let fault = match scope {
                true => "means nothing on a scope",
                false => "belongs to scopes",
            };
            return Err(error(name, fault));
        }
        let zone = zone(all.get("time_zone"))?;
        let quiet_hours = all.get("quiet_hours").map(|value| {
            let zone =
                zone.ok_or_else(|| error("quiet_hours", "need a `time_zone` beside them"))?;
            QuietHours::parse(value, zone).map_err(|fault| error("quiet_hours", fault))
        });
        Ok(Self {
            features: all.get("features").map(features).transpose()?,
            suspended: flag(all, "suspended")?,
            quiet_hours: quiet_hours.transpose()?,
            quarantined: flag(all, "quarantined")?,
        })
    }

    /// The same, and where something cannot be read, what moves nothing.
    pub(super) fn or_still(kind: &str, id: &str, all: &Map<String, Value>) -> Self {
        Self::parse(kind, all).unwrap_or_else(|cause| {
            tracing::error!(
                %cause, kind, id, alarm = "registry-attribute",
                "a registered object cannot be read; nothing moves by it"
            );
            Self {
                features: Some(BTreeSet::new()),
                suspended: kind == SCOPE_TYPE,
                quiet_hours: None,
                quarantined: kind != SCOPE_TYPE,
            }
        })
    }
}

fn features(value: &Value) -> Result<BTreeSet<String>, AttributeError> {
    let fits = |name: &str| !name.is_empty() && name.len() <= FEATURE_BYTES;
    let list = value.as_array().filter(|list| list.len() <= FEATURES);
    let names = list.and_then(|list| {
        let names = list.iter().map(|name| name.as_str().filter(|n| fits(n)));
        names.map(|name| name.map(str::to_owned)).collect()
    });
    let what = format!("must be a list of at most {FEATURES} names of 1 to {FEATURE_BYTES} bytes");
    names.ok_or_else(|| error("features", what))
}

fn zone(value: Option<&Value>) -> Result<Option<TimeZone>, AttributeError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let found = value.as_str().and_then(|name| TimeZone::get(name).ok());
    let what = "must name a zone of the IANA database, such as `Europe/Berlin`";
    found.map(Some).ok_or_else(|| error("time_zone", what))
}

fn flag(all: &Map<String, Value>, name: &'static str) -> Result<bool, AttributeError> {
    match all.get(name) {
        None => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(error(name, "must be `true` or `false`")),
    }
}

fn error(name: &'static str, fault: impl Into<String>) -> AttributeError {
    AttributeError {
        name,
        fault: fault.into(),
    }
}

#[cfg(test)]
mod tests;
