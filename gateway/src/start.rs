//! Puts the process together: what the configuration says becomes a gateway
//! whose listeners are bound.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http::Uri;
use interlock_policies::{Bundle, Diagnostics};
use jiff::SignedDuration;
use thiserror::Error;
use tokio::net::TcpListener;
use tracing::{info, warn};
use uuid::Uuid;

use crate::admission::Admission;
use crate::audit::{Audit, AuditError, AuditSettings};
use crate::authn::Authenticator;
use crate::authn::discovery::FetchError;
use crate::authorize::Authorizer;
use crate::clock::{Clock, SystemClock};
use crate::config::service::ServiceConfig;
use crate::config::{Config, StoreConfig};
use crate::crash::{CRASH_VARIABLE, CrashAt, UnknownPoint};
use crate::detached::Detached;
use crate::edge::EdgeRules;
use crate::gateway::{Gateway, Limits, Service};
use crate::grant::Mint;
use crate::ops::{Evaluations, Feed, Ops};
use crate::plans::SystemRandomness;
use crate::plans::memory::PlanMemory;
use crate::policy::Policies;
use crate::registry::{Registry, load};
use crate::rotation;
use crate::serve::{Running, SNAPSHOT};
use crate::server::ServerLimits;
use crate::stop::StopLane;
use crate::store::{EmbeddedConfig, RedisConfig, Store, StoreError};
use crate::telemetry::{Metrics, Requests};
use crate::upstream::{Endpoint, EndpointError, Timeouts, UpstreamLimits, Upstreams};

/// After how long without a heartbeat a service's motion is refused.
const STALE_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// Why the gateway does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The policy bundle is not valid.
    #[error("the policy bundle in `{directory}` is refused:\n{diagnostics}")]
    Policies {
        /// Where it lies.
        directory: String,
        /// What is wrong.
        diagnostics: Diagnostics,
    },
    /// The crash variable names no point.
    #[error(transparent)]
    CrashPoint(#[from] UnknownPoint),
    /// The store refuses us.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The audit log cannot be opened.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// An issuer's addresses are not acceptable.
    #[error(transparent)]
    Issuer(#[from] FetchError),
    /// A service's address is not acceptable.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A folder or a file in it cannot be made.
    #[error("`{path}` cannot be written: {cause}")]
    Folder {
        /// The folder or file.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A listener cannot be bound.
    #[error("cannot listen on {address}: {cause}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        cause: std::io::Error,
    },
}

/// Loads the bundle in `directory` as a start would, and gives its hash. No copy
/// of an earlier one stands in for it here.
///
/// # Errors
/// [`StartError::Policies`] with everything that is wrong.
pub fn check_policies(directory: &Path) -> Result<String, StartError> {
    let bundle = Bundle::load(directory).map_err(|told| refused(directory, told))?;
    Ok(bundle.hash().to_owned())
}

fn refused(directory: &Path, diagnostics: Diagnostics) -> StartError {
    StartError::Policies {
        directory: directory.display().to_string(),
        diagnostics,
    }
}

/// Builds the gateway and binds its listeners. Nothing is served yet.
///
/// # Errors
/// Everything that keeps it from starting. A store or an identity provider
/// that does not answer does not: stops are served without them.
pub async fn build(config: &Config, metrics: Metrics) -> Result<Running, StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    for folder in [&config.state, &config.audit] {
        make(folder)?;
    }
    let policies = Policies::open(&config.policies.path, &config.state, clock.now());
    let policies = policies.map_err(|told| refused(&config.policies.path, told))?;
    let policies = Arc::new(policies);
    let crash = CrashAt::parse(std::env::var(CRASH_VARIABLE).ok().as_deref())?;
    let store = open_store(&config.store).await?;
    let public = bind(config.listen.address).await?;
    let private = bind(config.listen.ops).await?;
    let name = name(&config.state)?;
    let settings = AuditSettings::new(&config.audit, name.clone());
    let audit = Arc::new(Audit::open(&settings, Arc::clone(&clock))?);
    let registry = Arc::new(Registry::default());
    recall(&registry, &config.state);
    let upstreams = Arc::new(upstreams(config)?);
    let rings = rotation::keyrings(&config.services);
    let mint = Arc::new(Mint::new(Arc::clone(&rings)));
    let timeouts = Arc::new(Timeouts::new(&config.upstream.timeouts));
    let gateway = Arc::new(Gateway {
        // Leases are of one start: a restarted gateway is another owner.
        instance: format!("{name}-{}", Uuid::new_v4().simple()),
        edge: edge_rules(config, &public)?,
        authn: Arc::new(Authenticator::from_config(
            &config.auth,
            Some(&config.state),
        )?),
        authorizer: Authorizer::new(Arc::clone(&policies)),
        policies,
        registry,
        store,
        memory: PlanMemory::default(),
        services: services(&config.services),
        stop: Arc::new(StopLane {
            upstreams: Arc::clone(&upstreams),
            mint: Arc::clone(&mint),
            audit: Arc::clone(&audit),
            timeouts: Arc::clone(&timeouts),
            crash,
            clock: Arc::clone(&clock),
        }),
        timeouts,
        upstreams,
        mint,
        audit,
        detached: Detached::default(),
        admission: Admission::new(config.limits.max_concurrent as usize),
        requests: Requests::default(),
        limits: limits(config),
        crash,
        random: Arc::new(SystemRandomness),
        clock,
    });
    let ops = Arc::new(Ops {
        gateway: Arc::clone(&gateway),
        metrics,
        feed: Feed::new(Arc::clone(&rings)),
        evaluations: Evaluations::default(),
    });
    Ok(Running {
        gateway,
        ops,
        rings,
        public,
        private,
        limits: ServerLimits {
            max_connections: config.limits.connections as usize,
            head_timeout: config.limits.header_read_timeout,
            body_stall: config.limits.body_read_timeout,
            ..ServerLimits::default()
        },
    })
}

