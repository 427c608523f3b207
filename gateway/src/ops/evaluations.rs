//! A service asks what the caller of a grant may do with its objects: the
//! members of a group, the lines of a list.

use std::sync::Arc;

use bytes::Bytes;
use interlock_policies::{ContextFacts, Mode};
use interlock_surface::{Class, ROWS, ResourceType, Row};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Semaphore;
use tracing::error;

use super::feed::parse;
use crate::audit::{self, Principal, Record};
use crate::authorize::assess::{Assessed, Assessor, Broken, Question};
use crate::gateway::Gateway;
use crate::grant::Returned;
use crate::pipeline::judged;
use crate::problem::{Kind, Problem};
use crate::registry::is_fed;
use crate::reply::{self, Reply};

/// The action that asks whether the caller may know of an object.
const OBSERVE: &str = "observe";
/// The most questions of one request.
const QUESTIONS: usize = 10_000;
/// Requests judged at once; more wait. They take a processor each, and other
/// calls want theirs.
const AT_ONCE: usize = 2;

/// Answers services, a few at a time.
pub struct Evaluations {
    places: Semaphore,
}

impl Default for Evaluations {
    fn default() -> Self {
        Evaluations {
            places: Semaphore::new(AT_ONCE),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    grant: String,
    evaluations: Vec<Evaluation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Evaluation {
    action: Action,
    resource: Resource,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

#[derive(Serialize)]
struct Told {
    decision: bool,
    context: Context,
}

#[derive(Serialize)]
struct Context {
    visible: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
}

/// One question, understood.
struct Asked {
    question: Question,
    kind: ResourceType,
    id: String,
}

impl Evaluations {
    /// Answers `service`, whose token was verified.
    ///
    /// # Errors
    /// 400 names what is wrong with the request; 401 when the grant is not
    /// ours for this service; 503 when a policy cannot be evaluated.
    pub(super) async fn answer(
        &self,
        gateway: &Arc<Gateway>,
        row: &'static Row,
        service: &str,
        body: &Bytes,
    ) -> Result<Reply, Problem> {
        let body: Body = parse(body)?;
        let now = gateway.clock.now();
        let returned = gateway
            .mint
            .returned(service, &body.grant, now)
            .map_err(|cause| {
                tracing::warn!(%cause, service, "a grant was not taken back");
                Problem::unauthenticated(cause.to_string())
            })?;
        let asked = understood(service, body.evaluations)?;
        // A stop is asked about its members too, and waits for nobody.
        let _place = match stopping(&returned) {
            true => None,
            false => self.places.acquire().await.ok(),
        };
        let shared = Arc::clone(gateway);
        let judging =
            tokio::task::spawn_blocking(move || judge(&shared, row, &returned, &asked, now));
        judging.await.unwrap_or_else(|cause| {
            error!(%cause, "an evaluation ended early");
            Err(Problem::new(Kind::Internal, "the evaluation ended early"))
        })
    }
}

/// Whether it is a stop that asks.
fn stopping(returned: &Returned) -> bool {
    interlock_surface::row(&returned.row).is_some_and(|granted| granted.class == Class::SafetyWrite)
}

/// The questions, each on one of the service's own rows.
fn understood(service: &str, evaluations: Vec<Evaluation>) -> Result<Vec<Asked>, Problem> {
    if evaluations.len() > QUESTIONS {
        let text = format!("at most {QUESTIONS} evaluations are answered at once");
        return Err(Problem::invalid_request(vec![text]));
    }
    let asked = evaluations.into_iter().enumerate().map(|(index, one)| {
        let Resource { kind, id } = one.resource;
        let about = |row: &&'static Row| row.service == service && row.resource.as_str() == kind;
        let mut rows = ROWS.iter().filter(about);
        let found = match one.action.name.as_str() {
            OBSERVE => rows.next().map(|row| (Question::Observe, row)),
            name => rows
                .find(|row| row.action == Some(name))
                .map(|row| (Question::Call(row), row)),
        };
        match found {
            Some((question, row)) if is_fed(row.resource) => Ok(Asked {
                question,
                kind: row.resource,
                id,
            }),
            _ => Err(Problem::invalid_request(vec![format!(
                "evaluation {index}: no row of the service `{service}` has the action `{}` on a registered `{}`",
                one.action.name.escape_debug(),
                kind.escape_debug(),
            )])),
        }
    });
    asked.collect()
}

fn judge(
    gateway: &Gateway,
    row: &'static Row,
    returned: &Returned,
    asked: &[Asked],
    now: Timestamp,
) -> Result<Reply, Problem> {
    let registry = gateway.registry.generation();
    let assessor = gateway
        .authorizer
        .assessor(&returned.caller, stopping(returned));
    let answers: Result<Vec<(Assessed, Option<u64>)>, Broken> = asked
        .iter()
        .map(|asked| one(gateway, &assessor, asked, now))
        .collect();
    let mut record = Record::new(audit::Kind::Read, now);
    record.row = Some(row.name.into());
    record.class = Some(row.class.as_str().into());
    record.principal = Some(Principal {
        kind: returned.caller.kind.as_str().into(),
        identity: Arc::clone(&returned.caller.identity),
    });
    record.decision_id = returned.decision;
    record.bundle = Some(assessor.bundle().into());
    record.registry_generation = Some(registry);
    let answers = match answers {
        Ok(answers) => answers,
        Err(Broken(faults)) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            error!(
                alarm = "policy-broken",
                policy.hash = assessor.bundle(),
                ?faults,
                "a policy could not be evaluated"
            );
            record.decision = Some(audit::Verdict::Broken);
            record.status = Some(503);
            gateway.audit.note(record);
            let text = "a policy could not be evaluated; nothing may be done on a guess";
            return Err(Problem::new(Kind::PolicyBroken, text));
        }
    };
    let count = |test: fn(&Assessed) -> bool| answers.iter().filter(|(one, _)| test(one)).count();
    record.status = Some(200);
    record.reasons = vec![
        format!("on-behalf:{}", returned.row).into(),
        format!("asked:{}", answers.len()).into(),
        format!("allowed:{}", count(|one| one.allowed)).into(),
        format!("hidden:{}", count(|one| !one.visible)).into(),
    ];
    gateway.audit.note(record);
    let told: Vec<Told> = answers
        .into_iter()
        .map(|(one, revision)| Told {
            decision: one.allowed,
            context: Context {
                visible: one.visible,
                revision,
                problem: one.problem.map(interlock_policies::Problem::as_str),
            },
        })
        .collect();
    Ok(reply::private(reply::json(
        200,
        &json!({ "evaluations": told }),
    )))
}

fn one(
    gateway: &Gateway,
    assessor: &Assessor,
    asked: &Asked,
    now: Timestamp,
) -> Result<(Assessed, Option<u64>), Broken> {
    let resolved = gateway
        .registry
        .resolve(asked.kind.as_str(), &asked.id, now);
    let facts = judged(asked.kind, &asked.id, resolved.as_ref());
    let mode = gateway.authn.mode();
    let context = ContextFacts {
        mode,
        // In open mode nobody else reaches the public listener.
        loopback: mode == Mode::Open,
        kind: match asked.question {
            Question::Call(row) => row.kind.map(str::to_owned),
            Question::Observe => None,
        },
        ttl_ms: 0,
        // The call itself was judged with the key it came with.
        idempotency_key: true,
    };
    let assessed = assessor.assess(asked.question, &facts, &context)?;
    Ok((assessed, resolved.map(|object| object.revision)))
}

#[cfg(test)]
mod tests;
