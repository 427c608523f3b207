//! Regions of the plane: outlines with holes, grown, shrunk and combined.
//!
//! Offsets and combinations are `i_overlay`'s, which computes on a grid: a
//! concave lawn that falls apart when shrunk is what own code gets wrong.

use i_overlay::core::fill_rule::FillRule;
use i_overlay::core::overlay_rule::OverlayRule;
use i_overlay::float::simplify::SimplifyShape;
use i_overlay::float::single::SingleFloatOverlay;
use i_overlay::mesh::float::outline::offset::OutlineOffset;
use i_overlay::mesh::float::style::{LineJoin, OutlineStyle};

use crate::contract::Point;
use crate::sim::geometry::{contains, edges, nearest_on_outline, signed_area};

type Contour = Vec<[f64; 2]>;
type Shapes = Vec<Vec<Contour>>;

/// Corners sharper than this, in radians, are cut off when grown.
const SHARPEST_RAD: f64 = 1.0;
/// Points nearer than this to the straight between their neighbors are no corners.
const STRAIGHT_M: f64 = 0.0005;
/// The farthest a point may lie from the origin.
const FARTHEST_M: f64 = 10_000.0;
/// What counts as on the border.
const BORDER_M: f64 = 1e-4;

/// One connected piece.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    /// Counter-clockwise.
    pub(super) outer: Vec<Point>,
    /// Clockwise each.
    pub(super) holes: Vec<Vec<Point>>,
}

/// Any number of pieces.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Region {
    pub(super) pieces: Vec<Piece>,
}

impl Region {
    /// What one outline encloses, in whichever direction it runs; nothing when a
    /// point of it is no place in a garden.
    pub(super) fn inside(outline: &[Point]) -> Self {
        if outline.len() < 3 || !outline.iter().all(|point| near(*point)) {
            return Self::default();
        }
        let contour: Contour = outline.iter().map(|point| [point.x, point.y]).collect();
        Self::from(contour.simplify_shape_as::<i64>(FillRule::NonZero))
    }

    /// What any of the outlines encloses.
    pub(super) fn union(outlines: &[Vec<Point>]) -> Self {
        outlines
            .iter()
            .map(|outline| Self::inside(outline))
            .fold(Self::default(), |all, one| {
                all.combined(&one, OverlayRule::Union)
            })
    }

    /// This one without the other.
    pub(super) fn minus(&self, other: &Self) -> Self {
        if other.pieces.is_empty() {
            return self.clone();
        }
        self.combined(other, OverlayRule::Difference)
    }

    fn combined(&self, other: &Self, rule: OverlayRule) -> Self {
        let (a, b) = (self.shapes(), other.shapes());
        Self::from(a.overlay_as::<i64>(&b, rule, FillRule::NonZero))
    }

    /// Grown by `meters`, or shrunk when negative. Regions without holes only:
    /// holes are dropped.
    pub(super) fn grown(&self, meters: f64) -> Self {
        let outers: Vec<Contour> = self
            .pieces
            .iter()
            .map(|piece| contour(&piece.outer))
            .collect();
        if outers.is_empty() {
            return Self::default();
        }
        if meters == 0.0 {
            return Self::from(
                outers
                    .into_iter()
                    .map(|outer| vec![outer])
                    .collect::<Shapes>(),
            );
        }
        let style = OutlineStyle::new(meters).line_join(LineJoin::Miter(SHARPEST_RAD));
        Self::from(outers.outline_as::<i64>(&style))
    }

    fn shapes(&self) -> Shapes {
        self.pieces
            .iter()
            .map(|piece| {
                std::iter::once(&piece.outer)
                    .chain(&piece.holes)
                    .map(|ring| contour(ring))
                    .collect()
            })
            .collect()
    }

    /// Outlines and holes alike.
    pub(super) fn rings(&self) -> impl Iterator<Item = &Vec<Point>> {
        self.pieces
            .iter()
            .flat_map(|piece| std::iter::once(&piece.outer).chain(&piece.holes))
    }

