//! A refused command leaves nothing: no call to the service, no record, and no
//! message on the bus.

use interlock_tests::http::Answer;
use interlock_tests::personas::Persona;
use serde_json::{Value, json};

use super::stand::{Shape, Spread, ends, height, mower, records, start};
use crate::personas::stage::fleet::{FLEET, command_at};
use crate::personas::stage::text;

#[tokio::test]
async fn leave_nothing() {
    let shape = Shape {
        postgres: true,
        ..Shape::ONE
    };
    let spread = Spread::start(shape).await;
    let system = &spread.system;
    let mower = mower(system).await;
    let path = format!("{FLEET}/mowers/{}/commands", mower.id);
    let send = async |persona, body: Value| -> Answer {
        let call = system.call(persona, "POST", &path).key("refused");
        call.json(&body).send().await
    };
    let postgres = spread.postgres.as_ref().expect("a database");
    let count = || {
        let of = |table: &str| postgres.query(&format!("SELECT count(*) FROM {table}"));
        (of("commands"), of("operations"), of("bulks"))
    };
    system.fleet.listen();
    let before = count();
    let started = start(&mower, 60);
    let unknown = json!({ "command": { "kind": "explode" } });
    let table = [
        (Persona::Nobody, started.clone(), 401, "unauthenticated"),
        (Persona::Stranger, started.clone(), 404, "not-found"),
        (Persona::Foreign, started.clone(), 404, "not-found"),
        (Persona::Viewer, started.clone(), 403, "forbidden"),
        (Persona::Viewer, height(45), 403, "forbidden"),
        (Persona::Agent, started.clone(), 403, "agent-needs-plan"),
        (Persona::Operator, unknown, 400, "invalid-request"),
    ];
    for (persona, body, status, kind) in table {
        let answer = send(persona, body).await;
        let told = (answer.status, answer.problem());
        assert_eq!(told.0, status, "{persona:?}: {}", answer.text());
        assert!(told.1.starts_with(kind), "{persona:?}: {}", answer.text());
    }
    let heard = system.fleet.listen();
    let heard = String::from_utf8_lossy(&heard);
    assert!(!heard.contains(&path), "the service was asked: {heard}");
    assert_eq!(count(), before);

    // The service's own refusals get as far as the service, and no further.
    let beyond = send(Persona::Operator, height(9_999)).await;
    assert_eq!(beyond.expect(422).problem(), "invalid-request");
    assert_eq!(count().0, before.0);
    assert!(records(system, &mower.id).await.is_empty());
    assert_eq!(spread.nats.taken("COMMAND").await, 0);
    assert_eq!(spread.nats.taken("STOP").await, 0);
    assert_eq!(spread.nats.taken("RESULT").await, 0);

    // And the counters count.
    let told = command_at(system, &mower.id, &height(45)).await;
    ends(system, &text(&told["command_id"]), "executed").await;
    assert_eq!(spread.nats.taken("COMMAND").await, 1);
    assert_ne!(count().0, before.0);
}
