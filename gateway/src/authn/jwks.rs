//! The key set of one issuer: fetched seldom, kept when fetching fails, and
//! saved so that a restart without the issuer still verifies.
//!
//! Callers whose key is known never wait here. An unknown key id causes at most
//! one fetch per cooldown, however many callers bring one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::discovery::{FetchError, HttpSource};
use super::vet::{self, SetError, VettedKey};
use crate::config::auth::IssuerConfig;
use crate::telemetry::names;

mod saved;

#[cfg(test)]
mod tests;

use saved::SavedError;

/// The cooldown while no set was ever had.
const FIRST_SET: SignedDuration = SignedDuration::from_secs(1);

/// Why no key verifies a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// The issuer publishes no such key, as far as we know.
    Unknown,
    /// No set was ever had.
    Unavailable,
}

/// Why a refresh brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The set could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The set was fetched and refused.
    #[error(transparent)]
    Set(#[from] SetError),
}

/// What readiness and metrics say about an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStatus {
    /// The issuer.
    pub issuer: String,
    /// How many keys can verify.
    pub keys: usize,
    /// How old the set is; `None` when there is none.
    pub age: Option<SignedDuration>,
    /// Whether the set is older than two refresh periods, so that a key taken
    /// back by the issuer may still be trusted.
    pub stale: bool,
    /// How many fetches were started.
    pub fetches: u64,
    /// Why the last refresh or save failed, when it did.
    pub fault: Option<String>,
}

#[derive(Debug)]
struct KeySet {
    keys: Vec<VettedKey>,
    fetched_at: Timestamp,
    /// Raised when the keys differ from those before; verified tokens of an
    /// older generation are verified again.
    generation: u64,
}

#[derive(Debug, Default)]
struct Flight {
    last_attempt: Option<Timestamp>,
    /// Closed when the fetch has ended.
    running: Option<watch::Receiver<()>>,
    fetches: u64,
    fault: Option<String>,
}

/// The keys of one issuer.
#[derive(Debug)]
pub struct IssuerKeys {
    issuer: String,
    source: HttpSource,
    cooldown: SignedDuration,
    refresh: SignedDuration,
    saved: Option<PathBuf>,
    current: ArcSwapOption<KeySet>,
    flight: Mutex<Flight>,
}

impl IssuerKeys {
    /// A key store for one issuer, filled from `state` when a set was saved
    /// there before. Blocks on the disk; call it at start.
    ///
    /// # Errors
    /// [`FetchError`] when the addresses are not acceptable. An unreadable
    /// saved set is logged and left alone: it must not keep a gateway down.
    pub fn new(config: &IssuerConfig, state: Option<&Path>) -> Result<Arc<Self>, FetchError> {
        let source = HttpSource::new(
            &config.issuer,
            config.discovery_url.as_deref(),
            config.fetch_timeout,
        )?;
        let keys = Self {
            issuer: config.issuer.clone(),
            source,
            cooldown: signed(config.cooldown),
            refresh: signed(config.refresh),
            saved: state.map(|state| saved::path(state, &config.issuer)),
            current: ArcSwapOption::empty(),
            flight: Mutex::default(),
        };
        if let Err(error) = keys.load() {
            tracing::warn!(issuer = %keys.issuer, %error, "saved key set not loaded");
        }
        Ok(Arc::new(keys))
    }

    /// The key for a token that names `kid`, and the generation of its set.
    /// Waits for a fetch only when the key is unknown.
    ///
    /// # Errors
    /// [`NoKey`].
    pub async fn key(
        self: &Arc<Self>,
        kid: Option<&str>,
        now: Timestamp,
    ) -> Result<(VettedKey, u64), NoKey> {
        if let Some(found) = self.known(kid) {
            return Ok(found);
        }
        // Without a kid no fetch could make the choice less ambiguous.
        let fetchable = kid.is_some() || self.current.load().is_none();
        if fetchable && let Some(mut running) = self.start(now) {
            // Closing the channel is the signal, and an error to `changed`.
            let _ = running.changed().await;
        }
        self.known(kid).ok_or(match self.current.load().is_some() {
            true => NoKey::Unknown,
            false => NoKey::Unavailable,
        })
    }

    /// The generation of the current set; 0 when there is none.
    pub fn generation(&self) -> u64 {
        self.current.load().as_ref().map_or(0, |set| set.generation)
    }

    /// Fetches the set anew if it is due at `now`: older than the refresh
    /// period, or missing, and the cooldown is over. Waits for the end.
    pub async fn refresh_if_due(self: &Arc<Self>, now: Timestamp) {
        let fresh = self
            .current
            .load()
            .as_ref()
            .is_some_and(|set| within(set.fetched_at, now, self.refresh));
        if fresh {
            return;
        }
        if let Some(mut running) = self.start(now) {
            let _ = running.changed().await;
        }
    }

