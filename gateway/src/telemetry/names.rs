//! Every metric: its name, kind, labels and meaning. `docs/METRICS.md` is
//! rendered from this table. A label's values are a fixed set: rows, services
//! and words of this crate, never anything a caller sends.

use std::fmt::Write;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution of durations, in seconds.
    Histogram,
}

impl Kind {
    /// The kind's name in the documentation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it tells.
    pub help: &'static str,
}

/// Connections, by listener and what happened to them.
pub const CONNECTIONS: &str = "interlock_connections_total";
/// Handlers that panicked.
pub const PANICS: &str = "interlock_panics_total";
/// Requests answered.
pub const REQUESTS: &str = "interlock_requests_total";
/// How long requests took.
pub const REQUEST_SECONDS: &str = "interlock_request_seconds";
/// Decisions of the PDP.
pub const DECISIONS: &str = "interlock_decisions_total";
/// Tokens verified or refused.
pub const TOKENS: &str = "interlock_tokens_total";
/// Fetches of key sets.
pub const KEY_FETCHES: &str = "interlock_key_fetches_total";
/// Calls to services, by outcome.
pub const UPSTREAM_CALLS: &str = "interlock_upstream_calls_total";
/// Connections opened to services.
pub const UPSTREAM_CONNECTIONS: &str = "interlock_upstream_connections_total";
/// Addresses of services that were left for another one.
pub const UPSTREAM_SWITCHES: &str = "interlock_upstream_switches_total";
/// Stops, by how they ended.
pub const STOPS: &str = "interlock_stops_total";
/// Plan transitions.
pub const PLANS: &str = "interlock_plan_transitions_total";
/// Idempotency claims, by result.
pub const CLAIMS: &str = "interlock_idempotency_claims_total";
/// Requests that a store failure ended.
pub const STORE_FAILURES: &str = "interlock_store_failures_total";
/// Audit records, by fate.
pub const AUDIT_RECORDS: &str = "interlock_audit_records_total";
/// Whether the audit log cannot be written.
pub const AUDIT_FAILING: &str = "interlock_audit_failing";
/// Policy reloads, by result.
pub const POLICY_RELOADS: &str = "interlock_policy_reloads_total";
/// Objects in the registry.
pub const REGISTRY_OBJECTS: &str = "interlock_registry_objects";
/// Age of each owner's registry data.
pub const REGISTRY_AGE_SECONDS: &str = "interlock_registry_age_seconds";

/// The table.
pub const METRICS: &[Metric] = &[
    Metric {
        name: CONNECTIONS,
        kind: Kind::Counter,
        labels: &["listener", "event"],
        help: "Caller connections: accepted, accept_failed, refused (full), evicted (made room), head_timeout, malformed, broken",
    },
    Metric {
        name: PANICS,
        kind: Kind::Counter,
        labels: &["listener"],
        help: "Requests whose handler panicked and was answered 500; anything above 0 is a defect",
    },
    Metric {
        name: REQUESTS,
        kind: Kind::Counter,
        labels: &["row", "status"],
        help: "Requests answered, by row (`none` when no row matched) and status",
    },
    Metric {
        name: REQUEST_SECONDS,
        kind: Kind::Histogram,
        labels: &["class"],
        help: "Time from the request head to the response head, by class",
    },
    Metric {
        name: DECISIONS,
        kind: Kind::Counter,
        labels: &["row", "decision"],
        help: "Policy decisions: allow, deny, broken; any broken one is an alarm",
    },
    Metric {
        name: TOKENS,
        kind: Kind::Counter,
        labels: &["result"],
        help: "Bearer tokens: verified, cached, refused",
    },
    Metric {
        name: KEY_FETCHES,
        kind: Kind::Counter,
        labels: &["result"],
        help: "Fetches of the identity provider's key set: ok, failed, rejected",
    },
    Metric {
        name: UPSTREAM_CALLS,
        kind: Kind::Counter,
        labels: &["service", "lane", "outcome"],
        help: "Calls to services: answered, not_sent, unknown",
    },
    Metric {
        name: UPSTREAM_CONNECTIONS,
        kind: Kind::Counter,
        labels: &["service", "lane"],
        help: "Connections opened to services",
    },
    Metric {
        name: UPSTREAM_SWITCHES,
        kind: Kind::Counter,
        labels: &["service"],
        help: "Times that a service's address failed and another one was taken",
    },
    Metric {
        name: STOPS,
        kind: Kind::Counter,
        labels: &["row", "result"],
        help: "Stops: done, refused, not_stopped, unknown",
    },
    Metric {
        name: PLANS,
        kind: Kind::Counter,
        labels: &["state"],
        help: "Plans that entered a state",
    },
    Metric {
        name: CLAIMS,
        kind: Kind::Counter,
        labels: &["result"],
        help: "Idempotency keys: claimed, replayed, running, mismatch, unknown, over_quota",
    },
    Metric {
        name: STORE_FAILURES,
        kind: Kind::Counter,
        labels: &["cause"],
        help: "Requests that a store failure ended: unavailable, timed_out, busy, refused, corrupt",
    },
    Metric {
        name: AUDIT_RECORDS,
        kind: Kind::Counter,
        labels: &["fate"],
        help: "Decision records: written, dropped",
    },
    Metric {
        name: AUDIT_FAILING,
        kind: Kind::Gauge,
        labels: &[],
        help: "1 while the audit log cannot be written",
    },
    Metric {
        name: POLICY_RELOADS,
        kind: Kind::Counter,
        labels: &["result"],
        help: "Policy bundles: loaded, refused",
    },
    Metric {
        name: REGISTRY_OBJECTS,
        kind: Kind::Gauge,
        labels: &[],
        help: "Objects in the registry, tombstones included",
    },
    Metric {
        name: REGISTRY_AGE_SECONDS,
        kind: Kind::Gauge,
        labels: &["owner"],
        help: "Time since the owner's last heartbeat",
    },
];

/// Hands every description to the recorder.
pub(super) fn describe() {
    for metric in METRICS {
        match metric.kind {
            Kind::Counter => metrics::describe_counter!(metric.name, metric.help),
            Kind::Gauge => metrics::describe_gauge!(metric.name, metric.help),
            Kind::Histogram => metrics::describe_histogram!(metric.name, metric.help),
        }
    }
}

/// `docs/METRICS.md`.
pub fn metrics_md() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         At the ops listener, `GET /metrics`, in the Prometheus text format. Labels have fixed sets of values:\n\
         rows, services and the words below, never anything a caller sends.\n\n\
         | metric | kind | labels | meaning |\n|---|---|---|---|\n",
    );
    for metric in METRICS {
        let labels: Vec<String> = metric.labels.iter().map(|l| format!("`{l}`")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            metric.name,
            metric.kind.as_str(),
            labels.join(" "),
            metric.help
        );
    }
    text
}
