//! The table against its document, and what the logs leave out.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use crate::telemetry::names::{self, Kind, METRICS};
use crate::telemetry::{Metrics, TelemetryError, subscriber};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn every_name_is_in_the_table_once_and_says_what_it_is() {
    let source = include_str!("names.rs");
    let named: HashSet<&str> = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split_once("&str = \""))
        .map(|(_, value)| value.trim_end_matches("\";"))
        .collect();
    let listed: HashSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(named, listed);
    assert_eq!(listed.len(), METRICS.len());
    for metric in METRICS {
        let counter = metric.name.ends_with("_total");
        assert_eq!(metric.kind == Kind::Counter, counter, "{}", metric.name);
        if metric.kind == Kind::Histogram {
            assert!(metric.name.ends_with("_seconds"), "{}", metric.name);
        }
    }
}

#[test]
fn metrics_are_rendered() {
    let metrics = Metrics::install().unwrap();
    assert!(matches!(
        Metrics::install(),
        Err(TelemetryError::MetricsTwice)
    ));
    metrics::counter!(names::PANICS, "listener" => "render-test").increment(2);
    metrics::histogram!(names::REQUEST_SECONDS, "class" => "render-test").record(0.002);
    let text = metrics.render();
    assert!(
        text.contains("interlock_panics_total{listener=\"render-test\"} 2"),
        "{text}"
    );
    assert!(
        text.contains("interlock_request_seconds_bucket{class=\"render-test\",le=\"0.0025\"} 1"),
        "{text}"
    );
}

#[test]
fn other_crates_trace_nothing_at_any_filter() {
    let lines = Lines::default();
    let subscriber = subscriber("trace", lines.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        tracing::trace!(target: "interlock_gateway::test", answer = 42, "ours");
        tracing::info!(target: "hyper", "coarse");
        tracing::debug!(target: "hyper", code = "secret", "theirs");
    });
    let text = lines.text();
    let said: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(said.len(), 2, "{text}");
    assert_eq!(said[0]["message"], "ours");
    assert_eq!(said[0]["answer"], 42);
    assert_eq!(said[1]["message"], "coarse");
    assert!(!text.contains("secret"));
}

#[test]
fn a_filter_is_kept_and_a_bad_one_told() {
    let lines = Lines::default();
    let subscriber_of = |filter: &str| subscriber(filter, lines.clone());
    tracing::subscriber::with_default(subscriber_of("warn").unwrap(), || {
        tracing::info!(target: "interlock_gateway::test", "quiet");
    });
    assert_eq!(lines.text(), "");
    let Err(fault) = subscriber_of("a=b=c") else {
        panic!("accepted");
    };
    assert!(fault.to_string().contains("`a=b=c`"), "{fault}");
}
