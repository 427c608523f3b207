//! Every metric that the document names is there, with the labels it names.

use std::collections::{BTreeMap, BTreeSet};

use interlock_gateway::telemetry::names::{Kind, METRICS, POLICY_RELOADS};
use interlock_tests::gateway::GatewayConfig;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};

use crate::personas::stage::{self, route};
use crate::problems::machinery::copy;

/// Family names with the label names of their series, read from the Prometheus
/// text format.
fn families(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut families: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, _)) = line.rsplit_once(' ') else {
            continue;
        };
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let pairs = labels.trim_end_matches('}').split("\",");
        let labels = pairs.filter_map(|pair| Some(pair.split_once("=\"")?.0.to_owned()));
        families.entry(name.to_owned()).or_default().extend(labels);
    }
    families
}

/// How the scraped families differ from the table.
fn differences(families: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut faults = Vec::new();
    for metric in METRICS {
        let name = match metric.kind {
            Kind::Histogram => format!("{}_count", metric.name),
            Kind::Counter | Kind::Gauge => metric.name.to_owned(),
        };
        let labels: BTreeSet<String> = metric
            .labels
            .iter()
            .map(|&label| label.to_owned())
            .collect();
        match families.get(&name) {
            None => faults.push(format!("{name} is never said")),
            Some(found) if *found != labels => {
                faults.push(format!("{name} has the labels {found:?}, not {labels:?}"));
            }
            Some(_) => {}
        }
    }
    for name in families
        .keys()
        .filter(|name| name.starts_with("interlock_"))
    {
        let listed = METRICS.iter().any(|metric| {
            let parts = ["", "_bucket", "_sum", "_count"];
            parts
                .iter()
                .any(|part| *name == format!("{}{part}", metric.name))
        });
        if !listed {
            faults.push(format!("{name} is not documented"));
        }
    }
    faults
}

/// A system in which everything that is counted has happened once.
#[tokio::test]
async fn every_documented_metric_can_be_scraped() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    let change = |mut config: GatewayConfig| {
        copy(&config.bundle, &bundle);
        config.bundle = bundle.clone();
        config
    };
    let mut system = System::start_with(Plan::REDIS, change).await;
    let start = system
        .call(Persona::Operator, "POST", "/api/missions")
        .key("start");
    start.json(&route()).send().await.expect(201);
    stage::pending(&system).await;
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    std::fs::write(bundle.join("guards/90-broken.cedar"), "forbid").unwrap();
    poll::until_async("the edit is refused", async || {
        let reloads = system.gateway().metric(POLICY_RELOADS).await;
        (reloads > 0.0).then_some(())
    })
    .await;
    system.redis.as_mut().unwrap().kill();
    let refused = system
        .post(Persona::Proposer, "/api/mission-plans", &route())
        .await;
    refused.expect(503);
    let text = system
        .gateway()
        .ops()
        .get("/metrics")
        .send()
        .await
        .expect(200)
        .text();
    assert_eq!(differences(&families(&text)), Vec::<String>::new());
}

/// The comparison can fail, in each of its three ways.
#[test]
fn a_metric_that_differs_is_told() {
    let text = "# TYPE interlock_stops_total counter\n\
        interlock_stops_total{row=\"a\",outcome=\"b\"} 1\n\
        interlock_surprises 2\n";
    let faults = differences(&families(text));
    let told = |fault: &str| assert!(faults.iter().any(|line| line == fault), "{faults:?}");
    told("interlock_panics_total is never said");
    told("interlock_stops_total has the labels {\"outcome\", \"row\"}, not {\"result\", \"row\"}");
    told("interlock_surprises is not documented");
}
