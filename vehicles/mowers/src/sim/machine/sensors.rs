//! Rain, motor heat, and the watchdogs over what must not fall silent.

/// Rain counts once it was felt this long.
const RAIN_HOLD_S: f64 = 20.0;
/// After the last rain it stays in the dock this long.
const RAIN_WAIT_S: f64 = 30.0 * 60.0;

/// It pauses at this motor temperature and goes on below the other.
const HOT_C: f64 = 75.0;
const COOL_C: f64 = 40.0;
const AMBIENT_C: f64 = 25.0;
/// How much warmer cutting makes it in the end, and how slowly.
const CUTTING_C: f64 = 30.0;
const HEAT_MEMORY_S: f64 = 300.0;

/// Something inside the mower that must be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The heartbeat of the control side.
    Control,
    /// The sensors.
    Sensors,
    /// The position filter.
    Pose,
}

impl Part {
    /// Silence for longer than this is a failure.
    const fn limit_ms(self) -> u64 {
        match self {
            Self::Control | Self::Pose => 1_000,
            Self::Sensors => 3_000,
        }
    }
}

/// What the sensors feel.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Sensors {
    pub(in crate::sim) raining: bool,
    rain_s: f64,
    /// Seconds since the last rain that counted.
    dry_s: f64,
    pub(in crate::sim) motor_c: f64,
    /// Additional heat of a heavy load, in degrees.
    pub(in crate::sim) load_c: f64,
    silences: Vec<Silence>,
}

#[derive(Clone, Copy, Debug)]
struct Silence {
    part: Part,
    from_ms: u64,
    until_ms: u64,
}

impl Sensors {
    pub(in crate::sim) fn new() -> Self {
        Self {
            raining: false,
            rain_s: 0.0,
            dry_s: f64::INFINITY,
            motor_c: AMBIENT_C,
            load_c: 0.0,
            silences: Vec::new(),
        }
    }

    pub(in crate::sim) fn step(&mut self, cutting: bool, seconds: f64) {
        self.rain_s = if self.raining {
            self.rain_s + seconds
        } else {
            0.0
        };
        self.dry_s = if self.rain_s >= RAIN_HOLD_S {
            0.0
        } else {
            self.dry_s + seconds
        };
        let heat = if cutting {
            CUTTING_C + self.load_c
        } else {
            0.0
        };
        let toward = AMBIENT_C + heat;
        let keep = (-seconds / HEAT_MEMORY_S).exp();
        self.motor_c = toward + (self.motor_c - toward) * keep;
    }

    /// Whether it rains or rained too lately to mow.
    pub(in crate::sim) fn wet(&self) -> bool {
        self.dry_s < RAIN_WAIT_S
    }

    pub(in crate::sim) fn hot(&self) -> bool {
        self.motor_c >= HOT_C
    }

    pub(in crate::sim) fn cool(&self) -> bool {
        self.motor_c < COOL_C
    }

    /// A part falls silent for this long.
    pub(in crate::sim) fn silence(&mut self, part: Part, now_ms: u64, for_ms: u64) {
        self.silences.retain(|silence| silence.part != part);
        self.silences.push(Silence {
            part,
            from_ms: now_ms,
            until_ms: now_ms.saturating_add(for_ms),
        });
    }

    /// Whether a part has been silent for too long.
    pub(in crate::sim) fn lost(&self, part: Part, now_ms: u64) -> bool {
        self.silences.iter().any(|silence| {
            silence.part == part
                && now_ms < silence.until_ms
                && now_ms.saturating_sub(silence.from_ms) > part.limit_ms()
        })
    }

    /// Whether a part is silent now.
    pub(in crate::sim) fn silent(&self, part: Part, now_ms: u64) -> bool {
        self.silences
            .iter()
            .any(|silence| silence.part == part && now_ms < silence.until_ms)
    }

    /// Forgets silences that are over.
    pub(in crate::sim) fn settle(&mut self, now_ms: u64) {
        self.silences.retain(|silence| now_ms < silence.until_ms);
    }
}
