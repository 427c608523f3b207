use std::sync::Arc;

use interlock_guard::Clock;
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::SimulatedMowers;
use crate::bus::subject;
use crate::config::Simulator;
use crate::contract::{Activity, Command, MowerState, PathReply, PathRequest, Start, Status};
use crate::device::testkit::{ACCOUNT, Rig, ms, noon, start_mow, stop_now};
use crate::device::wire::{Ask, AskAnswer};
use crate::device::{Adapter, Adapters};
use crate::sim::{Options, ProfileName, RuntimeClock, SharedClock, area_id};

fn usual() -> Simulator {
    Simulator {
        seed: 7,
        speed: 1.0,
        profile: None,
    }
}

fn adapter() -> SimulatedMowers {
    let clock = Arc::new(RuntimeClock::starting(noon()));
    SimulatedMowers::new(usual(), clock)
}

fn options(adapter: &SimulatedMowers, mower: u128, given: &Value) -> Option<Options> {
    adapter.options(Uuid::from_u128(mower), given).ok()
}

/// The width that options lead to, or whether they are refused.
fn check(given: &Value, expected: Option<f64>) {
    let options = options(&adapter(), 1, given);
    assert_eq!(options.map(|options| options.width_m), expected, "{given}");
}

#[tokio::test(start_paused = true)]
async fn a_row_says_what_differs_from_the_defaults() {
    check(&Value::Null, Some(20.0));
    check(&json!({}), Some(20.0));
    check(&json!({"width_m": 8.0, "vendor_account": "a"}), Some(8.0));
    check(&json!({"vendor_account": 7}), None);
    check(&json!({"wide": 8.0}), None);
    check(&json!([]), None);
}

#[tokio::test(start_paused = true)]
async fn what_a_row_does_not_say_the_configuration_says() {
    let usual = Simulator {
        speed: 5.0,
        profile: Some(ProfileName::Landroid),
        ..usual()
    };
    let mowers = SimulatedMowers::new(usual, Arc::new(RuntimeClock::starting(noon())));
    let like_the_others = options(&mowers, 1, &json!({})).unwrap();
    assert_eq!(like_the_others.speed, 5.0);
    assert_eq!(like_the_others.profile, ProfileName::Landroid);
    let adapter = adapter();
    let [one, other] = [1_u128 << 64, 2 << 64].map(|mower| options(&adapter, mower, &json!({})));
    let seed = |options: Option<Options>| options.unwrap().seed;
    assert_ne!(seed(one), seed(other));
    let own = options(&adapter, 1, &json!({ "seed": 3, "speed": 2.0 })).unwrap();
    assert_eq!((own.seed, own.speed), (3, 2.0));
}

#[tokio::test(start_paused = true)]
async fn a_mower_that_is_connected_minutes_later_lives_in_the_same_present() {
    let clock = Arc::new(RuntimeClock::starting(noon()));
    let mowers = SimulatedMowers::new(usual(), Arc::clone(&clock) as SharedClock);
    let connect = |mower| mowers.connect(Uuid::from_u128(mower), &json!({})).unwrap();
    let first = connect(1).connection;
    sleep(ms(300_000)).await;
    let second = connect(2).connection;
    // Taken over: made anew for a mower that was there before.
    let again = connect(1).connection;
    sleep(ms(20_000)).await;
    for connection in [first, second, again] {
        let heard = connection.state().borrow().at;
        let age = clock.now().duration_since(heard);
        assert!((0..=10_000).contains(&age.as_millis()), "{heard}");
    }
}

async fn simulated() -> Rig {
    Rig::with(
        |config| {
            config.adapters = Adapters::default().with("simulated", Arc::new(adapter()));
        },
        0,
    )
    .await
}

async fn state(rig: &Rig) -> MowerState {
    let mine = Ask {
        account_id: ACCOUNT.to_owned(),
    };
    let answer: AskAnswer<MowerState> = rig
        .ask(&subject::ask(rig.mower, "state"), &mine, ms(1_000))
        .await
        .unwrap();
    match answer {
        AskAnswer::Found(state) => state,
        AskAnswer::Error(error) => panic!("{error:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_simulated_mower_drives_the_previewed_path_and_stops() {
    let rig = simulated().await;
    let area = area_id(rig.mower, 1);
    let request = PathRequest {
        request_id: Uuid::nil(),
        mower_id: rig.mower,
        account_id: ACCOUNT.to_owned(),
        start: Start {
            area_ids: vec![area],
            ..Start::default()
        },
        requested_by: "anna".to_owned(),
    };
    let preview: PathReply = rig
        .ask(&subject::preview(rig.mower), &request, ms(80_000))
        .await
        .unwrap();
    let PathReply::Path(path) = preview else {
        panic!("{preview:?}");
    };
    let start = |hash: &str| {
        Command::StartMow(Start {
            area_ids: vec![area],
            expected_path_hash: Some(hash.to_owned()),
            ..start_mow()
        })
    };
    let other = rig.command(start("00")).await;
    sleep(ms(10_000)).await;
    assert!(rig.last(other).unwrap().1.starts_with("plan-changed"));
    let id = rig.command(start(&path.path_hash)).await;
    sleep(ms(20_000)).await;
    assert_eq!(rig.last(id).unwrap().0, Status::Executed);
    let stop = rig.command(stop_now()).await;
    sleep(ms(2_000)).await;
    assert_eq!(rig.last(stop).unwrap().0, Status::Executed);
    let after = state(&rig).await;
    assert_eq!(after.activity, Activity::Stopped);
    assert!(after.emergency.latched);
    let again = rig.command(start(&path.path_hash)).await;
    sleep(ms(10_000)).await;
    assert_eq!(rig.last(again).unwrap().0, Status::Rejected);
}
