//! Nothing a security team writes can stand between a caller who may look and
//! the stop button.
//!
//! The gate judges the policies' structure, not their answers on samples: it
//! refuses what merely could forbid a stop. Three rules together give
//! "whoever may observe an object may stop it":
//! 1. no forbid covers a stop, except the tenant guard, which treats looking
//!    and stopping alike and whose text is pinned here;
//! 2. every permit that covers `observe` is scoped `action in Action::"view"`,
//!    the group that holds every stop, and does not speak of the action;
//! 3. every stop is covered by a permit that covers `observe` as well.
//!
//! A calming command (pause, dock) is held back by nothing but the relation and
//! the tenant guard, so no other forbid covers one either: what is meant for
//! writes is scoped on the group `write`, in which no calming action is.

use std::collections::HashMap;

use cedar_policy::{ActionConstraint, Effect, EntityUid, Policy, PrincipalConstraint};
use interlock_surface::{Class, ROWS, Row};

use super::files::Files;
use super::parse::Located;
use super::{TENANT_GUARD, TENANT_GUARD_TEXT};
use crate::diagnostics::{Check, Diagnostic};
use crate::slice::{Action, OBSERVE};

const RESTORE: &str = "restore guards/10-tenant.cedar as it was delivered";

/// The actions of the schema by name; which of them are stops is said by the
/// rows and by the schema's group, whichever says so.
pub(super) struct Gate<'a> {
    files: &'a Files,
    actions: &'a HashMap<String, Action>,
    stops: Vec<&'a Action>,
    calming: Vec<&'a Action>,
}

impl<'a> Gate<'a> {
    pub(super) fn new(files: &'a Files, actions: &'a HashMap<String, Action>) -> Self {
        let marked = |group: &str, of: fn(&Row) -> bool| {
            let rows = ROWS.iter().filter(|row| of(row));
            let named: Vec<&str> = rows.filter_map(|row| row.action).collect();
            let mut found: Vec<&'a Action> = actions
                .iter()
                .filter(|(name, action)| named.contains(&name.as_str()) || is_in(action, group))
                .map(|(_, action)| action)
                .collect();
            // One mistake is told of one action, the same at every load.
            found.sort_by_key(|action| action.entity.uid().eid().escaped());
            found
        };
        Self {
            files,
            actions,
            stops: marked(Class::SafetyWrite.group(), |row| {
                row.class == Class::SafetyWrite
            }),
            calming: marked("calming", |row| row.calming),
        }
    }

    pub(super) fn judge(&self, policies: &[Located]) -> Vec<Diagnostic> {
        let mut faults: Vec<Diagnostic> = policies
            .iter()
            .filter_map(|located| match located.policy.effect() {
                Effect::Forbid => self.forbid(located),
                Effect::Permit => self.permit(located),
            })
            .collect();
        if !policies.iter().any(|located| located.id() == TENANT_GUARD) {
            let what = format!("the bundle has no `{TENANT_GUARD}`");
            faults.push(Diagnostic::new(Check::TenantGuard, what).help(RESTORE));
        }
        faults.extend(self.unpermitted(policies));
        faults
    }

    fn forbid(&self, located: &Located) -> Option<Diagnostic> {
        if located.id() == TENANT_GUARD {
            return (!is_tenant_guard(&located.policy)).then(|| {
                let what = format!("`{TENANT_GUARD}` is not the pinned one");
                let fault = located.fault(self.files, Check::TenantGuard, what);
                fault.help(RESTORE)
            });
        }
        let constraint = located.policy.action_constraint();
        let covered = |actions: &[&'a Action]| {
            let action = actions.iter().find(|action| covers(&constraint, action))?;
            Some(action.entity.uid().eid().escaped())
        };
        let (check, what) = if let Some(name) = covered(&self.stops) {
            let what = "no guard may keep anyone from a stop";
            let what = format!("this forbid covers `{name}`, and {what}");
            (Check::ForbidCoversStop, what)
        } else {
            let name = covered(&self.calming)?;
            let what = "nothing but the relation may keep anyone from calming a vehicle";
            let what = format!("this forbid covers `{name}`, and {what}");
            (Check::ForbidCoversCalming, what)
        };
        let help = "name the classes it is meant for: `action in [Action::\"plan\", \
                    Action::\"gated_write\", Action::\"write\"]`";
        Some(located.fault(self.files, check, what).help(help))
    }

