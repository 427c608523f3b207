//! Values of the contract, as plain as can be.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use super::{ACCOUNT, noon};
use crate::contract::state::{Emergency, Link, Pose};
use crate::contract::{
    Activity, Area, Capabilities, Command, CommandKind, Envelope, Fix, InactiveReason, Issuer,
    IssuerKind, Map, MowerState, Path, Point, Priority, Start, StopSemantics,
};
use crate::device::wire::{ConnectionSpec, MowerEntry};

pub(crate) fn entry(mower_id: Uuid, kind: &str) -> MowerEntry {
    MowerEntry {
        mower_id,
        account_id: ACCOUNT.to_owned(),
        connection: ConnectionSpec {
            kind: kind.to_owned(),
            options: json!({}),
        },
        stop_epoch: 0,
        calm_epoch: 0,
    }
}

pub(crate) fn envelope(mower_id: Uuid, command: Command, now: Timestamp) -> Envelope {
    let priority = Priority::of(command.kind());
    let life = match priority {
        Priority::Emergency => 10,
        Priority::Normal => 30,
    };
    Envelope {
        command_id: Uuid::now_v7(),
        mower_id,
        account_id: ACCOUNT.to_owned(),
        issued_by: Issuer {
            kind: IssuerKind::User,
            id: "issuer anna".to_owned(),
            display: "anna".to_owned(),
            on_behalf_of: None,
        },
        issued_at: now,
        expires_at: now + SignedDuration::from_secs(life),
        priority,
        correlation_id: Uuid::now_v7(),
        stop_epoch: 0,
        calm_epoch: 0,
        command,
    }
}

pub(crate) fn stop_now() -> Command {
    Command::EmergencyStop { reason: None }
}

pub(crate) fn start_mow() -> Start {
    Start {
        area_ids: vec![area()],
        pattern: None,
        blade_height_mm: None,
        speed_mps: None,
        duration_min: None,
        expected_path_hash: None,
    }
}

pub(crate) fn area() -> Uuid {
    Uuid::from_u128(0x100)
}

pub(crate) fn map() -> Map {
    Map {
        revision: 1,
        dock: Point { x: 0.0, y: 0.0 },
        areas: vec![Area {
            id: area(),
            name: "lawn".to_owned(),
            outline: vec![
                Point { x: 0.0, y: 0.0 },
                Point { x: 9.0, y: 0.0 },
                Point { x: 9.0, y: 9.0 },
            ],
            obstacles: Vec::new(),
        }],
    }
}

pub(crate) fn capabilities() -> Capabilities {
    Capabilities {
        kinds: CommandKind::ALL.to_vec(),
        path_preview: true,
        areas: true,
        patterns: true,
        blade_height_mm: (25, 70),
        speed_mps: (0.2, 0.6),
        spacing_cm: (20.0, 35.0),
        stop_semantics: StopSemantics::MotorsOff,
    }
}

pub(crate) fn path(hash: &str) -> Path {
    Path {
        legs: Vec::new(),
        points_total: 0,
        path_hash: hash.to_owned(),
        length_m: 1.0,
        area_m2: 1.0,
        est_duration_s: 1.0,
        est_battery_percent: 1.0,
        map_revision: 1,
        assumptions: Vec::new(),
        truncated: false,
    }
}

pub(crate) fn state(mower_id: Uuid) -> MowerState {
    MowerState {
        mower_id,
        activity: Activity::Paused,
        ha_activity: Activity::Paused.ha().to_owned(),
        inactive_reason: InactiveReason::None,
        position: Pose {
            x: 0.0,
            y: 0.0,
            heading: 0.0,
        },
        position_accuracy_m: 0.02,
        fix: Fix::RtkFixed,
        battery_percent: 80.0,
        battery_v: 27.0,
        charging: false,
        remaining_charge_s: None,
        speed_mps: 0.0,
        blade_on: false,
        blade_rpm: 0,
        blade_height_mm: 40,
        job: None,
        emergency: Emergency {
            active: false,
            latched: false,
            reason: None,
            since: None,
        },
        error: None,
        link: Link {
            online: true,
            rssi_dbm: None,
            rtt_ms: None,
            last_seen: None,
        },
        seq: 1,
        at: noon(),
    }
}
