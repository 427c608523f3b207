use uuid::Uuid;

use super::{Faults, Problem};
use crate::operations::Effect;

/// Every problem of this service, one of each.
fn all() -> Vec<Problem> {
    let text = String::new;
    vec![
        Problem::Invalid(Faults(Vec::new())),
        Problem::MissionActive(Uuid::nil()),
        Problem::Conflicting(Vec::new()),
        Problem::StoppedSince(text()),
        Problem::Moved(text()),
        Problem::Stale(text()),
        Problem::NotActive(Uuid::nil()),
        Problem::NotFound,
        Problem::MethodNotAllowed,
        Problem::Unavailable(text()),
        Problem::SwarmRefused(text()),
        Problem::Unknown(text()),
        Problem::TooLate,
        Problem::Tombstoned,
        Problem::InProgress(text()),
        Problem::Reused,
        Problem::Unsettled,
        Problem::NotDurable,
        Problem::Internal,
    ]
}

/// docs/DRONE-PROBLEMS.md lists every problem with its status and effect, and no other; those of
/// the guard stand in its second table.
#[test]
fn every_problem_is_documented() {
    let page = include_str!("../../../../../docs/DRONE-PROBLEMS.md");
    let table = page.split("## Of the grant").next().unwrap();
    let listed: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.rsplit_once(" | ").unwrap().0)
        .collect();
    let mut expected: Vec<String> = all()
        .into_iter()
        .map(|problem| {
            let (status, slug, _, effect) = problem.parts();
            let effect: Effect = effect;
            format!("| `{slug}` | {} | {}", status.as_u16(), effect.as_str())
        })
        .collect();
    expected.sort();
    assert_eq!(listed, expected);
}
