use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{count, thin};
use crate::bus::{Bus, subject};
use crate::contract::{
    Activity, Capabilities, CommandKind, Leg, LegKind, Map, MowerState, Path, PathError,
    PathErrorCode, PathOver, PathReply, PathRequest, Pattern, Point, Start,
};
use crate::device::testkit::{ACCOUNT, Rig, area, json, ms, path};
use crate::device::wire::{Ask, AskAnswer};

fn request(rig: &Rig) -> PathRequest {
    PathRequest {
        request_id: Uuid::now_v7(),
        mower_id: rig.mower,
        account_id: ACCOUNT.to_owned(),
        start: Start {
            area_ids: vec![area()],
            ..Start::default()
        },
        requested_by: "anna".to_owned(),
    }
}

async fn ask(rig: &Rig, request: &PathRequest) -> PathReply {
    rig.ask(&subject::preview(rig.mower), request, ms(85_000))
        .await
        .unwrap()
}

/// What a preview answers after a change.
async fn check(change: impl FnOnce(&Rig, &mut PathRequest), expected: Option<PathErrorCode>) {
    let rig = Rig::start().await;
    let mut request = request(&rig);
    change(&rig, &mut request);
    let code = match ask(&rig, &request).await {
        PathReply::Path(_) => None,
        PathReply::Error(error) => Some(error.code),
    };
    assert_eq!(code, expected);
    let planned = rig.script.plans.load(Ordering::SeqCst);
    assert_eq!(planned, u32::from(expected.is_none()));
}

fn activity(rig: &Rig, activity: Activity) {
    rig.change_state(|state| state.activity = activity);
}

#[tokio::test(start_paused = true)]
async fn a_preview_plans_or_says_why_not() {
    use PathErrorCode::{Forbidden, Rejected, Unavailable, Unsupported};

    check(|_, _| {}, None).await;
    let other = "other".to_owned();
    check(|_, request| request.account_id = other, Some(Forbidden)).await;
    check(|_, request| request.start.area_ids.clear(), Some(Rejected)).await;
    let unknown = |_: &Rig, request: &mut PathRequest| request.start.area_ids.push(Uuid::nil());
    check(unknown, Some(Rejected)).await;
    let wide = |_: &Rig, request: &mut PathRequest| {
        request.start.pattern = Some(Pattern {
            spacing_cm: 90.0,
            ..Pattern::default()
        });
    };
    check(wide, Some(Rejected)).await;
    // What the dispatch of the plan would refuse.
    let fast = |_: &Rig, request: &mut PathRequest| request.start.speed_mps = Some(0.7);
    check(fast, Some(Rejected)).await;
    let low = |_: &Rig, request: &mut PathRequest| request.start.blade_height_mm = Some(24);
    check(low, Some(Rejected)).await;
    let never = |_: &Rig, request: &mut PathRequest| request.start.duration_min = Some(0);
    check(never, Some(Rejected)).await;
    let usual = |_: &Rig, request: &mut PathRequest| {
        request.start.speed_mps = Some(0.4);
        request.start.blade_height_mm = Some(40);
        request.start.duration_min = Some(30);
    };
    check(usual, None).await;
    check(|rig, _| activity(rig, Activity::Mowing), Some(Rejected)).await;
    check(|rig, _| activity(rig, Activity::Undocking), Some(Rejected)).await;
    check(|rig, _| activity(rig, Activity::Docked), None).await;
    check(|rig, _| activity(rig, Activity::Offline), Some(Unavailable)).await;
    let unable = |rig: &Rig, _: &mut PathRequest| {
        rig.script.capabilities.lock().unwrap().path_preview = false;
    };
    check(unable, Some(Unsupported)).await;
}

