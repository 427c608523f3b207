//! A bundle: everything a decision rests on but the facts.
//!
//! Loading is all or nothing: [`Bundle::load`] returns a bundle that passed
//! every check, or what is wrong with it. A bundle never changes afterwards.

mod cases;
pub(crate) mod files;
mod manifest;
mod nesting;
mod parse;
mod stop_gate;
mod surface;
mod unplaced;
mod validate;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use cedar_policy::{Authorizer, Effect, Policy, PolicyId, PolicySet, Request, Schema};
use cedar_policy_core::ast;
use cedar_policy_core::extensions::Extensions;
use interlock_surface::Row;

use crate::decision::{Decision, Fault, Verdict};
use crate::diagnostics::{Check, Diagnostic, Diagnostics};
use crate::facts::{ContextFacts, FactsError, Principal, PrincipalFacts, ResourceFacts};
use crate::grants::{Directory, Entry, GrantsError};
use crate::index::Index;
use crate::problem::Problem;
use crate::slice::{self, Action, OBSERVE, Resource, Vocabulary};
use files::Files;
use parse::Located;

/// The id of the one guard that covers stops.
pub const TENANT_GUARD: &str = "guard.tenant";

const TENANT_GUARD_TEXT: &str = include_str!("../bundle/guards/10-tenant.cedar");

/// The built-in bundle: see, stop, and the tenant guard.
const MINIMAL: [(&str, &str); 5] = [
    ("bundle.toml", include_str!("../bundle/bundle.toml")),
    ("guards/10-tenant.cedar", TENANT_GUARD_TEXT),
    (
        "permits/10-view.cedar",
        include_str!("../bundle/permits/10-view.cedar"),
    ),
    (
        "schema/base.cedarschema",
        include_str!("../bundle/schema/base.cedarschema"),
    ),
    (
        "schema/actions.cedarschema",
        include_str!("../bundle/schema/actions.cedarschema"),
    ),
];

/// A set of policies that passed every check, ready to decide.
///
/// Cloning is cheap; a request keeps the bundle it started with.
#[derive(Debug, Clone)]
pub struct Bundle(Arc<Loaded>);

#[derive(Debug)]
struct Loaded {
    hash: String,
    files: Files,
    schema: Schema,
    policies: PolicySet,
    index: Index,
    /// The permits alone.
    permits: Index,
    problems: HashMap<PolicyId, Problem>,
    vocabulary: Vocabulary,
    actions: HashMap<String, Action>,
    directory: Directory,
    authorizer: Authorizer,
}

/// What every decision of one request shares.
struct Asking<'a> {
    principal: &'a Principal,
    entity: Arc<ast::Entity>,
    resource: Resource,
    kind: &'static str,
    context: ast::Context,
}

impl Bundle {
    /// Loads a bundle from a directory.
    ///
    /// # Errors
    /// Every fault found, with file and line where there is one.
    pub fn load(directory: &Path) -> Result<Self, Diagnostics> {
        Self::from_files(&Files::read(directory)?)
    }

    /// Loads what [`Bundle::archive`] gave, with every check.
    ///
    /// # Errors
    /// The text is no archive, or a fault of the bundle in it.
    pub fn from_archive(text: &str) -> Result<Self, Diagnostics> {
        let files = serde_json::from_str(text).map_err(|error| {
            Diagnostics::from(Diagnostic::new(
                Check::Files,
                format!("no archive: {error}"),
            ))
        })?;
        Self::from_files(&files)
    }

    /// All files in one JSON text, for a copy that outlives the directory.
    pub fn archive(&self) -> String {
        serde_json::json!(self.0.files).to_string()
    }

    /// The built-in bundle that stops fall back on when the loaded one comes
    /// out Broken: who may see may stop, inside their own accounts, and nothing
    /// else is allowed.
    ///
    /// # Errors
    /// None that a test would not have found: its files are part of the program.
    pub fn minimal() -> Result<Self, Diagnostics> {
        let files = MINIMAL.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let files: Files = files.into_iter().collect();
        let policies = Policies::check(&files).map_err(Diagnostics::group)?;
        policies.ready(&files, Directory::default())
    }

    /// Loads a bundle from files already read, on a stack that is large enough
    /// for every text that passes the bound on nesting. A panic of a library
    /// on some text refuses the bundle and nothing else.
    pub(crate) fn from_files(files: &Files) -> Result<Self, Diagnostics> {
        std::thread::scope(|scope| {
            let loader = std::thread::Builder::new()
                .name("bundle".to_owned())
                .stack_size(nesting::LOADING_STACK)
                .spawn_scoped(scope, || Self::checked(files));
            let fault = |what: String| Diagnostics::from(Diagnostic::new(Check::Files, what));
            let loader = loader.map_err(|error| fault(format!("no thread to load on: {error}")))?;
            let panicked = |_| fault("a fault of the policy library on this bundle".to_owned());
            loader.join().map_err(panicked)?
        })
    }

