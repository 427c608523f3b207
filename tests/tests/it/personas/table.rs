//! The table of expected answers, as people write it.

use std::collections::BTreeMap;

/// Mode, row, persona.
pub(super) type Cell = (String, String, String);

/// What the table says of each cell.
pub(super) type Table = BTreeMap<Cell, u16>;

/// Reads a table: blocks that begin with `mode NAME`, then a line of column
/// heads, then one line for each row. `#` begins a comment.
pub(super) fn parse(text: &str) -> Result<Table, String> {
    let mut table = Table::new();
    let mut mode = None;
    let mut heads: Vec<&str> = Vec::new();
    for (line, words) in lines(text) {
        let fault = |what: &str| Err(format!("line {line}: {what}"));
        match (words.as_slice(), mode) {
            (["mode", name], _) => {
                mode = Some(*name);
                heads.clear();
            }
            (["row", personas @ ..], Some(_)) if heads.is_empty() => heads = personas.to_vec(),
            ([row, statuses @ ..], Some(mode)) if statuses.len() == heads.len() => {
                for (persona, status) in heads.iter().zip(statuses) {
                    let Ok(status) = status.parse() else {
                        return fault("a status is a number");
                    };
                    let cell = (mode.to_owned(), (*row).to_owned(), (*persona).to_owned());
                    if table.insert(cell, status).is_some() {
                        return fault("the row or a persona stands here twice");
                    }
                }
            }
            _ => return fault("not as many statuses as there are personas"),
        }
    }
    Ok(table)
}

/// Lines with something on them: their numbers and words.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let words: Vec<&str> = line.split('#').next()?.split_whitespace().collect();
        (!words.is_empty()).then_some((index + 1, words))
    })
}

/// How `seen` differs from `expected`, one line for each cell, cells that only
/// one of them has included.
pub(super) fn differences(expected: &Table, seen: &Table) -> Vec<String> {
    let shown = |status: Option<&u16>| status.map_or("nothing".to_owned(), u16::to_string);
    let mut cells: Vec<&Cell> = expected.keys().chain(seen.keys()).collect();
    cells.sort();
    cells.dedup();
    let differ = cells.into_iter().filter_map(|cell| {
        let (expected, seen) = (expected.get(cell), seen.get(cell));
        let (mode, row, persona) = cell;
        (expected != seen).then(|| {
            let (expected, seen) = (shown(expected), shown(seen));
            format!("{mode}: {row} by {persona}: the table says {expected}, answered {seen}")
        })
    });
    differ.collect()
}

/// A table of one row and two personas, and what a wrong one is said to be.
#[test]
fn a_table_that_differs_is_told_cell_by_cell() {
    let good = "mode open\nrow   nobody viewer # heads\na.get 401    200\n";
    let seen = parse(good).unwrap();
    let check = |written: &str, told: &[&str]| {
        let written = parse(written).unwrap();
        assert_eq!(differences(&written, &seen), told, "{written:?}");
    };
    check(good, &[]);
    let changed = good.replace("401", "200");
    check(
        &changed,
        &["open: a.get by nobody: the table says 200, answered 401"],
    );
    let row_missing = "mode open\nrow   nobody viewer\n";
    let missing = [
        "open: a.get by nobody: the table says nothing, answered 401",
        "open: a.get by viewer: the table says nothing, answered 200",
    ];
    check(row_missing, &missing);
    let row_too_many = format!("{good}b.get 401 200\n");
    let superfluous = [
        "open: b.get by nobody: the table says 401, answered nothing",
        "open: b.get by viewer: the table says 200, answered nothing",
    ];
    check(&row_too_many, &superfluous);
    check("mode open\nrow nobody\na.get 401\n", &missing[1..]);
    let persona_too_many = "mode open\nrow nobody viewer ghost\na.get 401 200 404\n";
    check(
        persona_too_many,
        &["open: a.get by ghost: the table says 404, answered nothing"],
    );
}

/// Text that is no table, and why.
#[test]
fn a_malformed_table_is_refused() {
    let check = |text: &str, fault: &str| assert_eq!(parse(text).unwrap_err(), fault, "{text}");
    let short = "line 3: not as many statuses as there are personas";
    check("mode open\nrow nobody viewer\na.get 401\n", short);
    check(
        "a.get 401\n",
        "line 1: not as many statuses as there are personas",
    );
    check(
        "mode open\nrow nobody\na.get yes\n",
        "line 3: a status is a number",
    );
    let twice = "line 4: the row or a persona stands here twice";
    check("mode open\nrow nobody\na.get 401\na.get 401\n", twice);
}
