//! The bundle's own tests: requests and the decisions they must get.
//!
//! The files are in the format of Cedar's command line (`cedar run-tests`), so
//! a security team can run them without this program. They are run at every
//! load, on the whole policy set.

use std::collections::HashMap;

use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, Schema,
};
use serde::Deserialize;
use serde_json::Value;

use super::files::{CASE_ENTITIES, CASES, Files};
use crate::diagnostics::{Check, Diagnostic, chain};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: Option<String>,
    request: Asked,
    /// Entities, or the name of a file of them below `cases/`.
    entities: Value,
    decision: Decision,
    #[serde(default)]
    reason: Vec<String>,
    #[serde(default)]
    num_errors: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    principal: String,
    action: String,
    resource: String,
    context: Value,
}

/// Runs every case. At least one must exist.
pub(super) fn run(files: &Files, set: &PolicySet, schema: &Schema) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let mut shared = HashMap::new();
    let mut count = 0;
    for (file, text) in files.cases() {
        let cases: Vec<Case> = match serde_json::from_str(text) {
            Ok(cases) => cases,
            Err(error) => {
                let fault = Diagnostic::new(Check::CaseFormat, &error).file(file);
                faults.push(fault.position(text, error.line(), error.column()));
                continue;
            }
        };
        count += cases.len();
        for (number, case) in cases.iter().enumerate() {
            let name = case.name.clone();
            let name = name.unwrap_or_else(|| format!("number {}", number + 1));
            if let Err((check, what)) = judge(case, files, set, schema, &mut shared) {
                let fault = Diagnostic::new(check, format!("case `{name}`: {what}")).file(file);
                let quoted = Value::String(name).to_string();
                faults.push(fault.at(text, &quoted));
            }
        }
    }
    if count == 0 && faults.is_empty() {
        let what = "the bundle has no cases, so nothing would show that it decides as meant";
        faults.push(Diagnostic::new(Check::CaseFormat, what));
    }
    faults
}

fn judge(
    case: &Case,
    files: &Files,
    set: &PolicySet,
    schema: &Schema,
    shared: &mut HashMap<String, Entities>,
) -> Result<(), (Check, String)> {
    let format = |what: String| (Check::CaseFormat, what);
    let request = request(&case.request, schema).map_err(format)?;
    let own;
    let entities = match &case.entities {
        Value::String(name) => {
            if !shared.contains_key(name) {
                let parsed = shared_entities(name, files, schema).map_err(format)?;
                shared.insert(name.clone(), parsed);
            }
            shared.get(name)
        }
        inline => {
            let parsed = Entities::from_json_value(inline.clone(), Some(schema));
            own = parsed.map_err(|error| format(chain(&error)))?;
            Some(&own)
        }
    };
    let empty = Entities::empty();
    let response = Authorizer::new().is_authorized(&request, set, entities.unwrap_or(&empty));
    let reasons: Vec<&str> = response.diagnostics().reason().map(AsRef::as_ref).collect();
    let errors: Vec<String> = response
        .diagnostics()
        .errors()
        .map(ToString::to_string)
        .collect();
    let got = format!("{:?} by {reasons:?}", response.decision());
    if response.decision() != case.decision {
        let what = format!("{:?} was expected, and it came out {got}", case.decision);
        return Err((Check::CaseFailed, what));
    }
    if let Some(missing) = case.reason.iter().find(|r| !reasons.contains(&r.as_str())) {
        let what = format!("`{missing}` was expected among the reasons, and it came out {got}");
        return Err((Check::CaseFailed, what));
    }
    if errors.len() != case.num_errors {
        let expected = case.num_errors;
        let what = format!("{expected} errors were expected, and there were {errors:?}");
        return Err((Check::CaseFailed, what));
    }
    Ok(())
}

fn request(asked: &Asked, schema: &Schema) -> Result<Request, String> {
    let uid = |text: &str| -> Result<EntityUid, String> {
        let parsed = text.parse::<EntityUid>();
        parsed.map_err(|error| format!("`{text}` is no entity: {error}"))
    };
    let action = uid(&asked.action)?;
    let context = Context::from_json_value(asked.context.clone(), Some((schema, &action)));
    let context = context.map_err(|error| chain(&error))?;
    let request = Request::new(
        uid(&asked.principal)?,
        action,
        uid(&asked.resource)?,
        context,
        Some(schema),
    );
    request.map_err(|error| error.to_string())
}

fn shared_entities(name: &str, files: &Files, schema: &Schema) -> Result<Entities, String> {
    let file = format!("{CASES}{name}");
    let found = files.get(&file).filter(|_| file.starts_with(CASE_ENTITIES));
    let text = found.ok_or_else(|| {
        format!("`entities` names `{name}`, and there is no file `{file}` below {CASE_ENTITIES}")
    })?;
    let parsed = Entities::from_json_str(text, Some(schema));
    parsed.map_err(|error| format!("{file}: {}", chain(&error)))
}
