//! Many callers at once, in interleaved rounds.

use std::net::SocketAddr;

use serde_json::json;
use uuid::Uuid;

use crate::bench::Effort;
use crate::bench::machine::ticks_per_second;
use crate::bench::stage::Stage;
use crate::bench::wrk::{self, Ask, CONNECTIONS, Seen};
use crate::gateway::Gateway;
use crate::personas::Persona;
use crate::poll;
use crate::process::Process;

/// The metric of decisions.
pub(super) const DECISIONS: &str = "interlock_decisions_total";

/// One measurement of one proxy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) proxy: &'static str,
    pub(super) seen: Seen,
    /// User and system time of the proxy's process.
    pub(super) cpu_us: f64,
    /// Decisions of a gateway meanwhile.
    pub(super) decisions: Option<u64>,
}

impl Measured {
    pub(super) fn cpu_us_per_request(&self) -> f64 {
        self.cpu_us / self.seen.requests as f64
    }
}

/// One proxy of a round.
struct Runner<'a> {
    proxy: &'static str,
    process: &'a Process,
    address: SocketAddr,
    gateway: Option<&'a Gateway>,
}

/// The same authenticated read, round by round, through nginx and through the
/// gateway.
pub(super) async fn reads(stage: &Stage, effort: Effort) -> Vec<Vec<Measured>> {
    let token = Persona::Viewer
        .token(&stage.idp)
        .expect("viewers have tokens");
    let ask = Ask {
        paths: vec!["/api/swarm/state".to_owned()],
        headers: vec![("Authorization", format!("Bearer {token}"))],
        write: None,
    };
    let runners = [nginx(stage), gateway("gateway", &stage.embedded)];
    rounds(stage, effort, &runners, || ask.clone()).await
}

/// The same write, each with an idempotency key of its own.
pub(super) async fn writes(stage: &Stage, effort: Effort) -> Vec<Vec<Measured>> {
    let token = Persona::Operator
        .token(&stage.idp)
        .expect("operators have tokens");
    let body = json!({
        "name": "bench", "type": "formation", "formation": "line", "droneCount": 3,
        "waypoints": [{ "x": 0.0, "y": 0.0, "z": 10.0 }, { "x": 50.0, "y": 0.0, "z": 10.0 }],
    });
    let ask = || Ask {
        paths: vec!["/api/missions".to_owned()],
        headers: vec![("Authorization", format!("Bearer {token}"))],
        write: Some((body.to_string(), format!("bench-{}-", Uuid::new_v4()))),
    };
    let runners = [
        nginx(stage),
        gateway("gateway, embedded store", &stage.embedded),
        gateway("gateway, Redis", &stage.redis),
    ];
    rounds(stage, effort, &runners, ask).await
}

fn nginx(stage: &Stage) -> Runner<'_> {
    Runner {
        proxy: "nginx, plain",
        process: &stage.nginx.process,
        address: stage.nginx.address,
        gateway: None,
    }
}

fn gateway<'a>(proxy: &'static str, gateway: &'a Gateway) -> Runner<'a> {
    Runner {
        proxy,
        process: &gateway.process,
        address: gateway.address(),
        gateway: Some(gateway),
    }
}

async fn rounds(
    stage: &Stage,
    effort: Effort,
    runners: &[Runner<'_>],
    ask: impl Fn() -> Ask,
) -> Vec<Vec<Measured>> {
    // Connections, caches and branch predictors are warm before it counts.
    for runner in runners {
        wrk::run(runner.address, &ask(), 1, stage.folder());
        // A guard that is renewed takes no grant from before its time.
        quiet(stage, runner).await;
    }
    let mut rounds = Vec::new();
    for _ in 0..effort.rounds {
        let mut round = Vec::new();
        for runner in runners {
            stage.upstream.renew();
            round.push(measure(stage, runner, &ask(), effort.seconds).await);
        }
        rounds.push(round);
    }
    rounds
}

async fn measure(stage: &Stage, runner: &Runner<'_>, ask: &Ask, seconds: u32) -> Measured {
    let before = quiet(stage, runner).await;
    let ticks = runner.process.cpu_ticks();
    let seen = wrk::run(runner.address, ask, seconds, stage.folder());
    let ticks = runner.process.cpu_ticks() - ticks;
    let after = quiet(stage, runner).await;
    let decisions = runner.gateway.map(|_| after.0 - before.0);
    if let Some(decisions) = decisions {
        // wrk hangs up on what it has asked for when its time is over: those
        // are decided, and it does not count them.
        let asked = seen.requests..=seen.requests + u64::from(CONNECTIONS);
        let verified = after.1 - before.1;
        assert!(
            asked.contains(&decisions),
            "{decisions} decisions for {asked:?} requests"
        );
        assert!(
            asked.contains(&verified),
            "{verified} grants for {asked:?} requests"
        );
    }
    assert_eq!(stage.upstream.refused(), 0, "grants were refused");
    Measured {
        proxy: runner.proxy,
        seen,
        cpu_us: ticks as f64 / ticks_per_second() * 1e6,
        decisions,
    }
}

/// Decisions and verified grants so far, once both stand still: what wrk hung
/// up on is carried through, and would count as another's.
async fn quiet(stage: &Stage, runner: &Runner<'_>) -> (u64, u64) {
    let mut last = None;
    poll::until_async("the last load is over", async || {
        let decisions = match runner.gateway {
            Some(gateway) => gateway.metric(DECISIONS).await as u64,
            None => 0,
        };
        let now = (decisions, stage.upstream.verified());
        (last.replace(now) == Some(now)).then_some(now)
    })
    .await
}
