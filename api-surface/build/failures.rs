//! The failure matrix as it is written, and the laws that it is whole and
//! does not contradict itself.

use crate::compile::failure_terms::{Answer, Case, CodeFate, Condition, KeyFate, Line, Told};
use crate::compile::fault::{Fault, Law};
use crate::compile::reader::{Located, Reader};
use crate::compile::source::Source;
use crate::compile::words::{Words, vocabulary};

/// One cell of the matrix. Fields as in the crate's `Cell`.
#[derive(Clone, Debug)]
pub struct Cell {
    pub at: usize,
    pub condition: Condition,
    pub line: Line,
    pub case: Case,
    pub answer: Answer,
    pub status: Option<u16>,
    pub sent: bool,
    pub effect: Option<Told>,
    pub key: Option<KeyFate>,
    pub code: Option<CodeFate>,
    pub settled: bool,
    pub text: String,
}

/// Reads the file and judges it.
pub fn read(source: &Source, faults: &mut Vec<Fault>) -> Vec<Cell> {
    let mut file = match Reader::parse(source) {
        Ok(file) => file,
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    let tables = file.tables("cell", faults);
    file.finish(faults);
    let mut cells = Vec::new();
    for table in tables {
        cells.extend(promise(source, table, faults));
    }
    if faults.is_empty() {
        whole(source, &cells, faults);
    }
    cells.sort_by_key(|cell| (cell.condition, cell.line, cell.case));
    cells
}

/// Reads one promise and spreads it over its classes.
fn promise(source: &Source, mut table: Reader<'_>, faults: &mut Vec<Fault>) -> Vec<Cell> {
    let mut words = Words { source, faults };
    let condition = words.need(
        &mut table,
        &vocabulary!(Condition, "condition", UnknownTerm),
    );
    let classes = table.texts("classes", words.faults);
    let case = words.may(&mut table, &vocabulary!(Case, "case", UnknownTerm));
    let answer = words.need(&mut table, &vocabulary!(Answer, "answer", UnknownTerm));
    let status = table.number("status", words.faults);
    let sent = table.flag("sent", words.faults).value;
    let effect = words.may(&mut table, &vocabulary!(Told, "effect", UnknownTerm));
    let key = words.may(&mut table, &vocabulary!(KeyFate, "key", UnknownTerm));
    let code = words.may(&mut table, &vocabulary!(CodeFate, "code", UnknownTerm));
    let settled = table.flag("settled", words.faults).value;
    let text = table.need("text", words.faults);
    let at = table.line;
    let line = vocabulary!(Line, "class", UnknownClass);
    let lines: Vec<_> = classes
        .iter()
        .filter_map(|class| words.word(class, &line))
        .collect();
    table.finish(faults);
    let (Some(condition), Some(answer), Some(text)) = (condition, answer, text) else {
        return Vec::new();
    };
    if let Some(wrong) = contradiction(answer.value, status.as_ref(), effect.as_ref()) {
        faults.push(source.fault(at, Law::FailurePromise, wrong));
    }
    lines
        .into_iter()
        .map(|line| Cell {
            at: line.line,
            condition: condition.value,
            line: line.value,
            case: case.as_ref().map_or(Case::Any, |case| case.value),
            answer: answer.value,
            status: status.as_ref().map(|status| status.value),
            sent,
            effect: effect.as_ref().map(|effect| effect.value),
            key: key.as_ref().map(|key| key.value),
            code: code.as_ref().map(|code| code.value),
            settled,
            text: text.value.clone(),
        })
        .collect()
}

fn contradiction(
    answer: Answer,
    status: Option<&Located<u16>>,
    effect: Option<&Located<Told>>,
) -> Option<&'static str> {
    match (answer, status, effect) {
        (Answer::Refuse, None, _) => Some("a refusal needs a `status`"),
        (Answer::Refuse, _, None) => Some("a refusal must tell its `effect`"),
        (Answer::Serve, Some(_), _) | (Answer::Serve, _, Some(_)) => {
            Some("a call that is served has neither `status` nor `effect` of ours")
        }
        _ => None,
    }
}

/// Each class has one promise under each condition: for any call, or one for
/// keyed and one for unkeyed calls.
fn whole(source: &Source, cells: &[Cell], faults: &mut Vec<Fault>) {
    for condition in Condition::ALL {
        for line in Line::ALL {
            let found: Vec<&Cell> = cells
                .iter()
                .filter(|cell| cell.condition == *condition && cell.line == *line)
                .collect();
            let mut cases: Vec<Case> = found.iter().map(|cell| cell.case).collect();
            cases.sort_unstable();
            if matches!(cases.as_slice(), [Case::Any] | [Case::Keyed, Case::Unkeyed]) {
                continue;
            }
            let at = found.last().map_or(1, |cell| cell.at);
            let text = if found.is_empty() {
                format!("`{line}` has no promise for `{condition}`; add one")
            } else {
                format!(
                    "`{line}` needs one promise for `{condition}`, or one keyed and one unkeyed, \
                     and has {}",
                    found.len()
                )
            };
            faults.push(source.fault(at, Law::FailureMatrix, text));
        }
    }
}
