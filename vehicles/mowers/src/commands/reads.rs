//! Reading records: only of mowers that the caller may see, and 404 for all
//! others, never 403.

use std::collections::HashSet;
use std::sync::Arc;

use axum::http::StatusCode;
use interlock_guard::Granted;
use interlock_guard::evaluations::{OBSERVE, Question};
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::bulk::{answer, kept};
use super::record::RecordView;
use super::store::{self, Filter, Mowers, Place};
use crate::contract::Status;
use crate::hierarchy::model::{MOWER, SCOPE};
use crate::hierarchy::roster::Container;
use crate::operations::Answer;
use crate::service::Fleet;
use crate::service::call::Call;
use crate::service::problem::Problem;

#[cfg(test)]
mod tests;

/// What the caller may see of an account.
enum Sight {
    /// All of it, also what is deleted.
    Account,
    /// These mowers.
    Mowers(HashSet<Uuid>),
}

impl Sight {
    fn has(&self, mower: Uuid) -> bool {
        match self {
            Self::Account => true,
            Self::Mowers(mowers) => mowers.contains(&mower),
        }
    }
}

/// One record.
///
/// # Errors
/// [`Problem::NotFound`] unless the caller may see its mower.
pub async fn one(fleet: &Arc<Fleet>, call: &Call, id: Uuid) -> Result<Answer, Problem> {
    let account = call.account()?;
    let found = store::find(&fleet.records, id).await?;
    // The question is asked for an unknown id too: no answer is quicker than another.
    let mower = found.as_ref().map_or(id, |it| it.envelope.mower_id);
    let sight = sight(fleet, call.granted(), &account, &[mower]).await?;
    let record = found
        .filter(|it| it.envelope.account_id == account && sight.has(mower))
        .ok_or(Problem::NotFound)?;
    Answer::json(StatusCode::OK, &record.view(fleet.now()))
}

/// A page of records.
#[derive(Debug, Serialize)]
struct Page<'a> {
    items: Vec<RecordView<'a>>,
    next: Option<String>,
}

/// Records of the account, newest first.
///
/// # Errors
/// [`Problem::Invalid`] with every fault of the query.
pub async fn list(fleet: &Arc<Fleet>, call: &Call) -> Result<Answer, Problem> {
    let account = call.account()?;
    let page = call.page()?;
    let mut filter = filter(call)?;
    if let Some(after) = page.after {
        filter.after = Some(place(fleet, call.granted(), &account, after).await?);
    }
    let mowers: Vec<Uuid> = match filter.mower {
        Some(mower) => vec![mower],
        None => ids(fleet, Container::Account(&account)),
    };
    filter.mowers = match sight(fleet, call.granted(), &account, &mowers).await? {
        Sight::Account => Mowers::All,
        Sight::Mowers(seen) => Mowers::These(seen.into_iter().collect()),
    };
    let more = page.limit.saturating_add(1);
    let mut found = store::list(&fleet.records, &account, &filter, more).await?;
    let is_more = found.len() > page.limit;
    found.truncate(page.limit);
    let last = found.last().filter(|_| is_more);
    let next = last.map(|it| it.envelope.command_id.to_string());
    let now = fleet.now();
    let items = found.iter().map(|it| it.view(now)).collect();
    Answer::json(StatusCode::OK, &Page { items, next })
}

/// What became of a command to many, for the mowers that the caller may see.
///
/// # Errors
/// [`Problem::NotFound`] when there is none of them.
pub async fn bulk(fleet: &Arc<Fleet>, call: &Call, id: Uuid) -> Result<Answer, Problem> {
    let account = call.account()?;
    let head = kept::find(&fleet.records, id).await?;
    let mut records = store::of_bulk(&fleet.records, id).await?;
    let mowers: Vec<Uuid> = records.iter().map(|it| it.envelope.mower_id).collect();
    // The question is asked for an unknown id too: no answer is quicker than another.
    let container = head
        .as_ref()
        .map_or_else(|| id.to_string(), |head| head.target.id());
    let scopes = [account.as_str(), container.as_str()];
    let ([whole, named], seen) = seen(fleet, call.granted(), scopes, &mowers).await?;
    let head = head
        .filter(|head| head.account_id == account)
        .ok_or(Problem::NotFound)?;
    records.retain(|it| whole || seen.contains(&it.envelope.mower_id));
    if records.is_empty() && !whole {
        return Err(Problem::NotFound);
    }
    let answer = answer::of_records(&head, &records);
    let answer = match whole || named {
        true => answer,
        false => answer.without_target(),
    };
    Answer::json(StatusCode::OK, &answer)
}

