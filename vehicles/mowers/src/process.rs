//! The processes: the fleet service, and a device gateway. What each runs stands here in one
//! place.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use interlock_guard::{Clock, Guard, Keys, server};
use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::bus::local::LocalBus;
use crate::bus::nats::{self, NatsBus};
use crate::bus::{Bus, BusError};
use crate::commands::{self, Control, ControlError, calming};
use crate::config::{BusPlace, Config};
use crate::device::leases::Leases;
use crate::device::wire::{ConnectionSpec, MowerEntry};
use crate::device::{self, Adapters, DeviceGateway, SimulatedMowers, StartError};
use crate::gateway_link::GatewayLink;
use crate::hierarchy::roster::Roster;
use crate::hierarchy::{listen, outbox, reconcile};
use crate::ops::{self, Told};
use crate::preview::Previews;
use crate::records::{Records, RecordsError};
use crate::service::router::{RouterError, router};
use crate::service::{Fleet, SERVICE};
use crate::{heartbeat, leader};

/// The pause before the bus is asked again after a failure.
const AGAIN: Duration = Duration::from_secs(1);

/// The part of the one replica that tells the shards what they hold.
const LEASES: &str = "leases";

/// Why a process does not start, or does not end in order.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The records.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// What commands keep.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The bus.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The routes are not the surface's.
    #[error("the routes and the surface differ: {0}")]
    Router(#[from] RouterError),
    /// The device gateway.
    #[error(transparent)]
    Device(#[from] StartError),
    /// A device gateway of its own needs a bus that it shares with the service.
    #[error(
        "a device gateway of its own needs `[bus] kind = \"nats\"`; with `kind = \"local\"` it runs in the service"
    )]
    Alone,
}

/// The fleet service, ready to serve.
pub struct Service {
    fleet: Arc<Fleet>,
    router: axum::Router,
    tasks: JoinSet<()>,
    device: Option<DeviceGateway>,
    replica: String,
}

impl Service {
    /// Opens everything and begins what runs beside the requests. It waits neither for the
    /// gateway nor for the bus: stops must work.
    ///
    /// # Errors
    /// [`ProcessError`].
    pub async fn start(
        config: Config,
        keys: Keys,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProcessError> {
        let records = Records::open(&config.records).await?;
        let spool = &config.settings.spool;
        let control = Control::open(&records, spool, &config.replica, clock.now()).await?;
        let bus = open_bus(&config.bus, &format!("fleet {}", config.replica))?;
        let link = GatewayLink::new(config.gateway_ops.clone(), keys.clone(), Arc::clone(&clock));
        if !link.is_configured() {
            tracing::warn!("no gateway is configured: nothing is registered, and no list is shown");
        }
        let fleet = Arc::new(Fleet {
            records,
            bus: Arc::clone(&bus),
            clock: Arc::clone(&clock),
            roster: Roster::default(),
            gateway: link,
            settings: config.settings.clone(),
            outbox: Default::default(),
            control,
            telemetry: Default::default(),
            previews: Previews::new(config.settings.limits),
            drives: Default::default(),
            crash: config.crash.clone(),
        });
        reconcile::load_roster(&fleet).await?;
        let guard = Arc::new(Guard::new(SERVICE, keys, Arc::clone(&clock)));
        let router = router(Arc::clone(&fleet), &guard)?;
        let device = match config.bus {
            BusPlace::Local => Some(start_device(&config, bus, clock).await?),
            BusPlace::Nats { .. } => None,
        };
        Ok(Self {
            replica: config.replica.clone(),
            tasks: begin(&fleet, config),
            fleet,
            router,
            device,
        })
    }

    /// Serves until `ending` becomes true, then ends in order.
    ///
    /// # Errors
    /// What could not be written down; the next life takes this one for broken off.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        ops: Option<TcpListener>,
        ending: watch::Receiver<bool>,
    ) -> Result<(), ProcessError> {
        let told = Told {
            fleet: Some(Arc::clone(&self.fleet)),
            device: self.device.as_ref().map(DeviceGateway::numbers),
        };
        self.tasks.spawn(ops::serve(ops, told, ending.clone()));
        server::serve(listener, self.router, ending).await;
        if let Some(device) = self.device {
            device.end().await;
        }
        self.tasks.shutdown().await;
        commands::close(&self.fleet).await?;
        leader::give_up(&self.fleet.records, LEASES, &self.replica).await?;
        Ok(())
    }
}

/// What runs beside the requests, for as long as the service lives.
fn begin(fleet: &Arc<Fleet>, config: Config) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(heartbeat::run(Arc::clone(fleet)));
    tasks.spawn(reconcile::run(Arc::clone(fleet)));
    tasks.spawn(outbox::run(Arc::clone(fleet)));
    tasks.spawn(listen::make_accounts(Arc::clone(fleet)));
    tasks.spawn(listen::follow(Arc::clone(fleet)));
    tasks.spawn(commands::run(Arc::clone(fleet)));
    let shared = config.bus != BusPlace::Local;
    tasks.spawn(lead(Arc::clone(fleet), config.replica, shared));
    if let Some(account) = config.account {
        tasks.spawn(listen::make_configured(Arc::clone(fleet), account));
    }
    tasks
}

