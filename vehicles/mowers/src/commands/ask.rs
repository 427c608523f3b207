//! Who asks, taken from the grant and never from the request.

use interlock_guard::{Approval, Caller, CallerKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::record::Decided;
use crate::contract::{Issuer, IssuerKind};
use crate::service::call::Call;
use crate::service::problem::Problem;

#[cfg(test)]
mod tests;

/// The scope that every object lies in, as the gateway names it.
const INSTALLATION: &str = "installation";

/// A granted request, as far as commands look at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The operation; `None` for a stop that has none.
    pub operation: Option<Uuid>,
    /// The name of its row.
    pub row: &'static str,
    /// The command kind of its row, where the path carries several.
    pub kind: Option<&'static str>,
    /// Who asks.
    pub issuer: Issuer,
    /// When the caller asked.
    pub asked_at: Timestamp,
    /// When its sender stops waiting.
    pub deadline: Timestamp,
    /// The revision that was judged.
    pub revision: Option<u64>,
    /// The accounts the caller belongs to, where the grant says so; `None` as
    /// well for one who belongs to the whole installation.
    pub tenants: Option<Vec<String>>,
    /// What a person approved, on the dispatch of a plan.
    pub approval: Option<Approved>,
    /// Evidence for the record.
    pub decided: Decided,
}

/// An approved plan and what it was measured against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// The plan.
    pub plan: Uuid,
    /// What must still hold.
    pub fence: Fence,
}

/// What a proposal was previewed on, compared at its dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// The path that was shown.
    pub path_hash: String,
    /// Revision of the mower's place.
    pub hierarchy_rev: u64,
    /// The mower's last stop.
    pub stop_epoch: u64,
}

impl Ask {
    /// What the grant of a call says.
    ///
    /// # Errors
    /// [`Problem::Invalid`] when the approved fence is none of ours.
    pub fn of(call: &Call) -> Result<Self, Problem> {
        let granted = call.granted();
        let claims = granted.claims();
        let approval = granted.approval().map(approved).transpose()?;
        let standing = claims.caller.standing.as_ref();
        Ok(Self {
            operation: granted.operation(),
            row: granted.row().name,
            kind: granted.row().kind,
            issuer: issuer(granted.caller()),
            asked_at: granted.asked_at(),
            deadline: granted.deadline(),
            revision: granted.revision(),
            tenants: standing.and_then(|standing| accounts(&standing.tenants)),
            approval,
            decided: Decided {
                hierarchy_rev: granted.revision().unwrap_or_default(),
                decision: claims.decision,
                bundle: claims.bundle.clone(),
            },
        })
    }

    /// The id of what is asked: its operation.
    ///
    /// # Errors
    /// [`Problem::Internal`]: the guard demands one of every write.
    pub fn id(&self) -> Result<Uuid, Problem> {
        self.operation.ok_or(Problem::Internal)
    }

    /// Refuses what comes after its sender has stopped waiting. Never asked of a stop.
    ///
    /// # Errors
    /// [`Problem::TooLate`].
    pub fn in_time(&self, now: Timestamp) -> Result<(), Problem> {
        match now > self.deadline {
            true => Err(Problem::TooLate),
            false => Ok(()),
        }
    }
}

/// Whoever belongs to the whole installation, as the local operator of open
/// mode does, belongs to each of its accounts.
fn accounts(tenants: &[String]) -> Option<Vec<String>> {
    let everywhere = tenants.iter().any(|tenant| tenant == INSTALLATION);
    (!everywhere).then(|| tenants.to_vec())
}

fn approved(approval: &Approval) -> Result<Approved, Problem> {
    let fence = Fence::deserialize(&approval.fence).map_err(|error| {
        Problem::Invalid(vec![format!("the approved fence is unreadable: {error}")])
    })?;
    Ok(Approved {
        plan: approval.plan,
        fence,
    })
}

/// The issuer a caller is. An actor of its own acts for the subject.
#[must_use]
pub fn issuer(caller: &Caller) -> Issuer {
    let kind = match caller.kind {
        CallerKind::Agent => IssuerKind::Agent,
        CallerKind::Service => IssuerKind::ApiToken,
        CallerKind::Person | CallerKind::Anonymous => IssuerKind::User,
    };
    let party = |name: &str| format!("{} {name}", caller.issuer);
    match &caller.actor {
        Some(actor) => Issuer {
            kind,
            id: party(actor),
            display: actor.clone(),
            on_behalf_of: Some(party(&caller.subject)),
        },
        None => Issuer {
            kind,
            id: party(&caller.subject),
            display: caller.subject.clone(),
            on_behalf_of: None,
        },
    }
}
