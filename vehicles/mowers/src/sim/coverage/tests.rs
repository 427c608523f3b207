use uuid::Uuid;

use super::{Figures, Plan, PlanError, plan};
use crate::contract::{Map, Pattern};
use crate::sim::garden::{area_id, rectangle};
use crate::sim::machine::battery::{Charger, LOW_PERCENT};
use crate::sim::profile::{Profile, ProfileName};

mod golden;

const MOWER: Uuid = Uuid::from_u128(1);