    /// Checks the files in order of what rests on what, and reports all faults
    /// of the first step that has any.
    fn checked(files: &Files) -> Result<Self, Diagnostics> {
        let policies = Policies::check(files).map_err(Diagnostics::group)?;
        let directory = directory(files).map_err(Diagnostics::group)?;
        let located = policies.located.clone();
        let bundle = policies.ready(files, directory)?;
        let Loaded {
            policies, schema, ..
        } = bundle.0.as_ref();
        let mut faults = unplaced::check(&bundle, files, &located);
        faults.extend(cases::run(files, policies, schema));
        if faults.is_empty() {
            Ok(bundle)
        } else {
            Err(Diagnostics::group(faults))
        }
    }

    /// SHA-256 over the names and contents of all files, as lower-case hex.
    pub fn hash(&self) -> &str {
        &self.0.hash
    }

    /// The grants file.
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    /// Makes a caller ready for decisions, with the roles of this bundle.
    ///
    /// # Errors
    /// The facts are none that a verified token can give.
    pub fn principal(&self, facts: &PrincipalFacts) -> Result<Principal, FactsError> {
        Principal::prepare(facts, self.0.directory.roles())
    }

    /// What the grants file says about an identity.
    pub fn directory_grants(&self, issuer: &str, subject: &str) -> Entry {
        self.0.directory.entry(issuer, subject)
    }

    /// How many policies the bundle holds.
    pub fn len(&self) -> usize {
        self.0.policies.num_of_policies()
    }

    /// Never: an empty bundle is refused.
    pub fn is_empty(&self) -> bool {
        self.0.policies.is_empty()
    }

    /// May the principal make a call of this row on this resource?
    ///
    /// Pure, and in memory. On a denial `observe` is decided on the same facts
    /// to tell 403 from 404; if that breaks, the whole decision is Broken.
    pub fn decide(
        &self,
        principal: &Principal,
        row: &'static Row,
        resource: &ResourceFacts,
        context: &ContextFacts,
    ) -> Decision {
        let Some(action) = row.action else {
            let fault = Fault::new(format!("row `{}` has no action to decide on", row.name));
            return Decision::Broken {
                errors: vec![fault],
            };
        };
        self.decide_action(principal, action, resource, context)
    }

    /// May the principal know that this object exists?
    pub fn observe(
        &self,
        principal: &Principal,
        resource: &ResourceFacts,
        context: &ContextFacts,
    ) -> Decision {
        self.decide_action(principal, OBSERVE, resource, context)
    }

    /// How many policies a decision evaluates, the whole bundle being the most.
    pub fn evaluated(&self, principal: &Principal, row: &Row, resource: &ResourceFacts) -> usize {
        let count = || {
            let kind = principal.kind().as_str();
            let entity = self.0.resource(resource).ok()?;
            let found = self
                .0
                .index
                .candidates(kind, row.action?, resource.kind.as_str())?;
            Some(found.count(&entity.entity))
        };
        count().unwrap_or(0)
    }

    pub(crate) fn decide_action(
        &self,
        principal: &Principal,
        action: &str,
        resource: &ResourceFacts,
        context: &ContextFacts,
    ) -> Decision {
        match self.0.decide(principal, action, resource, context) {
            Ok(decision) => decision,
            Err(errors) => Decision::Broken { errors },
        }
    }
}

impl Loaded {
    fn decide(
        &self,
        principal: &Principal,
        action: &str,
        resource: &ResourceFacts,
        context: &ContextFacts,
    ) -> Result<Decision, Vec<Fault>> {
        let entity = principal.prepared().entity(resource);
        let asking = Asking {
            principal,
            entity: entity.map_err(|error| vec![Fault::new(error)])?,
            resource: self.resource(resource)?,
            kind: resource.kind.as_str(),
            context: self.vocabulary.context(context),
        };
        let (effect, reasons) = self.judge(&asking, action)?.outcome()?;
        if effect == Some(Effect::Permit) {
            return Ok(Decision::Allow { reasons });
        }
        let visible = if action == OBSERVE {
            false
        } else {
            let (seen, _) = self.judge(&asking, OBSERVE)?.outcome()?;
            seen == Some(Effect::Permit)
        };
        let problem = match visible {
            true => self.problem(&asking, action, &reasons)?,
            false => None,
        };
        Ok(Decision::Deny {
            reasons,
            visible,
            problem,
        })
    }

    /// What alone stands in the way: every guard that matched names a problem,
    /// and without guards there is a permit.
    fn problem(
        &self,
        asking: &Asking<'_>,
        action: &str,
        guards: &[PolicyId],
    ) -> Result<Option<Problem>, Vec<Fault>> {
        let named = guards.iter().map(|guard| self.problems.get(guard).copied());
        let Some(named) = named.collect::<Option<Vec<Problem>>>() else {
            return Ok(None);
        };
        let Some(first) = named.into_iter().min() else {
            return Ok(None);
        };
        let (unguarded, _) = self.judge_by(&self.permits, asking, action)?.outcome()?;
        Ok((unguarded == Some(Effect::Permit)).then_some(first))
    }

