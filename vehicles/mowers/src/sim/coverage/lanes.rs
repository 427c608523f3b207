//! Parallel lanes, and the cells in which they can be mown back and forth.

use crate::contract::{Pattern, Point};
use crate::sim::coverage::region::Region;
use crate::sim::coverage::rings::Ground;
use crate::sim::geometry::edges;

/// Without border laps lanes keep this far from the border.
pub(super) const MARGIN_M: f64 = 0.05;
/// Shorter lanes are not worth a turn.
const SHORTEST_M: f64 = 0.02;

/// One lane, in the frame of the garden.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lane {
    pub(super) from: Point,
    pub(super) to: Point,
}

/// Lanes that follow each other side by side.
pub(super) type Cell = Vec<Lane>;

/// A lane in the turned frame: it lies at one height from `from` to `to`.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: f64,
    to: f64,
}

/// The lanes of an area at an angle, in cells.
///
/// The lanes fill what the laps leave, evenly: as many as are needed for no two
/// to lie farther apart than the spacing.
pub(super) fn cells(
    ground: &Ground,
    pattern: &Pattern,
    angle_deg: f64,
    spacing_m: f64,
) -> Vec<Cell> {
    let laps = f64::from(pattern.border_laps) * spacing_m;
    let (sin, cos) = angle_deg.to_radians().sin_cos();
    let clip = Clip::new(ground, pattern, spacing_m, (cos, -sin));
    let extent = turned(&ground.lawn.grown(-laps), cos, -sin);
    let Some((low, high)) = heights(&extent) else {
        return Vec::new();
    };
    let rows = rows(low, high, spacing_m)
        .map(|height| clip.spans(height))
        .collect::<Vec<_>>();
    let pitch = (high - low) / count(rows.len().max(1));
    split(&rows)
        .into_iter()
        .map(|cell| {
            cell.into_iter()
                .map(|(row, span)| {
                    let height = low + (count(row) + 0.5) * pitch;
                    let back = |x: f64| Point::new(x, height).turned(cos, sin);
                    Lane {
                        from: back(span.from),
                        to: back(span.to),
                    }
                })
                .collect()
        })
        .collect()
}

/// Where lanes may lie, in the turned frame.
///
/// They end where the laps' swath ends. A strip narrower than a lane may be left
/// along a border that runs with the lanes: a height inside the middle line of
/// the innermost lap still gets a lane there.
struct Clip {
    /// What the laps leave.
    rest: Region,
    /// Inside the middle line of the innermost lap.
    reach: Region,
    drawn_back: f64,
    /// Pieces beyond the rest shorter than this are the laps' own.
    worth_m: f64,
}

impl Clip {
    fn new(ground: &Ground, pattern: &Pattern, spacing_m: f64, (cos, sin): (f64, f64)) -> Self {
        let border = f64::from(pattern.border_laps) * spacing_m;
        let obstacle = f64::from(pattern.obstacle_laps) * spacing_m;
        let half = spacing_m / 2.0;
        let drawn_back = if pattern.border_laps > 0 { half } else { 0.0 };
        let rest = ground.clear(border.max(MARGIN_M), obstacle.max(half));
        let reach = ground.clear((border - half).max(MARGIN_M), (obstacle - half).max(half));
        Self {
            rest: turned(&rest, cos, sin),
            reach: turned(&reach, cos, sin),
            drawn_back,
            worth_m: 4.0 * spacing_m,
        }
    }

    /// The lanes at a height.
    fn spans(&self, height: f64) -> Vec<Span> {
        let rest = spans(&self.rest, height, 0.0);
        spans(&self.reach, height, self.drawn_back)
            .into_iter()
            .flat_map(|reach| {
                let within = rest.iter().filter(move |span| overlap(**span, reach));
                self.extended(reach, within.copied())
            })
            .filter(|span| span.to - span.from > SHORTEST_M)
            .collect()
    }

