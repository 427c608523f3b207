//! Which areas each member of a start is to mow. Areas are of one mower's map,
//! so those of a command to many are taken from the map of each: the record of a
//! start names what was started.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::StreamExt;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::service::Fleet;
use crate::telemetry::holder;

#[cfg(test)]
mod tests;

/// Questions under way at once.
const AT_ONCE: usize = 256;

/// How long all of them have.
const WITHIN: Duration = Duration::from_secs(3);

/// What one member is to mow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Areas {
    /// These of its map.
    Own(Vec<Uuid>),
    /// Its map has none of them.
    NoneOfThem,
    /// Nobody said in time what its map has.
    Unknown,
}

/// A map, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Map {
    areas: Vec<Area>,
}

#[derive(Debug, Deserialize)]
struct Area {
    id: Uuid,
}

/// What each of these mowers is to mow when `wanted` is asked for; all that it
/// has when that names nothing.
pub(super) async fn of(fleet: &Fleet, wanted: &[Uuid], mowers: &[Uuid]) -> HashMap<Uuid, Areas> {
    let until = Instant::now() + WITHIN;
    let asking = mowers.iter().copied().map(|mower| async move {
        let asked = timeout_at(until, holder::ask::<Map>(fleet, mower, "map")).await;
        let areas = match asked {
            Ok(Ok(map)) => chosen(wanted, map.areas.iter().map(|area| area.id).collect()),
            Ok(Err(_)) | Err(_) => Areas::Unknown,
        };
        (mower, areas)
    });
    let answers = futures_util::stream::iter(asking).buffer_unordered(AT_ONCE);
    answers.collect().await
}

/// Those of a map that are wanted, in the order they were asked for.
fn chosen(wanted: &[Uuid], own: Vec<Uuid>) -> Areas {
    let areas: Vec<Uuid> = match wanted {
        [] => own,
        wanted => {
            let on_it = wanted.iter().filter(|area| own.contains(area));
            on_it.copied().collect()
        }
    };
    match areas.is_empty() {
        true => Areas::NoneOfThem,
        false => Areas::Own(areas),
    }
}
