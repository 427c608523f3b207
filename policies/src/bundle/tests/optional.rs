//! Each optional policy loads with the bundle and changes exactly what it says.

use std::collections::BTreeSet;
use std::fs;

use super::matrix::{PEOPLE, questions};
use super::overlay::{Overlay, here};
use crate::decision::Decision;

fn optional(name: &str) -> String {
    fs::read_to_string(here("optional").join(name)).unwrap()
}

/// The questions that come out otherwise, by who and what.
fn changed(overlay: &Overlay) -> BTreeSet<(&'static str, String, bool)> {
    let before = Overlay::new().write("grants.json", PEOPLE).load().unwrap();
    let after = overlay.write("grants.json", PEOPLE).load().unwrap();
    let mut changed = BTreeSet::new();
    for question in questions() {
        let (old, new) = (question.decide(&before), question.decide(&after));
        if old.is_allow() != new.is_allow() {
            changed.insert((question.kind(), question.action.clone(), new.is_allow()));
        }
        // A permit for reads may not turn 404 into 403 either.
        if let (Decision::Deny { visible: old, .. }, Decision::Deny { visible: new, .. }) =
            (old, new)
        {
            assert_eq!(old, new, "{question:?}");
        }
    }
    changed
}

#[test]
fn open_drone_reads_opens_drone_reads_to_callers_without_a_token() {
    let overlay = Overlay::new();
    overlay
        .write(
            "permits/open-drone-reads.cedar",
            optional("open-drone-reads.cedar"),
        )
        .write("cases/public.json", optional("open-drone-reads.json"));
    let opened = ["mission_get", "plan_get", "plan_list", "swarm_state"];
    let expected = opened.map(|action| ("Anonymous", action.to_owned(), true));
    assert_eq!(changed(&overlay), BTreeSet::from(expected));
}

#[test]
fn the_closed_cases_hold_only_while_reads_are_closed() {
    let overlay = Overlay::new();
    overlay.write(
        "permits/open-drone-reads.cedar",
        optional("open-drone-reads.cedar"),
    );
    let faults = overlay.load().unwrap_err();
    assert!(
        faults
            .iter()
            .all(|fault| fault.file.as_deref() == Some("cases/public.json"))
    );
}

#[test]
fn strict_delegation_keeps_the_person_an_agent_acts_for_from_approving() {
    let overlay = Overlay::new();
    overlay.write(
        "guards/strict-delegation.cedar",
        optional("strict-delegation.cedar"),
    );
    let expected = ("Person", "plan_approve".to_owned(), false);
    assert_eq!(changed(&overlay), BTreeSet::from([expected]));
}
