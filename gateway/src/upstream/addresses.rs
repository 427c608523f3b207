//! The addresses of one service. One is in use, and stays in use until it
//! fails; then the next one is.
//!
//! All addresses of a service are replicas that can stand in for each other.
//! An address that failed is passed over for [`REST`], unless every other one
//! failed too. Whether a call may be made again at another address is not
//! decided here.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use http::HeaderValue;
use http::uri::Authority;
use metrics::{Counter, counter};
use tokio::time::Instant;
use tracing::warn;

use crate::telemetry::names;
use crate::upstream::pool::Pool;
use crate::upstream::{Endpoint, EndpointError, Lane, UpstreamLimits};

/// How long an address that failed is passed over.
const REST: Duration = Duration::from_secs(3);

/// One address, with the connections to it.
pub(super) struct Address {
    /// Its place in the list.
    place: usize,
    pub(super) authority: String,
    pub(super) host: HeaderValue,
    normal: Arc<Pool>,
    stop: Arc<Pool>,
    /// Until when it is passed over, in milliseconds of [`Addresses::began`].
    rests_until: AtomicU64,
}

/// The addresses of one service, at least one.
pub(super) struct Addresses {
    service: String,
    first: Address,
    others: Vec<Address>,
    in_use: AtomicUsize,
    began: Instant,
    switches: Counter,
}

impl Addresses {
    pub(super) fn new(endpoint: &Endpoint, limits: &UpstreamLimits) -> Result<Self, EndpointError> {
        let service = &endpoint.service;
        let mut all = Vec::with_capacity(endpoint.authorities.len());
        for (place, authority) in endpoint.authorities.iter().enumerate() {
            all.push(Address::new(service, authority, place, limits)?);
        }
        let mut all = all.into_iter();
        let first = all.next().ok_or_else(|| EndpointError::NoAddress {
            service: service.clone(),
        })?;
        Ok(Self {
            service: service.clone(),
            first,
            others: all.collect(),
            in_use: AtomicUsize::new(0),
            began: Instant::now(),
            switches: counter!(names::UPSTREAM_SWITCHES, "service" => service.clone()),
        })
    }

    pub(super) fn count(&self) -> usize {
        self.others.len() + 1
    }

    /// Whether there is another one to turn to.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// The address to call. Costs one load of an atomic.
    pub(super) fn in_use(&self) -> &Address {
        match self.in_use.load(Ordering::Relaxed).checked_sub(1) {
            None => &self.first,
            Some(place) => self.others.get(place).unwrap_or(&self.first),
        }
    }

    /// The others in the order to turn to them: those that did not fail
    /// lately, then the rest, the one that failed first before all.
    pub(super) fn after(&self, address: &Address, now: Instant) -> Vec<&Address> {
        let all = || iter::once(&self.first).chain(&self.others);
        let later = all().skip(address.place + 1);
        let mut others: Vec<&Address> = later.chain(all().take(address.place)).collect();
        let now = self.millis(now);
        others.sort_by_key(|other| match other.rests_until.load(Ordering::Relaxed) {
            until if until > now => until,
            _ => 0,
        });
        others
    }

    /// Notes that an address made no connection or left a call without any
    /// answer. Whoever calls after this calls another one.
    pub(super) fn failed(&self, address: &Address, now: Instant) {
        let until = self.millis(now + REST);
        address.rests_until.store(until, Ordering::Relaxed);
        let Some(next) = self.after(address, now).first().copied() else {
            return;
        };
        // Of many calls that fail at once, one turns to the next address; a
        // call that fails late turns nobody away from the address in use now.
        let turned = self.in_use.compare_exchange(
            address.place,
            next.place,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if turned.is_ok() {
            self.switches.increment(1);
            warn!(
                service = self.service,
                from = address.authority,
                to = next.authority,
                "an address of a service failed; another one is used"
            );
        }
    }

    /// Every address, in the order of the configuration.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &Address> {
        iter::once(&self.first).chain(&self.others)
    }

    fn millis(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.began);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Address {
    fn new(
        service: &str,
        authority: &str,
        place: usize,
        limits: &UpstreamLimits,
    ) -> Result<Self, EndpointError> {
        let bad = || EndpointError::Authority {
            service: service.to_owned(),
            authority: authority.to_owned(),
        };
        let parsed: Authority = authority.parse().map_err(|_| bad())?;
        if parsed.port_u16().is_none_or(|port| port == 0) || parsed.as_str().contains('@') {
            return Err(bad());
        }
        Ok(Self {
            place,
            authority: authority.to_owned(),
            host: HeaderValue::from_str(parsed.as_str()).map_err(|_| bad())?,
            normal: Arc::new(Pool::new(limits.normal_concurrency, limits)),
            stop: Arc::new(Pool::new(limits.stop_concurrency, limits)),
            rests_until: AtomicU64::new(0),
        })
    }

    pub(super) fn pool(&self, lane: Lane) -> &Arc<Pool> {
        match lane {
            Lane::Normal => &self.normal,
            Lane::Stop => &self.stop,
        }
    }
}

#[cfg(test)]
mod tests;
