use std::sync::Arc;

use interlock_guard::Clock;
use jiff::SignedDuration;
use tokio::time::{Instant, sleep};

use super::FleetTime;
use crate::device::testkit::{TestClock, ms, noon};

/// A clock `off_ms` wrong that asked a service and waited `there` and `back`.
async fn measured(off_ms: i64, there: u64, back: u64) -> (FleetTime, Arc<TestClock>) {
    let fleet = TestClock::new(0);
    let time = FleetTime::new(TestClock::new(off_ms));
    let (asked, asked_at) = (time.own(), Instant::now());
    sleep(ms(there)).await;
    let said = fleet.now();
    sleep(ms(back)).await;
    time.learn(asked, asked_at, said);
    (time, fleet)
}

/// Whether such a clock is trusted, and how far off the fleet's time it then is.
async fn check(off_ms: i64, (there, back): (u64, u64), trusted: bool, off_after_ms: i64) {
    let (time, fleet) = measured(off_ms, there, back).await;
    assert_eq!(time.trusted().is_ok(), trusted, "{off_ms}");
    let off = time.now().duration_since(fleet.now());
    assert_eq!(off, SignedDuration::from_millis(off_after_ms));
}

#[tokio::test(start_paused = true)]
async fn the_measured_difference_moves_the_own_clock() {
    check(0, (0, 0), true, 0).await;
    check(1_500, (0, 0), true, 0).await;
    check(-1_500, (100, 100), true, 0).await;
    check(2_000, (0, 0), true, 0).await;
    check(2_001, (0, 0), false, 0).await;
    check(-2_001, (0, 0), false, 0).await;
    // The error is at most half the round trip.
    check(0, (0, 1_000), true, -500).await;
    check(0, (1_000, 0), true, 500).await;
    // What was too long on its way measures nothing.
    check(300, (600, 600), false, 300).await;
}

#[tokio::test(start_paused = true)]
async fn an_old_measurement_is_none() {
    let (time, _) = measured(0, 0, 0).await;
    sleep(ms(60_000)).await;
    assert!(time.trusted().is_ok());
    sleep(ms(1)).await;
    assert!(time.trusted().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_stop_lives_its_life_when_nobody_knows_the_time() {
    let ends = noon() + SignedDuration::from_secs(10);
    let wrong = FleetTime::new(TestClock::new(60_000));
    assert_eq!(wrong.stop_left(noon(), ends), ms(10_000));
    let (known, _) = measured(60_000, 0, 0).await;
    sleep(ms(4_000)).await;
    assert_eq!(known.stop_left(noon(), ends), ms(6_000));
    sleep(ms(7_000)).await;
    assert_eq!(known.stop_left(noon(), ends), ms(0));
}
