//! What a mower, its site and its account say against a command that the
//! caller's rights would allow, and to whom they say it.

use interlock_gateway::problem::Kind;
use interlock_tests::http::Answer;
use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};

use super::seen::Seen;
use crate::personas::stage::fleet::{FLEET, area, mower};
use crate::personas::stage::text;

pub(super) const KINDS: &[Kind] = &[
    Kind::FeatureNotInPlan,
    Kind::AgentNeedsPlan,
    Kind::QuietHours,
    Kind::TtlTooLong,
    Kind::IdempotencyKeyRequired,
];

const EVERY_DAY: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

async fn command(system: &System, persona: Persona, mower: &str, command: Value) -> Answer {
    let path = format!("{FLEET}/mowers/{mower}/commands");
    let body = json!({ "command": command, "area_clear_confirmed": true });
    system.post(persona, &path, &body).await
}

/// A call that nothing but the caller's rights refuses or lets through.
async fn calms(system: &System, mower: &str) {
    for persona in [Persona::Operator, Persona::Agent] {
        for kind in ["pause_mow", "return_to_dock"] {
            let answer = command(system, persona, mower, json!({ "kind": kind })).await;
            answer.expect(202);
        }
    }
    let stop = format!("{FLEET}/mowers/{mower}/emergency-stop");
    let stop = system.call(Persona::Viewer, "POST", &stop).send().await;
    stop.expect(202);
}

#[tokio::test]
async fn of_mowers_are_seen() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    let mut seen = Seen::default();
    let start = async |persona: Persona, mower: &str, area: &str| {
        let start = json!({ "kind": "start_mow", "area_ids": [area] });
        command(&system, persona, mower, start).await
    };

    // An agent needs a plan; a viewer the right; a stranger learns nothing.
    let one = mower(&system).await;
    let lawn = area(&system, &one).await;
    seen.note(
        Kind::AgentNeedsPlan,
        "none",
        &start(Persona::Agent, &one, &lawn).await,
    );
    let resume = json!({ "kind": "resume_mow" });
    let refused = command(&system, Persona::Agent, &one, resume).await;
    seen.note(Kind::AgentNeedsPlan, "none", &refused);
    let check = async |mower: &str| {
        let refused = start(Persona::Viewer, mower, &lawn).await.expect(403);
        assert_eq!(refused.problem(), "forbidden", "{}", refused.text());
        start(Persona::Foreign, mower, &lawn).await.expect(404);
    };
    check(&one).await;
    calms(&system, &one).await;

    // What another request would mend: a life within bounds, a key.
    let path = format!("{FLEET}/mowers/{one}/commands");
    let long = json!({ "command": { "kind": "resume_mow" }, "ttl_seconds": 601 });
    let refused = system.post(Persona::Operator, &path, &long).await;
    seen.note(Kind::TtlTooLong, "none", &refused);
    let plans = format!("{FLEET}/mowers/{one}/mow-plans");
    let areas = json!({ "area_ids": [lawn] });
    let refused = system.post(Persona::Agent, &plans, &areas).await;
    seen.note(Kind::IdempotencyKeyRequired, "none", &refused);

    // Quiet hours, now and at any other time of any day.
    let quiet = [("00:00", "12:00"), ("12:00", "00:00")];
    let quiet = quiet.map(|(from, to)| json!({ "from": from, "to": to, "days": EVERY_DAY }));
    let body = json!({ "name": "Quiet", "time_zone": "Europe/Berlin", "quiet_hours": quiet });
    let sites = format!("{FLEET}/sites");
    let site = system.post(Persona::Manager, &sites, &body).await;
    let site = text(&site.expect(201).json()["id"]);
    let two = mower(&system).await;
    let place = format!("{FLEET}/mowers/{two}/placement");
    let to = json!({ "site_id": site });
    let placed = system.call(Persona::Manager, "PUT", &place).json(&to);
    placed.send().await.expect(200);
    let refused = start(Persona::Operator, &two, &lawn).await;
    seen.note(Kind::QuietHours, "none", &refused);
    let drive = format!("{FLEET}/mowers/{two}/drive-sessions");
    let refused = system.call(Persona::Driver, "POST", &drive).send().await;
    seen.note(Kind::QuietHours, "none", &refused);
    check(&two).await;
    calms(&system, &two).await;

    // A plan without commands.
    let three = mower(&system).await;
    let fleet = system.mowers.as_ref().expect("mowers");
    fleet.book(ACCOUNT, &[]);
    let refused = start(Persona::Operator, &three, &lawn).await;
    seen.note(Kind::FeatureNotInPlan, "none", &refused);
    for path in ["path-preview", "mow-plans"] {
        let path = format!("{FLEET}/mowers/{three}/{path}");
        let areas = json!({ "area_ids": [lawn] });
        let refused = system.post(Persona::Operator, &path, &areas).await;
        seen.note(Kind::FeatureNotInPlan, "none", &refused);
    }
    check(&three).await;
    calms(&system, &three).await;

    seen.all(KINDS);
    // Of all that was refused, nothing is on record.
    let listed = system
        .get(Persona::Viewer, &format!("{FLEET}/commands?limit=200"))
        .await;
    let listed = listed.expect(200).json();
    let items = listed["items"].as_array().unwrap();
    let calm = ["pause_mow", "return_to_dock", "emergency_stop"];
    assert!(
        items
            .iter()
            .all(|it| calm.iter().any(|kind| it["kind"] == *kind)),
        "{listed}"
    );
    assert_eq!(items.len(), 3 * 5, "{listed}");
}
