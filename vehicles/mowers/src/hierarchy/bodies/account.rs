//! Accounts: made, brought up to date, suspended.

use interlock_surface::ids::is_id;

use super::{LABEL, time_zone, words};
use crate::service::body::Body;
use crate::service::problem::Problem;

/// An account to make, or to bring up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hierarchy) struct NewAccount {
    /// Its scope id.
    pub(in crate::hierarchy) id: String,
    /// A label.
    pub(in crate::hierarchy) name: String,
    /// What its plan includes.
    pub(in crate::hierarchy) features: Vec<String>,
    /// The time zone of its default site.
    pub(in crate::hierarchy) time_zone: String,
}

impl NewAccount {
    /// Reads the body of the internal row, or the payload of an event, whose other members are
    /// left alone.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(in crate::hierarchy) fn read(bytes: &[u8], strict: bool) -> Result<Self, Problem> {
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

/// What is to change of an account: whether it is suspended.
///
/// # Errors
/// [`Problem`] with every fault.
pub(in crate::hierarchy) fn suspended(bytes: &[u8]) -> Result<bool, Problem> {
    let mut body = Body::open(bytes)?;
    let given = body.required("suspended");
    let suspended = body.flag("suspended", given);
    body.end()?;
    suspended.ok_or(Problem::Internal)
}