    fn permit(&self, located: &Located) -> Option<Diagnostic> {
        let observe = self.actions.get(OBSERVE)?;
        let constraint = located.policy.action_constraint();
        if !covers(&constraint, observe) {
            return None;
        }
        let fault = |what: &str| {
            let fault = located.fault(self.files, Check::ObservePermit, what.to_owned());
            let help = "scope it `action in Action::\"view\"`, or list the actions it is meant \
                        for without `observe`";
            Some(fault.help(help))
        };
        let anonymous = matches!(
            located.policy.principal_constraint(),
            PrincipalConstraint::Is(kind) if kind.basename() == "Anonymous"
        );
        let group = match &constraint {
            ActionConstraint::In(groups) => match groups.as_slice() {
                [group] => group.id().unescaped(),
                _ => "",
            },
            _ => "",
        };
        if group != "view" && !(anonymous && group == "public_read") {
            return fault("this permit lets see an object without letting stop it");
        }
        if speaks_of_action(&located.policy) {
            return fault(
                "the condition of this permit speaks of the action, and so may part seeing from stopping",
            );
        }
        None
    }

    fn unpermitted(&self, policies: &[Located]) -> Option<Diagnostic> {
        let observe = self.actions.get(OBSERVE)?;
        let permits: Vec<ActionConstraint> = policies
            .iter()
            .filter(|located| located.policy.effect() == Effect::Permit)
            .map(|located| located.policy.action_constraint())
            .filter(|permit| covers(permit, observe))
            .collect();
        let permitted = |stop: &Action| permits.iter().any(|permit| covers(permit, stop));
        let stop = self.stops.iter().find(|stop| !permitted(stop))?;
        let name = stop.entity.uid().eid().escaped();
        let what = format!("no permit covers `{name}`, so nobody could stop anything");
        let help = "keep `view.role` in permits/10-view.cedar";
        Some(Diagnostic::new(Check::StopNotPermitted, what).help(help))
    }
}

/// Whether an action scope reaches an action, groups resolved.
fn covers(constraint: &ActionConstraint, action: &Action) -> bool {
    let reaches = |scope: &EntityUid| {
        let scope: &cedar_policy_core::ast::EntityUID = scope.as_ref();
        action.entity.uid() == scope || action.entity.is_descendant_of(scope)
    };
    match constraint {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(scope) => reaches(scope),
        ActionConstraint::In(scopes) => scopes.iter().any(reaches),
    }
}

fn is_in(action: &Action, group: &str) -> bool {
    let mut ancestors = action.entity.ancestors();
    ancestors.any(|ancestor| ancestor.eid().as_ref() == group)
}

/// Whether any condition reads the variable `action`.
fn speaks_of_action(policy: &Policy) -> bool {
    fn reads(json: &serde_json::Value) -> bool {
        match json {
            serde_json::Value::Object(fields) => {
                fields.get("Var").is_some_and(|var| var == "action") || fields.values().any(reads)
            }
            serde_json::Value::Array(items) => items.iter().any(reads),
            _ => false,
        }
    }
    // What cannot be read cannot be cleared.
    let conditions = policy.to_json().ok();
    conditions.is_none_or(|json| json.get("conditions").is_none_or(reads))
}

/// Whether a policy is the pinned guard: same effect, scope and conditions.
/// Notes and layout may differ.
fn is_tenant_guard(policy: &Policy) -> bool {
    let body = |policy: &Policy| {
        let mut json = policy.to_json().ok()?;
        json.as_object_mut()?.remove("annotations");
        Some(json)
    };
    let pinned: Option<Policy> = Policy::parse(None, TENANT_GUARD_TEXT).ok();
    let pinned = pinned.as_ref().and_then(body);
    pinned.is_some() && pinned == body(policy)
}
