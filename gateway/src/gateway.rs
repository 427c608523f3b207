//! Everything a request can reach, put together once at start.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::admission::Admission;
use crate::audit::Audit;
use crate::authn::Authenticator;
use crate::authorize::Authorizer;
use crate::clock::Clock;
use crate::crash::CrashAt;
use crate::detached::Detached;
use crate::edge::EdgeRules;
use crate::grant::Mint;
use crate::plans::Randomness;
use crate::plans::memory::PlanMemory;
use crate::policy::Policies;
use crate::problem::{Kind, Problem};
use crate::registry::Registry;
use crate::stop::StopLane;
use crate::store::Store;
use crate::telemetry::Requests;
use crate::upstream::{Timeouts, Upstreams};

/// One gateway instance.
pub struct Gateway {
    /// A name of its own for every start.
    pub instance: String,
    /// The present.
    pub clock: Arc<dyn Clock>,
    /// Where approval codes come from.
    pub random: Arc<dyn Randomness>,
    /// What the public listener accepts.
    pub edge: EdgeRules,
    /// Who calls.
    pub authn: Arc<Authenticator>,
    /// The bundle in force.
    pub policies: Arc<Policies>,
    /// The PDP.
    pub authorizer: Authorizer,
    /// Which objects exist, and where.
    pub registry: Arc<Registry>,
    /// Plans, keys and the shared registry.
    pub store: Store,
    /// Plans seen lately, for reads while the store is gone.
    pub memory: PlanMemory,
    /// The services behind this gateway.
    pub services: HashMap<String, Service>,
    /// Connections to them.
    pub upstreams: Arc<Upstreams>,
    /// How long calls to them may take.
    pub timeouts: Arc<Timeouts>,
    /// What they trust.
    pub mint: Arc<Mint>,
    /// Decision records.
    pub audit: Arc<Audit>,
    /// The stop lane.
    pub stop: Arc<StopLane>,
    /// Work that outlives its caller.
    pub detached: Detached,
    /// How many requests may be under way.
    pub admission: Admission,
    /// Bounds of a request.
    pub limits: Limits,
    /// What is counted of every request.
    pub requests: Requests,
    /// Where a test ends this process.
    pub crash: CrashAt,
}

/// A service behind the gateway.
#[derive(Clone, Debug)]
pub struct Service {
    /// Id of the one object that rows without an id in their path are about.
    pub object: String,
}

/// Bounds of a request and of a caller.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a body may take to arrive.
    pub body_read: Duration,
    /// Keys one caller may keep.
    pub keys_per_caller: u32,
    /// Plans one caller may have open.
    pub plans_per_caller: u32,
    /// How long a call is believed to be at work beyond its own deadline.
    pub lease_margin: SignedDuration,
    /// After how long without a heartbeat a service's motion is refused.
    pub stale_after: SignedDuration,
    /// The largest answer of a service that is read whole.
    pub answer_bytes: usize,
}

impl Gateway {
    /// Refuses motion through a service that has not been heard of lately: its
    /// objects may no longer be where the registry says.
    ///
    /// # Errors
    /// 503 `registry-stale`.
    pub fn heard_of(&self, service: &str, now: Timestamp) -> Result<(), Problem> {
        let age = self.registry.age(service, now);
        if age.is_some_and(|age| age <= self.limits.stale_after) {
            return Ok(());
        }
        let since = age.map_or_else(
            || "never".to_owned(),
            |age| format!("{} s ago", age.as_secs()),
        );
        let detail = format!("the service `{service}` was last heard of {since}");
        Err(Problem::new(Kind::RegistryStale, detail))
    }
}