#[tokio::test(start_paused = true)]
async fn planning_is_bounded() {
    let rig = Rig::start().await;
    rig.script.plan.lock().unwrap().0 = ms(76_000);
    let begun = Instant::now();
    let PathReply::Error(error) = ask(&rig, &request(&rig)).await else {
        panic!("a path");
    };
    assert_eq!(error.code, PathErrorCode::Timeout);
    assert!((ms(75_000)..ms(75_100)).contains(&begun.elapsed()));
    rig.script.plan.lock().unwrap().0 = ms(74_000);
    assert!(matches!(
        ask(&rig, &request(&rig)).await,
        PathReply::Path(_)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_mower_plans_one_path_at_a_time() {
    let rig = Rig::start().await;
    rig.script.plan.lock().unwrap().0 = ms(5_000);
    let request = request(&rig);
    let (first, second) = tokio::join!(ask(&rig, &request), ask(&rig, &request));
    let refused = [first, second]
        .into_iter()
        .filter_map(|reply| match reply {
            PathReply::Error(error) => Some(error),
            PathReply::Path(_) => None,
        })
        .collect::<Vec<_>>();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].code, PathErrorCode::PreviewRunning);
    assert_eq!(rig.script.plans.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_path_that_nobody_waits_for_is_planned_no_further() {
    let rig = Rig::start().await;
    rig.script.plan.lock().unwrap().0 = ms(70_000);
    let long = request(&rig);
    let over = async |request_id| {
        let over = Bytes::from(json(&PathOver { request_id }));
        let subject = subject::preview_over(rig.mower);
        rig.bus.real.send(&subject, over).await.unwrap();
        sleep(ms(1)).await;
    };
    let begun = Instant::now();
    let cancelled = async {
        sleep(ms(1_000)).await;
        over(Uuid::now_v7()).await;
        let PathReply::Error(busy) = ask(&rig, &request(&rig)).await else {
            panic!("another one's end");
        };
        assert_eq!(busy.code, PathErrorCode::PreviewRunning);
        over(long.request_id).await;
        rig.script.plan.lock().unwrap().0 = ms(0);
        ask(&rig, &request(&rig)).await
    };
    let (ended, next) = tokio::join!(ask(&rig, &long), cancelled);
    assert!(matches!(ended, PathReply::Error(error) if error.code == PathErrorCode::Failed));
    assert!(matches!(next, PathReply::Path(_)));
    assert!(begun.elapsed() < ms(2_000), "{:?}", begun.elapsed());
    // One that is over already ends nothing.
    over(long.request_id).await;
    assert!(matches!(
        ask(&rig, &request(&rig)).await,
        PathReply::Path(_)
    ));
}

#[tokio::test(start_paused = true)]
async fn only_the_holder_answers() {
    let rig = Rig::start().await;
    let elsewhere = subject::preview(Uuid::from_u128(0xF));
    let answer = rig
        .ask::<PathReply>(&elsewhere, &request(&rig), ms(2_000))
        .await;
    assert!(answer.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_path_beyond_the_bounds_is_thinned_and_says_so() {
    let rig = Rig::with(|config| config.bounds.preview_bytes = 20_000, 0).await;
    rig.script.plan.lock().unwrap().1 = Ok(long_path(10, 1_000));
    let PathReply::Path(path) = ask(&rig, &request(&rig)).await else {
        panic!("no path");
    };
    assert!(path.truncated);
    assert!(serde_json::to_vec(&path).unwrap().len() <= 20_000);
    assert_eq!(path.points_total, 10_000);
    // The hash stays that of the whole path.
    assert_eq!(path.path_hash, "aa");
}

fn long_path(legs: u32, points: u32) -> Path {
    let leg = |number| Leg {
        kind: LegKind::Lane,
        points: (0..points)
            .map(|x| Point {
                x: f64::from(x),
                y: f64::from(number),
            })
            .collect(),
    };
    Path {
        legs: (0..legs).map(leg).collect(),
        points_total: legs * points,
        ..path("aa")
    }
}

#[test]
fn thinning_keeps_the_ends_of_every_leg() {
    for most in [100, 500, 1_999, 10_000] {
        let whole = long_path(20, 100);
        let thinned = thin(&whole, most);
        assert!(
            count(&thinned) <= most.max(40),
            "{most}: {}",
            count(&thinned)
        );
        assert_eq!(thinned.truncated, most < 2_000);
        for (leg, before) in thinned.legs.iter().zip(&whole.legs) {
            assert_eq!(leg.points.first(), before.points.first());
            assert_eq!(leg.points.last(), before.points.last());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_holder_tells_map_capabilities_and_state() {
    let rig = Rig::start().await;
    let mine = Ask {
        account_id: ACCOUNT.to_owned(),
    };
    let map: AskAnswer<Map> = rig
        .ask(&subject::ask(rig.mower, "map"), &mine, ms(1_000))
        .await
        .unwrap();
    assert!(matches!(map, AskAnswer::Found(map) if map.areas[0].id == area()));
    let able: AskAnswer<Capabilities> = rig
        .ask(&subject::ask(rig.mower, "capabilities"), &mine, ms(1_000))
        .await
        .unwrap();
    assert!(matches!(able, AskAnswer::Found(able) if able.kinds == CommandKind::ALL));
    let state: AskAnswer<MowerState> = rig
        .ask(&subject::ask(rig.mower, "state"), &mine, ms(1_000))
        .await
        .unwrap();
    assert!(matches!(state, AskAnswer::Found(state) if state.mower_id == rig.mower));
    let theirs = Ask {
        account_id: "other".to_owned(),
    };
    let refused: AskAnswer<Map> = rig
        .ask(&subject::ask(rig.mower, "map"), &theirs, ms(1_000))
        .await
        .unwrap();
    let forbidden = |error: &PathError| error.code == PathErrorCode::Forbidden;
    assert!(matches!(refused, AskAnswer::Error(error) if forbidden(&error)));
}
