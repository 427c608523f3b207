//! The Cedar actions, one for each row that policy decides about.

use std::fmt::Write;

use crate::row::Row;
use crate::tables::ROWS;

const HEAD: &str = "\
// Generated from the rows of api-surface; do not edit. `cargo xtask golden`
// writes it. One action for each row that policy decides about, in the groups
// of its class and its relation.
";

/// The schema fragment `actions.cedarschema`. Entity types, the context and
/// the groups are in `base.cedarschema` beside it.
pub fn cedar_actions() -> String {
    let mut out = HEAD.to_owned();
    for row in ROWS {
        if let Some(action) = row.action {
            out.push('\n');
            out.push_str(&declaration(row, action));
        }
    }
    out
}

fn declaration(row: &Row, action: &str) -> String {
    let mut annotations = vec![
        ("doc", row.summary),
        ("row", row.name),
        ("class", row.class.as_str()),
        ("method", row.method.as_str()),
        ("path", row.path),
    ];
    annotations.extend(row.kind.map(|kind| ("kind", kind)));
    let mut out = String::new();
    for (name, value) in annotations {
        // Writing to a text cannot fail.
        let _ = writeln!(out, "@{name}({value:?})");
    }
    let groups: Vec<String> = row
        .action_groups()
        .iter()
        .map(|group| format!("{group:?}"))
        .collect();
    let _ = writeln!(
        out,
        "action {action:?} in [{}] appliesTo {{",
        groups.join(", ")
    );
    let _ = writeln!(out, "  principal: [Person, Agent, Service, Anonymous],");
    let _ = writeln!(out, "  resource: [{}],", row.resource);
    let _ = writeln!(out, "  context: Ctx,");
    let _ = writeln!(out, "}};");
    out
}
