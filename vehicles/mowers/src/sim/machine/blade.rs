//! The blade and its height.

/// Revolutions per minute at which it cuts.
const CUTTING_RPM: f64 = 3_000.0;

/// It must turn at least this fast within [`SPIN_UP_LIMIT_S`].
const LEAST_RPM: f64 = 2_000.0;
const SPIN_UP_LIMIT_S: f64 = 10.0;

/// Seconds from standing to cutting, and from cutting to standing.
const SPIN_UP_S: f64 = 3.0;
const RUN_DOWN_S: f64 = 2.0;

/// How fast the height motor moves.
const HEIGHT_MM_PER_S: f64 = 5.0;

/// The blade motor.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Blade {
    pub(in crate::sim) on: bool,
    pub(in crate::sim) rpm: f64,
    /// Seconds asked to turn without cutting speed.
    slow_s: f64,
    /// Held fast by a branch.
    pub(in crate::sim) jammed: bool,
    pub(in crate::sim) height_mm: f64,
    pub(in crate::sim) wanted_height_mm: u16,
}

impl Blade {
    pub(in crate::sim) fn new(height_mm: u16) -> Self {
        Self {
            on: false,
            rpm: 0.0,
            slow_s: 0.0,
            jammed: false,
            height_mm: f64::from(height_mm),
            wanted_height_mm: height_mm,
        }
    }

    /// Asks it to turn or to run down.
    pub(in crate::sim) fn turn(&mut self, on: bool) {
        if self.on != on {
            self.on = on;
            self.slow_s = 0.0;
        }
    }

    /// Whether it cuts.
    pub(in crate::sim) fn cuts(&self) -> bool {
        self.rpm >= LEAST_RPM
    }

    /// Whether nothing about it changes by itself.
    pub(in crate::sim) fn rests(&self) -> bool {
        !self.on && self.rpm <= 0.0 && self.height_mm == f64::from(self.wanted_height_mm)
    }

    /// Passes `seconds`; false when it did not come up to speed in time.
    pub(in crate::sim) fn step(&mut self, seconds: f64) -> bool {
        let change = if self.on && !self.jammed {
            CUTTING_RPM / SPIN_UP_S * seconds
        } else {
            -CUTTING_RPM / RUN_DOWN_S * seconds
        };
        self.rpm = (self.rpm + change).clamp(0.0, CUTTING_RPM);
        let way = f64::from(self.wanted_height_mm) - self.height_mm;
        self.height_mm += way.clamp(-HEIGHT_MM_PER_S * seconds, HEIGHT_MM_PER_S * seconds);
        self.slow_s = if self.on && !self.cuts() {
            self.slow_s + seconds
        } else {
            0.0
        };
        self.slow_s < SPIN_UP_LIMIT_S
    }
}
