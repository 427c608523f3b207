//! `[store]`: where keys and plans are kept.

use std::path::PathBuf;
use std::time::Duration;

use super::secret::Secret;
use super::section::{Section, millis};
use super::service::secret;

/// Which store, and how it is reached.
#[derive(Clone, Debug)]
pub enum StoreConfig {
    /// One SQLite file.
    Embedded {
        /// The file.
        path: PathBuf,
    },
    /// One Redis, shared by several gateways.
    Redis {
        /// `redis://` address, with its password where it has one.
        url: Secret<String>,
        /// What every key starts with.
        prefix: String,
        /// How long one call may take.
        timeout: Duration,
        /// How many connections are held.
        pool: u32,
    },
}

pub(super) fn read(mut section: Section<'_>) -> Option<StoreConfig> {
    let kind = section.required("kind", "`\"embedded\"` or `\"redis\"`");
    let store = match kind.as_deref() {
        Some("embedded") => section
            .path("path", "the SQLite file")
            .map(|path| StoreConfig::Embedded { path }),
        Some("redis") => redis(&mut section),
        Some(other) => {
            section.fault("kind", format!("`{other}` is not `embedded` or `redis`"));
            None
        }
        None => None,
    };
    // With the kind in doubt, its keys are not unknown.
    if store.is_some() {
        section.finish();
    }
    store
}

fn redis(section: &mut Section<'_>) -> Option<StoreConfig> {
    let plain = section.text("url");
    let url = match plain {
        Some(url) if url.contains('@') => {
            section.fault(
                "url",
                "credentials do not belong in the file; name a variable with `url_env` or a file with `url_file`",
            );
            None
        }
        Some(url) => Some(url),
        None => secret(section, "url_env", "url_file").map(|(_, url)| url),
    };
    let url = url.filter(|url| {
        let redis = ["redis://", "rediss://", "redis+unix://", "unix://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        if !redis {
            section.fault("url", "a `redis://host:port` address is expected");
        }
        redis
    });
    let prefix = section
        .text("prefix")
        .unwrap_or_else(|| "interlock".to_owned());
    if prefix.contains(['{', '}']) {
        section.fault(
            "prefix",
            "braces would change the hash slot; leave them out",
        );
    }
    Some(StoreConfig::Redis {
        timeout: section.millis("timeout_ms", millis(500), 1..=10_000),
        pool: section.number("pool", 256, 1..=1_024),
        url: Secret::new(url?),
        prefix,
    })
}