    /// Square meters.
    pub(super) fn area_m2(&self) -> f64 {
        self.rings().map(|ring| signed_area(ring)).sum()
    }

    /// Whether a point lies inside or on the border.
    pub(super) fn holds(&self, point: Point) -> bool {
        let crossings = self.rings().filter(|ring| contains(ring, point)).count();
        crossings % 2 == 1 || self.border_m(point) <= BORDER_M
    }

    fn border_m(&self, point: Point) -> f64 {
        self.nearest_border(point)
            .map_or(f64::INFINITY, |nearest| nearest.distance(point))
    }

    /// The nearest point of a border.
    pub(super) fn nearest_border(&self, point: Point) -> Option<Point> {
        self.rings()
            .filter_map(|ring| nearest_on_outline(ring, point))
            .min_by(|a, b| a.distance(point).total_cmp(&b.distance(point)))
    }

    /// Whether the straight from `a` to `b` stays inside or on the border.
    pub(super) fn allows(&self, a: Point, b: Point) -> bool {
        let way = b.minus(a);
        let length = way.length();
        if length <= BORDER_M {
            return self.holds(a) && self.holds(b);
        }
        let mut cuts = vec![0.0, 1.0];
        for (c, d) in self.rings().flat_map(|ring| edges(ring)) {
            let edge = d.minus(c);
            let turn = way.cross(edge);
            if turn.abs() <= f64::EPSILON * length * edge.length() {
                continue;
            }
            let share = c.minus(a).cross(edge) / turn;
            let along = c.minus(a).cross(way) / turn;
            if (-1e-9..=1.0 + 1e-9).contains(&along) && share > 0.0 && share < 1.0 {
                cuts.push(share);
            }
        }
        cuts.sort_by(f64::total_cmp);
        cuts.iter()
            .zip(cuts.iter().skip(1))
            .all(|(from, to)| self.holds(a.between(b, (from + to) / 2.0)))
    }
}

/// Whether a point is within 10 km of the origin; beyond, and for what is no
/// number, the grid has no place.
pub(super) fn near(point: Point) -> bool {
    point.x.abs() <= FARTHEST_M && point.y.abs() <= FARTHEST_M
}

fn contour(ring: &[Point]) -> Contour {
    ring.iter().map(|point| [point.x, point.y]).collect()
}

impl From<Shapes> for Region {
    fn from(shapes: Shapes) -> Self {
        let ring = |contour: &Contour| straightened(contour);
        let pieces = shapes
            .iter()
            .filter_map(|shape| {
                let (outer, holes) = shape.split_first()?;
                let holes = holes.iter().map(ring).filter(|hole| hole.len() >= 3);
                Some(Piece {
                    outer: ring(outer),
                    holes: holes.collect(),
                })
            })
            .filter(|piece| piece.outer.len() >= 3)
            .collect();
        Self { pieces }
    }
}

/// The corners of a ring, without points that lie on the way.
fn straightened(contour: &Contour) -> Vec<Point> {
    let mut ring: Vec<Point> = Vec::new();
    for [x, y] in contour {
        let point = Point::new(*x, *y);
        while let [.., before, last] = ring.as_slice() {
            if straight(*before, *last, point) {
                ring.pop();
            } else {
                break;
            }
        }
        ring.push(point);
    }
    // Around the seam.
    while let ([first, ..], [.., before, last]) = (ring.as_slice(), ring.as_slice()) {
        if ring.len() > 3 && straight(*before, *last, *first) {
            ring.pop();
        } else {
            break;
        }
    }
    while let ([first, second, ..], Some(last)) = (ring.as_slice(), ring.last()) {
        if ring.len() > 3 && straight(*last, *first, *second) {
            ring.remove(0);
        } else {
            break;
        }
    }
    ring
}

fn straight(a: Point, corner: Point, b: Point) -> bool {
    let nearest = crate::sim::geometry::nearest_on(a, b, corner);
    nearest.distance(corner) < STRAIGHT_M
}
