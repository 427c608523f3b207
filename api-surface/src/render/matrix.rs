//! The failure matrix for people, with the id and the promise of every cell.

use std::fmt::Write;

use super::markdown::{code, table};
use crate::failures::terms::{Answer, Condition, Line};
use crate::failures::{Cell, Expectation};
use crate::tables::CELLS;

const HEAD: &str = "\
# Failure matrix

Generated from `api-surface/surface/failures.toml`; do not edit. `cargo xtask golden` writes it.

What each class of call promises while something is broken. The promises are data: tests run
each cell by its id, `condition/class`, with `/keyed` or `/unkeyed` where an idempotency key
makes a difference.

";

/// The document `FAILURE-MATRIX.md`.
pub fn failure_matrix_md() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("## Conditions\n\n");
    let conditions = Condition::ALL.iter().map(|condition| {
        let cells = CELLS.iter().filter(|cell| cell.condition == *condition);
        vec![
            code(condition),
            condition.meaning().to_owned(),
            cells.count().to_string(),
        ]
    });
    out.push_str(&table(
        &["Condition", "What has failed", "Cells"],
        conditions,
    ));
    out.push_str("\n## The matrix\n\n");
    let mut head = vec!["Class"];
    head.extend(Condition::ALL.iter().map(|condition| condition.as_str()));
    out.push_str(&table(&head, Line::ALL.iter().map(|line| overview(*line))));
    out.push_str("\n## Every cell\n");
    for condition in Condition::ALL {
        // Writing to a text cannot fail.
        let _ = writeln!(out, "\n### {condition}\n");
        let head = [
            "Cell",
            "Answer",
            "Sent",
            "Effect told",
            "Key",
            "Code",
            "Settled",
        ];
        let cells = CELLS.iter().filter(|cell| cell.condition == *condition);
        out.push_str(&table(&head, cells.map(detail)));
    }
    out
}

fn overview(line: Line) -> Vec<String> {
    let mut row = vec![line.to_string()];
    for condition in Condition::ALL {
        let cells = CELLS
            .iter()
            .filter(|cell| cell.condition == *condition && cell.line == line);
        let texts: Vec<&str> = cells.map(|cell| cell.expectation.text).collect();
        row.push(texts.join("; "));
    }
    row
}

fn detail(cell: &Cell) -> Vec<String> {
    let Expectation {
        answer,
        status,
        sent,
        effect,
        key,
        code: fate,
        settled,
        text: _,
    } = cell.expectation;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    vec![
        code(cell.id),
        match (answer, status) {
            (Answer::Refuse, Some(status)) => status.to_string(),
            (answer, _) => answer.to_string(),
        },
        yes(sent),
        or_none(effect.map(|effect| effect.to_string())),
        or_none(key.map(|key| key.to_string())),
        or_none(fate.map(|fate| fate.to_string())),
        yes(settled),
    ]
}
