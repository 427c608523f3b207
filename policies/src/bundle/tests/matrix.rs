//! Who can do what at all: found by deciding over a systematic enumeration,
//! and compared with the golden that reviewers read.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::{env, fs};

use cedar_policy::{Effect, PolicySet};
use interlock_surface::{Class, ROWS, Relation, ResourceFrom, ResourceType, Row};

use super::overlay::here;
use super::scene::{ISSUER, caller, enforced, missing, object, proposer};
use super::{Bundle, shipped};
use crate::bundle::Policies;
use crate::bundle::files::Files;
use crate::decision::Decision;
use crate::facts::{ContextFacts, Mode, Principal, PrincipalFacts, PrincipalKind, ResourceFacts};
use crate::grants::Directory;
use crate::roles::{Role, Roles};

/// One request in one state of the world.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) principal: PrincipalFacts,
    pub(crate) action: String,
    resource: ResourceFacts,
    context: ContextFacts,
}

impl Question {
    pub(crate) fn decide(&self, bundle: &Bundle) -> Decision {
        self.decide_with(bundle, &Roles::default())
    }

    /// The same where roles mean something else.
    fn decide_with(&self, bundle: &Bundle, roles: &Roles) -> Decision {
        let principal = Principal::prepare(&self.principal, roles).unwrap();
        bundle.decide_action(&principal, &self.action, &self.resource, &self.context)
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.principal.kind.as_str()
    }
}

/// A way for the world to differ from the usual: the caller's account, the
/// object, who proposed the plan, the deployment, the request.
type Deviation = fn(&mut Question);

const DEVIATIONS: [Deviation; 18] = [
    |_| {},
    |question| question.principal.tenants = foreign(question),
    |question| question.resource = missing(question.resource.kind),
    |question| question.principal.suspended = true,
    |question| question.context.idempotency_key = false,
    |question| question.context.ttl_ms = 5_000,
    |question| question.context.ttl_ms = 700_000,
    |question| question.context.ttl_ms = i64::MAX,
    |question| question.context.mode = Mode::Open,
    |question| {
        question.context.mode = Mode::Open;
        question.context.loopback = true;
    },
    |question| question.resource.state.quarantined = true,
    |question| question.resource.state.quiet = true,
    |question| question.resource.state.suspended = true,
    |question| question.resource.state.features = Some(BTreeSet::new()),
    |question| question.resource.proposer = None,
    |question| proposed_by(question, "caller"),
    |question| proposed_by(question, "agent-of-caller"),
    |question| {
        proposed_by(question, "caller");
        question.context.mode = Mode::Open;
        question.context.loopback = true;
    },
];

fn foreign(question: &Question) -> Vec<String> {
    let anonymous = question.principal.kind == PrincipalKind::Anonymous;
    (!anonymous)
        .then(|| "umbrella".to_owned())
        .into_iter()
        .collect()
}

fn proposed_by(question: &mut Question, subject: &str) {
    if question.resource.kind == ResourceType::Plan {
        question.resource.proposer = Some(proposer(subject));
    }
}

/// A grants file in which the caller is a person for whom an agent acts.
pub(crate) const PEOPLE: &str = r#"{
  "format": 1,
  "people": [
    { "id": "caller", "identities": [{ "issuer": "https://idp.example", "subject": "caller" }],
      "tenants": [], "grants": [] }
  ],
  "identities": [
    { "issuer": "https://idp.example", "subject": "agent-of-caller", "actsFor": "caller" }
  ]
}"#;

/// Every action of the schema with its resource types.
fn actions(bundle: &Bundle) -> BTreeSet<(String, ResourceType)> {
    let environments = bundle.0.schema.request_envs();
    let action = |environment: cedar_policy::RequestEnv| {
        let kind = ResourceType::parse(&environment.resource().to_string()).unwrap();
        (environment.action().id().unescaped().to_owned(), kind)
    };
    environments.map(action).collect()
}

/// The roles of one column: none, one, or all of them.
fn columns(kind: PrincipalKind) -> Vec<(String, Vec<Role>)> {
    let mut columns = vec![("none".to_owned(), Vec::new())];
    if kind != PrincipalKind::Anonymous {
        // An owner is an admin by another name.
        let roles = Role::BUILT_IN
            .into_iter()
            .filter(|role| *role != Role::OWNER);
        columns.extend(roles.map(|role| (role.to_string(), vec![role])));
    }
    columns
}

fn states(
    directory: &Directory,
    kind: PrincipalKind,
    roles: &[Role],
    action: &str,
    resource: ResourceType,
) -> Vec<Question> {
    let mut principal = caller(kind, "caller", roles);
    if kind != PrincipalKind::Anonymous {
        principal.person = directory.entry(ISSUER, "caller").person;
    }
    let mut usual = Question {
        principal,
        action: action.to_owned(),
        resource: object(resource),
        context: enforced(),
    };
    proposed_by(&mut usual, "somebody-else");
    let deviate = |deviation: Deviation| {
        let mut question = usual.clone();
        deviation(&mut question);
        question
    };
    DEVIATIONS.map(deviate).into()
}

