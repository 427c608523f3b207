//! The failure matrix binds every row and contradicts no principle.

use std::collections::HashSet;

use interlock_surface::{
    Answer, CELLS, Case, Class, CodeFate, Condition, Line, ROWS, Told, cells, line,
};

#[test]
fn every_row_is_bound_under_every_condition() {
    for row in ROWS {
        for condition in Condition::ALL {
            let found: Vec<Case> = cells(row, *condition).map(|cell| cell.case).collect();
            if row.class == Class::Internal {
                assert_eq!(found, [], "{row}");
            } else {
                let whole = [&[Case::Any][..], &[Case::Keyed, Case::Unkeyed]];
                assert!(
                    whole.contains(&found.as_slice()),
                    "{row} under {condition}: {found:?}"
                );
            }
        }
    }
}

#[test]
fn ids_are_unique_and_say_what_they_are() {
    let mut seen = HashSet::new();
    for cell in CELLS {
        assert!(seen.insert(cell.id), "{} twice", cell.id);
        assert!(
            cell.id
                .starts_with(&format!("{}/{}", cell.condition, cell.line))
        );
    }
}

#[test]
fn nothing_of_ours_keeps_a_stop_from_going_out() {
    for cell in CELLS.iter().filter(|cell| cell.line == Line::SafetyWrite) {
        assert!(cell.expectation.sent, "{}", cell.id);
        let service = matches!(
            cell.condition,
            Condition::EffectNone | Condition::EffectUnclear
        );
        assert_eq!(
            cell.expectation.answer == Answer::Refuse,
            service,
            "{}",
            cell.id
        );
    }
}

#[test]
fn a_code_is_spent_exactly_when_the_effect_is_unclear() {
    for cell in CELLS.iter().filter(|cell| cell.line == Line::GatedWrite) {
        let spent = cell.expectation.code == Some(CodeFate::Spent);
        assert_eq!(
            spent,
            cell.expectation.effect == Some(Told::Maybe),
            "{}",
            cell.id
        );
    }
}

#[test]
fn whatever_is_unclear_is_settled_or_a_stop() {
    for cell in CELLS
        .iter()
        .filter(|cell| cell.expectation.effect == Some(Told::Maybe))
    {
        let settled = cell.expectation.settled || cell.line == Line::SafetyWrite;
        assert!(settled, "{}", cell.id);
    }
}

#[test]
fn what_was_not_sent_has_no_effect() {
    for cell in CELLS.iter().filter(|cell| !cell.expectation.sent) {
        assert_ne!(cell.expectation.effect, Some(Told::Maybe), "{}", cell.id);
    }
}

#[test]
fn only_internal_rows_are_in_no_line() {
    for row in ROWS {
        assert_eq!(line(row).is_none(), row.class == Class::Internal, "{row}");
    }
}
