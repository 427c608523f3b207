//! Writing stops down after they were sent: into the records if they answer at
//! once, else into the spool.

use tokio::time::timeout;

use super::patience;
use crate::commands::bulk::kept::{self, Head};
use crate::commands::record::Record;
use crate::commands::{spool::SpoolError, store};
use crate::records::{Records, RecordsError};
use crate::service::Fleet;

/// Notes stops; whether they are on record. Where they are not, they wait in
/// the spool.
pub(super) async fn note(fleet: &Fleet, head: Option<&Head>, records: &[Record]) -> bool {
    if records.is_empty() {
        return true;
    }
    let patience = patience(records.len());
    match timeout(patience, write(&fleet.records, head, records)).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => tracing::error!("stops are not on record yet: {error}"),
        Err(_) => tracing::error!("stops are not on record yet: no answer in time"),
    }
    let spool = fleet.control.spool.clone();
    let (head, stops) = (head.cloned(), records.to_vec());
    // Goes on beyond the patience: the disk may be slow, and it is the last place.
    let spooling = tokio::spawn(async move { spool.append(head.as_ref(), &stops).await });
    let spooled = match timeout(patience, spooling).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(SpoolError::BrokeOff),
        Err(_) => {
            tracing::error!("stops are not on the disk yet: no answer in time");
            return false;
        }
    };
    match spooled {
        Ok(()) => {
            let count = u64::try_from(records.len()).unwrap_or(u64::MAX);
            fleet.control.counters.stops_spooled.add_many(count);
        }
        Err(error) => tracing::error!("alarm: stops are written down nowhere: {error}"),
    }
    false
}

async fn write(
    records: &Records,
    head: Option<&Head>,
    stops: &[Record],
) -> Result<(), RecordsError> {
    let mut change = records.begin().await?;
    if let Some(head) = head {
        kept::insert(&mut change, head).await?;
    }
    store::insert(&mut change, stops).await?;
    change.commit().await?;
    Ok(())
}