    /// What there is to say at `now`.
    pub fn status(&self, now: Timestamp) -> KeyStatus {
        let set = self.current.load();
        let age = set.as_ref().map(|set| now.duration_since(set.fetched_at));
        let flight = self.flight.lock().unwrap_or_else(PoisonError::into_inner);
        KeyStatus {
            issuer: self.issuer.clone(),
            keys: set.as_ref().map_or(0, |set| set.keys.len()),
            age,
            stale: age.is_none_or(|age| age > self.refresh.saturating_mul(2)),
            fetches: flight.fetches,
            fault: flight.fault.clone(),
        }
    }

    fn known(&self, kid: Option<&str>) -> Option<(VettedKey, u64)> {
        let set = self.current.load();
        let set = set.as_ref()?;
        let key = match (kid, set.keys.as_slice()) {
            (Some(kid), keys) => keys.iter().find(|key| key.kid() == Some(kid))?,
            // A token may leave the kid out only where there is no choice.
            (None, [only]) => only,
            (None, _) => return None,
        };
        Some((key.clone(), set.generation))
    }

    /// Joins the running fetch, or starts one unless the last began within the
    /// cooldown. The fetch is a task of its own: a caller that hangs up
    /// does not cut it off for the others.
    fn start(self: &Arc<Self>, now: Timestamp) -> Option<watch::Receiver<()>> {
        let mut flight = self.flight.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &flight.running
            && running.has_changed().is_ok()
        {
            return Some(running.clone());
        }
        // Without any set nobody at all can be verified: ask more often.
        let cooldown = match self.current.load().is_some() {
            true => self.cooldown,
            false => self.cooldown.min(FIRST_SET),
        };
        let cooling = flight
            .last_attempt
            .is_some_and(|last| within(last, now, cooldown));
        if cooling {
            return None;
        }
        let (done, running) = watch::channel(());
        flight.last_attempt = Some(now);
        flight.running = Some(running.clone());
        flight.fetches += 1;
        drop(flight);
        let keys = Arc::clone(self);
        tokio::spawn(async move {
            keys.fetch(now).await;
            drop(done);
        });
        Some(running)
    }

    /// One fetch. A failure leaves the current set as it is.
    async fn fetch(&self, now: Timestamp) {
        let fetched = self.fetch_and_install(now).await;
        let result = match &fetched {
            Ok(_) => "ok",
            Err(RefreshError::Fetch(_)) => "failed",
            Err(RefreshError::Set(_)) => "rejected",
        };
        metrics::counter!(names::KEY_FETCHES, "result" => result).increment(1);
        let fault = match fetched {
            Ok(bytes) => self.save(bytes, now).await.err().map(|error| {
                tracing::warn!(issuer = %self.issuer, %error, "key set not saved");
                error.to_string()
            }),
            Err(error) => {
                tracing::warn!(issuer = %self.issuer, %error, "key set not refreshed, the last good one stays");
                Some(error.to_string())
            }
        };
        self.flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fault = fault;
    }

    async fn fetch_and_install(&self, now: Timestamp) -> Result<Vec<u8>, RefreshError> {
        let bytes = self.source.fetch().await?;
        self.install(&bytes, now)?;
        Ok(bytes)
    }

    fn install(&self, bytes: &[u8], fetched_at: Timestamp) -> Result<(), SetError> {
        let vetted = vet::vet(bytes)?;
        for fault in &vetted.left_out {
            tracing::warn!(issuer = %self.issuer, %fault, "key left out");
        }
        let before = self.current.load();
        let generation = match before.as_ref() {
            Some(before) if before.keys == vetted.keys => before.generation,
            Some(before) => before.generation + 1,
            None => 1,
        };
        self.current.store(Some(Arc::new(KeySet {
            keys: vetted.keys,
            fetched_at,
            generation,
        })));
        Ok(())
    }

    async fn save(&self, bytes: Vec<u8>, fetched_at: Timestamp) -> Result<(), SavedError> {
        let Some(path) = self.saved.clone() else {
            return Ok(());
        };
        let issuer = self.issuer.clone();
        let write = move || saved::write(&path, &issuer, fetched_at, bytes);
        tokio::task::spawn_blocking(write)
            .await
            .map_err(|_| SavedError::Interrupted)?
    }

    fn load(&self) -> Result<(), SavedError> {
        let Some(path) = &self.saved else {
            return Ok(());
        };
        if let Some(set) = saved::read(path, &self.issuer)? {
            self.install(set.jwks.as_bytes(), set.fetched_at)?;
        }
        Ok(())
    }
}

/// Whether `now` lies less than `span` after `since`. A clock that was set back
/// is not within: it must not stop the refreshing.
fn within(since: Timestamp, now: Timestamp, span: SignedDuration) -> bool {
    let age = now.duration_since(since);
    !age.is_negative() && age < span
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}
