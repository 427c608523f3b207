//! The laws about bodies, their fields and their schemas.

use crate::compile::fault::{Fault, Law};
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
    let known = schema
        .map(|schema| schemas.fields(&schema.value))
        .unwrap_or_default();
    let mut faults = Vec::new();
    for (field, _) in &row.content.fields {
        if !known.contains(&field.value.as_str()) {
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
