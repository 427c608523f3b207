//! The simulated swarm: fixed steps, one seed, no clock of its own.

use std::collections::{HashSet, VecDeque};

use uuid::Uuid;

use super::random::Random;
use super::vehicle::{LOW_BATTERY_PERCENT, Phase, STEP_SECONDS, Task, Vehicle};
use crate::contract::{Command, MissionType, drone_id};
use crate::geometry::Point;
use crate::link::LinkMission;
use crate::link::protocol::{Report, WireAck, WireDrone, WireProgress};
use crate::paths::{offset, pad};

#[cfg(test)]
mod tests;

/// The mission ids a report names.
const KNOWN_MISSIONS: usize = 64;

/// A drone this far, in meters, from where the sender of a mission believes
/// it to be does not start. Twice what the service allows, for the time that
/// passes on the way.
const START_TOLERANCE_METERS: f64 = 1.0;

/// What the simulated world is like.
#[derive(Debug, Clone, PartialEq)]
pub struct SwarmConfig {
    /// Drones on their pads.
    pub drones: u32,
    /// Of everything random.
    pub seed: u64,
    /// Mean wind speed in m/s; its direction comes from the seed.
    pub wind: f64,
    /// Steps until one drone hears another.
    pub network_steps: u32,
    /// Drones that lose their radio: index and step.
    pub radio_losses: Vec<(u32, u64)>,
}

impl Default for SwarmConfig {
    fn default() -> Self {
        Self {
            drones: 5,
            seed: 1,
            wind: 0.0,
            network_steps: 1,
            radio_losses: Vec::new(),
        }
    }
}

/// What became of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// The drones are armed.
    Flying,
    /// This id was accepted before; nothing new happens.
    AlreadyKnown,
    /// Nothing happens, and why.
    Refused(String),
}

/// All drones and the mission they fly.
#[derive(Debug, Clone)]
pub struct Swarm {
    vehicles: Vec<Vehicle>,
    /// What each drone last said by radio.
    heard: Vec<WireDrone>,
    flight: Option<Flight>,
    /// Every id ever accepted: none flies twice.
    accepted: HashSet<Uuid>,
    recent: VecDeque<Uuid>,
    random: Random,
    wind: Point,
    radio_losses: Vec<(u32, u64)>,
    steps: u64,
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    id: Uuid,
    /// The drones 0 up to this index fly it.
    count: usize,
    complete: bool,
}

impl Swarm {
    /// All drones on their pads, charged.
    #[must_use]
    pub fn new(config: &SwarmConfig) -> Self {
        let mut random = Random::new(config.seed);
        let bearing = random.unit() * std::f64::consts::TAU;
        let delay = usize::try_from(config.network_steps).unwrap_or(usize::MAX);
        let vehicles: Vec<Vehicle> = (0..config.drones)
            .map(|index| Vehicle::on_pad(drone_id(index), pad(index), delay))
            .collect();
        Self {
            heard: vehicles.iter().map(report_of).collect(),
            vehicles,
            flight: None,
            accepted: HashSet::new(),
            recent: VecDeque::new(),
            random,
            wind: Point::new(bearing.cos(), bearing.sin(), 0.0).times(config.wind),
            radio_losses: config.radio_losses.clone(),
            steps: 0,
        }
    }

