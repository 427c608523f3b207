//! Processes that end at a named point, one on each side of every transition
//! and send: never two flights, and what a caller is told agrees with what the
//! simulator counted.

pub(crate) mod case;
mod decisions;
mod dispatches;
mod proposals;
mod service;
mod settlers;
mod stops;

use std::thread;

use interlock_drones::crash as drones;
use interlock_gateway::crash::{CRASH_POINTS, CrashPoint};
use tokio::runtime::Builder;

/// What is going on when a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Propose,
    Decide,
    Dispatch,
    Settle,
    Start,
    Stop,
}

/// The flow in which the gateway reaches a point. A new point does not compile
/// before it has its place here, and with it its test.
fn in_gateway(point: CrashPoint) -> Flow {
    match point {
        CrashPoint::BeforeInsert | CrashPoint::AfterInsert => Flow::Propose,
        CrashPoint::BeforeDecide | CrashPoint::AfterDecide => Flow::Decide,
        CrashPoint::BeforeClaim
        | CrashPoint::AfterClaim
        | CrashPoint::BeforeConsume
        | CrashPoint::AfterConsume
        | CrashPoint::BeforeSend
        | CrashPoint::AfterSend
        | CrashPoint::AfterFinish
        | CrashPoint::AfterKey => Flow::Dispatch,
        CrashPoint::BeforeSettle | CrashPoint::AfterSettle => Flow::Settle,
        CrashPoint::StopBeforeSend | CrashPoint::StopAfterSend => Flow::Stop,
    }
}

/// The flow in which the drone service reaches a point.
fn in_service(point: drones::CrashPoint) -> Flow {
    use drones::CrashPoint;
    match point {
        CrashPoint::BeforeBegin
        | CrashPoint::AfterBegin
        | CrashPoint::BeforeLinkSend
        | CrashPoint::AfterLinkSend
        | CrashPoint::AfterAck
        | CrashPoint::BeforeFinish
        | CrashPoint::AfterFinish
        | CrashPoint::BeforeAnswer => Flow::Start,
        CrashPoint::StopBeforeLink | CrashPoint::StopAfterLink => Flow::Stop,
    }
}

/// A point, by the name that a process is started with.
type Named<P> = (&'static str, P);

fn gateway_points(flow: Flow) -> Vec<Named<CrashPoint>> {
    let points = CRASH_POINTS.iter().copied();
    points
        .filter(|(_, point)| in_gateway(*point) == flow)
        .collect()
}

fn service_points(flow: Flow) -> Vec<Named<drones::CrashPoint>> {
    let points = drones::CRASH_POINTS.iter().copied();
    points
        .filter(|(_, point)| in_service(*point) == flow)
        .collect()
}

/// How many points are tried at once: most of each is waiting for a lease to
/// end.
const AT_ONCE: usize = 4;

/// Runs a check per point, each on a thread of its own.
fn each<P, F>(points: Vec<Named<P>>, check: impl Fn(&'static str, P) -> F + Sync)
where
    P: Copy + Send + Sync,
    F: Future<Output = ()>,
{
    assert!(!points.is_empty(), "a flow without a point");
    let run = &|name, point| {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime
            .expect("a runtime starts")
            .block_on(check(name, point));
    };
    for some in points.chunks(AT_ONCE) {
        thread::scope(|scope| {
            for (name, point) in some.iter().copied() {
                scope.spawn(move || run(name, point));
            }
        });
    }
}

/// Every flow that a point lies in has a test that runs all its points, so
/// that together they run every point there is.
#[test]
fn every_point_is_exercised() {
    let tested = [
        (Flow::Propose, gateway_points(Flow::Propose).len()),
        (Flow::Decide, gateway_points(Flow::Decide).len()),
        (Flow::Dispatch, gateway_points(Flow::Dispatch).len()),
        (Flow::Settle, gateway_points(Flow::Settle).len()),
        (Flow::Stop, gateway_points(Flow::Stop).len()),
    ];
    let run: usize = tested.iter().map(|(_, points)| points).sum();
    assert_eq!(run, CRASH_POINTS.len(), "in the gateway: {tested:?}");
    let run = service_points(Flow::Start).len() + service_points(Flow::Stop).len();
    assert_eq!(run, drones::CRASH_POINTS.len(), "in the drone service");
}
