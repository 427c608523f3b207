//! The named parts that operations point at.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::row::Row;
use crate::terms::Idempotency;

/// Schemas and query parameters, written by hand. The build script has read
/// them: they are JSON, and every name that a row uses is there.
const WRITTEN: &str = include_str!("../../../surface/schemas.json");

/// The pattern of an id, as [`is_id`](crate::ids::is_id) judges it.
pub(super) const ID_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$";

/// Component names of the key parameters.
pub(super) const KEY: &str = "IdempotencyKey";
pub(super) const REQUIRED_KEY: &str = "RequiredIdempotencyKey";

const SCHEMA: &str = "#/components/schemas/";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Components {
    security_schemes: Value,
    parameters: BTreeMap<String, Value>,
    headers: Value,
    responses: Value,
    schemas: BTreeMap<String, Value>,
}

impl Components {
    /// The components that these rows need, and no others.
    pub(super) fn of(rows: impl Iterator<Item = &'static Row>) -> Self {
        let written: Value = serde_json::from_str(WRITTEN).unwrap_or_default();
        let mut schemas = BTreeMap::new();
        let mut parameters = BTreeMap::new();
        add("Problem", &written, &mut schemas);
        for row in rows {
            for name in [row.request_schema, row.response_schema]
                .into_iter()
                .flatten()
            {
                add(name, &written, &mut schemas);
            }
            match row.idempotency {
                Idempotency::Honoured => {
                    parameters.insert(KEY.to_owned(), key_parameter(false));
                }
                Idempotency::Required => {
                    parameters.insert(REQUIRED_KEY.to_owned(), key_parameter(true));
                }
                Idempotency::Never => {}
            }
            for name in row.query {
                if let Some(parameter) = written.get("parameters").and_then(|all| all.get(name)) {
                    parameters.insert((*name).to_owned(), sorted(parameter));
                }
            }
        }
        Self {
            security_schemes: sorted(&json!({ "bearer": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": "A token of a configured issuer. Ignored in open mode.",
            } })),
            parameters,
            headers: headers(),
            responses: problem(),
            schemas,
        }
    }
}

/// A reference to a component schema.
pub(super) fn schema(name: &str) -> Value {
    json!({ "$ref": format!("{SCHEMA}{name}") })
}

/// Adds a schema and those it refers to.
fn add(name: &str, written: &Value, schemas: &mut BTreeMap<String, Value>) {
    if schemas.contains_key(name) {
        return;
    }
    let Some(schema) = written.get("schemas").and_then(|all| all.get(name)) else {
        return;
    };
    schemas.insert(name.to_owned(), sorted(schema));
    let mut names = Vec::new();
    references(schema, &mut names);
    for name in names {
        add(name, written, schemas);
    }
}

fn references<'v>(value: &'v Value, names: &mut Vec<&'v str>) {
    match value {
        Value::Object(object) => {
            let name = object.get("$ref").and_then(Value::as_str);
            names.extend(name.and_then(|name| name.strip_prefix(SCHEMA)));
            object.values().for_each(|value| references(value, names));
        }
        Value::Array(array) => array.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

/// The same value with the keys of every object in order.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let keys: BTreeMap<&String, &Value> = object.iter().collect();
            let pairs = keys
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        Value::Array(array) => array.iter().map(sorted).collect(),
        scalar => scalar.clone(),
    }
}

/// The header parameter of rows that honor a key, or of those that require it.
fn key_parameter(required: bool) -> Value {
    sorted(&json!({
        "name": "Idempotency-Key",
        "in": "header",
        "required": required,
        "description": "The caller's own name for this call. The same key with the same content \
            gets the stored answer, for 24 hours; with other content it is 422.",
        "schema": {
            "type": "string",
            "pattern": "^([A-Za-z0-9._:-]{1,200}|\"[A-Za-z0-9._:-]{1,200}\")$",
        },
    }))
}

fn headers() -> Value {
    sorted(&json!({
        "Location": {
            "description": "Path of what was made.",
            "schema": { "type": "string", "format": "uri-reference" },
        },
        "IdempotencyReplayed": {
            "description": "`true` on a stored answer.",
            "schema": { "type": "string", "const": "true" },
        },
    }))
}

fn problem() -> Value {
    sorted(&json!({ "Problem": {
        "description": "A problem document that tells its effect on the vehicle.",
        "content": { "application/problem+json": { "schema": schema("Problem") } },
    } }))
}
