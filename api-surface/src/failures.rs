//! The failure matrix: what each class of call promises under each failure.
//!
//! It is written once, in `surface/failures.toml`. Tests are held against it
//! cell by cell, by the stable id of the cell.

pub(crate) mod terms;

use crate::class::Class;
use crate::row::Row;

pub use terms::{Answer, Case, CodeFate, Condition, KeyFate, Line, Told};

/// The promise of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Serve or refuse.
    pub answer: Answer,
    /// Status of a refusal.
    pub status: Option<u16>,
    /// Whether any byte may go to the vehicle service.
    pub sent: bool,
    /// The `effect` of the problem document.
    pub effect: Option<Told>,
    /// Fate of the idempotency key, where one was claimed.
    pub key: Option<KeyFate>,
    /// Fate of the approval code, on gated writes.
    pub code: Option<CodeFate>,
    /// The gateway settles the operation with the service.
    pub settled: bool,
    /// The promise in words, as the matrix prints it.
    pub text: &'static str,
}

/// One cell of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Stable id, `condition/line`, with `/case` where a line has two.
    pub id: &'static str,
    /// What has failed.
    pub condition: Condition,
    /// Which rows it is about.
    pub line: Line,
    /// Which of their calls.
    pub case: Case,
    /// What is promised.
    pub expectation: Expectation,
}

/// The matrix line of a row; `None` for internal rows, which promise nothing
/// to callers.
pub const fn line(row: &Row) -> Option<Line> {
    Some(match row.class {
        Class::Read => Line::Read,
        Class::PrivateRead => Line::PrivateRead,
        Class::Record => Line::Record,
        Class::Plan => Line::Plan,
        Class::Approval => Line::Approval,
        Class::GatedWrite => Line::GatedWrite,
        Class::Write if row.calming => Line::Calming,
        Class::Write => Line::Write,
        Class::SafetyWrite => Line::SafetyWrite,
        Class::Internal => return None,
    })
}

/// The cells that bind a row under a condition: one, or one for keyed and one
/// for unkeyed calls, or none for internal rows.
pub fn cells(row: &Row, condition: Condition) -> impl Iterator<Item = &'static Cell> {
    let line = line(row);
    crate::CELLS
        .iter()
        .filter(move |cell| cell.condition == condition && Some(cell.line) == line)
}
