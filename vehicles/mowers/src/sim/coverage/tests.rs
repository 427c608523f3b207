use uuid::Uuid;

use super::{Figures, Plan, PlanError, plan};
use crate::contract::{Area, LegKind, Map, Order, Pattern, PatternKind, Point};
use crate::sim::garden::{area_id, rectangle};
use crate::sim::machine::battery::{Charger, LOW_PERCENT};
use crate::sim::profile::{Profile, ProfileName};

mod golden;
pub(in crate::sim) mod raster;
mod refusals;
mod shapes;
mod values;

const MOWER: Uuid = Uuid::from_u128(1);

fn figures() -> Figures {
    Figures::of(&Profile::named(ProfileName::Openmower), 0.3)
}

fn points(corners: &[[f64; 2]]) -> Vec<Point> {
    corners.iter().map(|corner| Point::from(*corner)).collect()
}

fn lawn(outline: &[[f64; 2]], obstacles: &[&[[f64; 2]]]) -> Map {
    Map {
        revision: 1,
        dock: Point::new(0.0, 0.0),
        areas: vec![Area {
            id: area_id(MOWER, 1),
            name: "Lawn".to_owned(),
            outline: points(outline),
            obstacles: obstacles.iter().map(|outline| points(outline)).collect(),
        }],
    }
}

fn planned(map: &Map, pattern: &Pattern) -> Result<Plan, PlanError> {
    plan(map, &[area_id(MOWER, 1)], pattern, &figures())
}
