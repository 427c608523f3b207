//! A call past the gateway, or with a grant for something else, is 401 and
//! reaches nothing.

use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System, key};
use jiff::Timestamp;
use serde_json::json;

use super::NOWHERE;
use super::forge::{self, Direct, Forge};
use crate::personas::stage::{self, route};

const START: &str = "drones.mission.start";
const MISSIONS: &str = "/api/missions";

/// The start of a mission that would fly, with these grants.
fn start(grants: Vec<String>) -> Direct {
    Direct {
        method: "POST",
        target: MISSIONS.to_owned(),
        body: route().to_string(),
        grants,
    }
}

fn good(system: &System) -> Forge {
    Forge::good(system, START, "POST", MISSIONS, &route().to_string())
}

/// What is wrong, and the header lines that come of it.
fn wrong(system: &System) -> Vec<(&'static str, Vec<String>)> {
    let one = |forge: Forge| vec![forge.token()];
    let good = || good(system);
    let now = Timestamp::now().as_second();
    let token = good().token();
    let parts: Vec<&str> = token.split('.').collect();
    let foreign = forge::key(&key("drones-1")).1;
    let unsigned =
        "eyJhbGciOiJub25lIiwidHlwIjoiaW50ZXJsb2NrLWdyYW50K2p3dCIsImtpZCI6ImRyb25lcy0xIn0";
    let of_the_provider = Persona::Operator.token(&system.idp).expect("a token");
    vec![
        ("none", vec![]),
        ("empty", vec![String::new()]),
        ("garbage", vec!["open sesame".to_owned()]),
        ("two parts", vec![format!("{}.{}", parts[0], parts[1])]),
        ("no signature", vec![format!("{}.{}.", parts[0], parts[1])]),
        ("alg none", vec![format!("{unsigned}.{}.", parts[1])]),
        ("a bearer token of the provider", vec![of_the_provider]),
        ("two grants", vec![good().token(), good().token()]),
        (
            "an unknown kid",
            one(good().signed(|forge| forge.header.kid = Some("drones-9".to_owned()))),
        ),
        (
            "no kid",
            one(good().signed(|forge| forge.header.kid = None)),
        ),
        (
            "a wrong key",
            one(good().signed(|forge| forge.secret = foreign)),
        ),
        (
            "another algorithm",
            one(good().signed(|forge| forge.header.alg = jsonwebtoken::Algorithm::HS512)),
        ),
        (
            "another type",
            one(good().signed(|forge| forge.header.typ = Some("JWT".to_owned()))),
        ),
        (
            "a feed token's type",
            one(good().signed(|forge| forge.header.typ = Some("interlock-feed+jwt".to_owned()))),
        ),
        ("another issuer", one(good().with("iss", "drones"))),
        ("another audience", one(good().with("aud", "mowers"))),
        (
            "several audiences",
            one(good().with("aud", json!(["mowers"]))),
        ),
        ("no audience", one(good().without("aud"))),
        ("another method", one(good().with("method", "GET"))),
        ("another path", one(good().with("path", "/api/swarm/land"))),
        (
            "another spelling of the path",
            one(good().with("path", "/api/missions/")),
        ),
        (
            "another query",
            one(good().with("path", "/api/missions?limit=1")),
        ),
        (
            "another body",
            one(good().with("body", forge::digest_of("{}"))),
        ),
        ("no body", one(good().with("body", forge::digest_of("")))),
        ("another row", one(good().with("row", "drones.swarm.land"))),
        (
            "an unknown row",
            one(good().with("row", "drones.mission.steer")),
        ),
        (
            "expired",
            one(good().with("iat", now - 60).with("exp", now - 30)),
        ),
        (
            "not valid yet",
            one(good().with("iat", now + 60).with("exp", now + 90)),
        ),
        ("a life without end", one(good().with("exp", now + 86_400))),
        (
            "from before this service began",
            one(good().with("iat", now - 100).with("exp", now + 10)),
        ),
        ("no operation", one(good().without("operation"))),
        ("no decision", one(good().without("decision"))),
        ("a claim of a wrong type", one(good().with("operation", 7))),
    ]
}

