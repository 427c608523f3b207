//! One decision and one grant per request, counted exactly.

use crate::bench::load::DECISIONS;
use crate::bench::stage::Stage;
use crate::personas::Persona;

/// What was counted where, for the same requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) sent: u64,
    pub(super) decided: u64,
    pub(super) verified: u64,
}

/// Sends a fixed number of requests and compares the counts.
///
/// # Panics
/// When they differ: then no figure here would mean anything.
pub(super) async fn measure(stage: &Stage) -> Counted {
    let sent = 2_000;
    let gateway = &stage.embedded;
    let http = gateway.http();
    let token = Persona::Viewer.token(&stage.idp);
    let decided = gateway.metric(DECISIONS).await as u64;
    let verified = stage.upstream.verified();
    for _ in 0..sent {
        let call = http.get("/api/swarm/state").token(token.as_ref());
        call.send().await.expect(200);
    }
    let counted = Counted {
        sent,
        decided: gateway.metric(DECISIONS).await as u64 - decided,
        verified: stage.upstream.verified() - verified,
    };
    assert_eq!(
        (counted.decided, counted.verified),
        (sent, sent),
        "one each per request"
    );
    counted
}
