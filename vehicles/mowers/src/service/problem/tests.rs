use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::Value;

use super::{Layer, Problem};
use crate::operations::Effect;

fn check(problem: Problem, status: u16, slug: &str, effect: &str, extra: &[(&str, Value)]) {
    let answer = problem.answer();
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer.status, status, "{body}");
    assert_eq!(body["type"], format!("urn:interlock:problem:{slug}"));
    assert_eq!(body["effect"], effect, "{body}");
    assert_eq!(body["status"], status);
    assert_eq!(body["detail"], problem.to_string());
    for (name, value) in extra {
        assert_eq!(&body[*name], value, "{body}");
    }
}

#[test]
fn problems_say_their_status_slug_effect_and_what_belongs_to_them() {
    check(
        Problem::Invalid(vec!["`name` is required".to_owned()]),
        422,
        "invalid-request",
        "none",
        &[(
            "errors",
            serde_json::json!({"request": ["`name` is required"]}),
        )],
    );
    check(
        Problem::AuthzStale { revision: 7 },
        409,
        "authz-stale",
        "none",
        &[("revision", 7.into())],
    );
    let late = Problem::GatewayTimeout {
        layer: Layer::DeviceGateway,
        detail: "no answer".to_owned(),
    };
    check(
        late,
        504,
        "gateway-timeout",
        "none",
        &[("layer", "device-gateway".into())],
    );
    check(
        Problem::CommitUnclear,
        503,
        "records-unavailable",
        "maybe",
        &[],
    );
    let unsure = Problem::NotStopped {
        detail: "nobody confirmed".to_owned(),
        effect: Effect::Maybe,
    };
    check(unsure, 503, "not-stopped", "maybe", &[]);
}

#[test]
fn a_limit_says_when_to_come_back() {
    let response = Problem::PreviewLimit { retry_after_s: 6 }.into_response();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "6");
    assert_eq!(
        response.headers()["content-type"],
        "application/problem+json"
    );
}

/// One of each.
fn all() -> Vec<Problem> {
    let text = String::new;
    vec![
        Problem::Unreadable(text()),
        Problem::Invalid(Vec::new()),
        Problem::UnknownReference(""),
        Problem::Forbidden(text()),
        Problem::NotFound,
        Problem::MethodNotAllowed,
        Problem::AuthzStale { revision: 1 },
        Problem::AlreadyRegistered,
        Problem::SiteNotEmpty,
        Problem::DefaultSite,
        Problem::LimitReached(text()),
        Problem::DriveSessionNeeded(text()),
        Problem::DriveSessionHeld { own: None },
        Problem::FrameOutOfOrder { last: 3 },
        Problem::PathPreviewUnsupported(text()),
        Problem::PathPreviewRejected(text()),
        Problem::PreviewRunning,
        Problem::StoppedSince(text()),
        Problem::PlanChanged(text()),
        Problem::BulkTooLarge(text()),
        Problem::BusUnavailable(text()),
        Problem::PublishUnconfirmed(text()),
        Problem::PathPreviewUnavailable(text()),
        Problem::RecordsUnavailable,
        Problem::CommitUnclear,
        Problem::RegistryUnavailable,
        Problem::AccountPending("why"),
        Problem::AuthzUnavailable,
        Problem::NotStopped {
            detail: text(),
            effect: Effect::None,
        },
        Problem::NotStopped {
            detail: text(),
            effect: Effect::Maybe,
        },
        Problem::NotHeld,
        Problem::GatewayTimeout {
            layer: Layer::Mower,
            detail: text(),
        },
        Problem::PreviewLimit { retry_after_s: 1 },
        Problem::TooLate,
        Problem::Tombstoned,
        Problem::InProgress,
        Problem::Reused,
        Problem::Internal,
    ]
}

/// docs/MOWER-PROBLEMS.md lists every problem with its status and effect, and no other; reasons of
/// records and refusals of the guard stand in its other tables.
#[test]
fn every_problem_is_documented() {
    let page = include_str!("../../../../../docs/MOWER-PROBLEMS.md");
    let table = page.split("## Reasons of records").next().unwrap();
    let listed: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.rsplit_once(" | ").unwrap().0)
        .collect();
    let mut expected: Vec<String> = all()
        .into_iter()
        .map(|problem| {
            let (status, slug, _, effect) = problem.parts();
            format!("| `{slug}` | {} | {}", status.as_u16(), effect.as_str())
        })
        .collect();
    expected.sort();
    assert_eq!(listed, expected);
}
