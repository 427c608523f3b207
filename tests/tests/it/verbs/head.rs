//! HEAD is GET without a body (RFC 9110 section 9.3.2).

use interlock_surface::Method;
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use interlock_tests::wire::Raw;

use super::{ID, Place, places};
use crate::personas::{public, stage};

/// What both verbs must answer alike: the status and every header, but the
/// time, and but the values of `varies`.
fn head_of(answer: &Raw, varies: &[&str]) -> (u16, Vec<(String, String)>) {
    let mut headers = answer.headers.clone();
    for (name, value) in &mut headers {
        if name == "date" || varies.contains(&name.as_str()) {
            value.clear();
        }
    }
    headers.sort();
    (answer.status, headers)
}

fn check(place: &Place, path: &str, token: Option<&str>, varies: &[&str]) {
    let what = format!("{}: {path}", place.name);
    let get = place.ask("GET", path, token);
    let head = place.ask("HEAD", path, token);
    assert_eq!(head_of(&head, varies), head_of(&get, varies), "{what}");
    assert!(!get.body.is_empty(), "{what}");
    assert!(head.body.is_empty(), "{what}");
}

#[tokio::test]
async fn head_answers_as_get_without_a_body() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    let [public_place, ops, ..] = places(&system);
    for row in public().filter(|row| row.method == Method::Get) {
        let path = stage::set(&system, row).await.path;
        // Ages in these bodies, and what became of a command, change their length
        // from call to call.
        let living = [
            "gateway.health",
            "drones.swarm.state",
            "mowers.mower.state",
            "mowers.command.list",
            "mowers.command.get",
            "mowers.bulk.get",
        ]
        .contains(&row.name);
        let varies: &[&str] = if living { &["content-length"] } else { &[] };
        for persona in [Persona::Nobody, Persona::Foreign, Persona::Viewer] {
            let token = persona.token(&system.idp);
            check(&public_place, &path, token.as_deref(), varies);
        }
    }
    check(&ops, "/livez", None, &[]);
    check(&ops, "/policy", None, &[]);
    // A problem has a head too.
    check(&ops, "/nowhere", None, &[]);
    check(&public_place, &format!("/api/missions/{ID}"), None, &[]);
}

/// A client that keeps its connection finds the next answer where it looks.
#[tokio::test]
async fn nothing_follows_the_head() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    for place in &places(&system)[..2] {
        let mut wire = interlock_tests::wire::Wire::connect(place.address);
        for verb in ["HEAD", "GET", "HEAD"] {
            wire.send(format!(
                "{verb} /nowhere HTTP/1.1\r\nHost: {}\r\n\r\n",
                place.address
            ));
            let answer = wire.answer_to(verb).expect("an answer");
            assert_eq!(answer.status, 404, "{verb} at {}", place.name);
            assert_eq!(
                answer.body.is_empty(),
                verb == "HEAD",
                "{verb} at {}",
                place.name
            );
        }
    }
}
