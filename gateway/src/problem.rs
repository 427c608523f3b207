//! RFC 9457 problem details: the only file that chooses a status.
//!
//! Errors below know no HTTP. The public text says what, where and what to
//! do; the cause goes to the log where the error is handled.

pub mod kinds;
mod mapping;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::authorize::{Refusal, Refused};
use crate::effect::Effect;
use kinds::Facts;
pub use kinds::Kind;

/// The prefix of every problem type of ours.
pub const TYPE_PREFIX: &str = "urn:interlock:problem:";

/// One occurrence of a problem. Boxed, since every step may return one and
/// few do.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem(Box<Occurrence>);

#[derive(Clone, Debug, PartialEq)]
struct Occurrence {
    kind: Kind,
    detail: String,
    effect: Effect,
    extra: Map<String, Value>,
    header: Option<(http::HeaderName, String)>,
}

impl Problem {
    /// A problem of `kind` with effect none.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Problem(Box::new(Occurrence {
            kind,
            detail: detail.into(),
            effect: Effect::None,
            extra: Map::new(),
            header: None,
        }))
    }

    /// The one answer for everything that does not exist for the caller. It
    /// carries nothing of the request, so that all of them are the same bytes.
    pub fn not_found() -> Self {
        Problem::new(Kind::NotFound, "nothing here, or nothing you may see")
    }

    /// 401 with its challenge (RFC 6750 section 3).
    pub fn unauthenticated(detail: impl Into<String>) -> Self {
        Problem::new(Kind::Unauthenticated, detail)
            .with_header(WWW_AUTHENTICATE, "Bearer realm=\"interlock\"")
    }

    /// 405 with the methods that are allowed.
    pub fn method_not_allowed(allow: &str) -> Self {
        Problem::new(Kind::MethodNotAllowed, format!("allowed here: {allow}"))
            .with_header(ALLOW, allow)
    }

    /// Several faults of one request, all at once.
    pub fn invalid_request(errors: Vec<String>) -> Self {
        Problem::new(Kind::InvalidRequest, errors.join("; "))
            .with("errors", json!({ "request": errors }))
    }

    /// Sets what the call may have done.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.0.effect = effect;
        self
    }

    /// Adds an extension member (RFC 9457 section 3.2).
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.0.extra.insert(name.to_owned(), value);
        self
    }

    /// Asks the caller to wait.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        self.with_header(RETRY_AFTER, &seconds.to_string())
    }

    fn with_header(mut self, name: http::HeaderName, value: &str) -> Self {
        self.0.header = Some((name, value.to_owned()));
        self
    }

    /// What a refusal of the PDP looks like from outside. The policies that
    /// decided are named only to those who may see the object.
    pub fn refusal(refused: &Refused) -> Self {
        let evidence = &refused.evidence;
        match refused.refusal {
            Refusal::Unauthenticated => Problem::unauthenticated("this needs a bearer token here"),
            Refusal::Forbidden => match refused.problem {
                None => Problem::new(Kind::Forbidden, forbidden(&evidence.reasons)),
                Some(problem) => Problem::new(
                    problem.into(),
                    format!(
                        "you have the right to do this, and {}",
                        held(&evidence.reasons)
                    ),
                ),
            }
            .with("reasons", json!(evidence.reasons))
            .with("decision", json!(evidence.decision)),
            Refusal::Hidden => Problem::not_found(),
            Refusal::Broken => Problem::new(
                Kind::PolicyBroken,
                "a policy could not be evaluated; nothing was done",
            )
            .with("decision", json!(evidence.decision)),
        }
    }

    /// What exactly is wrong.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The status that [`Problem::response`] will carry.
    pub fn status(&self) -> u16 {
        self.0.kind.facts().status
    }

    /// What the call may have done.
    pub fn effect_was(&self) -> Effect {
        self.0.effect
    }

    /// The JSON form.
    pub fn body(&self) -> Value {
        let facts = self.0.kind.facts();
        let mut body = self.0.extra.clone();
        body.insert("type".into(), format!("{TYPE_PREFIX}{}", facts.slug).into());
        body.insert("title".into(), facts.title.into());
        body.insert("status".into(), facts.status.into());
        body.insert("detail".into(), self.0.detail.clone().into());
        body.insert("effect".into(), json!(self.0.effect));
        Value::Object(body)
    }

    /// The HTTP answer.
    pub fn response(&self) -> Response<Bytes> {
        let mut response = Response::new(Bytes::from(self.body().to_string()));
        *response.status_mut() =
            StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(
            http::header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        );
        if let Some((name, value)) = &self.0.header
            && let Ok(value) = HeaderValue::from_str(value)
        {
            headers.insert(name.clone(), value);
        }
        response
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}: {}",
            self.0.kind.facts().title,
            self.0.detail
        )
    }
}

/// Whether a guard refused, which no role takes away, or the right is missing.
fn forbidden(guards: &[String]) -> String {
    match guards {
        [] => "you may see this, but nothing that you hold lets you do it".to_owned(),
        guards => format!("you may see this, but {}", held(guards)),
    }
}

fn held(guards: &[String]) -> String {
    match guards {
        [guard] => format!("the guard `{guard}` forbids it"),
        guards => format!("the guards `{}` forbid it", guards.join("`, `")),
    }
}

/// `docs/STATUS-CODES.md`.
pub fn status_codes_md() -> String {
    use std::fmt::Write;
    let mut text = String::from(
        "# Status codes\n\n<!-- Generated by `cargo xtask golden`; do not edit. -->\n\n\
         Every answer of the gateway that is not the service's own is an RFC 9457 problem: `type`, `title`,\n\
         `status`, `detail` and `effect`. Scripts match on `type`, never on `title`. `effect` says whether a\n\
         vehicle may have acted: `none`, `maybe` or `done`.\n\n\
         A refusal by policy has two members more. `decision` is the id of the decision, the same in the decision\n\
         record. `reasons` names the guards that forbade it, by their `@id`; it is empty where none did and the caller\n\
         lacks the right. A 404 has neither, and `policy-broken` the decision alone.\n\n\
         | Status | Type `urn:interlock:problem:` | Title | What to do |\n|---|---|---|---|\n",
    );
    for kind in Kind::ALL {
        let Facts {
            slug,
            status,
            title,
            advice,
        } = kind.facts();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {status} | `{slug}` | {title} | {advice} |");
    }
    text
}
