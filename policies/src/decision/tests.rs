use cedar_policy::{Effect, PolicyId};

use super::{Fault, Verdict};

fn ids(names: &[&str]) -> Vec<PolicyId> {
    names.iter().map(PolicyId::new).collect()
}

fn check(permits: &[&str], forbids: &[&str], expected: (Option<Effect>, &[&str])) {
    let verdict = Verdict {
        permits: ids(permits),
        forbids: ids(forbids),
        faults: Vec::new(),
    };
    assert_eq!(verdict.outcome(), Ok((expected.0, ids(expected.1))));
}

#[test]
fn a_forbid_outweighs_every_permit() {
    check(&[], &[], (None, &[]));
    check(&["a"], &[], (Some(Effect::Permit), &["a"]));
    check(&["a"], &["b", "c"], (Some(Effect::Forbid), &["b", "c"]));
    check(&[], &["b"], (Some(Effect::Forbid), &["b"]));
}

#[test]
fn a_fault_outweighs_everything() {
    let verdict = Verdict {
        permits: ids(&["a"]),
        forbids: ids(&["b"]),
        faults: vec![Fault::new("overflow")],
    };
    assert_eq!(verdict.outcome(), Err(vec![Fault::new("overflow")]));
}
