//! A refused call touches nothing: no store, no service, no vehicle.
//!
//! Every row that is not a read is refused in every way there is, and after
//! each refusal the commands at Redis, the bytes to the service and the frames
//! on the link are counted. The same call, made by who may, moves the counters:
//! they can tell.

mod meters;
mod refusal;

use interlock_surface::{Class, Idempotency, Row};
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};

use crate::personas::{public, stage};
use meters::{Meters, Moved};
use refusal::Refusal;

fn rows() -> impl Iterator<Item = &'static Row> {
    public().filter(|row| !matches!(row.class, Class::Read | Class::PrivateRead))
}

/// Refuses one row in each of `ways`, then lets it through.
async fn check(system: &System, meters: &mut Meters, row: &'static Row, ways: &[Refusal]) {
    let ask = stage::set(system, row).await;
    meters.read(system).await;
    for way in ways {
        let Some(status) = way.status(row) else {
            continue;
        };
        let what = format!("{} refused for {way:?}", row.name);
        let answer = way.send(system, &ask);
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        let moved = read(system, meters, &ask.path).await;
        // A plan is judged on its record: that one is read, once, and only for
        // somebody who has said who they are and what they ask.
        let looked_up = system.redis.is_some() && way.decided() && row.path.contains("{plan}");
        let at = row.path.split('/').position(|part| part == "{plan}");
        let plan = at.and_then(|at| ask.path.split('/').nth(at));
        let plan = plan.unwrap_or_default();
        let allowed = match looked_up {
            true => vec![format!("HGET interlock:{{plan:{plan}}} json")],
            false => Vec::new(),
        };
        let nothing = Moved {
            store: allowed,
            ..Moved::default()
        };
        assert_eq!(moved, nothing, "{what}");
    }
    // One of these may, whatever it is.
    let mut answer = ask.by(system, Persona::Proposer).send().await;
    for other in [
        Persona::Approver,
        Persona::Driver,
        Persona::Dispatcher,
        Persona::Manager,
    ] {
        if answer.status == 403 {
            meters.read(system).await;
            answer = ask.by(system, other).send().await;
        }
    }
    answer.expect(row.success);
    touched(row, &read(system, meters, &ask.path).await);
}

/// What moved since the last reading on account of calls of `path`.
async fn read(system: &System, meters: &mut Meters, path: &str) -> Moved {
    let mut moved = meters.read(system).await;
    moved.store.retain(|command| !settles(command, path));
    moved
}

/// Whether this is the gateway looking, unasked, what became of a plan that an
/// earlier call dispatched: of another plan than this path's. A script that is
/// made known touches nothing; what runs it stands for itself.
fn settles(command: &str, path: &str) -> bool {
    let looked_up = command
        .strip_prefix("HGET interlock:{plan:")
        .and_then(|rest| rest.split('}').next());
    looked_up.is_some_and(|plan| !path.contains(plan))
        || command.contains("{plans}:unsettled")
        || command.starts_with("SCRIPT LOAD ")
}

/// What a call of `row` that was let through must have moved.
fn touched(row: &Row, moved: &Moved) {
    let what = format!("{} let through: {moved:?}", row.name);
    // A stop goes past the store even when it is let through, and so does what
    // takes no key.
    assert_eq!(
        moved.store.is_empty(),
        row.idempotency == Idempotency::Never,
        "{what}"
    );
    assert_eq!(
        moved.upstream_bytes == 0,
        row.class == Class::Approval,
        "{what}"
    );
    let frames = moved.starts + moved.commands;
    let flies = row.service == "drones"
        && matches!(
            row.class,
            Class::Write | Class::GatedWrite | Class::SafetyWrite
        );
    assert_eq!(frames, u64::from(flies), "{what}");
}

/// Refuses every row in every way of enforced mode.
async fn enforced(plan: Plan) {
    let system = System::start(plan).await;
    let mut meters = Meters::of(&system).await;
    let mut checked = 0;
    for row in rows() {
        check(&system, &mut meters, row, &Refusal::ALL).await;
        checked += 1;
    }
    assert!(checked >= 40, "{checked} rows are not reads");
}

#[tokio::test]
async fn a_refused_call_touches_nothing_in_enforced_mode_on_redis() {
    enforced(Plan::REDIS.with_mowers()).await;
}

#[tokio::test]
async fn a_refused_call_touches_nothing_in_enforced_mode_on_a_file() {
    enforced(Plan::ENFORCED.with_mowers()).await;
}

/// Open mode knows no callers, but it knows foreign web pages.
#[tokio::test]
async fn a_refused_call_touches_nothing_in_open_mode() {
    let system = System::start(Plan {
        enforced: false,
        ..Plan::REDIS.with_mowers()
    })
    .await;
    let mut meters = Meters::of(&system).await;
    for row in rows() {
        let ways = [
            Refusal::CrossOrigin,
            Refusal::CrossSite,
            Refusal::WrongHost,
            Refusal::WrongVerb,
            Refusal::MalformedBody,
            Refusal::UnknownField,
            Refusal::MalformedKey,
        ];
        check(&system, &mut meters, row, &ways).await;
    }
}
