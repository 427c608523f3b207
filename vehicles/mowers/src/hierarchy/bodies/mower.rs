//! Mowers: registered, changed, placed.

use uuid::Uuid;

use super::connection::connection;
use super::{LABEL, given};
use crate::hierarchy::roster::Reach;
use crate::service::body::Body;
use crate::service::problem::Problem;

/// Longest serial number.
const SERIAL: usize = 64;
/// The most groups that a body may name; the configured limit may be lower.
const GROUPS: usize = 64;

/// A mower to register.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::hierarchy) struct NewMower {
    /// A label.
    pub(in crate::hierarchy) name: String,
    /// Who made it.
    pub(in crate::hierarchy) vendor: String,
    /// Which model.
    pub(in crate::hierarchy) model: String,
    /// Serial number.
    pub(in crate::hierarchy) serial: String,
    /// How it is reached.
    pub(in crate::hierarchy) connection: Reach,
    /// Its site.
    pub(in crate::hierarchy) site_id: Option<Uuid>,
    /// The groups it is in.
    pub(in crate::hierarchy) group_ids: Vec<Uuid>,
}

/// What is to change of a mower.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::hierarchy) struct MowerFields {
    /// A label.
    pub(in crate::hierarchy) name: Option<String>,
    /// Who made it.
    pub(in crate::hierarchy) vendor: Option<String>,
    /// Which model.
    pub(in crate::hierarchy) model: Option<String>,
    /// Serial number.
    pub(in crate::hierarchy) serial: Option<String>,
    /// How it is reached.
    pub(in crate::hierarchy) connection: Option<Reach>,
    /// Whether nothing but sight and stops is left.
    pub(in crate::hierarchy) quarantined: Option<bool>,
}

/// Where a mower shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hierarchy) struct Placement {
    /// Its site.
    pub(in crate::hierarchy) site_id: Uuid,
    /// Its groups; none where none are given.
    pub(in crate::hierarchy) group_ids: Vec<Uuid>,
}

impl NewMower {
    /// Reads a mower to register.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(in crate::hierarchy) fn read(bytes: &[u8]) -> Result<Self, Problem> {
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
    pub(in crate::hierarchy) fn read(bytes: &[u8]) -> Result<Self, Problem> {
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
    pub(in crate::hierarchy) fn read(bytes: &[u8]) -> Result<Self, Problem> {
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
