//! What a caller may see and use, asked of the gateway.

use interlock_guard::evaluations::{OBSERVE, Question, Verdict};
use uuid::Uuid;

use super::model::{MOWER, SCOPE};
use crate::service::Fleet;
use crate::service::call::Call;
use crate::service::problem::Problem;

/// The action that stands for managing a site.
const MANAGE_SITE: &str = "site_change";
/// The action that stands for managing a group.
const MANAGE_GROUP: &str = "group_add";
/// The action that stands for managing a mower.
const MANAGE_MOWER: &str = "mower_place";

/// One object of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its type.
    pub kind: &'static str,
    /// Its id.
    pub id: Uuid,
}

/// Which of these the caller may know of, in order.
///
/// # Errors
/// [`Problem::AuthzUnavailable`].
pub async fn visible(fleet: &Fleet, call: &Call, targets: &[Target]) -> Result<Vec<bool>, Problem> {
    let asks: Vec<(&str, Target)> = targets.iter().map(|target| (OBSERVE, *target)).collect();
    let verdicts = judge(fleet, call, &asks).await?;
    Ok(verdicts.iter().map(|verdict| verdict.visible).collect())
}

/// What the caller may do, in order.
///
/// # Errors
/// [`Problem::AuthzUnavailable`].
pub async fn judge(
    fleet: &Fleet,
    call: &Call,
    asks: &[(&str, Target)],
) -> Result<Vec<Verdict>, Problem> {
    let ids: Vec<String> = asks
        .iter()
        .map(|(_, target)| target.id.to_string())
        .collect();
    let questions = asks
        .iter()
        .zip(&ids)
        .map(|((action, target), id)| Question {
            action,
            kind: target.kind,
            id,
        });
    let questions: Vec<Question<'_>> = questions.collect();
    if questions.is_empty() {
        return Ok(Vec::new());
    }
    fleet.judge(call.granted(), &questions).await
}

/// The sites and groups that a request names must be ones that the caller manages. One that is
/// missing, one that is hidden and one that is only seen read alike.
///
/// # Errors
/// [`Problem::UnknownReference`] naming the field, [`Problem::AuthzUnavailable`].
pub async fn managed(
    fleet: &Fleet,
    call: &Call,
    (site_field, site): (&'static str, Option<Uuid>),
    groups: &[Uuid],
) -> Result<(), Problem> {
    let sites = site.iter().map(|id| (site_field, MANAGE_SITE, *id));
    let groups = groups.iter().map(|id| ("`group_ids`", MANAGE_GROUP, *id));
    let named: Vec<(&'static str, &str, Uuid)> = sites.chain(groups).collect();
    let scope = |id| Target { kind: SCOPE, id };
    let asks: Vec<(&str, Target)> = named
        .iter()
        .map(|(_, action, id)| (*action, scope(*id)))
        .collect();
    let verdicts = judge(fleet, call, &asks).await?;
    let refused = named
        .iter()
        .zip(verdicts)
        .find(|(_, verdict)| !verdict.allowed);
    match refused {
        Some(((field, ..), _)) => Err(Problem::UnknownReference(field)),
        None => Ok(()),
    }
}

/// A mower that a path names beside its own object must be one that the caller manages.
///
/// # Errors
/// [`Problem::NotFound`] where it is hidden, [`Problem::Forbidden`] where it is only seen.
pub async fn managed_mower(fleet: &Fleet, call: &Call, id: Uuid) -> Result<(), Problem> {
    let ask = (MANAGE_MOWER, Target { kind: MOWER, id });
    match judge(fleet, call, &[ask]).await?.first() {
        Some(verdict) if verdict.allowed => Ok(()),
        Some(verdict) if verdict.visible => Err(Problem::Forbidden(
            "this needs the relation `manage` on the mower too".to_owned(),
        )),
        _ => Err(Problem::NotFound),
    }
}
