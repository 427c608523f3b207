//! The battery: seven cells, linear use, constant current and then a taper.

use crate::sim::profile::Profile;

/// Volts of seven lithium cells, empty and full.
const EMPTY_V: f64 = 22.4;
const FULL_V: f64 = 29.3;

/// Home at this charge, once it held for [`LOW_HOLD_S`]; at the critical one at once.
pub(in crate::sim) const LOW_PERCENT: f64 = 20.0;
const CRITICAL_PERCENT: f64 = 10.0;
const LOW_HOLD_S: f64 = 20.0;

/// Constant current up to here.
const TAPER_PERCENT: f64 = 95.0;
/// The share of the full current at which charging ends.
const END_CURRENT: f64 = 0.05;

/// Driving without the blade takes this share of what mowing takes.
pub(in crate::sim) const DRIVING_SHARE: f64 = 0.5;
/// Standing in the garden takes this share.
const STANDING_SHARE: f64 = 0.02;

/// What the mower does with the battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Load {
    Cutting,
    Driving,
    Standing,
    Dock,
}

/// The battery.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Battery {
    pub(in crate::sim) percent: f64,
    pub(in crate::sim) charging: bool,
    low_s: f64,
    /// Percent per second of cutting.
    use_rate: f64,
    charger: Charger,
}

/// The charging curve: constant current to 95 %, then a current that falls in
/// proportion to the charge down to a twentieth, which ends it.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Charger {
    /// Percent per second at full current.
    rate: f64,
    full_percent: f64,
}

impl Charger {
    pub(in crate::sim) fn new(profile: &Profile) -> Self {
        // From empty to full in the stated time, the taper included.
        let taper = taper_seconds(1.0, TAPER_PERCENT, 100.0);
        Self {
            rate: (TAPER_PERCENT + taper) / (profile.charging_minutes * 60.0),
            full_percent: profile.full_percent,
        }
    }

    /// Seconds from this charge to full.
    pub(in crate::sim) fn seconds_from(&self, percent: f64) -> f64 {
        let constant = (self.full_percent.min(TAPER_PERCENT) - percent).max(0.0) / self.rate;
        constant + taper_seconds(self.rate, percent, self.full_percent)
    }

    fn after(&self, percent: f64, seconds: f64) -> f64 {
        let until_taper = (TAPER_PERCENT - percent).max(0.0) / self.rate;
        let reached = if seconds <= until_taper {
            percent + self.rate * seconds
        } else {
            let from = percent.max(TAPER_PERCENT);
            // d(share)/dt = -slope * share, where share is that of the full current.
            let slope = self.rate * (1.0 - END_CURRENT) / (100.0 - TAPER_PERCENT);
            let share = current_share(from) * (-slope * (seconds - until_taper)).exp();
            TAPER_PERCENT + (1.0 - share) / (1.0 - END_CURRENT) * (100.0 - TAPER_PERCENT)
        };
        reached.min(self.full_percent.max(percent))
    }
}

/// The share of the full current that flows at this charge.
fn current_share(percent: f64) -> f64 {
    let along = ((percent - TAPER_PERCENT) / (100.0 - TAPER_PERCENT)).clamp(0.0, 1.0);
    1.0 - along * (1.0 - END_CURRENT)
}

fn taper_seconds(rate: f64, from: f64, to: f64) -> f64 {
    let slope = rate * (1.0 - END_CURRENT) / (100.0 - TAPER_PERCENT);
    if to <= TAPER_PERCENT || to <= from {
        return 0.0;
    }
    (current_share(from.max(TAPER_PERCENT)) / current_share(to)).ln() / slope
}

impl Battery {
    pub(in crate::sim) fn new(profile: &Profile, percent: f64) -> Self {
        Self {
            percent: percent.clamp(0.0, 100.0),
            charging: false,
            low_s: 0.0,
            use_rate: 100.0 / (profile.cutting_minutes * 60.0),
            charger: Charger::new(profile),
        }
    }

    pub(in crate::sim) fn step(&mut self, load: Load, seconds: f64) {
        let share = match load {
            Load::Cutting => 1.0,
            Load::Driving => DRIVING_SHARE,
            Load::Standing => STANDING_SHARE,
            Load::Dock => 0.0,
        };
        if load == Load::Dock {
            self.percent = self.charger.after(self.percent, seconds);
        } else {
            self.percent = (self.percent - self.use_rate * share * seconds).max(0.0);
        }
        self.charging = load == Load::Dock && !self.full();
        self.low_s = if self.percent <= LOW_PERCENT {
            self.low_s + seconds
        } else {
            0.0
        };
    }

    /// Whether the vendor calls it full.
    pub(in crate::sim) fn full(&self) -> bool {
        self.percent >= self.charger.full_percent - 1e-3
    }

    /// Whether it must go home: low for long enough, or critical.
    pub(in crate::sim) fn calls_home(&self) -> bool {
        self.percent <= CRITICAL_PERCENT || self.low_s >= LOW_HOLD_S
    }

    pub(in crate::sim) fn volts(&self) -> f64 {
        EMPTY_V + (FULL_V - EMPTY_V) * self.percent / 100.0
    }

    /// While charging.
    pub(in crate::sim) fn seconds_to_full(&self) -> Option<f64> {
        self.charging
            .then(|| self.charger.seconds_from(self.percent))
    }
}