/// Tells the shards what they hold, whenever this replica is the one to do it.
async fn lead(fleet: Arc<Fleet>, replica: String, shared: bool) {
    loop {
        match leader::hold(&fleet.records, LEASES, &replica, fleet.now()).await {
            Ok(true) => {
                // On a bus that others share, whoever led before may have given leases that run.
                let free_from = match shared {
                    true => fleet.now() + fleet.settings.shard_lease,
                    false => fleet.now(),
                };
                tokio::select! {
                    () = tell_shards(&fleet, free_from) => {}
                    () = lost(&fleet, &replica) => tracing::warn!("another replica leads now"),
                }
            }
            Ok(false) => {}
            Err(error) => tracing::warn!("who leads is not known: {error}"),
        }
        tokio::time::sleep(leader::RENEW).await;
    }
}

/// Returns when another replica has taken the part.
async fn lost(fleet: &Fleet, replica: &str) {
    loop {
        tokio::time::sleep(leader::RENEW).await;
        match leader::hold(&fleet.records, LEASES, replica, fleet.now()).await {
            Ok(true) => {}
            Ok(false) => return,
            // Without the records nobody else can take it.
            Err(error) => tracing::debug!("the part is not renewed: {error}"),
        }
    }
}

async fn tell_shards(fleet: &Arc<Fleet>, free_from: Timestamp) {
    let leases = Leases::new(fleet.settings.shard_lease, free_from);
    let mowers = Arc::new(Mowers(Arc::clone(fleet)));
    let bus = Arc::clone(&fleet.bus);
    let clock = Arc::clone(&fleet.clock);
    if let Err(error) = device::roster::serve(bus, mowers, leases, clock).await {
        tracing::warn!("the shards are not heard: {error}");
        tokio::time::sleep(AGAIN).await;
    }
}

/// The roster, as the shards are told it.
struct Mowers(Arc<Fleet>);

#[async_trait]
impl device::roster::Roster for Mowers {
    async fn mowers(&self) -> Option<Vec<MowerEntry>> {
        let fleet = &self.0;
        if !fleet.roster.is_loaded() {
            return None;
        }
        let members = fleet.roster.all().into_iter();
        let entries = members.map(|member| MowerEntry {
            mower_id: member.mower_id,
            account_id: member.account_id.clone(),
            connection: ConnectionSpec {
                kind: member.connection.kind.as_str().to_owned(),
                options: Value::Object(member.connection.options.clone()),
            },
            stop_epoch: fleet.control.epochs.current(member.mower_id),
            calm_epoch: 0,
        });
        Some(entries.collect())
    }

    async fn calmed(&self, page: &mut [MowerEntry]) {
        let mowers: Vec<Uuid> = page.iter().map(|entry| entry.mower_id).collect();
        match calming::epochs(&self.0.records, &mowers).await {
            Ok(epochs) => {
                for entry in page {
                    let epoch = epochs.get(&entry.mower_id).copied();
                    entry.calm_epoch = epoch.unwrap_or_default();
                }
            }
            Err(error) => {
                tracing::warn!("the shards are not told which mowers were calmed: {error}")
            }
        }
    }
}

/// Runs a device gateway of its own until `ending` becomes true.
///
/// # Errors
/// [`ProcessError`].
pub async fn device_gateway(
    config: Config,
    ops: Option<TcpListener>,
    clock: Arc<dyn Clock>,
    serving: impl FnOnce(&str),
    mut ending: watch::Receiver<bool>,
) -> Result<(), ProcessError> {
    if config.bus == BusPlace::Local {
        return Err(ProcessError::Alone);
    }
    let bus = open_bus(&config.bus, &format!("shard {}", config.shard))?;
    let gateway = start_device(&config, bus, clock).await?;
    let told = Told {
        fleet: None,
        device: Some(gateway.numbers()),
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(ops::serve(ops, told, ending.clone()));
    serving(&config.shard);
    if ending.wait_for(|ending| *ending).await.is_err() {
        tracing::debug!("nobody is left to end the device gateway but itself");
    }
    gateway.end().await;
    Ok(())
}

async fn start_device(
    config: &Config,
    bus: Arc<dyn Bus>,
    clock: Arc<dyn Clock>,
) -> Result<DeviceGateway, ProcessError> {
    let simulated = SimulatedMowers::new(config.simulator.clone(), Arc::clone(&clock));
    let adapters = Adapters::default().with("simulated", Arc::new(simulated));
    let state = shard_state(&config.state, &config.shard);
    let mut settings = device::Config::new(&config.shard, state, adapters);
    settings.times.planning = config.settings.timeouts.mower;
    Ok(DeviceGateway::start(settings, bus, clock).await?)
}

fn shard_state(folder: &Path, shard: &str) -> std::path::PathBuf {
    folder.join(shard)
}

fn open_bus(place: &BusPlace, name: &str) -> Result<Arc<dyn Bus>, BusError> {
    Ok(match place {
        BusPlace::Local => Arc::new(LocalBus::new()),
        BusPlace::Nats { url, replicas } => Arc::new(NatsBus::start(nats::Settings {
            url: url.clone(),
            name: format!("interlock-mowers {name}"),
            replicas: *replicas,
        })?),
    })
}
