//! What the simulator must let a device gateway prove.

use std::collections::HashMap;

use super::{
    Activity, Command, Duration, Options, ProfileName, RESUME, Rig, Sent, Uuid, Verdict, area_id,
    of, rejected, sleep,
};
use crate::contract::{LegKind, Map, Path, Point};
use crate::sim::Quality;
use crate::sim::coverage::tests::raster::cut;
use crate::sim::garden::rectangle;
use crate::sim::geometry::nearest_on;
use crate::sim::machine::{Machine, Reply, STEP_MS};
use crate::sim::profile::Profile;

/// A fifth of all messages come twice, a fifth are overtaken.
#[tokio::test(start_paused = true)]
async fn one_final_per_command_under_duplicates_and_reorder() {
    let mut rig = Rig::new(&Options::default());
    rig.hooks.link(Quality {
        duplicates: 0.2,
        reorder: 0.2,
        jitter_ms: 40.0,
        ..Quality::default()
    });
    let start = rig.start_command();
    let mut sent = vec![];
    for round in 0..200_u16 {
        let command = match round % 5 {
            0 => start.clone(),
            1 => Command::PauseMow {},
            2 => RESUME,
            3 => Command::SetBladeHeight {
                height_mm: 30 + round % 40,
            },
            _ => Command::ReturnToDock {},
        };
        let (id, taken) = rig.hand(&command).await;
        assert_eq!(taken, Sent::Taken);
        sent.push((id, command));
        sleep(Duration::from_millis(200)).await;
    }
    sleep(Duration::from_secs(60)).await;
    let mut finals: HashMap<Uuid, Vec<Verdict>> = HashMap::new();
    for answer in rig.answers() {
        finals
            .entry(answer.command_id)
            .or_default()
            .push(answer.verdict);
    }
    assert_eq!(finals.len(), sent.len());
    assert!(
        finals
            .values()
            .all(|all| all.iter().all(|one| *one == all[0]))
    );
    assert!(finals.values().any(|all| all.len() > 1));
    let departures = sent
        .iter()
        .filter(|(_, command)| matches!(command, Command::StartMow(_) | Command::ResumeMow { .. }))
        .filter(|(id, _)| finals[id][0] == Verdict::Executed(None))
        .count();
    let counters = rig.hooks.truth().counters;
    assert_eq!(counters.departures, departures as u64);
    assert!(counters.duplicates > 20, "{counters:?}");
}

