//! Cases, and how they are tried.

use interlock_tests::gateway::GatewayConfig;
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use interlock_tests::wire::{Raw, Wire};

/// An id that shows a request that was hidden in another one.
pub(super) const MARK: &str = "0190dead-beef-7ccc-8ddd-eeeeffff0000";

/// Heads and bodies are given up soon, so that a connection that is kept open
/// ends by itself.
const PATIENCE: &str = "[limits]\nheader_read_timeout_ms = 500\nbody_read_timeout_ms = 1000\n";

/// One attempt: its id and name, what is sent, and the statuses that are right.
///
/// In what is sent `HOST` stands for the line of the right host and `TOKEN` for
/// the line of an operator's token, line ends included.
pub(super) struct Case {
    pub(super) id: &'static str,
    pub(super) sent: String,
    pub(super) right: &'static [u16],
}

pub(super) fn case(id: &'static str, sent: impl Into<String>, right: &'static [u16]) -> Case {
    Case {
        id,
        sent: sent.into(),
        right,
    }
}

/// A `GET` with these lines in its head.
pub(super) fn get(target: &str, lines: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHOSTTOKEN{lines}\r\n")
}

/// A `POST` of JSON with these lines in its head.
pub(super) fn post(target: &str, lines: &str, body: &str) -> String {
    let length = body.len();
    let json = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    format!("POST {target} HTTP/1.1\r\nHOSTTOKEN{lines}{json}\r\n{body}")
}

/// A mission that would fly at once.
pub(super) fn mission() -> String {
    crate::personas::stage::route().to_string()
}

/// A request hidden behind another one; it would be seen at the service.
pub(super) fn marked() -> String {
    get(&format!("/api/missions/{MARK}"), "")
}

/// A system that gives slow callers up soon.
pub(super) async fn system() -> System {
    let change = |mut config: GatewayConfig| {
        config.extra = PATIENCE.to_owned();
        config
    };
    System::start_with(Plan::ENFORCED, change).await
}

/// Fills the placeholders in.
pub(super) fn filled(system: &System, sent: &str) -> String {
    let host = format!("Host: {}\r\n", system.gateway().address());
    let token = Persona::Operator.token(&system.idp).expect("a token");
    let token = format!("Authorization: Bearer {token}\r\n");
    sent.replace("HOST", &host).replace("TOKEN", &token)
}

/// Sends on one connection and reads every answer until the gateway closes it.
pub(super) fn answers(system: &System, bytes: impl AsRef<[u8]>) -> Vec<Raw> {
    let mut wire = Wire::connect(system.gateway().address());
    wire.send(bytes);
    let mut answers = Vec::new();
    while let Some(answer) = wire.answer() {
        answers.push(answer);
    }
    answers
}

/// Tries each case: one right answer, and nothing at the service or the swarm.
pub(super) fn refused(system: &System, cases: &[Case]) {
    let mut wrong = Vec::new();
    for Case { id, sent, right } in cases {
        let before = (system.upstream.bytes_to_target(), system.sim.counters());
        let answers = answers(system, filled(system, sent));
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        let one = matches!(&statuses[..], [status] if right.contains(status));
        let after = (system.upstream.bytes_to_target(), system.sim.counters());
        if !one || before != after {
            let told: Vec<String> = answers.iter().map(Raw::text).collect();
            let moved = before != after;
            wrong.push(format!(
                "{id}: {statuses:?}, not {right:?}; moved: {moved}; {told:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A good request of each form is let through, so that the refusals above it
/// were for what is bad in them.
pub(super) fn good(system: &System, sent: &str, status: u16) {
    let before = system.upstream.bytes_to_target();
    let answers = answers(system, filled(system, sent));
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [status], "{sent}");
    assert!(
        system.upstream.bytes_to_target() > before,
        "nothing was sent"
    );
}
