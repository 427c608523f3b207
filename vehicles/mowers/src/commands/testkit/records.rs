//! Records of commands.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::commands::record::{Decided, Outcome, Record};
use crate::contract::state::{Emergency, Link, Pose};
use crate::contract::{
    Activity, Command, Envelope, Fix, InactiveReason, Issuer, IssuerKind, MowerState, Priority,
};

/// When tests happen.
pub(crate) fn noon() -> Timestamp {
    "2026-05-01T10:00:00Z".parse().expect("a time")
}

/// A command of Anna's to a mower of `acme`, pending.
pub(crate) fn record(mower: Uuid, command: Command) -> Record {
    Record {
        envelope: Envelope {
            command_id: Uuid::now_v7(),
            mower_id: mower,
            account_id: "acme".to_owned(),
            issued_by: Issuer {
                kind: IssuerKind::User,
                id: "https://idp anna".to_owned(),
                display: "anna".to_owned(),
                on_behalf_of: None,
            },
            issued_at: noon(),
            expires_at: noon() + SignedDuration::from_secs(30),
            priority: Priority::of(command.kind()),
            correlation_id: Uuid::from_u128(77),
            stop_epoch: 0,
            calm_epoch: 0,
            command,
        },
        bulk_id: None,
        plan_id: None,
        area_clear: None,
        decided: Decided::default(),
        outcome: Outcome::PENDING,
    }
}

/// A mower that is online and does this.
pub(crate) fn state(mower: Uuid, activity: Activity, seq: u64, at: Timestamp) -> MowerState {
    MowerState {
        mower_id: mower,
        activity,
        ha_activity: activity.ha().to_owned(),
        inactive_reason: InactiveReason::None,
        position: Pose {
            x: 0.0,
            y: 0.0,
            heading: 0.0,
        },
        position_accuracy_m: 0.02,
        fix: Fix::RtkFixed,
        battery_percent: 80.0,
        battery_v: 25.0,
        charging: false,
        remaining_charge_s: None,
        speed_mps: 0.0,
        blade_on: false,
        blade_rpm: 0,
        blade_height_mm: 50,
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
        seq,
        at,
    }
}
