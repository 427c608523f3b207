//! The laws that need whole rows. Each sees one row, or one row and all.

use std::collections::HashMap;

use crate::compile::class::Class;
use crate::compile::fault::{Fault, Law};
use crate::compile::reader::Located;
use crate::compile::relation::Relation;
use crate::compile::schemas::Schemas;
use crate::compile::table::Draft;
use crate::compile::terms::{BodyRule, Idempotency, Method, ServedBy};
use crate::compile::timeouts::Timeout;

/// Judges all rows; faults come in the order of the rows.
pub fn judge(rows: &[Draft], timeouts: &[Timeout], schemas: &Schemas, faults: &mut Vec<Fault>) {
    for row in rows {
        faults.extend(name_form(row));
        faults.extend(timeout_known(row, timeouts));
        faults.extend(class_rules(row));
        faults.extend(tool_rules(row));
        faults.extend(body_rules(row));
        faults.extend(fields_declared(row, schemas));
        faults.extend(schemas_known(row, schemas));
        faults.extend(resource_param(row));
        faults.extend(references(row, rows));
    }
    unique(rows, Law::DuplicateName, |row| Some(&row.name), faults);
    unique(
        rows,
        Law::DuplicateAction,
        |row| row.action.as_ref(),
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
        faults.extend(before.filter_map(|earlier| paths_apart(row, earlier)));
    }
}

