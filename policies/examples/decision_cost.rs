//! What a decision costs, as JSON: microseconds and policies evaluated, with
//! 20, 150 and 1500 policies loaded.
//!
//! Each figure is the fastest of 25 batches, in wall-clock time of one thread:
//! the fastest batch is the one that the rest of the machine disturbed least.
//! Allocations are not counted: a counting allocator takes `unsafe`, which this
//! workspace forbids.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use interlock_policies::{
    Bundle, ContextFacts, INSTALLATION, Mode, Principal, PrincipalFacts, PrincipalKind,
    ResourceFacts, Role, Roles, VehicleState,
};
use interlock_surface::{ResourceType, Row, row};

const BATCHES: usize = 25;
const DECISIONS: u32 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("bundle"),
        scratch.path(),
    )?;
    let shipped = Bundle::load(scratch.path())?.len();
    let mut results = Vec::new();
    for policies in [20, 150, 1500] {
        // Guards of accounts, three to an account, fill the bundle up.
        let filling = usize::saturating_sub(policies, shipped);
        fill(scratch.path(), filling)?;
        let started = Instant::now();
        let bundle = Bundle::load(scratch.path())?;
        let load = started.elapsed();
        for (question, row, principal) in questions()? {
            let resource = resource(row);
            results.push(serde_json::json!({
                "policies": bundle.len(),
                "loadMillis": load.as_millis(),
                "question": question,
                "evaluated": bundle.evaluated(&principal, row, &resource),
                "micros": micros(&bundle, &principal, row, &resource),
            }));
        }
    }
    println!("{}", serde_json::to_string_pretty(&results)?);
    Ok(())
}

fn micros(bundle: &Bundle, principal: &Principal, row: &'static Row, to: &ResourceFacts) -> f64 {
    let context = ContextFacts {
        mode: Mode::Enforced,
        loopback: false,
        kind: None,
        ttl_ms: 0,
        idempotency_key: true,
    };
    let batch = || {
        let started = Instant::now();
        for _ in 0..DECISIONS {
            black_box(bundle.decide(principal, row, black_box(to), &context));
        }
        started.elapsed().as_secs_f64() * 1e6 / f64::from(DECISIONS)
    };
    let fastest = (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min);
    (fastest * 10.0).round() / 10.0
}

type Question = (&'static str, &'static Row, Principal);

fn questions() -> Result<Vec<Question>, Box<dyn Error>> {
    let caller = |kind, role| {
        Principal::prepare(
            &PrincipalFacts {
                kind,
                issuer: "https://idp.example".to_owned(),
                subject: "someone".to_owned(),
                actor: None,
                person: None,
                bounds: Vec::new(),
                tenants: vec!["acme".to_owned()],
                grants: vec![(role, "acme".to_owned())],
                suspended: false,
            },
            &Roles::default(),
        )
    };
    let find = |name: &str| row(name).ok_or_else(|| format!("no row `{name}`"));
    let (person, agent) = (PrincipalKind::Person, PrincipalKind::Agent);
    Ok(vec![
        (
            "a viewer reads",
            find("drones.swarm.state")?,
            caller(person, Role::VIEWER)?,
        ),
        (
            "a viewer stops",
            find("drones.swarm.land")?,
            caller(person, Role::VIEWER)?,
        ),
        (
            "an operator starts",
            find("drones.mission.start")?,
            caller(person, Role::OPERATOR)?,
        ),
        (
            "an agent proposes",
            find("drones.plan.propose")?,
            caller(agent, Role::OPERATOR)?,
        ),
        (
            "a viewer is denied",
            find("drones.mission.start")?,
            caller(person, Role::VIEWER)?,
        ),
    ])
}

fn resource(row: &Row) -> ResourceFacts {
    debug_assert_eq!(row.resource, ResourceType::Swarm);
    ResourceFacts {
        kind: row.resource,
        id: "swarm-1".to_owned(),
        scopes: vec!["acme".to_owned(), INSTALLATION.to_owned()],
        proposer: None,
        state: VehicleState::default(),
    }
}

fn fill(bundle: &Path, policies: usize) -> std::io::Result<()> {
    for account in 0..policies.div_ceil(3) {
        let mut text = String::new();
        for n in (account * 3..policies).take(3) {
            let _ = writeln!(
                text,
                "@id(\"tenant.{n}\")\nforbid (principal, \
                 action in [Action::\"plan\", Action::\"gated_write\", Action::\"write\"], \
                 resource in Scope::\"account-{account}\")\nwhen {{ context.ttl_ms > {n} }};"
            );
        }
        fs::write(
            bundle.join(format!("tenants/account-{account}.cedar")),
            text,
        )?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