/// Every question of the enumeration.
pub(crate) fn questions() -> Vec<Question> {
    let bundle = shipped();
    let directory = Directory::parse(PEOPLE).unwrap();
    let mut questions = Vec::new();
    for (action, resource) in actions(&bundle) {
        for kind in PrincipalKind::ALL {
            for (_, roles) in columns(kind) {
                questions.extend(states(&directory, kind, &roles, &action, resource));
            }
        }
    }
    questions
}

/// The shipped permits without any guard: what the guards are compared with.
fn unguarded() -> Bundle {
    let files = Files::read(&here("bundle")).unwrap();
    let mut policies = Policies::check(&files).unwrap();
    let permits = policies.set.policies().cloned();
    let permits = permits.filter(|policy| policy.effect() == Effect::Permit);
    policies.set = PolicySet::from_policies(permits).unwrap();
    policies.ready(&files, Directory::default()).unwrap()
}

const HEAD: &str = "\
# Access matrix

Who can do what at all, found by deciding every action for every kind of caller
and role in every state that policies tell apart: own and foreign account,
existing and missing object, enforced and open mode, suspended or not, with and
without a key, short and long time to live, plans of others and of one's own,
vehicles in quarantine, in quiet hours, in a suspended account, in one without
the feature.
`cargo xtask golden` writes it.

- `✓` allowed in some state
- `✗` a permit matches, and a guard forbids it in every state
- `·` no permit

The last column names every guard that forbids in some state what a permit would
allow. An `owner` is an `admin` by another name and has no column.
";

fn render() -> String {
    let (bundle, unguarded) = (shipped(), unguarded());
    let mut out = HEAD.to_owned();
    for kind in PrincipalKind::ALL {
        let columns = columns(kind);
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let rule = "|:-:".repeat(names.len());
        let names = names.join(" | ");
        let _ = write!(out, "\n## {}\n\n", kind.as_str());
        let _ = writeln!(out, "| action | on | {names} | forbidden by |");
        let _ = writeln!(out, "|---|---{rule}|---|");
        for (action, resource) in actions(&bundle) {
            let mut cells = Vec::new();
            let mut guards = BTreeSet::new();
            for (_, roles) in &columns {
                let states = states(&Directory::default(), kind, roles, &action, resource);
                cells.push(cell(&bundle, &unguarded, &states, &mut guards));
            }
            let guards: Vec<String> = guards.into_iter().collect();
            let (cells, guards) = (cells.join(" | "), guards.join(", "));
            let _ = writeln!(out, "| {action} | {resource} | {cells} | {guards} |");
        }
    }
    out
}

fn cell(
    bundle: &Bundle,
    unguarded: &Bundle,
    states: &[Question],
    guards: &mut BTreeSet<String>,
) -> &'static str {
    let (mut permitted, mut allowed) = (false, false);
    for state in states {
        if !state.decide(unguarded).is_allow() {
            continue;
        }
        permitted = true;
        match state.decide(bundle) {
            Decision::Allow { .. } => allowed = true,
            Decision::Deny { reasons, .. } => {
                guards.extend(reasons.iter().map(ToString::to_string));
            }
            Decision::Broken { errors } => panic!("{state:?} is broken: {errors:?}"),
        }
    }
    match (allowed, permitted) {
        (true, _) => "✓",
        (false, true) => "✗",
        (false, false) => "·",
    }
}

#[test]
fn golden_access_matrix() {
    let path = here("bundle/ACCESS-MATRIX.md");
    let rendered = render();
    if env::var("INTERLOCK_GOLDEN").is_ok_and(|mode| mode == "write") {
        fs::write(&path, &rendered).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        rendered, golden,
        "run `cargo xtask golden` and read the difference"
    );
}

/// Every two deviations of the world at once.
fn pairs(mut visit: impl FnMut(&dyn Fn(&mut Question))) {
    for (one, first) in DEVIATIONS.iter().enumerate() {
        for second in DEVIATIONS.iter().skip(one) {
            visit(&|question: &mut Question| {
                first(question);
                second(question);
            });
        }
    }
}

/// The actions of the rows on a type of object that are marked so.
fn marked(resource: ResourceType, mark: fn(&Row) -> bool) -> Vec<&'static Row> {
    let rows = ROWS.iter().filter(|row| row.action.is_some());
    rows.filter(|row| row.resource == resource && mark(row))
        .collect()
}

/// The relations that stops and calming commands could hang on.
const TOLD_APART: [Relation; 3] = [Relation::View, Relation::Control, Relation::Bulk];