/// The life of a command is checked by who sends it: a mower that is away for
/// 31 s is asked until the 30 s are over, and not once after.
#[tokio::test(start_paused = true)]
async fn a_start_is_not_executed_after_its_life() {
    for (away_s, departures) in [(31, 0), (28, 1)] {
        let rig = Rig::new(&Options::default());
        rig.hooks.offline_for(Duration::from_secs(away_s));
        let start = rig.start_command();
        let expires = tokio::time::Instant::now() + Duration::from_secs(30);
        while tokio::time::Instant::now() < expires {
            if rig.hand(&start).await.1 == Sent::Taken {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        sleep(Duration::from_secs(60)).await;
        assert_eq!(rig.hooks.truth().counters.departures, departures);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_overtakes_a_start_on_its_way() {
    let mut rig = Rig::new(&Options::default());
    rig.hooks.link(Quality {
        latency_ms: 500.0,
        jitter_ms: 50.0,
        ..Quality::default()
    });
    for _ in 0..5 {
        rig.hand(&RESUME).await;
    }
    let (start, _) = rig.hand(&rig.start_command()).await;
    rig.hooks.link(Quality::default());
    rig.connected.connection.stop(Uuid::now_v7(), None).await;
    sleep(Duration::from_secs(30)).await;
    let answers = rig.answers();
    let answer = answers.iter().find(|answer| answer.command_id == start);
    assert_eq!(answer.unwrap().verdict, rejected("emergency-latched"));
    assert_eq!(rig.hooks.truth().counters.departures, 0);
    assert!(rig.hooks.truth().latched);
}

/// Where a stop is only a pause it stays behind the start, so that the mower
/// does not drive on after it.
#[tokio::test(start_paused = true)]
async fn a_stop_that_only_pauses_comes_after_the_start() {
    let mut rig = Rig::new(&of(ProfileName::Automower));
    rig.hooks.link(Quality {
        latency_ms: 500.0,
        jitter_ms: 400.0,
        ..Quality::default()
    });
    rig.hand(&rig.start_command()).await;
    rig.connected.connection.stop(Uuid::now_v7(), None).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(rig.state().activity, Activity::Paused);
    assert_eq!(rig.hooks.truth().speed_mps, 0.0);
    assert_eq!(rig.answers().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stop_stands_within_a_second() {
    let mut rig = Rig::mowing(&Options::default()).await;
    let fast = Command::SetSpeed { speed_mps: 0.6 };
    rig.send(&fast).await;
    while rig.hooks.truth().speed_mps < 0.599 {
        sleep(Duration::from_millis(20)).await;
    }
    let asked = tokio::time::Instant::now();
    assert_eq!(rig.stop().await, Verdict::Executed(None));
    // The answer comes once it stands, over the link.
    assert!(
        asked.elapsed() < Duration::from_secs(1),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(rig.hooks.truth().speed_mps, 0.0);
}

#[tokio::test(start_paused = true)]
async fn power_lost_in_a_lane_resumes_on_the_same_path_only() {
    let after_loss = async || {
        let rig = Rig::mowing(&Options::default()).await;
        sleep(Duration::from_secs(900)).await;
        let before = rig.state().job.clone().unwrap();
        rig.hooks.lose_power(Duration::from_secs(20));
        assert_eq!(rig.state().activity, Activity::Offline);
        sleep(Duration::from_secs(30)).await;
        (rig, before)
    };
    let (mut rig, before) = after_loss().await;
    assert_eq!(rig.send(&RESUME).await, Verdict::Executed(None));
    sleep(Duration::from_secs(10)).await;
    let job = rig.state().job.clone().unwrap();
    assert_eq!(job.path_hash, before.path_hash);
    assert!(job.progress_percent >= before.progress_percent - 0.1);
    let (mut rig, _) = after_loss().await;
    let map = (*rig.connected.connection.map()).clone();
    rig.hooks.replace_map(Map {
        revision: map.revision + 1,
        ..map
    });
    assert_eq!(rig.send(&RESUME).await, rejected("path-changed"));
    assert_eq!(rig.state().activity, Activity::Paused);
}

/// An L with a pond.
fn garden() -> Map {
    let points = |corners: &[[f64; 2]]| corners.iter().map(|c| Point::from(*c)).collect();
    let mut map = rectangle(Uuid::from_u128(7), 9.0, 8.0);
    map.areas[0].outline = points(&[
        [0.0, 0.0],
        [9.0, 0.0],
        [9.0, 4.0],
        [5.0, 4.0],
        [5.0, 8.0],
        [0.0, 8.0],
    ]);
    map.areas[0].obstacles = vec![points(&[[2.0, 4.5], [3.2, 4.5], [3.0, 5.6], [2.1, 5.5]])];
    map
}

/// Everything a mower drove on a job: where it was with the job running, and
/// whether the blade was asked to cut.
struct Driven {
    map: Map,
    path: Path,
    /// On the course: true positions, step by step.
    track: Vec<(Point, bool)>,
    /// The farthest it was outside its area.
    outside_m: f64,
    mown_s: f64,
}

fn drive_job() -> Driven {
    let map = garden();
    let profile = Profile::named(ProfileName::Openmower);
    let mut machine = Machine::docked(profile, map.clone(), 11, 100.0);
    let areas = [area_id(Uuid::from_u128(7), 1)];
    let mut start = crate::contract::Start {
        area_ids: areas.to_vec(),
        ..Default::default()
    };
    let plan = machine.planning(&start).unwrap().path().unwrap();
    start.expected_path_hash = Some(plan.path_hash.clone());
    let reply = machine.command(Uuid::nil(), &Command::StartMow(start));
    assert_eq!(reply, Reply::Now(Verdict::Executed(None)));
    let mut driven = Driven {
        map,
        path: plan,
        track: vec![],
        outside_m: 0.0,
        mown_s: 0.0,
    };
    let mut has_mown = false;
    while !has_mown || machine.activity() == Activity::Mowing {
        has_mown |= machine.activity() == Activity::Mowing;
        machine.advance(machine.now_ms() + STEP_MS);
        let truth = machine.truth();
        assert!(machine.now_ms() < 3 * 3_600_000, "it never ends");
        if machine.activity() == Activity::Mowing {
            driven.mown_s += 0.02;
            driven.outside_m = driven.outside_m.max(truth.outside_m);
            if machine.on_course() {
                driven
                    .track
                    .push((truth.position, truth.blade_rpm >= 2_000.0));
            }
        }
    }
    driven
}

fn straights(path: &Path) -> Vec<(Point, Point, LegKind)> {
    path.legs
        .iter()
        .flat_map(|leg| {
            let next = leg.points.iter().skip(1);
            leg.points.iter().zip(next).map(|(a, b)| (*a, *b, leg.kind))
        })
        .collect()
}

#[test]
fn a_driven_job_covers_its_area_inside_it_along_its_preview() {
    let driven = drive_job();
    assert!(driven.outside_m <= 0.10, "{} m outside", driven.outside_m);
    // Speeding up, slowing down and the blade's spin-up are not estimated.
    let share = driven.mown_s / driven.path.est_duration_s;
    assert!((1.0..1.12).contains(&share), "{share} of the estimate");

    // Forward along the preview: each position near the straight it is on, each
    // straight driven to its end.
    let straights = straights(&driven.path);
    let mut on = 0;
    let mut farthest: f64 = 0.0;
    for (position, _) in &driven.track {
        let beside = |index: usize| {
            straights.get(index).map_or(f64::INFINITY, |(a, b, _)| {
                nearest_on(*a, *b, *position).distance(*position)
            })
        };
        let at_end = straights[on].1.distance(*position) < 0.05;
        if at_end && beside(on + 1) <= beside(on).max(0.05) && on + 1 < straights.len() {
            on += 1;
        }
        farthest = farthest.max(beside(on).min(beside(on.saturating_sub(1))));
    }
    assert_eq!(
        on,
        straights.len() - 1,
        "some of the preview was not driven"
    );
    assert!(farthest <= 0.05, "{farthest} m beside the preview");

    let cutting: Vec<(Point, Point)> = driven
        .track
        .iter()
        .zip(driven.track.iter().skip(1))
        .filter(|((a, cuts), (b, _))| *cuts && a.distance(*b) < 0.05)
        .map(|((a, _), (b, _))| (*a, *b))
        .collect();
    let width_m = Profile::named(ProfileName::Openmower).cutting_width_m;
    let cut = cut(&driven.map, &cutting, width_m);
    assert!(cut.covered >= 0.99, "covers {}", cut.covered);
    assert!(cut.overlap <= 0.15, "overlaps {}", cut.overlap);
}
