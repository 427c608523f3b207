//! One caller alone: what a proxy adds to each call.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::bench::stage::Stage;
use crate::personas::Persona;
use crate::wire::Wire;

/// Calls per way and round.
const CALLS: usize = 3_000;

/// How long calls took one way.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) name: &'static str,
    /// Sorted.
    pub(super) times: Vec<Duration>,
}

impl Way {
    /// The time that `percent` of the calls did not exceed, in microseconds.
    pub(super) fn percentile_us(&self, percent: usize) -> f64 {
        let last = self.times.len() - 1;
        self.times[last * percent / 100].as_secs_f64() * 1e6
    }
}

/// Direct, through nginx and through the gateway, in turn.
pub(super) fn measure(stage: &Stage, rounds: u32) -> Vec<Way> {
    let token = Persona::Viewer
        .token(&stage.idp)
        .expect("viewers have tokens");
    let mut ways = [
        ("upstream, direct", stage.upstream.plain),
        ("nginx, plain", stage.nginx.address),
        ("gateway", stage.embedded.address()),
    ]
    .map(|(name, address)| {
        (
            address,
            Way {
                name,
                times: Vec::new(),
            },
        )
    });
    for _ in 0..rounds {
        for (address, way) in &mut ways {
            way.times.extend(calls(*address, &token));
        }
    }
    ways.into_iter()
        .map(|(_, mut way)| {
            way.times.sort();
            way
        })
        .collect()
}

fn calls(address: SocketAddr, token: &str) -> Vec<Duration> {
    let request = format!(
        "GET /api/swarm/state HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let mut wire = Wire::connect(address);
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let began = Instant::now();
        wire.send(&request);
        let answer = wire.answer().expect("an answer");
        times.push(began.elapsed());
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    times
}
