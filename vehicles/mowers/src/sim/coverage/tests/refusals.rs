//! What cannot be planned is refused with a reason.

use uuid::Uuid;

use super::{MOWER, Map, Pattern, PatternKind, Point, area_id, figures, lawn, plan, planned};

#[track_caller]
fn check(map: &Map, pattern: &Pattern, reason: &str) {
    let error = planned(map, pattern).unwrap_err().to_string();
    assert!(error.contains(reason), "`{error}` does not say `{reason}`");
}

const SQUARE: [[f64; 2]; 4] = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]];

#[test]
fn outlines_that_enclose_nothing() {
    let own = Pattern::default();
    check(&lawn(&[], &[]), &own, "fewer than three points");
    check(&lawn(&SQUARE[..2], &[]), &own, "fewer than three points");
    check(
        &lawn(&[[1.0, 1.0]; 5], &[]),
        &own,
        "quarter of a square meter",
    );
    let line = [[0.0, 0.0], [5.0, 0.0], [9.0, 0.0]];
    check(&lawn(&line, &[]), &own, "quarter of a square meter");
    let bow_tie = [[0.0, 0.0], [4.0, 4.0], [4.0, 0.0], [0.0, 4.0]];
    check(&lawn(&bow_tie, &[]), &own, "crosses itself");
    let far = [[0.0, 0.0], [20_000.0, 0.0], [4.0, 4.0]];
    check(&lawn(&far, &[]), &own, "10 km");
    let mut wrong = lawn(&SQUARE, &[]);
    wrong.areas[0].outline[1] = Point::new(f64::NAN, 0.0);
    check(&wrong, &own, "10 km");
    let many: Vec<[f64; 2]> = (0..2_001).map(|index| [f64::from(index), 0.0]).collect();
    check(&lawn(&many, &[]), &own, "2,000 points");
}

#[test]
fn areas_without_room() {
    let own = Pattern::default();
    let all = [[-1.0, -1.0], [5.0, -1.0], [5.0, 5.0], [-1.0, 5.0]];
    check(&lawn(&SQUARE, &[&all]), &own, "quarter of a square meter");
    let strip = [[0.0, 0.0], [9.0, 0.0], [9.0, 0.2], [0.0, 0.2]];
    check(&lawn(&strip, &[]), &own, "too narrow");
}

#[test]
fn patterns_out_of_range() {
    let map = lawn(&SQUARE, &[]);
    let own = Pattern::default;
    check(
        &map,
        &Pattern {
            angle_deg: 181.0,
            ..own()
        },
        "angle_deg",
    );
    check(
        &map,
        &Pattern {
            angle_deg: f64::NAN,
            ..own()
        },
        "angle_deg",
    );
    check(
        &map,
        &Pattern {
            spacing_cm: 4.9,
            ..own()
        },
        "spacing_cm",
    );
    check(
        &map,
        &Pattern {
            border_laps: 5,
            ..own()
        },
        "border_laps",
    );
    check(
        &map,
        &Pattern {
            obstacle_laps: 5,
            ..own()
        },
        "obstacle_laps",
    );
    let border_only = Pattern {
        kind: PatternKind::BorderOnly,
        border_laps: 0,
        ..own()
    };
    check(&map, &border_only, "border lap");
}

#[test]
fn areas_that_are_not_there() {
    let map = lawn(&SQUARE, &[]);
    let error = |ids: &[Uuid]| {
        let refused = plan(&map, ids, &Pattern::default(), &figures()).unwrap_err();
        (refused.code(), refused.to_string())
    };
    let known = area_id(MOWER, 1);
    assert_eq!(error(&[]).0, "area-count");
    assert_eq!(error(&[known; 61]).0, "area-count");
    assert_eq!(error(&[known, known]).0, "area-twice");
    let (code, text) = error(&[Uuid::nil()]);
    assert_eq!(code, "unknown-area");
    assert!(text.contains("00000000-0000-0000-0000-000000000000"));
}
