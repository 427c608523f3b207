//! The hash of a path.
//!
//! SHA-256 over, each number big-endian:
//!
//! | Bytes | What |
//! |---|---|
//! | 16 | the text `interlock-path-1` |
//! | 8 | map revision |
//! | 4, then 16 each | number of areas, their ids in ascending order |
//! | 1, 1 | pattern (parallel 0, double 1, `border_only` 2, none 3), order (`border_first` 0, `lanes_first` 1) |
//! | 4 | angle in thousandths of a degree, signed |
//! | 4 | spacing in micrometers |
//! | 1, 1 | border laps, obstacle laps |
//! | 4 | number of legs |
//! | per leg 1, 4 | kind (border 0, lane 1, transit 2, `obstacle_lap` 3), number of points |
//! | per point 8, 8 | x and y in millimeters, signed |
//!
//! Fractions are rounded half away from zero.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::contract::{LegKind, Order, Pattern, PatternKind};
use crate::sim::coverage::PlannedLeg;

/// The hash in lower-case hexadecimal.
pub(super) fn path_hash(
    map_revision: u64,
    area_ids: &[Uuid],
    pattern: &Pattern,
    legs: &[PlannedLeg],
) -> String {
    let mut hash = Sha256::new();
    hash.update(b"interlock-path-1");
    hash.update(map_revision.to_be_bytes());
    let mut sorted = area_ids.to_vec();
    sorted.sort_unstable();
    hash.update(count(sorted.len()));
    for id in &sorted {
        hash.update(id.as_bytes());
    }
    hash.update([kind_of(pattern.kind), order_of(pattern.order)]);
    hash.update(rounded32(pattern.angle_deg * 1_000.0).to_be_bytes());
    hash.update(rounded32(pattern.spacing_cm * 10_000.0).to_be_bytes());
    hash.update([pattern.border_laps, pattern.obstacle_laps]);
    hash.update(count(legs.len()));
    for leg in legs {
        hash.update([leg_kind_of(leg.kind)]);
        hash.update(count(leg.points.len()));
        for point in &leg.points {
            hash.update(rounded64(point.x * 1_000.0).to_be_bytes());
            hash.update(rounded64(point.y * 1_000.0).to_be_bytes());
        }
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

const fn kind_of(kind: PatternKind) -> u8 {
    match kind {
        PatternKind::Parallel => 0,
        PatternKind::Double => 1,
        PatternKind::BorderOnly => 2,
        PatternKind::None => 3,
    }
}

const fn order_of(order: Order) -> u8 {
    match order {
        Order::BorderFirst => 0,
        Order::LanesFirst => 1,
    }
}

const fn leg_kind_of(kind: LegKind) -> u8 {
    match kind {
        LegKind::Border => 0,
        LegKind::Lane => 1,
        LegKind::Transit => 2,
        LegKind::ObstacleLap => 3,
    }
}

fn count(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "checked ranges, saturating"
)]
fn rounded32(value: f64) -> i32 {
    value.round() as i32
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "checked ranges, saturating"
)]
fn rounded64(value: f64) -> i64 {
    value.round() as i64
}
