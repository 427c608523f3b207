//! Pages of what a caller may see. A page shows nothing of what is hidden: neither a gap, nor a
//! count, nor a cursor that names it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::model::{MOWER, SCOPE};
use super::references::{Target, visible};
use super::rows::{self, Span, Whose};
use crate::service::Fleet;
use crate::service::call::{Call, Page};
use crate::service::problem::Problem;

/// The most rows that are read and judged at a time.
const BATCH: usize = 1_000;

/// What is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    /// Mowers of an account.
    Mowers(String),
    /// Mowers of a site.
    SiteMowers(Uuid),
    /// Mowers of a group.
    GroupMowers(Uuid),
    /// Sites of an account, with or without the default one.
    Sites(String, bool),
    /// Groups of an account.
    Groups(String),
}

struct Item {
    id: Uuid,
    shown: Value,
}

impl Listing {
    /// One page: `{"items": [...], "next": ...}`.
    ///
    /// # Errors
    /// [`Problem::RecordsUnavailable`], [`Problem::AuthzUnavailable`].
    pub(super) async fn page(
        &self,
        fleet: &Fleet,
        call: &Call,
        page: Page,
    ) -> Result<Value, Problem> {
        let mut items: Vec<Item> = Vec::new();
        let (mut after, mut batch) = (page.after, page.limit.saturating_add(1));
        // One more than is shown: whether there is a next page, and not whether there are rows.
        while items.len() <= page.limit {
            let read = self.read(fleet, Span { after, most: batch }).await?;
            let ended = read.len() < batch;
            after = read.last().map_or(after, |(id, _)| Some(*id));
            let wanted: Vec<Item> = read.into_iter().filter_map(|(_, item)| item).collect();
            let targets: Vec<Target> = wanted.iter().map(|item| self.target(item.id)).collect();
            let seen = visible(fleet, call, &targets).await?;
            let shown = wanted.into_iter().zip(seen).filter(|(_, seen)| *seen);
            items.extend(shown.map(|(item, _)| item));
            if ended {
                break;
            }
            batch = batch.saturating_mul(2).min(BATCH);
        }
        let more = items.len() > page.limit;
        items.truncate(page.limit);
        let next = items.last().filter(|_| more).map(|item| item.id);
        let items: Vec<Value> = items.into_iter().map(|item| item.shown).collect();
        Ok(json!({ "items": items, "next": next }))
    }

    fn target(&self, id: Uuid) -> Target {
        let kind = match self {
            Self::Mowers(_) | Self::SiteMowers(_) | Self::GroupMowers(_) => MOWER,
            Self::Sites(..) | Self::Groups(_) => SCOPE,
        };
        Target { kind, id }
    }

    /// Rows by id; a row that this list leaves out for everybody has no item.
    async fn read(&self, fleet: &Fleet, span: Span) -> Result<Vec<(Uuid, Option<Item>)>, Problem> {
        let mut records = fleet.records.pool().acquire().await?;
        let whose = match self {
            Self::Mowers(account) => Whose::Account(account),
            Self::SiteMowers(site) => Whose::Site(*site),
            Self::GroupMowers(group) => Whose::Group(*group),
            Self::Sites(account, with_default) => {
                let sites = rows::sites(&mut records, account, span).await?;
                let items = sites.into_iter().map(|site| {
                    let listed = *with_default || !site.is_default;
                    (site.id, listed.then(|| item(site.id, json!(site))))
                });
                return Ok(items.collect());
            }
            Self::Groups(account) => {
                let groups = rows::groups(&mut records, account, span).await?;
                let items = groups.into_iter();
                return Ok(items
                    .map(|group| (group.id, Some(item(group.id, json!(group)))))
                    .collect());
            }
        };
        let mowers = rows::mowers(&mut records, whose, span).await?;
        let items = mowers.into_iter();
        Ok(items
            .map(|mower| (mower.id, Some(item(mower.id, json!(mower)))))
            .collect())
    }
}

fn item(id: Uuid, shown: Value) -> Item {
    Item { id, shown }
}
