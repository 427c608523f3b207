//! The laws about command kinds: where the kind stands, and that the table and
//! the schemas know the same ones.

use crate::compile::fault::{Fault, Law};
use crate::compile::schemas::Schemas;
use crate::compile::table::Draft;

/// Where the kind of a row stands, and the fields beside it.
pub fn field(row: &Draft) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let (None, Some(field)) = (&row.call.kind, &row.call.kind_field) {
        let text = "a row without a `kind` has no `kind_field`";
        faults.push(row.fault(field.line, Law::KindField, text));
    }
    if let Some(field) = row.call.kind_field()
        && !matches!(
            field.value.split('.').collect::<Vec<_>>().as_slice(),
            [_] | [_, _]
        )
    {
        let text = "a `kind_field` is a field of the body, or one level below: `command.kind`";
        faults.push(row.fault(field.line, Law::KindField, text));
    }
    let parent = row.call.command_field();
    for (field, _) in &row.content.fields {
        if let Some((under, _)) = field.value.split_once('.')
            && Some(under) != parent
        {
            let text = format!(
                "`{}` must stand beside the kind, or at the top of the body",
                field.value
            );
            faults.push(row.fault(field.line, Law::KindField, text));
        }
    }
    faults
}

/// A kind is in the discriminator of its request schema, and the component
/// that the discriminator names is that kind's.
pub fn schema(row: &Draft, schemas: &Schemas) -> Option<Fault> {
    let kind = row.call.kind.as_ref()?;
    let field = row.call.kind_field()?;
    let leaf = field.value.rsplit('.').next().unwrap_or(field.value);
    let component = component(row, schemas);
    if component.is_some_and(|name| schemas.constant(name, leaf) == Some(&kind.value)) {
        return None;
    }
    let text = format!(
        "the request schema must lead from `{}` to a component whose `{leaf}` is that constant, \
         by the mapping of a discriminator",
        kind.value
    );
    Some(row.fault(kind.line, Law::KindSchema, text))
}

/// Every kind of a row's request schema is a row of the same path.
pub fn rows(row: &Draft, rows: &[Draft], schemas: &Schemas) -> Option<Fault> {
    let schema = row.content.request_schema.as_ref()?;
    row.call.kind.as_ref()?;
    let beside = |other: &&Draft| {
        other.call.method == row.call.method
            && other.call.path.value == row.call.path.value
            && other.service == row.service
    };
    let kinds = schemas.kinds(&schema.value, row.call.command_field());
    let missing = kinds.into_iter().find(|(kind, _)| {
        let known = |other: &Draft| other.call.kind.as_ref().is_some_and(|k| k.value == *kind);
        !rows.iter().filter(beside).any(known)
    });
    // Said once for the path, at its first row.
    let first = rows.iter().find(beside)?;
    let (kind, _) = missing.filter(|_| first.line == row.line)?;
    let text = format!("the request schema has the kind `{kind}`, which is no row of this path");
    Some(row.fault(schema.line, Law::KindSchema, text))
}

/// The component schema of a row's command.
pub fn component<'s>(row: &Draft, schemas: &'s Schemas) -> Option<&'s str> {
    let kind = row.call.kind.as_ref()?;
    let schema = row.content.request_schema.as_ref()?;
    let kinds = schemas.kinds(&schema.value, row.call.command_field());
    let found = kinds.into_iter().find(|(known, _)| *known == kind.value);
    found.map(|(_, component)| component)
}
