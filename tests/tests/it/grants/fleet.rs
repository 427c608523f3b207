//! A call to the mower service past the gateway, with a grant of another call,
//! or with one that was used, is 401 and reaches no mower.

use interlock_surface::{ROWS, Segment, ServedBy};
use interlock_tests::personas::Persona;
use interlock_tests::sent::Sent;
use interlock_tests::system::{Plan, System, key};
use interlock_tests::wire::{Raw, Wire};
use jiff::Timestamp;
use serde_json::json;

use super::NOWHERE;
use super::forge::{self, Direct, Forge};
use crate::personas::stage::fleet::{FLEET, mower};

const PAUSE: &str = "mowers.command.pause_mow";
const BODY: &str = r#"{"command":{"kind":"pause_mow"}}"#;

async fn system() -> System {
    System::start(Plan::ENFORCED.with_mowers()).await
}

fn direct(method: &'static str, target: &str, body: &str, grants: Vec<String>) -> Direct {
    Direct {
        method,
        target: target.to_owned(),
        body: body.to_owned(),
        grants,
    }
}

/// Commands on record.
async fn commands(system: &System) -> usize {
    let listed = system
        .get(Persona::Viewer, &format!("{FLEET}/commands"))
        .await;
    listed.expect(200).json()["items"].as_array().unwrap().len()
}

/// Every row, reads, stops and internal ones included, and every way to say
/// nothing, or something that is for another service.
#[tokio::test]
async fn no_row_of_the_fleet_answers_without_a_grant() {
    let system = system().await;
    let mower = mower(&system).await;
    let served = ROWS
        .iter()
        .filter(|row| row.service == "mowers" && row.served_by == ServedBy::Service);
    let mut tried = 0;
    for row in served {
        let part = |segment: &Segment| match segment {
            Segment::Literal(text) => (*text).to_owned(),
            Segment::Param("mower", _) => mower.clone(),
            Segment::Param(..) => NOWHERE.to_owned(),
        };
        let target: String = row
            .segments
            .iter()
            .map(|it| format!("/{}", part(it)))
            .collect();
        let method = row.method.as_str();
        let body = row.kind.map_or(String::new(), |kind| {
            json!({ "command": { "kind": kind } }).to_string()
        });
        let of_drones = Forge::good(&system, row.name, method, &target, &body).token();
        for grants in [vec![], vec!["garbage".to_owned()], vec![of_drones]] {
            let answer = direct(method, &target, &body, grants).send_fleet(&system);
            assert_eq!(answer.status, 401, "{method} {target}: {}", answer.text());
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried} calls were tried");
    assert_eq!(commands(&system).await, 0);
}

#[tokio::test]
async fn a_command_without_its_own_grant_is_401() {
    let system = system().await;
    let mower = mower(&system).await;
    let target = format!("{FLEET}/mowers/{mower}/commands");
    let good = || Forge::fleet(&system, PAUSE, "POST", &target, BODY);
    let foreign = forge::key(&key("mowers-1")).1;
    let now = Timestamp::now().as_second();
    let feed = good().signed(|forge| forge.header.typ = Some("interlock-feed+jwt".to_owned()));
    let start = r#"{"command":{"kind":"start_mow"}}"#;
    for (what, forge) in [
        ("a wrong key", good().signed(|forge| forge.secret = foreign)),
        ("a feed token's type", feed),
        ("another audience", good().with("aud", "drones")),
        ("another issuer", good().with("iss", "mowers")),
        ("another row", good().with("row", "mowers.mower.stop")),
        (
            "a row of the drones",
            good().with("row", "drones.mission.start"),
        ),
        (
            "a row of another kind",
            good().with("row", "mowers.command.start_mow"),
        ),
        ("another method", good().with("method", "GET")),
        (
            "another mower",
            good().with("path", format!("{FLEET}/mowers/{NOWHERE}/commands")),
        ),
        ("another body", good().with("body", forge::digest_of(start))),
        ("no operation", good().without("operation")),
        (
            "expired",
            good().with("iat", now - 60).with("exp", now - 30),
        ),
        (
            "not valid yet",
            good().with("iat", now + 60).with("exp", now + 90),
        ),
        ("a life without end", good().with("exp", now + 86_400)),
    ] {
        let answer = direct("POST", &target, BODY, vec![forge.token()]).send_fleet(&system);
        let text = answer.text();
        let refused =
            answer.status == 401 || (what == "a row of another kind" && answer.status == 422);
        assert!(refused, "{what}: {} {text}", answer.status);
        assert_eq!(commands(&system).await, 0, "{what}: {text}");
    }
    // The same whole is let through, and once.
    let whole = direct("POST", &target, BODY, vec![good().token()]);
    let answer = whole.send_fleet(&system);
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(whole.send_fleet(&system).status, 401);
    assert_eq!(commands(&system).await, 1);
}

/// Sends bytes to the mower service, past the gateway.
fn again(system: &System, bytes: &[u8]) -> Raw {
    let mut wire = Wire::connect(forge::fleet(system).address());
    wire.send(bytes);
    wire.answer().expect("an answer")
}

#[tokio::test]
async fn a_command_that_was_overheard_is_not_done_again_and_a_stop_is() {
    let mut system = system().await;
    let mower = mower(&system).await;
    system.fleet.listen();
    let path = format!("{FLEET}/mowers/{mower}/commands");
    let pause = json!({ "command": { "kind": "pause_mow" } });
    system
        .post(Persona::Operator, &path, &pause)
        .await
        .expect(202);
    let stop = format!("{FLEET}/mowers/{mower}/emergency-stop");
    let stopped = system.call(Persona::Viewer, "POST", &stop).send().await;
    stopped.expect(202);
    let sent = Sent::all(&system.fleet.listen());
    let of = |target: &str| {
        let found = sent.iter().find(|sent| sent.target == target);
        found.expect("a call went over the relay").bytes.clone()
    };
    let (pause, stop) = (of(&path), of(&stop));
    assert_eq!(commands(&system).await, 2);
    let text = String::from_utf8(pause.clone()).unwrap();
    let other = text.replacen("pause_mow", "start_mow", 1);
    assert_ne!(other, text);
    for bytes in [&text, &other] {
        let answer = again(&system, bytes.as_bytes());
        assert_eq!(answer.status, 401, "{}", answer.text());
    }
    assert_eq!(commands(&system).await, 2);
    let answer = again(&system, &stop);
    assert_eq!(answer.status, 202, "{}", answer.text());
    // A restart forgets which grants were used, and trusts none from before.
    let fleet = system.mowers.as_mut().unwrap();
    fleet.process.kill();
    fleet.restart();
    let answer = again(&system, &pause);
    assert_eq!(answer.status, 401, "{}", answer.text());
}
