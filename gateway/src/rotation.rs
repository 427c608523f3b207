//! Service keys rotate without a restart: key files are read again and again,
//! and a set that parses replaces the one before.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tracing::{error, info};

use crate::config::service::{KeySource, ServiceConfig};
use crate::grant::{Keyring, Keyrings};

/// How often key files are read. Rotation overlaps by days, not by seconds.
const EVERY: Duration = Duration::from_secs(2);

/// The keyrings as read at start.
pub fn keyrings(services: &[ServiceConfig]) -> Keyrings {
    let rings = services
        .iter()
        .map(|service| (service.name.clone(), service.keys.clone()))
        .collect();
    Arc::new(ArcSwap::from_pointee(rings))
}

/// Watches the key files for ever. Keys from the environment cannot change.
pub async fn watch(rings: Keyrings, services: Vec<ServiceConfig>) {
    let mut known: HashMap<String, String> = HashMap::new();
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for service in &services {
            look(&rings, service, &mut known);
        }
    }
}

/// Reads one service's key file. The text last seen is remembered, so that a
/// bad file is complained of once.
fn look(rings: &Keyrings, service: &ServiceConfig, known: &mut HashMap<String, String>) {
    let KeySource::File(path) = &service.key_source else {
        return;
    };
    // A file that is being replaced may be missing for a moment.
    let Ok(text) = std::fs::read_to_string(path) else {
        return;
    };
    let first = !known.contains_key(&service.name);
    if known.get(&service.name) == Some(&text) {
        return;
    }
    let parsed = Keyring::parse(&text);
    known.insert(service.name.clone(), text);
    match parsed {
        // What was read at start is in force already.
        Ok(_) if first => {}
        Ok(ring) => {
            let mut all = HashMap::clone(&rings.load());
            all.insert(service.name.clone(), ring);
            rings.store(Arc::new(all));
            info!(service = service.name, "service keys rotated");
        }
        Err(cause) => {
            error!(service = service.name, %cause, "the key file is refused; the old keys stay");
        }
    }
}

#[cfg(test)]
mod tests;