/// Callers of every kind, with each set of those relations, which a role could
/// give.
fn callers() -> Vec<(PrincipalFacts, Roles)> {
    let mut callers = Vec::new();
    for kind in PrincipalKind::ALL {
        for set in 0..1_u32 << TOLD_APART.len() {
            let given = TOLD_APART.iter().enumerate();
            let given = given.filter(|(bit, _)| set & (1 << bit) != 0);
            let given: Vec<Relation> = given.map(|(_, relation)| *relation).collect();
            if kind == PrincipalKind::Anonymous && !given.is_empty() {
                continue;
            }
            let mut roles = Roles::default();
            let role = Role::named("sample").unwrap();
            let held = !given.is_empty();
            roles.add(role.clone(), given);
            let held: Vec<Role> = held.then_some(role).into_iter().collect();
            callers.push((caller(kind, "caller", &held), roles));
        }
    }
    callers
}

/// Decides about one object in every two deviations at once, for callers with
/// every set of relations; tells of each whether it was allowed to observe.
fn enumerate(resource: ResourceType, mut check: impl FnMut(&Question, &Roles, bool)) -> usize {
    let bundle = shipped();
    let mut observing = 0;
    for (principal, roles) in callers() {
        pairs(|deviate| {
            let mut question = Question {
                principal: principal.clone(),
                action: "observe".to_owned(),
                resource: object(resource),
                context: enforced(),
            };
            deviate(&mut question);
            let observed = question.decide_with(&bundle, &roles).is_allow();
            observing += usize::from(observed);
            check(&question, &roles, observed);
        });
    }
    observing
}

/// The stop gate's promise, by enumeration over everything at once.
#[test]
fn whoever_may_observe_may_stop() {
    let bundle = shipped();
    for resource in [ResourceType::Swarm, ResourceType::Mower] {
        let stops = marked(resource, |row| row.class == Class::SafetyWrite);
        assert!(stops.len() >= 2, "{resource}");
        let observing = enumerate(resource, |question, roles, observed| {
            for stop in &stops {
                let mut question = question.clone();
                question.action = stop.action.unwrap().to_owned();
                let stopped = question.decide_with(&bundle, roles).is_allow();
                assert_eq!(stopped, observed, "{question:?}");
            }
        });
        assert!(observing > 1_000, "{observing}");
    }
}

/// A calming command is held back by the relation and the tenant guard alone:
/// whoever holds control of a mower that they may see calms it in every state.
#[test]
fn calming_is_held_back_by_relation_and_tenant_alone() {
    let bundle = shipped();
    let calming = marked(ResourceType::Mower, |row| row.calming);
    assert_eq!(calming.len(), 2);
    let mut calmed = 0;
    enumerate(ResourceType::Mower, |question, roles, _| {
        let held = question.principal.grants.first();
        let control =
            held.is_some_and(|(role, _)| roles.relations(role).contains(&Relation::Control));
        let own = question.principal.tenants.contains(&"acme".to_owned());
        let there = !question.resource.scopes.is_empty();
        for row in &calming {
            let mut question = question.clone();
            question.action = row.action.unwrap().to_owned();
            let allowed = question.decide_with(&bundle, roles).is_allow();
            assert_eq!(allowed, control && own && there, "{question:?}");
            calmed += usize::from(allowed);
        }
    });
    assert!(calmed > 1_000, "{calmed}");
}

/// Whoever may start all members of a container may stop them, and so may
/// whoever may see it.
#[test]
fn a_container_is_stopped_by_view_or_bulk() {
    let bundle = shipped();
    let stops = marked(ResourceType::Scope, |row| {
        row.class == Class::SafetyWrite && row.resource_from != ResourceFrom::Account
    });
    assert_eq!(stops.len(), 4);
    enumerate(ResourceType::Scope, |question, roles, observed| {
        let held = question.principal.grants.first();
        let bulk = held.is_some_and(|(role, _)| roles.relations(role).contains(&Relation::Bulk));
        let own = question.principal.tenants.contains(&"acme".to_owned());
        let there = !question.resource.scopes.is_empty();
        for row in &stops {
            let mut question = question.clone();
            question.action = row.action.unwrap().to_owned();
            let allowed = question.decide_with(&bundle, roles).is_allow();
            assert_eq!(allowed, observed || (bulk && own && there), "{question:?}");
        }
    });
}

#[test]
fn whoever_may_act_may_observe() {
    let bundle = shipped();
    for mut question in questions() {
        // A public read shows no object, and a list only those of its members
        // that the caller may see.
        let row = ROWS.iter().find(|row| row.action == Some(&question.action));
        let groups = row.map_or(Vec::new(), Row::action_groups);
        let open = groups.contains(&"public_read") || groups.contains(&"list");
        if !open && question.decide(&bundle).is_allow() {
            question.action = "observe".to_owned();
            assert!(question.decide(&bundle).is_allow(), "{question:?}");
        }
    }
}
