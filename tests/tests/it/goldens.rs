//! The generated documents of the gateway are what its tables say.

use interlock_gateway::problem;
use interlock_gateway::telemetry::names;
use interlock_tests::golden;

#[test]
fn golden_status_codes() {
    golden::check("docs/STATUS-CODES.md", &problem::status_codes_md());
}

#[test]
fn golden_metrics() {
    golden::check("docs/METRICS.md", &names::metrics_md());
}
