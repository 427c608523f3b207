//! What a path cuts, counted on a grid.

use crate::contract::{LegKind, Map, Point};
use crate::sim::coverage::PlannedLeg;
use crate::sim::geometry::{contains, nearest_on};

const CELL_M: f64 = 0.025;

/// Shares of the free area: what is cut at least once, and what the swath
/// sweeps beyond that.
pub(in crate::sim) struct Cut {
    pub(in crate::sim) covered: f64,
    pub(in crate::sim) overlap: f64,
}

/// Cuts along straights with a blade of this width.
pub(in crate::sim) fn cut(map: &Map, ways: &[(Point, Point)], width_m: f64) -> Cut {
    let area = &map.areas[0];
    let corner = |axis: fn(&Point) -> f64| {
        let values = || area.outline.iter().map(axis);
        let low = values().fold(f64::INFINITY, f64::min);
        (low, values().fold(f64::NEG_INFINITY, f64::max) - low)
    };
    let ((left, width), (bottom, height)) = (corner(|p| p.x), corner(|p| p.y));
    let (columns, rows) = (
        (width / CELL_M) as usize + 1,
        (height / CELL_M) as usize + 1,
    );
    let center = |column: usize, row: usize| {
        Point::new(
            left + (column as f64 + 0.5) * CELL_M,
            bottom + (row as f64 + 0.5) * CELL_M,
        )
    };
    let free = |point: Point| {
        contains(&area.outline, point) && !area.obstacles.iter().any(|o| contains(o, point))
    };
    let mut grid = vec![false; columns * rows];
    let mut swept = 0.0;
    for (a, b) in ways {
        swept += a.distance(*b) * width_m;
        let reach = width_m / 2.0;
        let range = |low: f64, high: f64, origin: f64, limit: usize| {
            let first = ((low - reach - origin) / CELL_M).max(0.0) as usize;
            let last = ((high + reach - origin) / CELL_M).max(0.0) as usize;
            first..(last + 1).min(limit)
        };
        for row in range(a.y.min(b.y), a.y.max(b.y), bottom, rows) {
            for column in range(a.x.min(b.x), a.x.max(b.x), left, columns) {
                let point = center(column, row);
                if nearest_on(*a, *b, point).distance(point) <= reach {
                    grid[row * columns + column] = true;
                }
            }
        }
    }
    let (mut lawn, mut covered) = (0.0, 0.0);
    for row in 0..rows {
        for column in 0..columns {
            if free(center(column, row)) {
                lawn += 1.0;
                covered += f64::from(u8::from(grid[row * columns + column]));
            }
        }
    }
    let square = CELL_M * CELL_M;
    Cut {
        covered: covered / lawn,
        overlap: swept / (lawn * square) - covered / lawn,
    }
}

/// The straights of a plan on which the blade is on.
pub(in crate::sim) fn blade_on(legs: &[PlannedLeg]) -> Vec<(Point, Point)> {
    legs.iter()
        .filter(|leg| leg.kind != LegKind::Transit)
        .flat_map(|leg| leg.points.iter().zip(leg.points.iter().skip(1)))
        .map(|(a, b)| (*a, *b))
        .collect()
}