/// Asks what the caller may see: the whole account, else which of these mowers.
async fn sight(
    fleet: &Fleet,
    granted: &Granted,
    account: &str,
    mowers: &[Uuid],
) -> Result<Sight, Problem> {
    let ([whole], mowers) = seen(fleet, granted, [account], mowers).await?;
    Ok(match whole {
        true => Sight::Account,
        false => Sight::Mowers(mowers),
    })
}

/// Which of these accounts, sites and groups the caller may see, and which of
/// the mowers.
async fn seen<const N: usize>(
    fleet: &Fleet,
    granted: &Granted,
    scopes: [&str; N],
    mowers: &[Uuid],
) -> Result<([bool; N], HashSet<Uuid>), Problem> {
    let ids: Vec<String> = mowers.iter().map(Uuid::to_string).collect();
    let question = |kind, id| Question {
        action: OBSERVE,
        kind,
        id,
    };
    let wide = scopes.into_iter().map(|id| question(SCOPE, id));
    let each = ids.iter().map(|id| question(MOWER, id.as_str()));
    let questions: Vec<Question<'_>> = wide.chain(each).collect();
    let verdicts = fleet.judge(granted, &questions).await?;
    let mut visible = verdicts.iter().map(|verdict| verdict.visible);
    let scopes = scopes.map(|_| visible.next().unwrap_or_default());
    let seen = mowers.iter().zip(visible);
    let seen = seen.filter_map(|(mower, visible)| visible.then_some(*mower));
    Ok((scopes, seen.collect()))
}

fn ids(fleet: &Fleet, of: Container<'_>) -> Vec<Uuid> {
    let members = fleet.roster.members(of);
    members.iter().map(|member| member.mower_id).collect()
}

/// The filters of the query.
fn filter(call: &Call) -> Result<Filter, Problem> {
    let mut faults = Vec::new();
    let status = call.query("status").map(|name| {
        let status = Status::named(name);
        if status.is_none() {
            let all = Status::ALL.map(Status::as_str).join("`, `");
            faults.push(format!("`status` must be one of `{all}`"));
        }
        status
    });
    let since = call.query("since").map(|text| {
        let since = text.parse::<Timestamp>().ok();
        if since.is_none() {
            faults.push("`since` must be a time such as 2026-05-01T10:00:00Z".to_owned());
        }
        since
    });
    if !faults.is_empty() {
        return Err(Problem::Invalid(faults));
    }
    Ok(Filter {
        mower: call.id("mower")?,
        bulk: call.id("bulk")?,
        status: status.flatten(),
        since: since.flatten(),
        ..Filter::default()
    })
}

/// The place of a page's last item. One that the caller may not see is none.
async fn place(
    fleet: &Fleet,
    granted: &Granted,
    account: &str,
    id: Uuid,
) -> Result<Place, Problem> {
    let found = store::find(&fleet.records, id).await?;
    let mower = found.as_ref().map_or(id, |it| it.envelope.mower_id);
    let sight = sight(fleet, granted, account, &[mower]).await?;
    let found = found.filter(|it| it.envelope.account_id == account && sight.has(mower));
    let fault = || {
        Problem::Invalid(vec![
            "`after` must be the `next` of an earlier page".to_owned(),
        ])
    };
    let record = found.ok_or_else(fault)?;
    Ok(Place {
        issued_ms: record.envelope.issued_at.as_millisecond(),
        id,
    })
}
