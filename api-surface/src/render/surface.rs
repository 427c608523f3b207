//! The surface for people: one table for each service, the words explained.

use std::fmt::Write;

use super::markdown::{code, table};
use crate::class::Class;
use crate::relation::Relation;
use crate::row::{ResourceFrom, Row};
use crate::tables::{ROWS, TIMEOUTS};
use crate::terms::{BodyRule, Idempotency, ParamKind, ServedBy};

const HEAD: &str = "\
# API surface

Generated from `api-surface/surface/`; do not edit. `cargo xtask golden` writes it.

Every endpoint and command kind there is. What is not in these tables does not exist: an unlisted
path is 404, an unlisted method of a listed path is 405 with `Allow`, and HEAD is its GET without a
body. Where a path carries command kinds, the body says which at `command.kind`, the fields of the
command stand beside it, and a kind that is not listed is refused. A path parameter is a UUID, in any case, or an id: 1 to 64 of `A-Z a-z 0-9 . _ : -`, first a letter
or digit; other text there is 404. Query parameters and body fields that are not listed are 400.

";

/// The document `API-SURFACE.md`.
pub fn api_surface_md() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("## Classes\n\nA row's class says how dangerous a call is. It is given by the row, never derived from a name.\n\n");
    let classes = Class::ALL
        .iter()
        .map(|class| vec![code(class), class.meaning().to_owned()]);
    out.push_str(&table(&["Class", "Meaning"], classes));
    out.push_str("\n## Relations\n\nWhat the caller must be to the resource.\n\n");
    let relations = Relation::ALL
        .iter()
        .map(|relation| vec![code(relation), relation.meaning().to_owned()]);
    out.push_str(&table(&["Relation", "Meaning"], relations));
    out.push_str("\n## Deadlines\n\nIn milliseconds. They nest, so whoever waits longer hears from whoever waits shorter.\n\n");
    let timeouts = TIMEOUTS.iter().map(|timeout| {
        let ms = [
            timeout.connect_ms,
            timeout.attempt_ms,
            timeout.total_ms,
            timeout.gateway_ms,
        ];
        let mut cells = vec![code(timeout.name)];
        cells.extend(ms.iter().map(ToString::to_string));
        cells
    });
    out.push_str(&table(
        &[
            "Name",
            "Connect",
            "One attempt",
            "All attempts",
            "Gateway answers",
        ],
        timeouts,
    ));
    let mut services: Vec<&str> = ROWS.iter().map(|row| row.service).collect();
    services.dedup();
    for name in services {
        out.push_str(&service(name));
    }
    out
}

fn service(name: &str) -> String {
    let rows = || ROWS.iter().filter(|row| row.service == name);
    let mut out = format!("\n## Service {name}\n\n");
    let calls = rows().map(|row| {
        vec![
            call(row),
            row.summary.to_owned(),
            code(row.class) + if row.calming { ", calming" } else { "" },
            right(row),
            key(row).to_owned(),
            row.success.to_string(),
            row.mcp_tool.map_or_else(|| "-".to_owned(), code),
        ]
    });
    let head = [
        "Call",
        "What it does",
        "Class",
        "Right",
        "Idempotency-Key",
        "Success",
        "MCP tool",
    ];
    out.push_str(&table(&head, calls));
    // Writing to a text cannot fail.
    let _ = writeln!(out, "\nWhat each row takes, and who serves it:\n");
    let details = rows().map(|row| {
        vec![
            code(row.name),
            params(row),
            body(row),
            if row.query.is_empty() {
                "-".to_owned()
            } else {
                names(row.query)
            },
            code(row.timeout.name),
            served_by(row),
        ]
    });
    out.push_str(&table(
        &["Row", "Path", "Body", "Query", "Deadline", "Served by"],
        details,
    ));
    out
}

fn call(row: &Row) -> String {
    let kind = row
        .kind
        .map(|kind| format!(" kind `{kind}`"))
        .unwrap_or_default();
    format!("`{} {}`{kind}", row.method, row.path)
}

fn right(row: &Row) -> String {
    let Some(action) = row.action else {
        return "-".to_owned();
    };
    let from = match row.resource_from {
        ResourceFrom::Service => String::new(),
        ResourceFrom::Account => " of the caller".to_owned(),
        ResourceFrom::Path(param) => format!(" `{{{param}}}`"),
    };
    let public = if row.public {
        ", open to everybody"
    } else {
        ""
    };
    format!(
        "{} on {}{from} (`{action}`){public}",
        row.relation, row.resource
    )
}

fn key(row: &Row) -> &'static str {
    match row.idempotency {
        Idempotency::Honoured => "may be sent",
        Idempotency::Required => "must be sent",
        Idempotency::Never => "-",
    }
}

fn params(row: &Row) -> String {
    let params: Vec<String> = row
        .params()
        .map(|(name, kind)| match kind {
            ParamKind::Uuid => format!("{} UUID", code(name)),
            ParamKind::Text => format!("{} id", code(name)),
        })
        .collect();
    if params.is_empty() {
        "-".to_owned()
    } else {
        params.join(", ")
    }
}

fn body(row: &Row) -> String {
    let rule = match row.body {
        BodyRule::None => return "none".to_owned(),
        BodyRule::Optional => "optional",
        BodyRule::Required => "required",
    };
    let mut text = format!(
        "{rule}, at most {} bytes; acting: {}",
        row.body_limit,
        names(row.acting)
    );
    if !row.annotation.is_empty() {
        text.push_str("; annotation: ");
        text.push_str(&names(row.annotation));
    }
    text
}

fn served_by(row: &Row) -> String {
    let mut text = match row.served_by {
        ServedBy::Gateway => "the gateway".to_owned(),
        ServedBy::Ops => "the operations listener".to_owned(),
        ServedBy::Service => format!("the {} service", row.service),
    };
    if let Some(preview) = row.preview {
        text.push_str(&format!(", which asks `{preview}`"));
    }
    if let Some(becomes) = row.becomes {
        text.push_str(&format!(", becomes `{becomes}`"));
    }
    if row.judges_members {
        text.push_str(", which asks about each member");
    }
    if row.stream {
        text.push_str(", unbuffered");
    }
    text
}

fn names(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(code).collect();
    names.join(" ")
}
