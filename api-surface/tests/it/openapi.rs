//! The OpenAPI document holds together and says what the rows say.

use std::collections::BTreeSet;

use interlock_surface::render::openapi_json;
use interlock_surface::{Class, Idempotency, Listener, Match, ROWS, ServedBy, find};
use serde_json::Value;

fn document() -> Value {
    serde_json::from_str(&openapi_json()).expect("JSON")
}

/// Every `$ref` under `value`.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            found.extend(
                object
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(array) => array.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Path, method and operation of each operation.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("a path item") {
            operations.push((path.clone(), method.clone(), operation.clone()));
        }
    }
    operations
}

/// Follows a local reference, or gives the value back.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    value["$ref"].as_str().map_or(value, |reference| {
        document
            .pointer(reference.trim_start_matches('#'))
            .expect("resolves")
    })
}

#[test]
fn it_is_a_document_of_version_3_1() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.contains("#/components/schemas/MissionRequest"));
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("local");
        assert!(
            document.pointer(pointer).is_some(),
            "`{reference}` points nowhere"
        );
    }
}

#[test]
fn every_component_is_used() {
    let document = document();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    let kinds = document["components"].as_object().expect("components");
    for (kind, components) in kinds.iter().filter(|(kind, _)| *kind != "securitySchemes") {
        for name in components.as_object().expect("components").keys() {
            let reference = format!("#/components/{kind}/{name}");
            assert!(found.contains(&reference), "nothing uses `{reference}`");
        }
    }
}

#[test]
fn every_path_parameter_is_declared_and_no_other() {
    let document = document();
    for (path, method, operation) in operations(&document) {
        let in_path: BTreeSet<&str> = path
            .split('/')
            .filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        let none = Vec::new();
        let declared: Vec<&Value> = operation["parameters"]
            .as_array()
            .unwrap_or(&none)
            .iter()
            .map(|parameter| resolve(&document, parameter))
            .collect();
        let names: BTreeSet<&str> = declared
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        assert_eq!(names, in_path, "{method} {path}");
        for parameter in declared {
            assert!(
                parameter["schema"].is_object(),
                "{method} {path}: {parameter}"
            );
            let needed = parameter["in"] != "path" || parameter["required"] == true;
            assert!(needed, "{method} {path}: {parameter}");
        }
    }
}

#[test]
fn every_operation_is_a_public_row_and_the_reverse() {
    let document = document();
    let mut named = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        for row in operation["x-interlock-rows"].as_array().expect("rows") {
            let name = row["name"].as_str().expect("a name");
            let row = interlock_surface::row(name).expect("a row");
            assert_eq!(
                (row.path, row.method.as_str().to_lowercase()),
                (path.as_str(), method.clone())
            );
            named.insert(row.name);
        }
    }
    let public: BTreeSet<&str> = ROWS
        .iter()
        .filter(|row| row.class != Class::Internal && row.served_by != ServedBy::Ops)
        .map(|row| row.name)
        .collect();
    assert_eq!(named, public);
}

#[test]
fn operations_say_what_their_rows_say() {
    let document = document();
    for (path, method, operation) in operations(&document) {
        let concrete = path
            .split('/')
            .map(|piece| if piece.starts_with('{') { NIL } else { piece })
            .collect::<Vec<_>>()
            .join("/");
        let Match::Found { rows, .. } = find(Listener::Public, &method.to_uppercase(), &concrete)
        else {
            panic!("{method} {path} is not served");
        };
        let row = rows.any();
        let text = operation.to_string();
        let keyed = row.idempotency != Idempotency::Never;
        assert_eq!(
            text.contains("#/components/parameters/IdempotencyKey"),
            keyed,
            "{row}"
        );
        assert_eq!(
            operation.get("requestBody").is_some(),
            row.request_schema.is_some(),
            "{row}"
        );
        assert!(
            operation["responses"][row.success.to_string()].is_object(),
            "{row}"
        );
        assert!(operation["responses"]["503"].is_object(), "{row}");
        // A stop is never refused by its key.
        if row.class == Class::SafetyWrite {
            assert!(operation["responses"].get("422").is_none(), "{row}");
        }
    }
}

const NIL: &str = "00000000-0000-0000-0000-000000000000";

#[test]
fn request_bodies_are_closed_and_described() {
    let document = document();
    for row in ROWS.iter().filter(|row| row.class != Class::Internal) {
        let Some(name) = row.request_schema else {
            continue;
        };
        let schema = &document["components"]["schemas"][name];
        assert_eq!(schema["additionalProperties"], false, "{name}");
        for (field, about) in schema["properties"].as_object().expect("fields") {
            assert!(about["description"].is_string(), "{name}.{field}");
        }
    }
}

#[test]
fn every_operation_has_an_id_of_its_own() {
    let document = document();
    let mut seen = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let id = operation["operationId"].as_str().expect("an id").to_owned();
        assert!(seen.insert(id.clone()), "{method} {path}: `{id}` twice");
        assert!(!id.contains('+'), "{method} {path}: `{id}`");
    }
}

/// The kinds of one path are one operation, whose body is told apart by the
/// discriminator at `command.kind`.
#[test]
fn kinds_are_told_apart_by_a_discriminator() {
    let document = document();
    let mut seen = 0;
    for (path, method, operation) in operations(&document) {
        let rows = operation["x-interlock-rows"].as_array().expect("rows");
        let kinds: BTreeSet<&str> = rows.iter().filter_map(|row| row["kind"].as_str()).collect();
        if kinds.is_empty() {
            assert_eq!(rows.len(), 1, "{method} {path}");
            continue;
        }
        seen += 1;
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let command = &resolve(&document, body)["properties"]["command"];
        assert_eq!(command["discriminator"]["propertyName"], "kind", "{path}");
        let mapping = command["discriminator"]["mapping"]
            .as_object()
            .expect("a mapping");
        let mapped: BTreeSet<&str> = mapping.keys().map(String::as_str).collect();
        assert_eq!(mapped, kinds, "{path}");
        let variants = command["oneOf"].as_array().expect("variants");
        for (kind, reference) in mapping {
            let variant = serde_json::json!({ "$ref": reference });
            assert!(variants.contains(&variant), "{path}: {kind}");
            let schema = resolve(&document, &variant);
            assert_eq!(
                schema["properties"]["kind"]["const"],
                kind.as_str(),
                "{path}"
            );
            assert_eq!(schema["additionalProperties"], false, "{path}: {kind}");
        }
    }
    assert_eq!(seen, 3, "mowers, groups and sites");
}
