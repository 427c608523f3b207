//! The surface for programs: OpenAPI 3.1.
//!
//! Typed down to the operation, so that the order of keys is ours and not
//! that of a map, whose kind a feature of another crate may change.

mod components;
mod operation;

use std::collections::BTreeMap;

use serde::Serialize;

use self::components::Components;
use self::operation::Operation;
use crate::class::Class;
use crate::row::Row;
use crate::tables::ROWS;
use crate::terms::{Method, ServedBy};

#[derive(Serialize)]
struct Document {
    openapi: &'static str,
    info: Info,
    servers: [Server; 1],
    tags: Vec<Tag>,
    paths: BTreeMap<&'static str, BTreeMap<&'static str, Operation>>,
    components: Components,
}

#[derive(Serialize)]
struct Info {
    title: &'static str,
    version: &'static str,
    description: &'static str,
    license: License,
}

#[derive(Serialize)]
struct License {
    name: &'static str,
    identifier: &'static str,
}

#[derive(Serialize)]
struct Server {
    url: &'static str,
    description: &'static str,
}

#[derive(Serialize)]
struct Tag {
    name: &'static str,
    description: String,
}

/// The document `openapi.json`: every row of the public listener.
pub fn openapi_json() -> String {
    let mut paths: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for ((path, method), rows) in operations() {
        let operation = Operation::of(&rows);
        paths
            .entry(path)
            .or_default()
            .insert(verb(method), operation);
    }
    let mut services: Vec<&str> = public().map(|row| row.service).collect();
    services.dedup();
    let document = Document {
        openapi: "3.1.0",
        info: Info {
            title: "Interlock",
            version: env!("CARGO_PKG_VERSION"),
            description: "Authorization gateway in front of vehicle services. Generated from the \
                rows of api-surface. HEAD is answered as its GET without a body; any other method \
                of a listed path is 405, any other path is 404. Every problem is a problem \
                document (RFC 9457) that tells its effect on the vehicle.",
            license: License {
                name: "Apache License 2.0",
                identifier: "Apache-2.0",
            },
        },
        servers: [Server {
            url: "http://127.0.0.1:8080",
            description: "The gateway as `cargo xtask up` starts it",
        }],
        tags: services.into_iter().map(tag).collect(),
        components: Components::of(public()),
        paths,
    };
    // Serializing into memory fails only for maps whose keys are no texts;
    // these are all texts. A test reads the document.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn public() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
        .filter(|row| row.served_by != ServedBy::Ops && row.class != Class::Internal)
}

/// The rows of each path and method; several where there are command kinds.
fn operations() -> BTreeMap<(&'static str, Method), Vec<&'static Row>> {
    let mut operations: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in public() {
        operations
            .entry((row.path, row.method))
            .or_default()
            .push(row);
    }
    operations
}

fn verb(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Put => "put",
        Method::Patch => "patch",
        Method::Delete => "delete",
    }
}

fn tag(name: &'static str) -> Tag {
    let description = match name {
        "gateway" => "The gateway itself".to_owned(),
        _ => format!("Vehicle service {name}"),
    };
    Tag { name, description }
}
