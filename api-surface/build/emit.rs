//! Writes lawful rows as Rust constants.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::compile::class::Class;
use crate::compile::failure_terms::Case;
use crate::compile::failures::Cell;
use crate::compile::reader::Located;
use crate::compile::table::{Draft, FieldRole, From};
use crate::compile::template::{Piece, Template};
use crate::compile::terms::{Idempotency, Method, ServedBy};
use crate::compile::timeouts::Timeout;

/// The whole of the generated file. Writing to a text cannot fail.
pub fn constants(rows: &[Draft], timeouts: &[Timeout], cells: &[Cell]) -> String {
    let mut out = String::new();
    let services: BTreeSet<&str> = rows
        .iter()
        .filter(|row| row.served_by.value == ServedBy::Service)
        .map(|row| row.service.as_str())
        .collect();
    let services: Vec<&str> = services.into_iter().collect();
    let _ = writeln!(out, "/// The vehicle services, by name.");
    let _ = writeln!(out, "pub static SERVICES: &[&str] = &{services:?};\n");
    let out_timeouts = list(timeouts.iter().map(timeout));
    let _ = writeln!(
        out,
        "static TIMEOUT_TABLE: [Timeout; {}] = {out_timeouts};",
        timeouts.len()
    );
    let _ = writeln!(out, "/// Every timeout, in the order of the table.");
    let _ = writeln!(out, "pub static TIMEOUTS: &[Timeout] = &TIMEOUT_TABLE;\n");
    let out_rows = list(
        rows.iter()
            .enumerate()
            .map(|(index, row)| self::row(index, row, timeouts)),
    );
    let _ = writeln!(out, "static ROW_TABLE: [Row; {}] = {out_rows};", rows.len());
    let _ = writeln!(out, "/// Every row, in the order of the tables.");
    let _ = writeln!(out, "pub static ROWS: &[Row] = &ROW_TABLE;\n");
    let _ = writeln!(
        out,
        "/// Every cell of the failure matrix, by condition and class."
    );
    let _ = writeln!(
        out,
        "pub static CELLS: &[Cell] = &{};\n",
        list(cells.iter().map(cell))
    );
    let mut listeners = vec![
        listener("Listener::Public", rows, |row| {
            row.served_by.value != ServedBy::Ops && row.right.class != Class::Internal
        }),
        listener("Listener::Ops", rows, |row| {
            row.served_by.value == ServedBy::Ops
        }),
    ];
    listeners.extend(services.iter().map(|service| {
        listener(&format!("Listener::Service({service:?})"), rows, |row| {
            row.served_by.value == ServedBy::Service && row.service == *service
        })
    }));
    let _ = writeln!(
        out,
        "pub(crate) static ROUTES: &[Routes] = &{};",
        list(listeners)
    );
    out
}

fn list(elements: impl IntoIterator<Item = String>) -> String {
    let elements: Vec<String> = elements.into_iter().collect();
    format!("[{}]", elements.join(",\n"))
}

fn timeout(timeout: &Timeout) -> String {
    let Timeout {
        name,
        connect,
        attempt,
        total,
        gateway,
    } = timeout;
    format!(
        "Timeout {{ name: {name:?}, connect_ms: {connect}, attempt_ms: {attempt}, \
         total_ms: {total}, gateway_ms: {gateway} }}"
    )
}

fn row(index: usize, row: &Draft, timeouts: &[Timeout]) -> String {
    let maybe = |text: &Option<Located<String>>| {
        format!("{:?}", text.as_ref().map(|text| text.value.as_str()))
    };
    let timeout = timeouts
        .iter()
        .position(|timeout| timeout.name == row.timeout.value);
    let from = match &row.right.resource_from.value {
        From::Service => "Service".to_owned(),
        From::Account => "Account".to_owned(),
        From::Path(param) => format!("Path({param:?})"),
    };
    let kind_field = row.call.kind_field().map(|field| field.value);
    let idempotency = row
        .idempotency
        .as_ref()
        .map_or(Idempotency::Never, |idempotency| idempotency.value);
    let query: Vec<&str> = row
        .content
        .query
        .iter()
        .map(|name| name.value.as_str())
        .collect();
    let fields = [
        ("index", index.to_string()),
        ("name", format!("{:?}", row.name.value)),
        ("service", format!("{:?}", row.service)),
        ("method", format!("Method::{:?}", row.call.method)),
        ("path", format!("{:?}", row.call.path.value)),
        ("segments", segments(&row.call.template)),
        ("kind", maybe(&row.call.kind)),
        ("kind_field", format!("{kind_field:?}")),
        ("class", format!("Class::{:?}", row.right.class)),
        (
            "relation",
            format!("Relation::{:?}", row.right.relation.value),
        ),
        ("calming", row.right.calming.value.to_string()),
        ("public", row.right.public.value.to_string()),
        ("action", maybe(&row.right.action)),
        (
            "resource",
            format!("ResourceType::{:?}", row.right.resource),
        ),
        ("resource_from", format!("ResourceFrom::{from}")),
        ("judges_members", row.right.judges_members.value.to_string()),
        ("idempotency", format!("Idempotency::{idempotency:?}")),
        (
            "timeout",
            format!("&TIMEOUT_TABLE[{}]", timeout.unwrap_or_default()),
        ),
        ("body_limit", row.content.body_limit.to_string()),
        ("body", format!("BodyRule::{:?}", row.content.body.value)),
        (
            "acting",
            format!("&{:?}", row.content.fields_of(FieldRole::Acting)),
        ),
        (
            "annotation",
            format!("&{:?}", row.content.fields_of(FieldRole::Annotation)),
        ),
        ("query", format!("&{query:?}")),
        ("mcp_tool", maybe(&row.mcp_tool)),
        ("preview", maybe(&row.preview)),
        ("becomes", maybe(&row.becomes)),
        ("served_by", format!("ServedBy::{:?}", row.served_by.value)),
        ("stream", row.stream.to_string()),
        ("success", row.success.value.to_string()),
        ("summary", format!("{:?}", row.summary.value)),
        ("request_schema", maybe(&row.content.request_schema)),
        ("response_schema", maybe(&row.content.response_schema)),
    ];
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    format!("Row {{ {} }}", fields.join(", "))
}

