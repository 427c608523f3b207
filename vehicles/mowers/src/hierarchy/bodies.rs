//! The bodies that change the hierarchy, read strictly.

use interlock_guard::json::Json;
use interlock_surface::ids::is_id;
use jiff::tz::TimeZone;

use crate::service::body::Body;

mod account;
mod connection;
mod group;
mod mower;
mod site;

#[cfg(test)]
mod tests;

pub(super) use account::{NewAccount, suspended};
pub(super) use group::{NewGroup, group_change};
pub(super) use mower::{MowerFields, NewMower, Placement};
pub(super) use site::SiteFields;

/// Longest label.
const LABEL: usize = 80;
/// Longest address, and longest source of a rule.
const ADDRESS: usize = 200;

fn given(body: &mut Body, name: &str, required: bool) -> Option<Json> {
    match required {
        true => body.required(name),
        false => body.take(name),
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
