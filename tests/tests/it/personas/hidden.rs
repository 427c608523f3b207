//! What a caller may not see looks, to the last byte, like what never existed.

use interlock_surface::{Class, ResourceFrom};
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use interlock_tests::wire::{Raw, Wire};
use uuid::Uuid;

use super::public;
use super::stage::{self, Ask};

/// An id that no object has.
const NEVER: &str = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000";

/// The answer on a connection of its own, byte by byte but for the time.
fn raw(system: &System, ask: &Ask, method: &str, persona: Persona) -> Raw {
    let address = system.gateway().address();
    let body = ask.body.as_ref().map_or(String::new(), ToString::to_string);
    let mut head = format!("{method} {} HTTP/1.1\r\nHost: {address}\r\n", ask.path);
    if let Some(token) = persona.token(&system.idp) {
        head += &format!("Authorization: Bearer {token}\r\n");
    }
    if !matches!(ask.row.class, Class::Read | Class::PrivateRead) {
        head += &format!("Idempotency-Key: {}\r\n", Uuid::new_v4());
    }
    if !body.is_empty() {
        head += &format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
    }
    let mut wire = Wire::connect(address);
    wire.send(format!("{head}\r\n{body}"));
    let mut raw = wire.answer_to(method).expect("an answer");
    for (name, value) in &mut raw.headers {
        if name == "date" {
            "now".clone_into(value);
        }
    }
    raw
}

fn elsewhere(ask: &Ask) -> Option<Ask> {
    let at = ask
        .row
        .path
        .split('/')
        .position(|part| part.starts_with('{'))?;
    let mut parts: Vec<&str> = ask.path.split('/').collect();
    *parts.get_mut(at)? = NEVER;
    let path = parts.join("/");
    Some(Ask {
        path,
        ..ask.clone()
    })
}

#[tokio::test]
async fn a_hidden_object_is_answered_like_one_that_never_was() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    let nowhere = Ask {
        row: public().next().unwrap(),
        path: "/api/no-such-thing".to_owned(),
        body: None,
    };
    let never = raw(&system, &nowhere, "GET", Persona::Viewer);
    assert_eq!(never.status, 404);
    assert!(
        never.text().contains("urn:interlock:problem:not-found"),
        "{}",
        never.text()
    );
    let mut hidden = 0;
    for row in public().filter(|row| {
        // Of their own account everybody may ask; the service omits.
        !row.public && row.resource_from != ResourceFrom::Account
    }) {
        let ask = stage::set(&system, row).await;
        let method = row.method.as_str();
        for persona in [Persona::Stranger, Persona::Foreign] {
            let who = format!("{method} {} by {}", ask.path, persona.name());
            assert_eq!(raw(&system, &ask, method, persona), never, "{who}");
            hidden += 1;
            let Some(missing) = elsewhere(&ask) else {
                continue;
            };
            let what = format!("{method} {} by {}", missing.path, persona.name());
            assert_eq!(raw(&system, &missing, method, persona), never, "{what}");
        }
        // It was there: who may see it is not told so.
        let seen = raw(&system, &ask, method, Persona::Viewer);
        assert_ne!(seen.status, 404, "{method} {} by viewer", ask.path);
    }
    assert!(hidden >= 20, "{hidden} calls were compared");
}

/// Who may see everything that is there sees no plan that never was.
#[tokio::test]
async fn a_missing_plan_is_hidden_from_everybody() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    let (mut missing, mut hidden) = (Vec::new(), Vec::new());
    for row in public().filter(|row| row.path.contains("{plan}")) {
        let ask = stage::set(&system, row).await;
        hidden.push(raw(&system, &ask, row.method.as_str(), Persona::Foreign));
        let ask = elsewhere(&ask).unwrap();
        for persona in [
            Persona::Viewer,
            Persona::Operator,
            Persona::Approver,
            Persona::Agent,
        ] {
            missing.push(raw(&system, &ask, row.method.as_str(), persona));
        }
    }
    assert_eq!(missing.len(), 32);
    for answer in missing {
        assert_eq!(answer, hidden[0]);
    }
}
