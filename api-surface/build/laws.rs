//! The laws that need whole rows. Each sees one row, or one row and all.

mod class;
mod content;
mod kinds;
mod members;
mod paths;

use std::collections::HashMap;

use crate::compile::class::Class;
use crate::compile::fault::{Fault, Law};
use crate::compile::reader::Located;
use crate::compile::schemas::Schemas;
use crate::compile::table::{Draft, FieldRole, From};
use crate::compile::terms::ServedBy;
use crate::compile::timeouts::Timeout;

/// Judges all rows; faults come in the order of the rows.
pub fn judge(rows: &[Draft], timeouts: &[Timeout], schemas: &Schemas, faults: &mut Vec<Fault>) {
    for row in rows {
        faults.extend(name_form(row));
        faults.extend(timeout_known(row, timeouts));
        faults.extend(class::judge(row));
        faults.extend(content::body(row));
        faults.extend(content::declared(row, schemas));
        faults.extend(content::known(row, schemas));
        faults.extend(kinds::field(row));
        faults.extend(kinds::schema(row, schemas));
        faults.extend(kinds::rows(row, rows, schemas));
        faults.extend(members::judge(row));
        faults.extend(class::bodiless_stop(row, rows));
        faults.extend(resource_param(row));
        faults.extend(references(row, rows));
        faults.extend(led(row, rows, timeouts));
    }
    unique(rows, Law::DuplicateName, |row| Some(&row.name), faults);
    unique(
        rows,
        Law::DuplicateAction,
        |row| row.right.action.as_ref(),
        faults,
    );
    unique(
        rows,
        Law::DuplicateTool,
        |row| row.mcp_tool.as_ref(),
        faults,
    );
    for (place, row) in rows.iter().enumerate() {
        let before = rows.iter().take(place);
        faults.extend(before.filter_map(|earlier| paths::apart(row, earlier)));
    }
}

fn name_form(row: &Draft) -> Option<Fault> {
    let name = &row.name.value;
    let words = name.split('.').collect::<Vec<_>>();
    let word = |word: &&str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
    };
    let good = words.first() == Some(&row.service.as_str())
        && matches!(words.len(), 2 | 3)
        && words.iter().all(word);
    (!good).then(|| {
        let text = format!(
            "`{name}` must be `{0}.noun.verb` or `{0}.noun` in lower-case words",
            row.service
        );
        row.fault(row.name.line, Law::NameForm, text)
    })
}

fn timeout_known(row: &Draft, timeouts: &[Timeout]) -> Option<Fault> {
    let name = &row.timeout.value;
    let unknown = timeouts.iter().all(|timeout| timeout.name != *name);
    unknown.then(|| {
        let names: Vec<&str> = timeouts
            .iter()
            .map(|timeout| timeout.name.as_str())
            .collect();
        let text = format!("`{name}` is no timeout; write one of {}", names.join(", "));
        row.fault(row.timeout.line, Law::UnknownTerm, text)
    })
}

fn resource_param(row: &Draft) -> Option<Fault> {
    let From::Path(param) = &row.right.resource_from.value else {
        return None;
    };
    (!row.call.template.names(param)).then(|| {
        let text = format!("`{param}` is no parameter of `{}`", row.call.path.value);
        row.fault(row.right.resource_from.line, Law::ParamNotInPath, text)
    })
}

/// Preview and becomes stand on the rows that need them and name a row of the
/// same service and of the right class.
fn references(row: &Draft, rows: &[Draft]) -> Vec<Fault> {
    let check = |name: Option<&Located<String>>, on: Class, to: Class, law: Law| {
        let needed = row.right.class == on;
        let Some(name) = name else {
            let text = format!("a {on} must name the {to} row that it leads to");
            return needed.then(|| row.fault(row.line, law, text));
        };
        let found = rows.iter().any(|other| {
            other.name.value == name.value
                && other.right.class == to
                && other.service == row.service
                && other.served_by.value == ServedBy::Service
        });
        (!needed || !found).then(|| {
            let text = format!(
                "`{}` must name a {to} row of `{}` that the service serves, and only a {on} row may",
                name.value, row.service
            );
            row.fault(name.line, law, text)
        })
    };
    let preview = check(
        row.preview.as_ref(),
        Class::Plan,
        Class::Internal,
        Law::PlanPreview,
    );
    let becomes = check(
        row.becomes.as_ref(),
        Class::GatedWrite,
        Class::Write,
        Law::GatedBecomes,
    );
    preview.into_iter().chain(becomes).collect()
}

/// A plan has time for its preview and a dispatch for its write, and the write
/// takes what was approved.
fn led(row: &Draft, rows: &[Draft], timeouts: &[Timeout]) -> Vec<Fault> {
    let named = |name: &Option<Located<String>>| {
        let name = name.as_ref()?;
        rows.iter().find(|other| other.name.value == name.value)
    };
    let deadline = |row: &Draft| timeouts.iter().find(|t| t.name == row.timeout.value);
    let mut faults = Vec::new();
    let (preview, becomes) = (named(&row.preview), named(&row.becomes));
    for asked in [preview, becomes].into_iter().flatten() {
        if let (Some(own), Some(other)) = (deadline(row), deadline(asked))
            && own.gateway <= other.total
        {
            let text = format!(
                "`{}` waits up to {} ms, so this row needs a timeout that answers later",
                asked.name.value, other.total
            );
            faults.push(row.fault(row.timeout.line, Law::TimeoutOrder, text));
        }
    }
    if let (Some(becomes), Some(name)) = (becomes, &row.becomes) {
        let plans = rows
            .iter()
            .filter(|plan| plan.service == row.service && plan.right.class == Class::Plan);
        let lost = plans.flat_map(|plan| plan.content.fields_of(FieldRole::Acting));
        let lost = lost.filter(|field| !takes(becomes, field));
        faults.extend(lost.map(|field| {
            let text = format!(
                "`{}` has no acting field for `{field}`, which a person approves with the plan",
                name.value
            );
            row.fault(name.line, Law::GatedFields, text)
        }));
    }
    faults
}

/// Whether a write takes a field of a plan: in its command, or at the top.
fn takes(write: &Draft, field: &str) -> bool {
    let acting = write.content.fields_of(FieldRole::Acting);
    let beside = write
        .call
        .command_field()
        .map(|parent| format!("{parent}.{field}"));
    acting.contains(&field) || beside.is_some_and(|nested| acting.contains(&nested.as_str()))
}

fn unique<'r>(
    rows: &'r [Draft],
    law: Law,
    key: impl Fn(&'r Draft) -> Option<&'r Located<String>>,
    faults: &mut Vec<Fault>,
) {
    let mut seen: HashMap<&str, &Draft> = HashMap::new();
    for row in rows {
        let Some(key) = key(row) else { continue };
        if let Some(first) = seen.insert(&key.value, row) {
            let text = format!(
                "`{}` is already in {}:{}",
                key.value, first.source.label, first.line
            );
            faults.push(row.fault(key.line, law, text));
        }
    }
}