    /// The spans of the rest in one of the reach, drawn out over whatever of
    /// the reach beside them is worth a lane.
    fn extended(&self, reach: Span, within: impl Iterator<Item = Span>) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for mut span in within {
            let before = spans.last().map_or(reach.from, |last| last.to);
            let gap = span.from - before;
            match spans.last_mut() {
                Some(last) if gap > self.worth_m => last.to = span.to,
                Some(_) => spans.push(span),
                None => {
                    if gap > self.worth_m {
                        span.from = reach.from;
                    }
                    spans.push(span);
                }
            }
        }
        match spans.last_mut() {
            Some(last) if reach.to - last.to > self.worth_m => last.to = reach.to,
            Some(_) => {}
            None if reach.to - reach.from > self.worth_m => spans.push(reach),
            None => {}
        }
        spans
    }
}

/// How many lanes a strip of this height takes.
pub(super) fn lane_count(height_m: f64, spacing_m: f64) -> f64 {
    (height_m / spacing_m - 1e-6).ceil().max(1.0)
}

fn rows(low: f64, high: f64, spacing_m: f64) -> impl Iterator<Item = f64> {
    let lanes = lane_count(high - low, spacing_m);
    let pitch = (high - low) / lanes;
    (0_u32..)
        .map(f64::from)
        .take_while(move |row| *row < lanes - 0.5)
        .map(move |row| low + (row + 0.5) * pitch)
}

#[expect(clippy::cast_precision_loss, reason = "counts of lanes")]
fn count(number: usize) -> f64 {
    number as f64
}

fn turned(region: &Region, cos: f64, sin: f64) -> Region {
    let mut turned = region.clone();
    for piece in &mut turned.pieces {
        for point in piece
            .outer
            .iter_mut()
            .chain(piece.holes.iter_mut().flatten())
        {
            *point = point.turned(cos, sin);
        }
    }
    turned
}

/// The lowest and the highest point.
fn heights(region: &Region) -> Option<(f64, f64)> {
    let heights = || region.rings().flatten().map(|point| point.y);
    let low = heights().min_by(f64::total_cmp)?;
    let high = heights().max_by(f64::total_cmp)?;
    (high > low).then_some((low, high))
}

/// What of a height lies inside, drawn back at both ends.
fn spans(region: &Region, height: f64, drawn_back: f64) -> Vec<Span> {
    let mut crossings: Vec<f64> = region
        .rings()
        .flat_map(|ring| edges(ring))
        .filter(|(a, b)| (a.y > height) != (b.y > height))
        .map(|(a, b)| a.x + (height - a.y) / (b.y - a.y) * (b.x - a.x))
        .collect();
    crossings.sort_by(f64::total_cmp);
    crossings
        .chunks_exact(2)
        .filter_map(|pair| match pair {
            [from, to] => Some(Span {
                from: from + drawn_back,
                to: to - drawn_back,
            }),
            _ => None,
        })
        .filter(|span| span.to - span.from > SHORTEST_M)
        .collect()
}

/// Splits rows into cells: a cell goes on while its span has exactly one
/// neighbor in the next row and is that one's only neighbor.
fn split(rows: &[Vec<Span>]) -> Vec<Vec<(usize, Span)>> {
    let mut done: Vec<Vec<(usize, Span)>> = Vec::new();
    let mut open: Vec<Vec<(usize, Span)>> = Vec::new();
    for (row, spans) in rows.iter().enumerate() {
        let mut next: Vec<Vec<(usize, Span)>> = Vec::new();
        for span in spans {
            let mut touching = open
                .iter()
                .enumerate()
                .filter(|(_, cell)| last(cell).is_some_and(|other| overlap(other, *span)));
            let only = match (touching.next(), touching.next()) {
                (Some((index, cell)), None) => last(cell)
                    .filter(|other| spans.iter().filter(|s| overlap(*other, **s)).count() == 1)
                    .map(|_| index),
                _ => None,
            };
            match only.and_then(|index| open.get_mut(index)) {
                Some(cell) => {
                    let mut cell = std::mem::take(cell);
                    cell.push((row, *span));
                    next.push(cell);
                }
                None => next.push(vec![(row, *span)]),
            }
        }
        done.extend(open.into_iter().filter(|cell| !cell.is_empty()));
        open = next;
    }
    done.extend(open);
    done
}

fn last(cell: &[(usize, Span)]) -> Option<Span> {
    cell.last().map(|(_, span)| *span)
}

fn overlap(a: Span, b: Span) -> bool {
    a.from < b.to && b.from < a.to
}
