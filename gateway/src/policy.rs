//! The active bundle and its reload: polled, judged aside, swapped whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use interlock_policies::{Bundle, Diagnostics, Reload, Reloader};
use jiff::Timestamp;
use serde::Serialize;
use tracing::{error, info, warn};

use crate::clock::Clock;
use crate::durable;
use crate::telemetry;

/// The last good bundle, in the state folder.
const COPY: &str = "bundle.json";

/// The bundle that decides, and what became of the last edit.
pub struct Policies {
    active: ArcSwap<Active>,
    refused: ArcSwapOption<Refusal>,
    minimal: Bundle,
    /// Where the last good bundle is kept for the next start.
    copy: PathBuf,
    reloader: Mutex<Reloader>,
}

/// A bundle in force.
pub struct Active {
    /// The bundle.
    pub bundle: Bundle,
    /// Its hash.
    pub hash: Arc<str>,
    /// Which bundle it is of those this process took over, from 1.
    pub number: u64,
    /// Since when it decides.
    pub since: Timestamp,
}

/// An edit that was not taken over.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// When it was refused.
    pub at: Timestamp,
    /// What is wrong, with file and line.
    pub diagnostics: Diagnostics,
}

impl Policies {
    /// Loads the bundle in `directory`. When it is refused, the copy of the
    /// last good one in the folder `state` decides instead, as it would have
    /// after a reload, so that a restart on a bad edit takes no stop away.
    ///
    /// # Errors
    /// Everything that is wrong with the bundle, when there is no copy that
    /// passes every check: without a valid bundle the gateway does not start.
    pub fn open(directory: &Path, state: &Path, now: Timestamp) -> Result<Self, Diagnostics> {
        let copy = state.join(COPY);
        let (bundle, refused) = match Bundle::load(directory) {
            Ok(bundle) => {
                keep(&copy, &bundle);
                (bundle, None)
            }
            Err(diagnostics) => {
                let Some(bundle) = kept(&copy) else {
                    return Err(diagnostics);
                };
                let hash = bundle.hash();
                error!(%diagnostics, policy.hash = hash, alarm = "policy-refused",
                    "policy bundle refused at the start; the last good one decides");
                let at = now;
                (bundle, Some(Arc::new(Refusal { at, diagnostics })))
            }
        };
        let reloader = Reloader::new(directory, Some(bundle.hash()));
        Ok(Policies {
            active: ArcSwap::from_pointee(Active::new(bundle, 1, now)),
            refused: ArcSwapOption::new(refused),
            minimal: Bundle::minimal()?,
            copy,
            reloader: Mutex::new(reloader),
        })
    }

    /// The bundle in force. A request keeps the one it began with.
    pub fn active(&self) -> Arc<Active> {
        self.active.load_full()
    }

    /// The built-in bundle that decides a stop when the active one is broken:
    /// view and tenant guard only.
    pub fn minimal(&self) -> &Bundle {
        &self.minimal
    }

    /// The last refused edit, until a good one follows.
    pub fn refused(&self) -> Option<Arc<Refusal>> {
        self.refused.load_full()
    }

    /// Looks at the directory once and takes over what is new and good. Blocks
    /// for as long as a bundle takes to load: call it off the request path.
    pub fn poll(&self, now: Timestamp) {
        let mut reloader = self.reloader.lock().unwrap_or_else(PoisonError::into_inner);
        match reloader.look() {
            Reload::Unchanged => {}
            Reload::Loaded(bundle) => {
                info!(policy.hash = bundle.hash(), "policy bundle taken over");
                metrics::counter!(telemetry::names::POLICY_RELOADS, "result" => "loaded")
                    .increment(1);
                keep(&self.copy, &bundle);
                // Nobody else polls meanwhile: the reloader is held.
                let number = self.active.load().number.saturating_add(1);
                self.active
                    .store(Arc::new(Active::new(bundle, number, now)));
                self.refused.store(None);
            }
            Reload::Refused(diagnostics) => {
                error!(%diagnostics, "policy bundle refused; the old one stays");
                metrics::counter!(telemetry::names::POLICY_RELOADS, "result" => "refused")
                    .increment(1);
                let refusal = Refusal {
                    at: now,
                    diagnostics,
                };
                self.refused.store(Some(Arc::new(refusal)));
            }
        }
    }
}

/// Keeps a good bundle for the next start. That it could not be kept changes
/// nothing for this one.
fn keep(copy: &Path, bundle: &Bundle) {
    if let Err(cause) = durable::replace(copy, bundle.archive().as_bytes()) {
        warn!(%cause, path = %copy.display(), "the policy bundle could not be kept");
    }
}

/// The bundle that was kept, if it passes every check of this program.
fn kept(copy: &Path) -> Option<Bundle> {
    let text = fs::read_to_string(copy).ok()?;
    let bundle = Bundle::from_archive(&text);
    bundle
        .inspect_err(|diagnostics| warn!(%diagnostics, "the kept policy bundle is refused too"))
        .ok()
}

impl Active {
    fn new(bundle: Bundle, number: u64, since: Timestamp) -> Self {
        Active {
            hash: bundle.hash().into(),
            bundle,
            number,
            since,
        }
    }
}

/// Polls for ever.
pub async fn watch(policies: Arc<Policies>, clock: Arc<dyn Clock>, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let (policies, now) = (Arc::clone(&policies), clock.now());
        if let Err(cause) = tokio::task::spawn_blocking(move || policies.poll(now)).await {
            error!(%cause, "the policy poll ended early");
        }
    }
}