#[tokio::test]
async fn a_start_without_its_own_grant_is_401() {
    let system = System::start(Plan::ENFORCED).await;
    let before = system.sim.counters();
    let wrong = wrong(&system);
    for (what, grants) in &wrong {
        let answer = start(grants.clone()).send(&system);
        let text = answer.text();
        assert_eq!(answer.status, 401, "{what}: {text}");
        assert!(text.contains("\"effect\":\"none\""), "{what}: {text}");
        for grant in grants.iter().filter(|grant| grant.len() > 20) {
            assert!(!text.contains(grant.as_str()), "{what} is repeated: {text}");
        }
        assert_eq!(system.sim.counters(), before, "{what}");
    }
    // The same call with what it needs is let through, so the grant it was.
    let answer = start(vec![good(&system).token()]).send(&system);
    assert_eq!(answer.status, 201, "{}", answer.text());
    system.settle("one start", |counters| counters.starts == before.starts + 1);
}

/// Every row, reads and internal ones included, and every way to say nothing.
#[tokio::test]
async fn no_row_answers_without_a_grant() {
    let system = System::start(Plan::ENFORCED).await;
    stage::mission(&system).await;
    let before = system.sim.counters();
    let rows = [
        ("GET", "/api/swarm/state".to_owned()),
        ("POST", "/api/swarm/land".to_owned()),
        ("POST", MISSIONS.to_owned()),
        ("GET", format!("/api/missions/{NOWHERE}")),
        ("POST", format!("/api/missions/{NOWHERE}/abort")),
        ("POST", "/internal/preview".to_owned()),
        ("POST", format!("/internal/operations/{NOWHERE}/settle")),
    ];
    let served = interlock_surface::ROWS.iter().filter(|row| {
        row.service == "drones" && row.served_by == interlock_surface::ServedBy::Service
    });
    assert_eq!(served.count(), rows.len());
    for (method, target) in &rows {
        for grants in [vec![], vec!["garbage".to_owned()]] {
            let call = Direct {
                method,
                target: target.clone(),
                body: String::new(),
                grants,
            };
            let answer = call.send(&system);
            assert_eq!(answer.status, 401, "{method} {target}: {}", answer.text());
        }
    }
    assert_eq!(system.sim.counters(), before);
}

/// A stop is lenient about clocks and repetition, about nothing else.
#[tokio::test]
async fn a_stop_needs_a_grant_whatever_the_clock_says() {
    let system = System::start(Plan::ENFORCED).await;
    let target = "/api/swarm/land";
    let good = || Forge::good(&system, "drones.swarm.land", "POST", target, "");
    let land = |forge: Forge| Direct {
        method: "POST",
        target: target.to_owned(),
        body: String::new(),
        grants: vec![forge.token()],
    };
    let foreign = forge::key(&key("drones-1")).1;
    for (what, forge) in [
        ("a wrong key", good().signed(|forge| forge.secret = foreign)),
        ("another audience", good().with("aud", "mowers")),
        ("another body", good().with("body", forge::digest_of("{}"))),
        ("another path", good().with("path", "/api/missions")),
        ("another row", good().with("row", START)),
    ] {
        let answer = land(forge).send(&system);
        assert_eq!(answer.status, 401, "{what}: {}", answer.text());
    }
    assert_eq!(system.sim.counters().commands, 0);
    let now = Timestamp::now().as_second();
    let late = land(good().with("iat", now - 9000).with("exp", now - 8000));
    for sent in 1..=2 {
        assert_eq!(late.send(&system).status, 202);
        system.settle("a stop is sent", |counters| counters.commands >= sent);
    }
    // What opens a stop opens nothing else, however it is aimed.
    let mut aimed = late.clone();
    aimed.target = MISSIONS.to_owned();
    aimed.body = route().to_string();
    assert_eq!(aimed.send(&system).status, 401);
    assert_eq!(system.sim.counters().starts, 0);
}
