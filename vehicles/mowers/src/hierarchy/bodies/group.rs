//! Groups: made and renamed.

use uuid::Uuid;

use super::LABEL;
use crate::service::body::Body;
use crate::service::problem::Problem;

/// A group to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hierarchy) struct NewGroup {
    /// A label.
    pub(in crate::hierarchy) name: String,
    /// The site it belongs to.
    pub(in crate::hierarchy) site_id: Option<Uuid>,
}

impl NewGroup {
    /// Reads a group to make.
    ///
    /// # Errors
    /// [`Problem`] with every fault.
    pub(in crate::hierarchy) fn read(bytes: &[u8]) -> Result<Self, Problem> {
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
pub(in crate::hierarchy) fn group_change(bytes: &[u8]) -> Result<Option<String>, Problem> {
    let mut body = Body::open(bytes)?;
    let name = body.take("name");
    let name = body.text("name", name, 1, LABEL);
    body.end()?;
    Ok(name)
}
