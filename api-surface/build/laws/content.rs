//! The laws about bodies, their fields and their schemas.

use crate::compile::class::Class;
use crate::compile::fault::{Fault, Law};
use crate::compile::laws::kinds;
use crate::compile::schemas::Schemas;
use crate::compile::table::Draft;
use crate::compile::terms::{BodyRule, Method};

pub fn body(row: &Draft) -> Vec<Fault> {
    let mut faults = Vec::new();
    let bodiless = row.content.body.value == BodyRule::None;
    if row.call.method == Method::Get && !bodiless {
        let text = "a GET has no body (RFC 9110 section 9.3.1)";
        faults.push(row.fault(row.content.body.line, Law::BodyOnRead, text));
    }
    let answers = match row.right.class {
        Class::Read => row.call.method == Method::Get,
        Class::PrivateRead => (row.call.method == Method::Get) == bodiless,
        _ => true,
    };
    if !answers {
        let text =
            "a `read` is a GET; only a `private-read` may be another method, with a body that asks";
        faults.push(row.fault(row.line, Law::ReadMethod, text));
    }
    if row.call.kind.is_some() && row.content.body.value != BodyRule::Required {
        let text = "a kind is read from the body: `required`";
        faults.push(row.fault(row.content.body.line, Law::BodyRule, text));
    }
    let limit = row.content.body_limit;
    if bodiless != (limit == 0) || bodiless != row.content.request_schema.is_none() {
        let text = "a body needs a `body_limit` and a `request_schema`; without a body, neither";
        faults.push(row.fault(row.content.body.line, Law::BodyRule, text));
    }
    faults
}

/// The fields of the row and those of its request schema are the same ones.
pub fn declared(row: &Draft, schemas: &Schemas) -> Vec<Fault> {
    let schema = row.content.request_schema.as_ref();
    let known = fields(row, schemas);
    let mut faults = Vec::new();
    for (field, _) in &row.content.fields {
        if !known.contains(&field.value) {
            let text = format!("`{}` is no field of the request schema", field.value);
            faults.push(row.fault(field.line, Law::UndeclaredField, text));
        }
    }
    for field in known {
        if row
            .content
            .fields
            .iter()
            .all(|(given, _)| given.value != field)
        {
            let text = format!("`{field}` is in the request schema but has no role in `fields`");
            let line = schema.map_or(row.line, |schema| schema.line);
            faults.push(row.fault(line, Law::UndeclaredField, text));
        }
    }
    faults
}

/// The fields of a row's body: those of the envelope, and those of the command
/// beside its kind, which has chosen the row and is not among them.
fn fields(row: &Draft, schemas: &Schemas) -> Vec<String> {
    let Some(schema) = &row.content.request_schema else {
        return Vec::new();
    };
    let top = schemas.fields(&schema.value);
    let Some(kind_field) = row.call.kind_field() else {
        return top.into_iter().map(str::to_owned).collect();
    };
    let command = kinds::component(row, schemas).map(|component| schemas.fields(component));
    let command = command.unwrap_or_default().into_iter();
    let Some((parent, leaf)) = kind_field.value.split_once('.') else {
        let fields = command.filter(|field| *field != kind_field.value);
        return fields.map(str::to_owned).collect();
    };
    let envelope = top.into_iter().filter(|field| *field != parent);
    let beside = command.filter(|field| *field != leaf);
    envelope
        .map(str::to_owned)
        .chain(beside.map(|field| format!("{parent}.{field}")))
        .collect()
}

pub fn known(row: &Draft, schemas: &Schemas) -> Vec<Fault> {
    let components = row
        .content
        .request_schema
        .iter()
        .chain(&row.content.response_schema);
    let components = components.filter(|name| !schemas.has(&name.value));
    let queries = row
        .content
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