fn make(folder: &Path) -> Result<(), StartError> {
    std::fs::create_dir_all(folder).map_err(|cause| StartError::Folder {
        path: folder.display().to_string(),
        cause,
    })
}

/// This gateway's lasting name, made at its first start.
fn name(state: &Path) -> Result<String, StartError> {
    let path = state.join("instance");
    let failed = |cause| StartError::Folder {
        path: path.display().to_string(),
        cause,
    };
    match std::fs::read_to_string(&path) {
        Ok(name) if !name.trim().is_empty() => Ok(name.trim().to_owned()),
        Ok(_) | Err(_) => {
            let id = Uuid::new_v4().simple().to_string();
            let name = format!("gateway-{}", id.get(..8).unwrap_or(&id));
            std::fs::write(&path, &name).map_err(failed)?;
            Ok(name)
        }
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address)
        .await
        .map_err(|cause| StartError::Bind { address, cause })
}

async fn open_store(config: &StoreConfig) -> Result<Store, StoreError> {
    match config {
        StoreConfig::Embedded { path } => Store::embedded(EmbeddedConfig::at(path)).await,
        StoreConfig::Redis {
            url,
            prefix,
            timeout,
            pool,
        } => {
            Store::redis(RedisConfig {
                url: url.expose().clone(),
                prefix: prefix.clone(),
                timeout: *timeout,
                in_flight: *pool as usize,
            })
            .await
        }
    }
}

fn recall(registry: &Registry, state: &Path) {
    match load(registry, &state.join(SNAPSHOT)) {
        Ok(objects) => info!(objects, "registry snapshot read"),
        Err(cause) => warn!(%cause, "the registry starts empty"),
    }
}

fn edge_rules(config: &Config, public: &TcpListener) -> Result<EdgeRules, StartError> {
    let address = config.listen.address;
    let port = public
        .local_addr()
        .map_err(|cause| StartError::Bind { address, cause })?
        .port();
    Ok(EdgeRules::new(config.auth.mode, &config.listen, port))
}

fn upstreams(config: &Config) -> Result<Upstreams, EndpointError> {
    let endpoints: Vec<Endpoint> = config
        .services
        .iter()
        .map(|service| Endpoint {
            service: service.name.clone(),
            authorities: service
                .urls
                .iter()
                .filter_map(Uri::authority)
                .map(ToString::to_string)
                .collect(),
        })
        .collect();
    let limits = UpstreamLimits {
        max_idle: config.upstream.idle_connections as usize,
        ..UpstreamLimits::default()
    };
    Upstreams::new(&endpoints, &limits)
}

fn services(services: &[ServiceConfig]) -> HashMap<String, Service> {
    services
        .iter()
        .map(|service| {
            let object = service.object.clone();
            (service.name.clone(), Service { object })
        })
        .collect()
}

fn limits(config: &Config) -> Limits {
    Limits {
        body_read: config.limits.body_read_timeout,
        keys_per_caller: config.limits.keys_per_caller,
        plans_per_caller: config.limits.plans_per_caller,
        lease_margin: SignedDuration::try_from(config.limits.lease_margin)
            .unwrap_or(SignedDuration::MAX),
        stale_after: STALE_AFTER,
        answer_bytes: config.upstream.answer_limit as usize,
    }
}

/// The environment of this process.
pub fn environment() -> BTreeMap<String, String> {
    std::env::vars().collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::check_policies;

    #[test]
    fn a_bundle_is_checked_without_a_start() {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../policies/bundle");
        assert!(
            !check_policies(Path::new(shipped))
                .expect("a bundle")
                .is_empty()
        );
        let empty = tempfile::tempdir().expect("a folder");
        let told = check_policies(empty.path())
            .expect_err("no bundle")
            .to_string();
        let folder = empty.path().display().to_string();
        assert!(told.contains(&folder) && told.contains("refused"), "{told}");
    }
}
