//! What must hold before a command may be written down.

use uuid::Uuid;

use super::ask::Ask;
use super::record::AreaClear;
use super::request::Request;
use crate::contract::{Command, CommandKind, IssuerKind};
use crate::service::problem::Problem;

/// The kind in the body must be the kind that was judged.
///
/// # Errors
/// [`Problem::Invalid`].
pub(super) fn kind(ask: &Ask, command: &Command) -> Result<(), Problem> {
    let asked = command.kind().as_str();
    match ask.kind {
        Some(judged) if judged != asked => Err(Problem::Invalid(vec![format!(
            "`command.kind` is `{asked}`, but `{judged}` was judged"
        )])),
        Some(_) | None => Ok(()),
    }
}

/// Who vouches that nobody is in the area, for what begins to mow.
///
/// # Errors
/// [`Problem::Invalid`] when a person starts and does not confirm it.
pub(super) fn area_clear(ask: &Ask, request: &Request) -> Result<Option<AreaClear>, Problem> {
    if !matches!(
        request.command.kind(),
        CommandKind::StartMow | CommandKind::ResumeMow
    ) {
        return Ok(None);
    }
    if ask.approval.is_some() {
        return Ok(Some(AreaClear::Approval));
    }
    if request.area_clear_confirmed {
        return Ok(Some(AreaClear::Confirmed));
    }
    match ask.issuer.kind {
        IssuerKind::User => Err(Problem::Invalid(vec![
            "`area_clear_confirmed` must be true: somebody has to see that nobody is in the area"
                .to_owned(),
        ])),
        IssuerKind::ApiToken | IssuerKind::Agent => Ok(None),
    }
}

/// Binds a dispatched start to the path that was approved.
///
/// # Errors
/// [`Problem::PlanChanged`] when the body names another path.
pub(super) fn bind(ask: &Ask, command: &mut Command) -> Result<(), Problem> {
    let Some(approved) = &ask.approval else {
        return Ok(());
    };
    let expected = match command {
        Command::StartMow(start) => &mut start.expected_path_hash,
        Command::ResumeMow { expected_path_hash } => expected_path_hash,
        _ => return Ok(()),
    };
    let hash = &approved.fence.path_hash;
    if expected.as_ref().is_some_and(|named| named != hash) {
        return Err(Problem::PlanChanged(
            "the command names another path than the one that was approved".to_owned(),
        ));
    }
    *expected = Some(hash.clone());
    Ok(())
}

/// Where the mower stands now, against what was judged and approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Present {
    /// Which mower.
    pub(super) mower: Uuid,
    /// Revision of its place.
    pub(super) revision: u64,
    /// Its last stop.
    pub(super) stop_epoch: u64,
    /// A stop came after the caller asked.
    pub(super) stopped_since: bool,
}

/// Compares what was judged, asked and approved with what is. A stop is never
/// compared.
///
/// # Errors
/// [`Problem::AuthzStale`], [`Problem::StoppedSince`] and [`Problem::PlanChanged`].
pub(super) fn present(ask: &Ask, kind: CommandKind, present: Present) -> Result<(), Problem> {
    let revision = present.revision;
    if ask.revision.is_some_and(|judged| judged < revision) {
        return Err(Problem::AuthzStale { revision });
    }
    if kind.moves() && present.stopped_since {
        let detail = "the mower was stopped after this was asked".to_owned();
        return Err(Problem::StoppedSince(detail));
    }
    let Some(approved) = &ask.approval else {
        return Ok(());
    };
    // Another replica may know of a later stop than this one; the mower's own
    // gateway compares again.
    if approved.fence.stop_epoch < present.stop_epoch {
        let detail = "the mower was stopped after the plan was previewed".to_owned();
        return Err(Problem::StoppedSince(detail));
    }
    if approved.fence.hierarchy_rev != revision {
        let detail = "the mower was changed after the plan was previewed: placed elsewhere, reached \
                      in another way or only renamed; propose again";
        let detail = detail.to_owned();
        return Err(Problem::PlanChanged(detail));
    }
    Ok(())
}
