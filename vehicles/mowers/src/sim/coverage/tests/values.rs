//! The hash and the view of a plan.

use super::{MOWER, Map, Pattern, Plan, area_id, figures, lawn, plan, planned, rectangle};
use crate::sim::coverage::view::POINT_LIMIT;

const SQUARE: [[f64; 2]; 4] = [[0.0, 0.0], [6.0, 0.0], [6.0, 5.0], [0.0, 5.0]];

fn hash(map: &Map, pattern: &Pattern) -> String {
    planned(map, pattern).unwrap().hash
}

#[test]
fn the_hash_follows_what_it_stands_for() {
    let map = lawn(&SQUARE, &[]);
    let own = Pattern::default();
    let first = hash(&map, &own);
    assert_eq!(first, hash(&map, &own));
    assert_eq!(first.len(), 64);
    let newer = Map {
        revision: 2,
        ..map.clone()
    };
    let mut moved = map.clone();
    moved.areas[0].outline[1].x += 0.002;
    let mut nearly = map.clone();
    nearly.areas[0].outline[1].x += 0.000_01;
    let turned = Pattern {
        angle_deg: 0.001,
        ..own.clone()
    };
    assert_ne!(first, hash(&newer, &own));
    assert_ne!(first, hash(&moved, &own));
    assert_ne!(first, hash(&map, &turned));
    assert_eq!(first, hash(&nearly, &own));
}

/// The encoding is part of what is approved: a change of it must be meant.
#[test]
fn the_hash_is_the_one_it_was() {
    let known = "88be7fbea90a4078e17eaba827d3ad83cbea60ca101ab6abec16e82765822c00";
    assert_eq!(hash(&lawn(&SQUARE, &[]), &Pattern::default()), known);
}

#[test]
fn a_short_plan_is_shown_whole() {
    let plan = planned(&lawn(&SQUARE, &[]), &Pattern::default()).unwrap();
    let legs = plan.legs.clone();
    let path = plan.into_path();
    assert!(!path.truncated);
    let shown: Vec<_> = path.legs.into_iter().map(|leg| leg.points).collect();
    assert_eq!(
        shown,
        legs.into_iter().map(|leg| leg.points).collect::<Vec<_>>()
    );
}

#[test]
fn a_long_plan_is_thinned() {
    let map = rectangle(MOWER, 6.0, 1_000.0);
    let pattern = Pattern {
        spacing_cm: 5.0,
        ..Pattern::default()
    };
    let mut plan = plan(&map, &[area_id(MOWER, 1)], &pattern, &figures()).unwrap();
    // Once more and once more, until it is long.
    let legs = plan.legs.clone();
    plan.legs.extend(legs.clone());
    let total: usize = plan.legs.iter().map(|leg| leg.points.len()).sum();
    assert!(total > POINT_LIMIT, "{total}");
    check_thinned(plan, total);
}

fn check_thinned(plan: Plan, total: usize) {
    let hash = plan.hash.clone();
    let last = *plan.legs.last().unwrap().points.last().unwrap();
    let path = plan.into_path();
    let shown: usize = path.legs.iter().map(|leg| leg.points.len()).sum();
    assert!(path.truncated);
    assert_eq!(path.points_total as usize, total);
    assert!((POINT_LIMIT / 3..=POINT_LIMIT).contains(&shown), "{shown}");
    assert_eq!(path.legs.last().unwrap().points.last(), Some(&last));
    assert_eq!(path.path_hash, hash);
    assert!(serde_json::to_vec(&path).unwrap().len() < 4 * 1_024 * 1_024);
}
