//! Laps along the border and around obstacles.

use crate::contract::{LegKind, Pattern, Point};
use crate::sim::coverage::region::Region;

/// One lap: its corners, without repeating the first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ring {
    pub(super) kind: LegKind,
    pub(super) corners: Vec<Point>,
}

/// An area in its parts.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    /// What the border encloses.
    pub(super) lawn: Region,
    /// What stands in it, together.
    pub(super) blocked: Region,
}

impl Ground {
    /// Where the middle of the mower may be, this far from the border and that
    /// far from obstacles.
    pub(super) fn clear(&self, border_m: f64, obstacle_m: f64) -> Region {
        let lawn = self.lawn.grown(-border_m);
        lawn.minus(&self.blocked.grown(obstacle_m))
    }
}

/// Laps inward from the border: the `n`th, from 0, runs `n` and a half spacings
/// inside it. Where an obstacle is in the way, it runs around it.
pub(super) fn border_laps(ground: &Ground, pattern: &Pattern, spacing_m: f64) -> Vec<Ring> {
    (0..pattern.border_laps)
        .flat_map(|lap| {
            let around = lap.min(pattern.obstacle_laps.saturating_sub(1));
            let region = ground.clear(offset(lap, spacing_m), offset(around, spacing_m));
            region.pieces.into_iter().map(|piece| Ring {
                kind: LegKind::Border,
                corners: piece.outer,
            })
        })
        .collect()
}

/// Laps outward from each obstacle. Where one meets the border, the border
/// laps have run around it.
pub(super) fn obstacle_laps(ground: &Ground, pattern: &Pattern, spacing_m: f64) -> Vec<Ring> {
    (0..pattern.obstacle_laps)
        .flat_map(|lap| {
            let region = ground.clear(offset(0, spacing_m), offset(lap, spacing_m));
            let holes = region.pieces.into_iter().flat_map(|piece| piece.holes);
            holes.map(|corners| Ring {
                kind: LegKind::ObstacleLap,
                corners,
            })
        })
        .collect()
}

fn offset(lap: u8, spacing_m: f64) -> f64 {
    (f64::from(lap) + 0.5) * spacing_m
}