fn segments(template: &Template) -> String {
    let pieces = template.0.iter().map(|piece| match piece {
        Piece::Literal(text) => format!("Segment::Literal({text:?})"),
        Piece::Param(name, kind) => format!("Segment::Param({name:?}, ParamKind::{kind:?})"),
    });
    format!("&{}", list(pieces))
}

/// The routes of one listener, grouped by their number of segments.
fn listener(name: &str, rows: &[Draft], serves: impl Fn(&Draft) -> bool) -> String {
    let mut shapes: Vec<Vec<(usize, &Draft)>> = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| serves(row)) {
        let same = |shape: &&mut Vec<(usize, &Draft)>| {
            shape
                .first()
                .is_some_and(|(_, first)| first.call.template.same_shape(&row.call.template))
        };
        match shapes.iter_mut().find(same) {
            Some(shape) => shape.push((index, row)),
            None => shapes.push(vec![(index, row)]),
        }
    }
    let length = |shape: &[(usize, &Draft)]| {
        shape
            .first()
            .map_or(0, |(_, row)| row.call.template.0.len())
    };
    let longest = shapes
        .iter()
        .map(|shape| length(shape))
        .max()
        .unwrap_or_default();
    let by_length = (0..=longest).map(|n| {
        let routes = shapes
            .iter()
            .filter(|shape| length(shape) == n)
            .map(|shape| route(shape));
        format!("&{}", list(routes))
    });
    format!(
        "Routes {{ listener: {name}, by_length: &{} }}",
        list(by_length)
    )
}

fn route(shape: &[(usize, &Draft)]) -> String {
    let methods: BTreeSet<Method> = shape.iter().map(|(_, row)| row.call.method).collect();
    let mut allow: BTreeSet<&str> = methods.iter().map(|method| method.as_str()).collect();
    if methods.contains(&Method::Get) {
        allow.insert("HEAD");
    }
    let allow: Vec<&str> = allow.into_iter().collect();
    let segments = shape
        .first()
        .map(|(_, row)| segments(&row.call.template))
        .unwrap_or_default();
    let methods = methods.into_iter().map(|method| {
        let mut rows = shape
            .iter()
            .filter(|(_, row)| row.call.method == method)
            .map(|(index, _)| format!("&ROW_TABLE[{index}]"));
        let first = rows.next().unwrap_or_default();
        let rest = list(rows);
        format!("(Method::{method:?}, Candidates {{ first: {first}, rest: &{rest} }})")
    });
    format!(
        "Route {{ segments: {segments}, methods: &{}, allow: {:?} }}",
        list(methods),
        allow.join(", ")
    )
}

fn cell(cell: &Cell) -> String {
    let case = if cell.case == Case::Any {
        String::new()
    } else {
        format!("/{}", cell.case)
    };
    let id = format!("{}/{}{case}", cell.condition, cell.line);
    let maybe = |name: &str, value: Option<String>| {
        value.map_or_else(
            || "None".to_owned(),
            |value| format!("Some({name}::{value})"),
        )
    };
    format!(
        "Cell {{ id: {id:?}, condition: Condition::{:?}, line: Line::{:?}, case: Case::{:?}, \
         expectation: Expectation {{ answer: Answer::{:?}, status: {:?}, sent: {}, effect: {}, \
         key: {}, code: {}, settled: {}, text: {:?} }} }}",
        cell.condition,
        cell.line,
        cell.case,
        cell.answer,
        cell.status,
        cell.sent,
        maybe("Told", cell.effect.map(|effect| format!("{effect:?}"))),
        maybe("KeyFate", cell.key.map(|key| format!("{key:?}"))),
        maybe("CodeFate", cell.code.map(|code| format!("{code:?}"))),
        cell.settled,
        cell.text,
    )
}
