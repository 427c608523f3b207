//! From policy files to policies with ids of their own.

use std::collections::HashMap;

use cedar_policy::{Effect, Policy, PolicyId, PolicySet, ResourceConstraint};

use super::files::{Files, GUARDS, PERMITS, TENANTS};
use crate::diagnostics::{Check, Diagnostic};
use crate::problem::Problem;

/// A policy and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    pub(crate) policy: Policy,
    pub(crate) file: String,
    pub(crate) offset: usize,
}

impl Located {
    pub(crate) fn id(&self) -> &str {
        self.policy.id().as_ref()
    }

    pub(crate) fn fault(&self, files: &Files, check: Check, what: String) -> Diagnostic {
        let text = files.get(&self.file).unwrap_or_default();
        Diagnostic::new(check, what)
            .file(&self.file)
            .offset(text, self.offset)
            .policy(self.id())
    }
}

/// Parses every policy file. Faults of all files are reported together.
pub(super) fn policies(files: &Files) -> Result<Vec<Located>, Vec<Diagnostic>> {
    let mut policies = Vec::new();
    let mut faults = Vec::new();
    for (file, text) in files.policies() {
        match text.parse::<PolicySet>() {
            Ok(set) => {
                for template in set.templates() {
                    let what = format!("`{}` is a template", template.to_cedar());
                    let help = "express grants as data: `resource in principal.grants.…`";
                    let fault = Diagnostic::new(Check::Template, what).file(file);
                    faults.push(fault.at(text, "?").help(help));
                }
                let mut found: Vec<Located> = set.policies().map(|p| locate(p, file)).collect();
                found.sort_by_key(|located| located.offset);
                policies.append(&mut found);
            }
            Err(errors) => {
                let cedar = |error| Diagnostic::cedar(Check::Syntax, text, error).file(file);
                faults.extend(errors.iter().map(|error| cedar(error)));
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    if policies.is_empty() {
        let what = "the bundle holds no policy, so nothing would be allowed, stops included";
        return Err(vec![Diagnostic::new(Check::Empty, what)]);
    }
    let policies = name(policies, files)?;
    place(&policies, files)?;
    problems(&policies, files)?;
    Ok(policies)
}

fn locate(policy: &Policy, file: &str) -> Located {
    let ast: &cedar_policy_core::ast::Policy = policy.as_ref();
    Located {
        policy: policy.clone(),
        file: file.to_owned(),
        offset: ast.loc().map_or(0, cedar_policy_core::parser::Loc::start),
    }
}

/// Gives every policy the id of its `@id`, which has to be its own: the parser
/// numbers the policies of each file from zero.
fn name(policies: Vec<Located>, files: &Files) -> Result<Vec<Located>, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut seen: HashMap<String, String> = HashMap::new();
    let mut named = Vec::with_capacity(policies.len());
    for mut located in policies {
        let id = located
            .policy
            .annotation("id")
            .unwrap_or_default()
            .to_owned();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if id.is_empty() || id.len() > 100 || !id.chars().all(allowed) {
            let what = match id.as_str() {
                "" => "the policy has no `@id`".to_owned(),
                id => format!("`{id}` is no id"),
            };
            let help = "put `@id(\"guard.something\")` in front: 1 to 100 of A-Z a-z 0-9 . _ -, \
                        since decisions are recorded by it";
            let fault = located.fault(files, Check::PolicyId, what).help(help);
            faults.push(fault);
            continue;
        }
        located.policy = located.policy.new_id(PolicyId::new(&id));
        if let Some(first) = seen.get(&id) {
            let what = format!("`{id}` is the id of a policy in `{first}` too");
            faults.push(located.fault(files, Check::DuplicateId, what));
            continue;
        }
        seen.insert(id, located.file.clone());
        named.push(located);
    }
    if faults.is_empty() {
        Ok(named)
    } else {
        Err(faults)
    }
}

/// A `@problem` is a word of the API, on a guard.
fn problems(policies: &[Located], files: &Files) -> Result<(), Vec<Diagnostic>> {
    let check = |located: &Located| {
        let word = located.policy.annotation("problem")?;
        let fault = |what: String| Some(located.fault(files, Check::Problem, what));
        if located.policy.effect() == Effect::Permit {
            return fault("a `@problem` says why a guard refuses, and this is a permit".to_owned());
        }
        if Problem::parse(word).is_none() {
            let known = Problem::ALL.map(Problem::as_str).join(", ");
            return fault(format!("`{word}` is no problem; write one of {known}"));
        }
        None
    };
    let faults: Vec<Diagnostic> = policies.iter().filter_map(check).collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

/// Holds what the directories promise, so that a reviewer who sees only
/// `tenants/` change knows that nothing was granted.
fn place(policies: &[Located], files: &Files) -> Result<(), Vec<Diagnostic>> {
    let fault =
        |located: &Located, what: String| Some(located.fault(files, Check::Placement, what));
    let check = |located: &Located| {
        let file = located.file.as_str();
        let effect = located.policy.effect();
        if file.starts_with(PERMITS) && effect == Effect::Forbid {
            return fault(
                located,
                "a forbid belongs in guards/ or tenants/".to_owned(),
            );
        }
        if (file.starts_with(GUARDS) || file.starts_with(TENANTS)) && effect == Effect::Permit {
            return fault(located, "a permit belongs in permits/".to_owned());
        }
        let tenant = file.strip_prefix(TENANTS)?.strip_suffix(".cedar")?;
        let inside = match located.policy.resource_constraint() {
            ResourceConstraint::In(scope) | ResourceConstraint::IsIn(_, scope) => {
                scope.type_name().basename() == "Scope" && scope.id().unescaped() == tenant
            }
            _ => false,
        };
        if inside {
            return None;
        }
        let what =
            format!("a policy of this file must have the scope `resource in Scope::\"{tenant}\"`");
        fault(located, what)
    };
    let faults: Vec<Diagnostic> = policies.iter().filter_map(check).collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}