fn name_form(row: &Draft) -> Option<Fault> {
    let name = &row.name.value;
    let words = name.split('.').collect::<Vec<_>>();
    let word = |word: &&str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
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

fn class_rules(row: &Draft) -> Vec<Fault> {
    let class = row.class.value;
    let stop = class == Class::SafetyWrite;
    let mut faults = Vec::new();
    let mut demand = |holds: bool, line: usize, law: Law, text: &str| {
        if !holds {
            faults.push(row.fault(line, law, text));
        }
    };
    demand(
        !stop || row.relation.value == Relation::View,
        row.relation.line,
        Law::StopRelation,
        "a safety-write must be in relation `view`: whoever may see may stop",
    );
    let demands_key = row
        .idempotency
        .as_ref()
        .filter(|key| stop && key.value == Idempotency::Required);
    demand(
        demands_key.is_none(),
        demands_key.map_or(row.line, |key| key.line),
        Law::StopUnconditional,
        "a stop is never refused by its key: `honoured` or `never`",
    );
    demand(
        !stop || row.body.value != BodyRule::Required,
        row.body.line,
        Law::StopUnconditional,
        "a stop is never refused for want of a body: `none` or `optional`",
    );
    demand(
        (200..300).contains(&row.success.value),
        row.success.line,
        Law::SuccessStatus,
        "`success` must be from 200 to 299",
    );
    demand(
        class.is_read() || row.idempotency.is_some(),
        row.line,
        Law::IdempotencyMissing,
        "a call that is no read must say `idempotency`: honoured, required or never",
    );
    demand(
        !row.calming.value || class == Class::Write,
        row.calming.line,
        Law::CalmingClass,
        "only a `write` can be calming",
    );
    demand(
        !row.public.value || class == Class::Read,
        row.public.line,
        Law::PublicClass,
        "only a `read` can be public",
    );
    let internal = class == Class::Internal;
    demand(
        internal || row.action.is_some(),
        row.line,
        Law::ActionRule,
        "a row that callers reach needs an `action`: Cedar must be asked",
    );
    demand(
        !internal || row.action.is_none(),
        row.action.as_ref().map_or(row.line, |action| action.line),
        Law::ActionRule,
        "an internal row has no `action`: nobody is asked",
    );
    demand(
        match row.served_by.value {
            ServedBy::Gateway => !internal,
            ServedBy::Ops => internal,
            ServedBy::Service => true,
        },
        row.served_by.line,
        Law::ServedNowhere,
        "the gateway serves no internal row, and ops nothing else",
    );
    faults
}

fn tool_rules(row: &Draft) -> Option<Fault> {
    let tool = row.mcp_tool.as_ref()?;
    let (law, text) = match row.class.value {
        Class::Approval => (
            Law::ToolOnApproval,
            "no tool may approve; that is a person's part",
        ),
        Class::Write if !row.calming.value => (
            Law::ToolOnStart,
            "no tool may start a vehicle without a code",
        ),
        Class::Internal => (Law::ToolOnInternal, "no tool may reach an internal row"),
        _ => return None,
    };
    Some(row.fault(tool.line, law, text))
}

fn body_rules(row: &Draft) -> Vec<Fault> {
    let mut faults = Vec::new();
    let bodiless = row.body.value == BodyRule::None;
    if row.method.value == Method::Get && !bodiless {
        let text = "a GET has no body (RFC 9110 section 9.3.1)";
        faults.push(row.fault(row.body.line, Law::BodyOnRead, text));
    }
    let limit = row.body_limit.as_ref().map_or(0, |limit| limit.value);
    if bodiless != (limit == 0) || bodiless != row.request_schema.is_none() {
        let text = "a body needs a `body_limit` and a `request_schema`; without a body, neither";
        faults.push(row.fault(row.body.line, Law::BodyRule, text));
    }
    faults
}

/// The fields of the row and those of its request schema are the same ones.
fn fields_declared(row: &Draft, schemas: &Schemas) -> Vec<Fault> {
    let schema = row.request_schema.as_ref();
    let known = schema
        .map(|schema| schemas.fields(&schema.value))
        .unwrap_or_default();
    let mut faults = Vec::new();
    for (field, _) in &row.fields {
        if !known.contains(&field.value.as_str()) {
            let text = format!("`{}` is no field of the request schema", field.value);
            faults.push(row.fault(field.line, Law::UndeclaredField, text));
        }
    }
    for field in known {
        if row.fields.iter().all(|(given, _)| given.value != field) {
            let text = format!("`{field}` is in the request schema but has no role in `fields`");
            let line = schema.map_or(row.line, |schema| schema.line);
            faults.push(row.fault(line, Law::UndeclaredField, text));
        }
    }
    faults
}

fn schemas_known(row: &Draft, schemas: &Schemas) -> Vec<Fault> {
    let components = row.request_schema.iter().chain(&row.response_schema);
    let components = components.filter(|name| !schemas.has(&name.value));
    let queries = row
        .query
        .iter()
        .filter(|name| !schemas.has_query(&name.value));
    components
        .chain(queries)
        .map(|name| {
            let text = format!("`{}` is not in surface/schemas.json", name.value);
            row.fault(name.line, Law::UnknownSchema, text)
        })
        .collect()
}

fn resource_param(row: &Draft) -> Option<Fault> {
    let param = row.resource_from.value.as_ref()?;
    (!row.template.names(param)).then(|| {
        let text = format!("`{param}` is no parameter of `{}`", row.path.value);
        row.fault(row.resource_from.line, Law::ParamNotInPath, text)
    })
}

/// Preview and becomes stand on the rows that need them and name a row of the
/// same service and of the right class.
fn references(row: &Draft, rows: &[Draft]) -> Vec<Fault> {
    let check = |name: Option<&Located<String>>, on: Class, to: Class, law: Law| {
        let needed = row.class.value == on;
        let Some(name) = name else {
            let text = format!("a {on} must name the {to} row that it leads to");
            return needed.then(|| row.fault(row.line, law, text));
        };
        let found = rows.iter().any(|other| {
            other.name.value == name.value
                && other.class.value == to
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

/// Two rows that some listener serves both must not be mistaken for each
/// other. A fault stands at the later one.
fn paths_apart(row: &Draft, earlier: &Draft) -> Option<Fault> {
    if !share_listener(row, earlier) || !row.template.overlaps(&earlier.template) {
        return None;
    }
    let there = format!(
        "`{}` in {}:{}",
        earlier.name.value, earlier.source.label, earlier.line
    );
    if !row.template.same_shape(&earlier.template) {
        let text = format!("`{}` can match the same path as {there}", row.path.value);
        return Some(row.fault(row.path.line, Law::AmbiguousPath, text));
    }
    if row.method.value != earlier.method.value {
        return None;
    }
    match (&row.kind, &earlier.kind) {
        (Some(kind), Some(other)) if kind.value != other.value => {
            let alike = row.path.value == earlier.path.value
                && row.service == earlier.service
                && row.served_by.value == earlier.served_by.value
                && row.body.value == earlier.body.value
                && row.body_limit.as_ref().map(|limit| limit.value)
                    == earlier.body_limit.as_ref().map(|limit| limit.value);
            (!alike).then(|| {
                let text = format!(
                    "kinds of one path share path text, service, body and body_limit; see {there}"
                );
                row.fault(kind.line, Law::MixedKinds, text)
            })
        }
        (Some(kind), None) => {
            let text = format!("{there} has the same method and path, and no kind");
            Some(row.fault(kind.line, Law::MixedKinds, text))
        }
        (None, Some(_)) => {
            let text = format!("{there} has the same method and path with a kind; add a `kind`");
            Some(row.fault(row.line, Law::MixedKinds, text))
        }
        _ => {
            let text = format!("method, path shape and kind are already those of {there}");
            Some(row.fault(row.path.line, Law::DuplicateKey, text))
        }
    }
}

fn share_listener(a: &Draft, b: &Draft) -> bool {
    let ops = |row: &Draft| row.served_by.value == ServedBy::Ops;
    let public = |row: &Draft| !ops(row) && row.class.value != Class::Internal;
    let service = |row: &Draft| row.served_by.value == ServedBy::Service;
    (ops(a) && ops(b))
        || (public(a) && public(b))
        || (service(a) && service(b) && a.service == b.service)
}
