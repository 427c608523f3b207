//! The mower's state in the words of the contract.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::contract::state::{Emergency, Fault, Job, Link, Pose};
use crate::contract::{Activity, MowerState};
use crate::sim::machine::{Machine, Mode};

/// What the machine does not know of itself.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Envelope {
    pub(in crate::sim) mower_id: Uuid,
    pub(in crate::sim) seq: u64,
    /// When the machine's life began, and its milliseconds per real one.
    pub(in crate::sim) born: Timestamp,
    pub(in crate::sim) speed: f64,
    pub(in crate::sim) at: Timestamp,
    pub(in crate::sim) link: Link,
}

impl Envelope {
    /// The moment of the machine's life in real time.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "milliseconds of a life"
    )]
    fn moment(&self, machine_ms: u64) -> Timestamp {
        let real_ms = (machine_ms as f64 / self.speed) as i64;
        self.born
            .checked_add(SignedDuration::from_millis(real_ms))
            .unwrap_or(self.at)
    }
}

impl Machine {
    /// What it does.
    pub(in crate::sim) fn activity(&self) -> Activity {
        let in_dock = matches!(self.mode, Mode::Docked | Mode::Updating { .. });
        if self.latch.is_some() && !in_dock && self.powered() {
            return Activity::Stopped;
        }
        match self.mode {
            Mode::Docked if self.battery.charging => Activity::Charging,
            Mode::Docked => Activity::Docked,
            Mode::Undocking => Activity::Undocking,
            Mode::Mowing => Activity::Mowing,
            Mode::Paused => Activity::Paused,
            Mode::Returning => Activity::Returning,
            Mode::Driving => Activity::DrivingManual,
            Mode::Error => Activity::Error,
            Mode::Updating { .. } => Activity::Updating,
            Mode::Off { .. } => Activity::Offline,
        }
    }

    /// Its state as it would report it.
    pub(in crate::sim) fn report(&self, envelope: &Envelope) -> MowerState {
        let seen = self.locator.seen(&self.body);
        let activity = self.activity();
        MowerState {
            mower_id: envelope.mower_id,
            activity,
            ha_activity: activity.ha().to_owned(),
            inactive_reason: self.inactive,
            position: Pose {
                x: rounded(seen.at.x, 1_000.0),
                y: rounded(seen.at.y, 1_000.0),
                heading: rounded(seen.heading.to_degrees().rem_euclid(360.0), 10.0),
            },
            position_accuracy_m: self.locator.accuracy_m(),
            fix: self.locator.fix(),
            battery_percent: rounded(self.battery.percent, 10.0),
            battery_v: rounded(self.battery.volts(), 100.0),
            charging: self.battery.charging,
            remaining_charge_s: self.battery.seconds_to_full().map(f64::round),
            speed_mps: rounded(self.body.speed, 1_000.0),
            blade_on: self.blade.on,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to 3,000"
            )]
            blade_rpm: self.blade.rpm as u32,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "15 to 100"
            )]
            blade_height_mm: self.blade.height_mm.round() as u16,
            job: self.job_report(seen.at),
            emergency: Emergency {
                active: self.latch.as_ref().is_some_and(|latch| latch.active),
                latched: self.latch.is_some(),
                reason: self.latch.as_ref().and_then(|latch| latch.reason.clone()),
                since: self
                    .latch
                    .as_ref()
                    .map(|latch| envelope.moment(latch.since_ms)),
            },
            error: self.fault.as_ref().map(|fault| Fault {
                code: fault.code.clone(),
                key: fault.key.clone(),
                confirmable: fault.confirmable,
                at: envelope.moment(fault.since_ms),
            }),
            link: envelope.link.clone(),
            seq: envelope.seq,
            at: envelope.at,
        }
    }

    fn job_report(&self, at: crate::contract::Point) -> Option<Job> {
        let job = self.job.as_ref()?;
        let (driven, cut, whole) = job.progress(at);
        let mark = job.course.as_ref().and_then(|course| course.mark(job.next));
        let share = if whole > 0.0 { driven / whole } else { 0.0 };
        let spacing_m = job.pattern.spacing_cm / 100.0;
        Some(Job {
            plan_id: job.id,
            path_hash: job.path_hash.clone(),
            area_id: mark.map(|mark| mark.area),
            progress_percent: rounded(share * 100.0, 10.0),
            mowed_m2: rounded((cut * spacing_m).min(job.area_m2), 10.0),
            eta_s: ((whole - driven) / self.speed_mps).round(),
        })
    }
}

/// Rounded to `1 / scale`, without a negative zero.
fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale + 0.0
}