    fn resource(&self, facts: &ResourceFacts) -> Result<Resource, Vec<Fault>> {
        let proposer = facts.proposer.as_ref();
        let proposer = proposer.map(|proposer| self.directory.proposer(proposer));
        let resource = self.vocabulary.resource(facts, proposer);
        resource.map_err(|error| vec![Fault::new(error)])
    }

    fn judge(&self, asking: &Asking<'_>, name: &str) -> Result<Verdict, Vec<Fault>> {
        self.judge_by(&self.index, asking, name)
    }

    fn judge_by(
        &self,
        index: &Index,
        asking: &Asking<'_>,
        name: &str,
    ) -> Result<Verdict, Vec<Fault>> {
        let fault = |error: &dyn std::fmt::Display| vec![Fault::new(error)];
        let Some(action) = self.actions.get(name) else {
            return Err(fault(&format!("the schema declares no action `{name}`")));
        };
        let principal = asking.principal.prepared();
        let request = ast::Request::new_with_unknowns(
            principal.entry.clone(),
            action.entry.clone(),
            asking.resource.entry.clone(),
            Some(asking.context.clone()),
            Some(self.schema.as_ref()),
            Extensions::all_available(),
        );
        let request = Request::from(request.map_err(|error| fault(&error))?);
        let slice = slice::slice(&asking.entity, action, &asking.resource);
        let slice = slice.map_err(|error| fault(&error))?;
        let kind = principal.kind.as_str();
        let Some(candidates) = index.candidates(kind, name, asking.kind) else {
            return Ok(Verdict::default());
        };
        let resource = &asking.resource.entity;
        Ok(candidates.judge(&self.authorizer, &request, &slice, resource))
    }
}

/// Policies that parse, validate and pass the stop gate.
struct Policies {
    schema: Schema,
    vocabulary: Vocabulary,
    actions: HashMap<String, Action>,
    located: Vec<Located>,
    set: PolicySet,
}

impl Policies {
    fn check(files: &Files) -> Result<Self, Vec<Diagnostic>> {
        manifest::check(files)?;
        nesting::check(files)?;
        let internal = |error: &dyn std::fmt::Display| vec![Diagnostic::new(Check::Schema, error)];
        let schema = validate::schema(files)?;
        let vocabulary = Vocabulary::of(&schema).map_err(|error| internal(&error))?;
        let actions = slice::actions(&schema).map_err(|error| internal(&error))?;
        let mut faults = surface::actions(&schema, &actions);
        faults.extend(surface::shapes(&schema, &vocabulary));
        some(faults)?;
        let located = parse::policies(files)?;
        let set = PolicySet::from_policies(located.iter().map(|l| l.policy.clone()));
        let set = set.map_err(|error| internal(&error))?;
        validate::policies(&located, &set, &schema, files)?;
        some(stop_gate::Gate::new(files, &actions).judge(&located))?;
        Ok(Self {
            schema,
            vocabulary,
            actions,
            located,
            set,
        })
    }

    fn ready(self, files: &Files, directory: Directory) -> Result<Bundle, Diagnostics> {
        let index = Index::build(self.set.policies(), &self.schema);
        let index = index.map_err(|error| Diagnostic::new(Check::DuplicateId, error))?;
        let permits = self.set.policies().filter(|p| p.effect() == Effect::Permit);
        let permits = Index::build(permits, &self.schema);
        let permits = permits.map_err(|error| Diagnostic::new(Check::DuplicateId, error))?;
        let problem = |policy: &Policy| {
            let problem = Problem::parse(policy.annotation("problem")?)?;
            Some((policy.id().clone(), problem))
        };
        let problems = self.set.policies().filter_map(problem).collect();
        Ok(Bundle(Arc::new(Loaded {
            hash: files.hash(),
            files: files.clone(),
            schema: self.schema,
            policies: self.set,
            index,
            permits,
            problems,
            vocabulary: self.vocabulary,
            actions: self.actions,
            directory,
            authorizer: Authorizer::new(),
        })))
    }
}

fn some(faults: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

fn directory(files: &Files) -> Result<Directory, Vec<Diagnostic>> {
    let text = files.required(files::GRANTS, Check::Grants)?;
    Directory::parse(text).map_err(|error| {
        let fault = Diagnostic::new(Check::Grants, &error).file(files::GRANTS);
        match error {
            GrantsError::Json { line, column, .. } => vec![fault.position(text, line, column)],
            GrantsError::Value { value, .. } => vec![fault.at_last(text, &value)],
        }
    })
}

#[cfg(test)]
pub(crate) mod tests;
