//! One drone as a point that follows setpoints: kinematics, no dynamics.

use std::collections::VecDeque;

use crate::geometry::Point;

/// One step of simulated time, in seconds.
pub(super) const STEP_SECONDS: f64 = 0.1;

/// Setpoints are streamed for this many steps before a drone follows them.
pub(super) const WARM_UP_STEPS: u32 = 20;

/// Speed per meter of distance to the setpoint, in 1/s.
const GAIN: f64 = 1.0;
const HORIZONTAL_SPEED: f64 = 5.0;
const CLIMB_SPEED: f64 = 3.0;
const DESCENT_SPEED: f64 = 1.5;
const LANDING_SPEED: f64 = 0.7;
/// The part of the wind that moves the drone; it holds against the rest.
const WIND_SHARE: f64 = 0.2;

/// At or below this height a drone stands on the ground, in meters.
const GROUND_METERS: f64 = 0.05;

/// A point this near is reached, in meters.
const ACCEPTANCE_METERS: f64 = 0.5;

/// A setpoint lies at most this far ahead on the way to the waypoint.
const LOOKAHEAD_METERS: f64 = 2.0;

const RETURN_ALTITUDE_METERS: f64 = 10.0;

/// Charge used while armed, in percent per second.
const BATTERY_PER_SECOND: f64 = 0.05;

/// A drone with this charge or less comes home, and starts no mission.
pub(super) const LOW_BATTERY_PERCENT: f64 = 20.0;

/// Without radio for this many steps, a drone comes home.
const RADIO_LOSS_STEPS: u32 = 50;

/// Without its leader for this many steps, a follower comes home.
const LEADER_LOSS_STEPS: u32 = 10;

const DISARM_AFTER_LANDING_STEPS: u32 = 20;
const DISARM_WITHOUT_TAKEOFF_STEPS: u32 = 100;

/// What a drone is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Motors off.
    Grounded,
    /// Armed; setpoints are streamed but not yet followed.
    WarmUp { steps_left: u32 },
    /// Flies its task.
    Mission,
    /// Stays in place.
    Holding,
    /// On its way to its pad.
    Returning,
    /// On its way down.
    Landing,
    /// On the ground, motors still on.
    Landed { steps_left: u32 },
}

/// What a drone has to do in its mission.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Task {
    /// Fly these points in order, then land.
    Route(Vec<Point>),
    /// Keep this far from the drone with this index until it is done, then land.
    Follow { leader: usize, shift: Point },
}

/// What a follower knows about its leader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leader {
    /// Where it was when last heard.
    pub(super) position: Point,
    /// Whether it still flies the mission or is about to.
    pub(super) leads: bool,
    /// The waypoint it flies to.
    pub(super) waypoint_index: u32,
    /// Steps since it was last heard.
    pub(super) silent_steps: u32,
}

/// One drone.
#[derive(Debug, Clone)]
pub(super) struct Vehicle {
    pub(super) id: String,
    pub(super) position: Point,
    pub(super) phase: Phase,
    pub(super) battery_percent: f64,
    pub(super) waypoint_index: u32,
    pub(super) task: Option<Task>,
    home: Point,
    /// Positions as sent by radio, newest last; as many as a message is late.
    trail: VecDeque<Point>,
    pub(super) radio: bool,
    pub(super) silent_steps: u32,
    steps_on_ground: u32,
}

impl Vehicle {
    /// A drone on its pad. Others hear it `delay` steps late.
    pub(super) fn on_pad(id: String, home: Point, delay: usize) -> Self {
        Self {
            id,
            position: home,
            phase: Phase::Grounded,
            battery_percent: 100.0,
            waypoint_index: 0,
            task: None,
            home,
            trail: std::iter::repeat_n(home, delay.saturating_add(1)).collect(),
            radio: true,
            silent_steps: 0,
            steps_on_ground: 0,
        }
    }

    pub(super) fn on_ground(&self) -> bool {
        self.position.z <= GROUND_METERS
    }

    pub(super) fn armed(&self) -> bool {
        self.phase != Phase::Grounded
    }

    /// Where another drone hears this one: late.
    pub(super) fn heard_at(&self) -> Point {
        self.trail.front().copied().unwrap_or(self.position)
    }

    /// As a leader, to its followers.
    pub(super) fn as_leader(&self) -> Leader {
        Leader {
            position: self.heard_at(),
            leads: matches!(self.phase, Phase::WarmUp { .. } | Phase::Mission),
            waypoint_index: self.waypoint_index,
            silent_steps: self.silent_steps,
        }
    }

