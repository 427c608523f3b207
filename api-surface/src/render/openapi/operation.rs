//! One operation: a row, or the command kinds of one path.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::components::{ID_PATTERN, KEY, REQUIRED_KEY, schema, sorted};
use crate::class::Class;
use crate::relation::Relation;
use crate::row::{ResourceFrom, Row};
use crate::terms::{BodyRule, Idempotency, ParamKind, ServedBy};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Operation {
    operation_id: String,
    tags: BTreeSet<&'static str>,
    summary: String,
    description: String,
    security: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_body: Option<Value>,
    responses: BTreeMap<String, Value>,
    #[serde(rename = "x-interlock-rows")]
    rows: Vec<RowFacts>,
}

/// What the surface knows of a row and OpenAPI has no word for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RowFacts {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    class: Class,
    relation: Relation,
    calming: bool,
    action: Option<&'static str>,
    resource: String,
    judges_members: bool,
    idempotency: Idempotency,
    acting: &'static [&'static str],
    annotation: &'static [&'static str],
    body_limit: u32,
    deadline_ms: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_tool: Option<&'static str>,
}

impl Operation {
    pub(super) fn of(rows: &[&'static Row]) -> Self {
        Self {
            operation_id: operation_id(rows),
            tags: rows.iter().map(|row| row.service).collect(),
            summary: summary(rows),
            description: description(rows),
            security: security(rows),
            parameters: parameters(rows).iter().map(sorted).collect(),
            request_body: request_body(rows).as_ref().map(sorted),
            responses: responses(rows),
            rows: rows.iter().map(|row| facts(row)).collect(),
        }
    }
}

/// The row's name; where there are kinds, what their names have in common.
fn operation_id(rows: &[&Row]) -> String {
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let common: BTreeSet<&str> = names
        .iter()
        .map(|name| name.rsplit_once('.').map_or(*name, |(noun, _)| noun))
        .collect();
    match (names.as_slice(), common.first()) {
        ([name], _) => (*name).to_owned(),
        (_, Some(noun)) if common.len() == 1 => (*noun).to_owned(),
        _ => names.join("+"),
    }
}

fn summary(rows: &[&Row]) -> String {
    match rows {
        [row] => row.summary.to_owned(),
        _ => {
            let kinds: Vec<&str> = rows.iter().filter_map(|row| row.kind).collect();
            format!("Command by kind: {}", kinds.join(", "))
        }
    }
}

/// What the classes mean; where there are kinds, what each does and needs.
fn description(rows: &[&Row]) -> String {
    let meanings: BTreeSet<String> = rows
        .iter()
        .map(|row| format!("Class `{}`: {}", row.class, row.class.meaning()))
        .collect();
    let meanings: Vec<String> = meanings.into_iter().collect();
    let kinds = rows.iter().filter_map(|row| {
        let (kind, summary) = (row.kind?, row.summary);
        let calming = if row.calming { ", calming" } else { "" };
        let (class, relation) = (row.class, row.relation);
        Some(format!(
            "\n- `{kind}`: {summary}. Class `{class}`{calming}, relation `{relation}`."
        ))
    });
    let kinds: String = kinds.collect();
    if kinds.is_empty() {
        meanings.join(" ")
    } else {
        format!(
            "The kind decides what is needed:\n{kinds}\n\n{}",
            meanings.join(" ")
        )
    }
}

fn facts(row: &Row) -> RowFacts {
    let from = match row.resource_from {
        ResourceFrom::Service => String::new(),
        ResourceFrom::Account => " of the caller".to_owned(),
        ResourceFrom::Path(param) => format!(" {{{param}}}"),
    };
    RowFacts {
        name: row.name,
        kind: row.kind,
        class: row.class,
        relation: row.relation,
        calming: row.calming,
        action: row.action,
        resource: format!("{}{from}", row.resource),
        judges_members: row.judges_members,
        idempotency: row.idempotency,
        acting: row.acting,
        annotation: row.annotation,
        body_limit: row.body_limit,
        deadline_ms: row.timeout.gateway_ms,
        mcp_tool: row.mcp_tool,
    }
}

/// Without a token a read is asked of policy as `Anonymous`.
fn security(rows: &[&Row]) -> Vec<Value> {
    let bearer = json!({ "bearer": [] });
    if rows.iter().all(|row| row.class == Class::Read) {
        vec![json!({}), bearer]
    } else {
        vec![bearer]
    }
}

fn parameters(rows: &[&'static Row]) -> Vec<Value> {
    let Some(first) = rows.first() else {
        return Vec::new();
    };
    let path = first.params().map(|(name, kind)| {
        let schema = match kind {
            ParamKind::Uuid => json!({ "type": "string", "format": "uuid" }),
            ParamKind::Text => json!({ "type": "string", "pattern": ID_PATTERN }),
        };
        let description = format!("Id of the {name}.");
        json!({
            "name": name, "in": "path", "required": true,
            "description": description, "schema": schema,
        })
    });
    let query: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.query.iter().copied())
        .collect();
    let query = query.into_iter().map(parameter);
    let key = match keyed(rows) {
        Some(Idempotency::Required) => Some(parameter(REQUIRED_KEY)),
        Some(Idempotency::Honoured) => Some(parameter(KEY)),
        Some(Idempotency::Never) | None => None,
    };
    path.chain(query).chain(key).collect()
}

fn parameter(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

/// What the operation does with a key: required only when every kind of it
/// requires one.
fn keyed(rows: &[&Row]) -> Option<Idempotency> {
    if rows
        .iter()
        .all(|row| row.idempotency == Idempotency::Required)
    {
        return Some(Idempotency::Required);
    }
    let any = rows.iter().any(|row| row.idempotency != Idempotency::Never);
    any.then_some(Idempotency::Honoured)
}

fn request_body(rows: &[&Row]) -> Option<Value> {
    let rule = rows.first()?.body;
    if rule == BodyRule::None {
        return None;
    }
    Some(json!({
        "required": rule == BodyRule::Required,
        "content": { "application/json": { "schema": one_of(rows.iter().map(|row| row.request_schema)) } },
    }))
}

fn responses(rows: &[&'static Row]) -> BTreeMap<String, Value> {
    let mut responses = BTreeMap::new();
    let successes: BTreeSet<u16> = rows.iter().map(|row| row.success).collect();
    for status in successes {
        let of_status = || rows.iter().filter(|row| row.success == status);
        let mut headers = serde_json::Map::new();
        let made = |row: &&&Row| row.class != Class::SafetyWrite;
        if matches!(status, 201 | 202) && of_status().any(|row| made(&row)) {
            headers.insert("Location".to_owned(), header("Location"));
        }
        if of_status().any(|row| row.idempotency != Idempotency::Never) {
            headers.insert(
                "Idempotency-Replayed".to_owned(),
                header("IdempotencyReplayed"),
            );
        }
        let mut response = json!({ "description": meaning(status) });
        if let Some(response) = response.as_object_mut() {
            let schema = one_of(of_status().map(|row| row.response_schema));
            if !schema.is_null() {
                let content = json!({ "application/json": { "schema": schema } });
                response.insert("content".to_owned(), content);
            }
            if !headers.is_empty() {
                response.insert("headers".to_owned(), Value::Object(headers));
            }
        }
        responses.insert(status.to_string(), sorted(&response));
    }
    for status in rows.iter().flat_map(|row| problems(row)) {
        responses.insert(status.to_string(), problem());
    }
    responses.insert("default".to_owned(), problem());
    responses
}

/// The statuses of problems that a caller of this row must be ready for.
fn problems(row: &Row) -> Vec<u16> {
    let mut statuses = vec![400, 503];
    if !row.public {
        statuses.extend([401, 403, 404]);
    }
    if row.body != BodyRule::None {
        statuses.extend([413, 415]);
    }
    // A stop is never refused by its key.
    if row.idempotency != Idempotency::Never && row.class != Class::SafetyWrite {
        statuses.extend([409, 422]);
    }
    if row.served_by == ServedBy::Service || row.preview.is_some() || row.becomes.is_some() {
        statuses.push(504);
    }
    statuses
}

fn meaning(status: u16) -> &'static str {
    match status {
        200 => "Done.",
        201 => "Made, and found at `Location`.",
        202 => "Sent; done only when the vehicle says so.",
        204 => "Done, nothing to say.",
        _ => "Success.",
    }
}

fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

fn problem() -> Value {
    json!({ "$ref": "#/components/responses/Problem" })
}

/// The schema of all given components: null for none, `oneOf` for several.
fn one_of(names: impl Iterator<Item = Option<&'static str>>) -> Value {
    let names: BTreeSet<&str> = names.flatten().collect();
    let mut schemas: Vec<Value> = names.into_iter().map(schema).collect();
    match schemas.len() {
        0 | 1 => schemas.pop().unwrap_or_default(),
        _ => json!({ "oneOf": schemas }),
    }
}
