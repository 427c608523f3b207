use interlock_guard::ops::Exposition;
use tokio::time::sleep;

use crate::connection::Sent;
use crate::device::testkit::{Rig, Vendor, ms, stop_now};
use crate::ops::tests::{documented, told};

fn text(rig: &Rig) -> String {
    let mut exposition = Exposition::default();
    let gateway = rig.gateway.as_ref().expect("a gateway");
    gateway.numbers().write(&mut exposition);
    exposition.into_text()
}

#[track_caller]
fn check(rig: &Rig, sample: &str) {
    let text = text(rig);
    assert!(text.lines().any(|it| it == sample), "no `{sample}`: {text}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_nobody_carried_out_is_told() {
    let rig = Rig::start().await;
    check(&rig, "interlock_device_mowers_held 1");
    check(&rig, "interlock_device_ready 1");
    check(&rig, "interlock_device_alarms_total 0");
    *rig.script.stops.lock().unwrap() = Vendor::Says(Sent::NotSent("no link".to_owned()));
    rig.command(stop_now()).await;
    check(&rig, "interlock_device_stops_under_way 1");
    sleep(ms(12_000)).await;
    check(&rig, "interlock_device_stops_under_way 0");
    check(&rig, "interlock_device_stops_total 1");
    check(&rig, "interlock_device_alarms_total 1");
    check(&rig, "interlock_device_finals_total 1");
    check(&rig, "interlock_device_results_unpublished 0");
}

/// docs/MOWERS.md lists every number of a device gateway as it is told, and no other.
#[tokio::test(start_paused = true)]
async fn the_page_lists_every_number() {
    let rig = Rig::start().await;
    assert_eq!(documented("interlock_device_"), told(&text(&rig)));
}
