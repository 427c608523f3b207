//! Follows the store's log of changes, so that every replica knows within a
//! second what one of them was told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info, warn};

use super::{Object, Registry, save};
use crate::store::{Put, RegistryStore, StoreError};

/// How often the log is asked. Half of it is the mean delay between replicas.
const EVERY: Duration = Duration::from_millis(250);
/// The snapshot is written at most once in so many steps.
const SAVE_EVERY: u32 = 8;
/// Changes taken over in one step.
const BATCH: u32 = 1000;

/// One replica's place in the store's log.
pub struct Follower {
    registry: Arc<Registry>,
    store: Arc<dyn RegistryStore>,
    snapshot: PathBuf,
    epoch: Option<String>,
    /// [`Registry::changes`] when the snapshot was last written.
    saved_at: u64,
    steps: u32,
}

impl Follower {
    /// A follower at the beginning of the log.
    pub fn new(registry: Arc<Registry>, store: Arc<dyn RegistryStore>, snapshot: PathBuf) -> Self {
        Follower {
            registry,
            store,
            snapshot,
            epoch: None,
            saved_at: 0,
            steps: 0,
        }
    }

    /// Takes over what changed since the last step, heartbeats included.
    ///
    /// A log that lost its content never empties the memory: the memory is
    /// written back, object by object, under its own revisions.
    ///
    /// # Errors
    /// The store's. The memory stays as it was.
    pub async fn step(&mut self) -> Result<(), StoreError> {
        let head = self.store.head().await?;
        let lost = head.seq < self.registry.generation()
            || self
                .epoch
                .as_ref()
                .is_some_and(|epoch| *epoch != head.epoch);
        if lost {
            self.restore().await?;
            self.registry.followed(0);
        }
        self.epoch = Some(head.epoch);
        self.take_changes().await?;
        for beat in self.store.heartbeats().await? {
            self.registry.heard(beat);
        }
        self.steps = self.steps.wrapping_add(1);
        if self.registry.changes() != self.saved_at && self.steps.is_multiple_of(SAVE_EVERY) {
            self.save().await;
        }
        Ok(())
    }

    async fn take_changes(&mut self) -> Result<(), StoreError> {
        loop {
            let after = self.registry.generation();
            let changes = self.store.changes(after, BATCH).await?;
            let Some(last) = changes.last().map(|change| change.seq) else {
                return Ok(());
            };
            for change in &changes {
                self.registry.apply(&Object::from(change));
            }
            self.registry.followed(last);
        }
    }

    async fn restore(&self) -> Result<(), StoreError> {
        let objects = self.registry.all();
        error!(
            objects = objects.len(),
            "the store lost the registry; writing it back from memory"
        );
        for object in &objects {
            let put = match object.registered() {
                Some(registered) => self.store.put(&registered).await?,
                None => {
                    let key = object.key();
                    self.store
                        .delete(&key, &object.owner, object.revision)
                        .await?
                }
            };
            if !matches!(put, Put::Applied { .. } | Put::Unchanged { .. }) {
                warn!(
                    object = object.id,
                    ?put,
                    "the store knows this object otherwise"
                );
            }
        }
        Ok(())
    }

    async fn save(&mut self) {
        let changes = self.registry.changes();
        let (registry, path) = (Arc::clone(&self.registry), self.snapshot.clone());
        match tokio::task::spawn_blocking(move || save(&registry, &path)).await {
            Ok(Ok(())) => self.saved_at = changes,
            Ok(Err(cause)) => warn!(%cause, "the registry snapshot could not be written"),
            Err(cause) => error!(%cause, "the registry snapshot's writer ended early"),
        }
    }
}

/// Follows for ever. One line in the log when the store goes and when it is
/// back, not one for each attempt.
pub async fn follow(mut follower: Follower) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut reachable = true;
    loop {
        ticks.tick().await;
        match follower.step().await {
            Ok(()) if !reachable => {
                reachable = true;
                info!("the registry follows the store again");
            }
            Ok(()) => {}
            Err(cause) if reachable => {
                reachable = false;
                warn!(%cause, "the registry cannot follow the store; the memory stands");
            }
            Err(_) => {}
        }
    }
}
