use std::sync::Arc;

use interlock_guard::{Keys, SystemClock};
use serde_json::{Map, json};
use tokio::net::TcpListener;

use super::{GatewayLink, LinkError, Object, ObjectState};
use crate::hierarchy::tests::gateway::Gateway;
use crate::hierarchy::tests::rig::keys;

fn link(gateways: &[&str]) -> GatewayLink {
    let gateways = gateways.iter().map(|&address| address.to_owned()).collect();
    GatewayLink::new(gateways, Keys::new(keys()), Arc::new(SystemClock))
}

fn object(revision: u64, parent: Option<&str>) -> Object {
    Object {
        kind: "Scope",
        id: "depot".to_owned(),
        revision,
        state: parent.map(|parent| ObjectState {
            parents: vec![parent.to_owned()],
            attributes: Map::new(),
        }),
    }
}

/// An address where nobody listens.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}

#[tokio::test]
async fn the_registry_is_fed_and_says_what_is_stale() {
    let gateway = Gateway::new(keys()).await;
    let link = link(&[&gateway.address]);
    let first = link.feed(&object(2, Some("acme"))).await.unwrap();
    assert_eq!(link.feed(&object(2, Some("acme"))).await, Ok(first));
    let stale = Err(LinkError::Stale { current: 2 });
    assert_eq!(link.feed(&object(2, Some("beta"))).await, stale);
    assert_eq!(link.feed(&object(1, Some("acme"))).await, stale);
    assert!(link.feed(&object(3, None)).await.unwrap() > first);
    assert_eq!(gateway.known("Scope/depot").unwrap().state, None);
    gateway.takes(Some(0));
    let refused = link.feed(&object(4, Some("acme"))).await;
    assert!(
        matches!(refused, Err(LinkError::Refused { status: 503, .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_next_gateway_is_asked_when_one_does_not_answer() {
    let gateway = Gateway::new(keys()).await;
    let link = link(&[&nobody().await, &gateway.address]);
    link.feed(&object(1, Some("acme"))).await.unwrap();
    assert_eq!(gateway.parents("Scope/depot"), ["acme"]);
}

#[tokio::test]
async fn without_any_answer_it_is_unavailable() {
    let failed = link(&[&nobody().await]).feed(&object(1, None)).await;
    assert!(
        matches!(failed, Err(LinkError::Unavailable(_))),
        "{failed:?}"
    );
    assert_eq!(link(&[]).feed(&object(1, None)).await, Ok(0));
    assert!(!link(&[]).is_configured());
}

#[tokio::test]
async fn every_gateway_hears_the_heartbeat() {
    let (one, two) = (Gateway::new(keys()).await, Gateway::new(keys()).await);
    let link = link(&[&one.address, &nobody().await, &two.address]);
    let mut checks = Map::new();
    checks.insert("records".to_owned(), json!({"status": "Healthy"}));
    assert_eq!(link.beat(&checks).await.len(), 1);
    for gateway in [one, two] {
        let expected = json!({"owner": "mowers", "checks": {"records": {"status": "Healthy"}}});
        assert_eq!(gateway.beats(), [expected]);
    }
}
