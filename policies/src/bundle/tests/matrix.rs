//! Who can do what at all: found by deciding over a systematic enumeration,
//! and compared with the golden that reviewers read.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::{env, fs};

use cedar_policy::{Effect, PolicySet};
use interlock_surface::ResourceType;

use super::overlay::here;
use super::scene::{ISSUER, caller, enforced, missing, object, prepared, proposer};
use super::{Bundle, shipped};
use crate::bundle::Policies;
use crate::bundle::files::Files;
use crate::decision::Decision;
use crate::facts::{ContextFacts, Mode, PrincipalFacts, PrincipalKind, ResourceFacts};
use crate::grants::Directory;
use crate::roles::Role;

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
        let principal = prepared(&self.principal);
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
    { "id": "caller", "identities": [{ "issuer": "https://idp.example", "subject": "caller" }] }
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

/// The stop gate's promise, by enumeration over everything at once.
#[test]
fn whoever_may_observe_may_stop() {
    let bundle = shipped();
    let mut observing = 0;
    for kind in PrincipalKind::ALL {
        for (_, roles) in columns(kind) {
            for n in 0..1 << DEVIATIONS.len() {
                // Every two deviations at once.
                if u32::count_ones(n) > 2 {
                    continue;
                }
                let mut question = Question {
                    principal: caller(kind, "caller", &roles),
                    action: "observe".to_owned(),
                    resource: object(ResourceType::Swarm),
                    context: enforced(),
                };
                let bits = DEVIATIONS.iter().enumerate();
                let chosen = bits.filter(|(bit, _)| n & (1 << bit) != 0);
                chosen.for_each(|(_, deviation)| deviation(&mut question));
                let observed = question.decide(&bundle).is_allow();
                observing += usize::from(observed);
                for stop in ["swarm_land", "mission_abort"] {
                    question.action = stop.to_owned();
                    assert_eq!(
                        question.decide(&bundle).is_allow(),
                        observed,
                        "{question:?}"
                    );
                }
            }
        }
    }
    assert!(observing > 500, "{observing}");
}

#[test]
fn whoever_may_act_may_observe() {
    let bundle = shipped();
    for mut question in questions() {
        let public = matches!(question.action.as_str(), "health" | "alive");
        if !public && question.decide(&bundle).is_allow() {
            question.action = "observe".to_owned();
            assert!(question.decide(&bundle).is_allow(), "{question:?}");
        }
    }
}
