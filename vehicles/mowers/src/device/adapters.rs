//! Which adapter talks to a mower: chosen by the kind of its connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use super::wire::ConnectionSpec;
use crate::connection::{Connected, Connection, Sent};
use crate::contract::{
    Activity, Capabilities, Command, Drive, Fix, InactiveReason, Map, MowerState, Path, PathError,
    PathErrorCode, Point, Start, StopSemantics,
    state::{Emergency, Link, Pose},
};

/// Makes connections of one kind.
pub trait Adapter: Send + Sync {
    /// Begins to connect a mower and never waits for it; a mower that is not
    /// there yet is an offline mower.
    ///
    /// # Errors
    /// The options are not the adapter's.
    fn connect(&self, mower_id: Uuid, options: &Value) -> Result<Connected, AdapterError>;
}

/// Why a mower cannot be connected at all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AdapterError {
    /// No adapter for the kind.
    #[error("no adapter for connections of kind `{kind}`; this device gateway has: {known}")]
    UnknownKind {
        /// The kind of the mower's row.
        kind: String,
        /// What there is.
        known: String,
    },
    /// The adapter does not accept the options.
    #[error("connection options: {0}")]
    Options(String),
}

/// The adapters of a device gateway by kind.
#[derive(Clone, Default)]
pub struct Adapters {
    by_kind: BTreeMap<String, Arc<dyn Adapter>>,
}

impl Adapters {
    /// Adds the adapter for a kind, such as `simulated`.
    #[must_use]
    pub fn with(mut self, kind: &str, adapter: Arc<dyn Adapter>) -> Self {
        self.by_kind.insert(kind.to_owned(), adapter);
        self
    }

    /// Connects a mower.
    ///
    /// # Errors
    /// No adapter of this kind, or it does not accept the options.
    pub fn connect(
        &self,
        mower_id: Uuid,
        spec: &ConnectionSpec,
    ) -> Result<Connected, AdapterError> {
        match self.by_kind.get(&spec.kind) {
            Some(adapter) => adapter.connect(mower_id, &spec.options),
            None => Err(AdapterError::UnknownKind {
                kind: spec.kind.clone(),
                known: self.by_kind.keys().cloned().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

/// A mower this device gateway holds and cannot talk to: it does nothing and
/// says so to everything.
pub(crate) struct Absent {
    why: String,
    state: watch::Sender<Arc<MowerState>>,
}

impl Absent {
    pub(crate) fn connected(mower_id: Uuid, why: String, at: Timestamp) -> Connected {
        // Nobody will ever answer: the sender is dropped, the answers end.
        let (_, answers) = mpsc::unbounded_channel();
        Connected {
            connection: Arc::new(Absent {
                why,
                state: watch::Sender::new(Arc::new(offline(mower_id, at))),
            }),
            answers,
        }
    }
}

#[async_trait]
impl Connection for Absent {
    fn absent(&self) -> Option<&str> {
        Some(&self.why)
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        Arc::new(Capabilities {
            kinds: Vec::new(),
            path_preview: false,
            areas: false,
            patterns: false,
            blade_height_mm: (0, 0),
            speed_mps: (0.0, 0.0),
            spacing_cm: (0.0, 0.0),
            stop_semantics: StopSemantics::MotorsOff,
        })
    }

    fn map(&self) -> Arc<Map> {
        Arc::new(Map {
            revision: 0,
            dock: Point { x: 0.0, y: 0.0 },
            areas: Vec::new(),
        })
    }

    fn state(&self) -> watch::Receiver<Arc<MowerState>> {
        self.state.subscribe()
    }

    async fn send(&self, _: u64, _: Uuid, _: &Command) -> Sent {
        Sent::NotSent(self.why.clone())
    }

    async fn stop(&self, _: Uuid, _: Option<&str>) -> Sent {
        Sent::NotSent(self.why.clone())
    }

    fn drive(&self, _: u64, _: &Drive) {}

    fn drive_over(&self, _: u64, _: Uuid) {}

    async fn plan(&self, _: &Start) -> Result<Path, PathError> {
        Err(PathError {
            code: PathErrorCode::Unavailable,
            detail: self.why.clone(),
        })
    }
}

fn offline(mower_id: Uuid, at: Timestamp) -> MowerState {
    MowerState {
        mower_id,
        activity: Activity::Offline,
        ha_activity: Activity::Offline.ha().to_owned(),
        inactive_reason: InactiveReason::None,
        position: Pose {
            x: 0.0,
            y: 0.0,
            heading: 0.0,
        },
        position_accuracy_m: 1.0,
        fix: Fix::None,
        battery_percent: 0.0,
        battery_v: 0.0,
        charging: false,
        remaining_charge_s: None,
        speed_mps: 0.0,
        blade_on: false,
        blade_rpm: 0,
        blade_height_mm: 0,
        job: None,
        emergency: Emergency {
            active: false,
            latched: false,
            reason: None,
            since: None,
        },
        error: None,
        link: Link {
            online: false,
            rssi_dbm: None,
            rtt_ms: None,
            last_seen: None,
        },
        seq: 0,
        at,
    }
}
