//! Schema and validation: strict, at level 1, warnings refused.

use std::collections::HashMap;

use cedar_policy::{
    PolicyId, PolicySet, Schema, SchemaFragment, ValidationError, ValidationMode, Validator,
};

use super::files::Files;
use super::parse::Located;
use crate::diagnostics::{Check, Diagnostic};

/// How far a policy may look: `principal.x`, `resource.x`, `action in g`, and
/// no entity beyond them. A slice of three entities is exact because of it.
const LEVEL: u32 = 1;

/// Parses all schema files and puts them together.
pub(super) fn schema(files: &Files) -> Result<Schema, Vec<Diagnostic>> {
    let mut fragments = Vec::new();
    let mut faults = Vec::new();
    for (file, text) in files.schemas() {
        match SchemaFragment::from_cedarschema_str(text) {
            Ok((fragment, warnings)) => {
                fragments.push(fragment);
                let warning = |w| Diagnostic::cedar(Check::Warning, text, &w).file(file);
                faults.extend(warnings.map(warning));
            }
            Err(error) => faults.push(Diagnostic::cedar(Check::Schema, text, &error).file(file)),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Schema::from_schema_fragments(fragments)
        .map_err(|error| vec![Diagnostic::cedar(Check::Schema, "", &error)])
}

/// Validates every policy against the schema.
pub(super) fn policies(
    policies: &[Located],
    set: &PolicySet,
    schema: &Schema,
    files: &Files,
) -> Result<(), Vec<Diagnostic>> {
    let by_id: HashMap<&PolicyId, &Located> = policies
        .iter()
        .map(|located| (located.policy.id(), located))
        .collect();
    let fault = |check: Check, id: &PolicyId, error: &dyn miette::Diagnostic| {
        let Some(located) = by_id.get(id) else {
            return Diagnostic::cedar(check, "", error);
        };
        let text = files.get(&located.file).unwrap_or_default();
        let mut fault = Diagnostic::cedar(check, text, error);
        if fault.line.is_none() {
            fault = fault.offset(text, located.offset);
        }
        let prefix = format!("for policy `{id}`, ");
        fault.message = fault.message.replace(&prefix, "");
        fault.file(&located.file).policy(located.id())
    };
    let result =
        Validator::new(schema.clone()).validate_with_level(set, ValidationMode::Strict, LEVEL);
    let errors = result.validation_errors();
    let errors: Vec<Diagnostic> = errors
        .map(|error| fault(check(error), error.policy_id(), error))
        .collect();
    if !errors.is_empty() {
        // Most warnings beside an error follow from it.
        return Err(errors);
    }
    let warnings = result.validation_warnings();
    let warnings: Vec<Diagnostic> = warnings
        .map(|warning| fault(Check::Warning, warning.policy_id(), warning))
        .collect();
    if warnings.is_empty() {
        Ok(())
    } else {
        Err(warnings)
    }
}

fn check(error: &ValidationError) -> Check {
    match error {
        ValidationError::UnrecognizedActionId(_) => Check::UnknownAction,
        ValidationError::UnrecognizedEntityType(_) | ValidationError::InvalidEnumEntity(_) => {
            Check::UnknownType
        }
        ValidationError::UnsafeAttributeAccess(_) => Check::UnknownAttribute,
        ValidationError::UnsafeOptionalAttributeAccess(_) => Check::OptionalAttribute,
        ValidationError::EntityDerefLevelViolation(_) => Check::Level,
        // Everything else is a fault of typing; the enum may grow.
        _ => Check::Type,
    }
}
