//! The laws that keep paths apart.

use crate::compile::class::Class;
use crate::compile::fault::{Fault, Law};
use crate::compile::table::Draft;
use crate::compile::terms::ServedBy;

/// Two rows that some listener serves both must not be mistaken for each
/// other. A fault stands at the later one.
pub fn apart(row: &Draft, earlier: &Draft) -> Option<Fault> {
    if !share_listener(row, earlier) || !row.call.template.overlaps(&earlier.call.template) {
        return None;
    }
    let there = format!(
        "`{}` in {}:{}",
        earlier.name.value, earlier.source.label, earlier.line
    );
    if !row.call.template.same_shape(&earlier.call.template) {
        let text = format!(
            "`{}` can match the same path as {there}",
            row.call.path.value
        );
        return Some(row.fault(row.call.path.line, Law::AmbiguousPath, text));
    }
    if row.call.method != earlier.call.method {
        return None;
    }
    match (&row.call.kind, &earlier.call.kind) {
        (Some(kind), Some(other)) if kind.value != other.value => {
            let alike = row.call.path.value == earlier.call.path.value
                && row.service == earlier.service
                && row.served_by.value == earlier.served_by.value
                && row.content.body.value == earlier.content.body.value
                && row.content.body_limit == earlier.content.body_limit
                && schema(row) == schema(earlier);
            if !alike {
                let text = format!(
                    "kinds of one path share path text, service, body, body_limit and \
                     request_schema; see {there}"
                );
                return Some(row.fault(kind.line, Law::MixedKinds, text));
            }
            let field = row.call.kind_field()?;
            let one = earlier.call.kind_field()?.value == field.value;
            (!one).then(|| {
                let text = format!("kinds of one path stand in one `kind_field`; see {there}");
                row.fault(field.line, Law::KindField, text)
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
            Some(row.fault(row.call.path.line, Law::DuplicateKey, text))
        }
    }
}

fn schema(row: &Draft) -> Option<&str> {
    let schema = row.content.request_schema.as_ref();
    schema.map(|schema| schema.value.as_str())
}

fn share_listener(a: &Draft, b: &Draft) -> bool {
    let ops = |row: &Draft| row.served_by.value == ServedBy::Ops;
    let public = |row: &Draft| !ops(row) && row.right.class != Class::Internal;
    let service = |row: &Draft| row.served_by.value == ServedBy::Service;
    (ops(a) && ops(b))
        || (public(a) && public(b))
        || (service(a) && service(b) && a.service == b.service)
}
