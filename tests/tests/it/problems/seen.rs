//! What a caller must be able to rely on in every problem.

use interlock_gateway::problem::{Kind, TYPE_PREFIX};
use interlock_tests::http::Answer;
use serde_json::Value;

/// The kinds that a test has seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    kinds: Vec<Kind>,
}

impl Seen {
    /// Notes that `answer` is a problem of `kind`, whole and well formed, and
    /// that the vehicle may have acted or not, as `effect` says.
    #[track_caller]
    pub(super) fn note(&mut self, kind: Kind, effect: &str, answer: &Answer) -> Value {
        let facts = kind.facts();
        let text = answer.text();
        let media = answer.header("content-type");
        assert_eq!(media, Some("application/problem+json"), "{kind:?}: {text}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{kind:?}");
        let body = answer.json();
        let is = format!("{TYPE_PREFIX}{}", facts.slug);
        assert_eq!(body["type"], is.as_str(), "{kind:?}: {text}");
        assert_eq!(answer.status, facts.status, "{kind:?}: {text}");
        assert_eq!(body["status"], facts.status, "{kind:?}: {text}");
        assert_eq!(body["title"], facts.title, "{kind:?}: {text}");
        assert_eq!(body["effect"], effect, "{kind:?}: {text}");
        let detail = body["detail"].as_str().unwrap_or_default();
        assert!(!detail.is_empty(), "{kind:?} says nothing: {text}");
        self.kinds.push(kind);
        body
    }

    /// Compares what was seen with what was to be seen.
    #[track_caller]
    pub(super) fn all(&self, wanted: &[Kind]) {
        assert_eq!(self.differences(wanted), Vec::<String>::new());
    }

    fn differences(&self, wanted: &[Kind]) -> Vec<String> {
        let unseen = wanted.iter().filter(|kind| !self.kinds.contains(kind));
        let unlisted = self.kinds.iter().filter(|kind| !wanted.contains(kind));
        unseen
            .map(|kind| format!("{kind:?} was not seen"))
            .chain(unlisted.map(|kind| format!("{kind:?} is not listed")))
            .collect()
    }
}

/// The comparison itself can fail, both ways.
#[test]
fn a_kind_that_was_not_seen_is_told() {
    let seen = Seen {
        kinds: vec![Kind::NotFound, Kind::Internal],
    };
    let told = |wanted: &[Kind]| seen.differences(wanted);
    assert_eq!(told(&[Kind::NotFound, Kind::Internal]), [""; 0]);
    let differences = ["Forbidden was not seen", "Internal is not listed"];
    assert_eq!(told(&[Kind::NotFound, Kind::Forbidden]), differences);
}