    /// Simulated seconds since the start.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        // A double counts steps exactly for millions of years.
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 steps")]
        let steps = self.steps as f64;
        steps * STEP_SECONDS
    }

    /// Starts a mission with the drones where they are.
    pub fn start(&mut self, mission: &LinkMission) -> Started {
        if self.accepted.contains(&mission.id) {
            return Started::AlreadyKnown;
        }
        if let Err(reason) = self.may_start(mission) {
            return Started::Refused(reason);
        }
        let count = usize::try_from(mission.drone_count).unwrap_or(usize::MAX);
        for (index, vehicle) in (0..mission.drone_count).zip(&mut self.vehicles) {
            vehicle.begin(task(mission, index));
        }
        self.flight = Some(Flight {
            id: mission.id,
            count,
            complete: false,
        });
        self.accepted.insert(mission.id);
        self.recent.push_back(mission.id);
        if self.recent.len() > KNOWN_MISSIONS {
            self.recent.pop_front();
        }
        self.hear();
        Started::Flying
    }

    fn may_start(&self, mission: &LinkMission) -> Result<(), String> {
        if let Some(flight) = self.flight.filter(|flight| !flight.complete) {
            return Err(format!("mission {} is flying", flight.id));
        }
        let count = usize::try_from(mission.drone_count).unwrap_or(usize::MAX);
        if count > self.vehicles.len() {
            let there = self.vehicles.len();
            return Err(format!("{count} drones asked for, {there} are there"));
        }
        for vehicle in self.vehicles.iter().take(count) {
            let id = &vehicle.id;
            if !vehicle.radio {
                return Err(format!("{id} does not answer"));
            }
            if vehicle.battery_percent <= LOW_BATTERY_PERCENT {
                return Err(format!("the battery of {id} is low"));
            }
        }
        for (vehicle, start) in self.vehicles.iter().zip(&mission.starts) {
            let away = vehicle.position.distance(*start);
            if away > START_TOLERANCE_METERS {
                let id = &vehicle.id;
                return Err(format!("{id} is {away:.2} m from its start"));
            }
        }
        Ok(())
    }

    /// Stops every drone that hears it, and ends the mission; one that is
    /// complete stays so. Says who heard.
    pub fn command(&mut self, command: Command) -> Vec<WireAck> {
        let phase = match command {
            Command::Rtl => Phase::Returning,
            Command::Land => Phase::Landing,
            Command::Hold => Phase::Holding,
        };
        self.flight = self.flight.filter(|flight| flight.complete);
        for vehicle in self.vehicles.iter_mut().filter(|vehicle| vehicle.radio) {
            vehicle.stop(phase);
        }
        self.hear();
        self.acks()
    }

    /// Which drones are in radio contact.
    #[must_use]
    pub fn acks(&self) -> Vec<WireAck> {
        self.vehicles
            .iter()
            .map(|vehicle| WireAck {
                id: vehicle.id.clone(),
                acknowledged: vehicle.radio,
            })
            .collect()
    }

    /// Passes one step of time, 0.1 s.
    pub fn step(&mut self) {
        self.steps = self.steps.saturating_add(1);
        for (index, at) in &self.radio_losses {
            if *at <= self.steps
                && let Some(vehicle) = usize::try_from(*index)
                    .ok()
                    .and_then(|index| self.vehicles.get_mut(index))
            {
                vehicle.radio = false;
            }
        }
        // Gusts between half and one and a half times the mean wind.
        let gust = self.wind.times(0.5 + self.random.unit());
        // All drones move on what they heard before any of them moved.
        let leaders: Vec<_> = self.vehicles.iter().map(Vehicle::as_leader).collect();
        for vehicle in &mut self.vehicles {
            let leader = match &vehicle.task {
                Some(Task::Follow { leader, .. }) => leaders.get(*leader).copied(),
                _ => None,
            };
            vehicle.step(leader, gust);
        }
        if let Some(flight) = &mut self.flight {
            flight.complete |= self
                .vehicles
                .iter()
                .take(flight.count)
                .all(|vehicle| !vehicle.armed());
        }
        self.hear();
    }

    /// Takes in what the drones say; a silent one stays as it was last heard.
    fn hear(&mut self) {
        for (vehicle, heard) in self.vehicles.iter().zip(&mut self.heard) {
            if vehicle.radio {
                *heard = report_of(vehicle);
            } else {
                heard.age_ms = u64::from(vehicle.silent_steps).saturating_mul(100);
            }
        }
    }

    /// What the swarm reports, at `taken_at_ms` since the epoch.
    #[must_use]
    pub fn report(&self, taken_at_ms: i64) -> Report {
        Report::State {
            taken_at_ms,
            simulated: true,
            drones: self.heard.clone(),
            mission: self.flight.map(|flight| WireProgress {
                id: flight.id,
                complete: flight.complete,
            }),
            known_missions: self.recent.iter().copied().collect(),
        }
    }
}

fn task(mission: &LinkMission, index: u32) -> Task {
    let shift = offset(
        mission.kind,
        mission.formation,
        mission.spacing_meters,
        index,
    );
    if mission.kind == MissionType::Formation && index > 0 {
        Task::Follow { leader: 0, shift }
    } else {
        let points = mission.waypoints.iter();
        Task::Route(points.map(|point| point.plus(shift)).collect())
    }
}

fn report_of(vehicle: &Vehicle) -> WireDrone {
    let at = vehicle.position;
    WireDrone {
        id: vehicle.id.clone(),
        x: at.x,
        y: at.y,
        z: at.z,
        armed: Some(vehicle.armed()),
        mode: Some(vehicle.mode().to_owned()),
        battery_percent: Some(vehicle.battery_percent),
        waypoint_index: vehicle.waypoint_index,
        age_ms: 0,
    }
}
