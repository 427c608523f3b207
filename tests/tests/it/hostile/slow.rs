//! Callers that hold connections without asking anything.

use interlock_tests::personas::Persona;
use interlock_tests::wire::Wire;

use super::stage::{self, filled};

/// How many of each kind hold on.
const SLOW: usize = 200;

/// Heads that do not end, bodies that do not end and answers that nobody reads
/// hold up no stop, and are given up one by one.
#[tokio::test]
async fn slow_callers_hold_up_no_stop() {
    let system = stage::system().await;
    let address = system.gateway().address();
    let connect = |sent: String| {
        let mut wire = Wire::connect(address);
        wire.send(sent);
        wire
    };
    let head = "GET /api/swarm/state HTTP/1.1\r\nX-Slow: ".to_owned();
    let body = filled(
        &system,
        "POST /api/missions HTTP/1.1\r\nHOSTTOKENContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    );
    let unread = filled(&system, &stage::get("/api/swarm/state", "").repeat(20));
    let mut heads: Vec<Wire> = (0..SLOW).map(|_| connect(head.clone())).collect();
    let mut bodies: Vec<Wire> = (0..SLOW / 4).map(|_| connect(body.clone())).collect();
    let unread: Vec<Wire> = (0..SLOW / 4).map(|_| connect(unread.clone())).collect();
    for _ in 0..10 {
        let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
        land.send().await.expect(202);
    }
    for head in &mut heads {
        // Closed, with or without a word; a head without its end asks nothing.
        if let Some(answer) = head.answer() {
            assert_eq!(answer.status, 408, "B29 {}", answer.text());
        }
        assert!(head.closed());
    }
    for body in &mut bodies {
        let answer = body.answer().expect("an answer");
        assert_eq!(answer.status, 408, "B29 {}", answer.text());
    }
    drop(unread);
    assert_eq!(system.sim.counters().starts, 0);
}