    /// The flight mode in PX4's words.
    pub(super) fn mode(&self) -> &'static str {
        match self.phase {
            Phase::WarmUp { .. } | Phase::Mission if self.on_ground() => "AUTO.TAKEOFF",
            Phase::Mission => "OFFBOARD",
            Phase::Grounded | Phase::WarmUp { .. } | Phase::Holding => "AUTO.LOITER",
            Phase::Returning => "AUTO.RTL",
            Phase::Landing | Phase::Landed { .. } => "AUTO.LAND",
        }
    }

    /// Arms for a task, from wherever it is.
    pub(super) fn begin(&mut self, task: Task) {
        self.task = Some(task);
        self.waypoint_index = 0;
        self.steps_on_ground = 0;
        self.phase = Phase::WarmUp {
            steps_left: WARM_UP_STEPS,
        };
    }

    /// Gives up its task for `phase`; on the ground it only turns its motors off.
    pub(super) fn stop(&mut self, phase: Phase) {
        if !matches!(self.phase, Phase::Grounded | Phase::Landed { .. }) {
            self.phase = if self.on_ground() {
                Phase::Grounded
            } else {
                phase
            };
        }
        self.task = None;
    }

    /// One step of time, with what it hears of its leader and the wind in m/s.
    pub(super) fn step(&mut self, leader: Option<Leader>, wind: Point) {
        self.watch_failures(leader);
        let airborne = !self.on_ground();
        self.act(leader);
        if airborne && self.armed() {
            self.shift(wind.times(WIND_SHARE));
        }
        if self.armed() {
            let used = BATTERY_PER_SECOND * STEP_SECONDS;
            self.battery_percent = (self.battery_percent - used).max(0.0);
        }
        if self.radio {
            self.trail.pop_front();
            self.trail.push_back(self.position);
            self.silent_steps = 0;
        } else {
            self.silent_steps = self.silent_steps.saturating_add(1);
        }
    }

    fn watch_failures(&mut self, leader: Option<Leader>) {
        if !matches!(
            self.phase,
            Phase::WarmUp { .. } | Phase::Mission | Phase::Holding
        ) {
            return;
        }
        let lost_leader = leader
            .is_some_and(|leader| leader.silent_steps.max(self.silent_steps) > LEADER_LOSS_STEPS);
        if lost_leader
            || self.silent_steps > RADIO_LOSS_STEPS
            || self.battery_percent <= LOW_BATTERY_PERCENT
        {
            self.stop(Phase::Returning);
        }
    }

    fn act(&mut self, leader: Option<Leader>) {
        match self.phase {
            Phase::Grounded | Phase::Holding => {}
            Phase::WarmUp { steps_left: 0 | 1 } => self.phase = Phase::Mission,
            Phase::WarmUp { steps_left } => {
                self.phase = Phase::WarmUp {
                    steps_left: steps_left - 1,
                };
            }
            Phase::Mission => self.fly_task(leader),
            Phase::Returning => self.fly_home(),
            Phase::Landing => {
                self.shift(Point::new(0.0, 0.0, -LANDING_SPEED));
                if self.on_ground() {
                    self.phase = Phase::Landed {
                        steps_left: DISARM_AFTER_LANDING_STEPS,
                    };
                }
            }
            Phase::Landed { steps_left: 0 | 1 } => self.phase = Phase::Grounded,
            Phase::Landed { steps_left } => {
                self.phase = Phase::Landed {
                    steps_left: steps_left - 1,
                };
            }
        }
    }

    fn fly_task(&mut self, leader: Option<Leader>) {
        let setpoint = match (&self.task, leader) {
            (Some(Task::Route(points)), _) => {
                let reached = points
                    .iter()
                    .skip(index(self.waypoint_index))
                    .take_while(|point| self.position.distance(**point) <= ACCEPTANCE_METERS)
                    .count();
                self.waypoint_index += u32::try_from(reached).unwrap_or(0);
                let next = points.get(index(self.waypoint_index)).copied();
                next.map(|target| ahead(self.position, target))
            }
            (Some(Task::Follow { shift, .. }), Some(leader)) => {
                self.waypoint_index = leader.waypoint_index;
                leader.leads.then(|| leader.position.plus(*shift))
            }
            _ => None,
        };
        let Some(setpoint) = setpoint else {
            self.stop(Phase::Landing);
            return;
        };
        self.fly_to(setpoint);
        self.steps_on_ground = if self.on_ground() {
            self.steps_on_ground + 1
        } else {
            0
        };
        if self.steps_on_ground > DISARM_WITHOUT_TAKEOFF_STEPS {
            self.stop(Phase::Grounded);
        }
    }

    /// Up to the return altitude, level to above the pad, down.
    fn fly_home(&mut self) {
        let at = self.position;
        let way = self.home.minus(at).horizontal();
        if way <= ACCEPTANCE_METERS {
            self.phase = Phase::Landing;
        } else if at.z < RETURN_ALTITUDE_METERS - ACCEPTANCE_METERS {
            self.fly_to(Point::new(at.x, at.y, RETURN_ALTITUDE_METERS));
        } else {
            let altitude = at.z.max(RETURN_ALTITUDE_METERS);
            self.fly_to(Point::new(self.home.x, self.home.y, altitude));
        }
    }

    /// From the ground a drone moves only once it is told to rise.
    fn fly_to(&mut self, setpoint: Point) {
        let wanted = setpoint.minus(self.position).times(GAIN);
        let level = wanted.horizontal();
        let slower = if level > HORIZONTAL_SPEED {
            HORIZONTAL_SPEED / level
        } else {
            1.0
        };
        let rise = wanted.z.clamp(-DESCENT_SPEED, CLIMB_SPEED);
        if rise > 0.0 || !self.on_ground() {
            self.shift(Point::new(wanted.x * slower, wanted.y * slower, rise));
        }
    }

    fn shift(&mut self, velocity: Point) {
        let to = self.position.plus(velocity.times(STEP_SECONDS));
        self.position = Point::new(to.x, to.y, to.z.max(0.0));
    }
}

/// The point on the way to `target` that is at most the lookahead away.
fn ahead(from: Point, target: Point) -> Point {
    let way = target.minus(from);
    let length = way.length();
    if length <= LOOKAHEAD_METERS {
        target
    } else {
        from.plus(way.times(LOOKAHEAD_METERS / length))
    }
}

fn index(waypoint: u32) -> usize {
    usize::try_from(waypoint).unwrap_or(usize::MAX)
}
