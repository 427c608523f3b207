//! Commands to mowers: written down, handed to the bus, and followed until
//! their end.
//!
//! Motion is recorded and committed before it is published, and never repeated.
//! A stop is published first, repeated while it may help, and recorded after.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;

use crate::drive;
use crate::records::{Records, RecordsError};
use crate::service::Fleet;
use crate::telemetry;

pub mod ask;
pub mod bulk;
pub mod calming;
mod check;
pub mod counters;
pub mod epochs;
pub mod handlers;
pub mod issue;
pub mod life;
pub mod overtaken;
pub mod paced;
pub mod pacer;
mod presence;
pub mod publish;
pub mod reads;
pub mod record;
pub mod request;
pub mod results;
pub mod retention;
mod room;
pub mod settle;
pub mod spool;
pub mod status;
pub mod stop;
pub mod stoppers;
pub mod store;
pub mod unconfirmed;
mod unsent;

#[cfg(test)]
pub(crate) mod testkit;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod words;

use counters::Counters;
use epochs::StopEpochs;
use paced::Paced;
use pacer::Pacer;
use results::Looks;
use spool::{Spool, SpoolError};
use stop::rate::StopRate;
use unconfirmed::Late;

/// Between two attempts to empty the spool.
const REPLAY: Duration = Duration::from_millis(500);

/// What commands keep in memory.
#[derive(Debug)]
pub struct Control {
    /// When each mower was stopped last.
    pub epochs: StopEpochs,
    /// Stops that wait for the records.
    pub spool: Spool,
    /// Stops whose life may have been over before they came on record.
    pub late: Late,
    /// Turns of vendor accounts.
    pub pacer: Pacer,
    /// Commands that wait for their turn.
    pub paced: Paced,
    /// How often each issuer stops.
    pub stop_rate: StopRate,
    /// How often results of unknown commands were looked at.
    pub looks: Looks,
    /// What happened so often.
    pub counters: Counters,
}

/// Why commands cannot be served.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The records.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The spool.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl Control {
    /// Goes on from what earlier lives of `replica` left; the name is the same
    /// at each start of one replica, and no other's.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn open(
        records: &Records,
        spool: &Path,
        replica: &str,
        now: Timestamp,
    ) -> Result<Self, ControlError> {
        Ok(Self {
            epochs: StopEpochs::open(records, replica, now).await?,
            spool: Spool::open(spool)?,
            late: Late::default(),
            pacer: Pacer::default(),
            paced: Paced::default(),
            stop_rate: StopRate::default(),
            looks: Looks::default(),
            counters: Counters::default(),
        })
    }
}

/// Everything that runs beside the requests, for as long as the service lives.
pub async fn run(fleet: Arc<Fleet>) {
    tokio::join!(
        fleet.control.epochs.keep(&fleet.records),
        replay(&fleet),
        results::follow(&fleet),
        overtaken::run(&fleet),
        paced::run(&fleet),
        retention::run(&fleet),
        telemetry::follow(&fleet),
        telemetry::follow_stops(&fleet),
        drive::follow::follow(&fleet),
    );
}

/// Ends in order: what was not sent is said to be so, and the stops are on
/// record.
///
/// # Errors
/// [`ControlError`]; then the next life takes this one for broken off.
pub async fn close(fleet: &Fleet) -> Result<(), ControlError> {
    paced::end(fleet).await;
    fleet.control.spool.replay(&fleet.records).await?;
    fleet.control.epochs.close(&fleet.records).await?;
    Ok(())
}

/// Empties the spool whenever the records are back.
async fn replay(fleet: &Fleet) {
    loop {
        match fleet.control.spool.replay(&fleet.records).await {
            Ok(stops) if stops.is_empty() => {}
            Ok(stops) => {
                fleet.control.late.add(&stops, fleet.now());
                tracing::info!(count = stops.len(), "stops from the spool are on record");
            }
            Err(error) => tracing::debug!("the spool waits: {error}"),
        }
        tokio::time::sleep(REPLAY).await;
    }
}
