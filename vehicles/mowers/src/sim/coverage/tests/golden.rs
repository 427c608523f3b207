//! Five rectangles and what they take, to the precision in which they are known.

use super::{
    Charger, Figures, LOW_PERCENT, MOWER, Pattern, Profile, ProfileName, area_id, plan, rectangle,
};

struct Case {
    width_m: f64,
    height_m: f64,
    spacing_cm: f64,
    laps: u8,
    speed_mps: f64,
    cutting_minutes: f64,
    lanes: u32,
    path_m: &'static str,
    mowing_min: &'static str,
    rate_m2_per_h: &'static str,
    battery_percent: &'static str,
}

/// Mowing minutes above 100 are known in whole minutes, others in tenths.
const CASES: [Case; 5] = [
    case(
        (20.0, 15.0),
        25.0,
        2,
        0.3,
        120.0,
        56,
        ["1214", "71.3", "252", "59"],
    ),
    case(
        (20.0, 15.0),
        35.0,
        1,
        0.6,
        120.0,
        41,
        ["874", "27.0", "666", "23"],
    ),
    case(
        (50.0, 40.0),
        25.0,
        2,
        0.3,
        120.0,
        156,
        ["8039", "457", "263", "381"],
    ),
    case(
        (30.0, 20.0),
        22.0,
        1,
        0.4,
        200.0,
        89,
        ["2749", "120", "299", "60"],
    ),
    case(
        (10.0, 8.0),
        13.0,
        4,
        0.3,
        90.0,
        54,
        ["626", "38.8", "124", "43"],
    ),
];

const fn case(
    (width_m, height_m): (f64, f64),
    spacing_cm: f64,
    laps: u8,
    speed_mps: f64,
    cutting_minutes: f64,
    lanes: u32,
    [path_m, mowing_min, rate_m2_per_h, battery_percent]: [&'static str; 4],
) -> Case {
    Case {
        width_m,
        height_m,
        spacing_cm,
        laps,
        speed_mps,
        cutting_minutes,
        lanes,
        path_m,
        mowing_min,
        rate_m2_per_h,
        battery_percent,
    }
}

fn estimate(case: &Case) -> crate::sim::coverage::Estimate {
    let map = rectangle(MOWER, case.width_m, case.height_m);
    let profile = Profile {
        cutting_minutes: case.cutting_minutes,
        ..Profile::named(ProfileName::Luba)
    };
    let pattern = Pattern {
        spacing_cm: case.spacing_cm,
        border_laps: case.laps,
        ..Pattern::default()
    };
    let figures = Figures::of(&profile, case.speed_mps);
    plan(&map, &[area_id(MOWER, 1)], &pattern, &figures)
        .unwrap()
        .estimate
}

#[test]
fn five_rectangles_take_what_is_known() {
    for case in &CASES {
        let estimate = estimate(case);
        let minutes = estimate.mowing_s / 60.0;
        let decimals = usize::from(minutes < 100.0);
        let rate = estimate.area_m2 / (estimate.mowing_s / 3_600.0);
        assert_eq!(estimate.lanes, case.lanes);
        assert_eq!(format!("{:.0}", estimate.mowing_m), case.path_m);
        assert_eq!(format!("{minutes:.decimals$}"), case.mowing_min);
        assert_eq!(format!("{rate:.0}"), case.rate_m2_per_h);
        assert_eq!(
            format!("{:.0}", estimate.mowing_battery_percent),
            case.battery_percent
        );
    }
}

/// Four recharges and 785 minutes, the way to the dock left out.
#[test]
fn a_large_lawn_needs_four_recharges() {
    let estimate = estimate(&CASES[2]);
    assert_eq!(estimate.recharges, 4);
    let total_s = estimate.total_s - estimate.transit_s;
    assert_eq!(format!("{:.0}", total_s / 60.0), "785");
    let charger = Charger::new(&Profile::named(ProfileName::Luba));
    assert_eq!(
        format!("{:.1}", charger.seconds_from(LOW_PERCENT) / 60.0),
        "81.9"
    );
}
