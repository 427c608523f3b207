//! The tours of the documents work word for word.

use std::path::Path;

use interlock_tests::console::Step;
use interlock_tests::personas::{self, Persona};
use interlock_tests::system::{Plan, System};
use interlock_tests::{console, poll, repository};
use serde_json::json;
use uuid::Uuid;

use crate::personas::stage::fleet::{FLEET, held};
use crate::personas::stage::text;

/// Where the second tour begins.
const PEOPLE: &str = "## Five more";

/// The two tours of the README.
fn tours() -> (String, String) {
    let document = repository::text(Path::new("README.md")).expect("the README is text");
    let (first, second) = document.split_once(PEOPLE).expect("a second tour");
    (first.to_owned(), second.to_owned())
}

/// The steps of the tour with people.
pub(crate) fn people() -> Vec<Step> {
    console::steps(&tours().1)
}

/// Registers the mowers of the tour with people and takes its steps. Gives the
/// ids of the mowers.
pub(crate) async fn walk(system: &System, steps: &[Step]) -> Vec<String> {
    let mut mowers = Vec::new();
    for name in ["Front lawn", "Orchard", "Courtyard"] {
        let mower = json!({
            "name": name, "vendor": "Interlock", "model": "Simulated luba",
            "serial": Uuid::new_v4().to_string(),
            "connection": { "kind": "simulated", "options": { "profile": "luba", "speed": 5 } },
        });
        let path = format!("{FLEET}/mowers");
        let answer = poll::until_async("the account is known", async || {
            let answer = system.post(Persona::Manager, &path, &mower).await;
            (answer.status != 404).then_some(answer)
        })
        .await;
        let id = text(&answer.expect(201).json()["id"]);
        held(system, &id).await;
        mowers.push(id);
    }
    let tokens = system.folder().join("tokens");
    personas::write_tokens(&system.idp, &tokens).expect("a folder of ours");
    let tokens = tokens.display().to_string();
    run(steps, system, &[("var/up/tokens", &tokens)]);
    mowers
}

/// Takes the steps of a tour with these words of it replaced.
fn run(steps: &[Step], system: &System, folders: &[(&str, &str)]) {
    assert!(steps.len() > 5, "the tour has {} steps", steps.len());
    let gateway = system.gateway();
    let addresses = [
        ("127.0.0.1:8080", gateway.address().to_string()),
        ("127.0.0.1:8081", gateway.ops_address().to_string()),
    ];
    let shown = addresses
        .each_ref()
        .map(|(shown, here)| (*shown, here.as_str()));
    let shown: Vec<_> = shown.into_iter().chain(folders.iter().copied()).collect();
    if let Err(report) = console::run(steps, &repository::root(), &shown) {
        panic!("{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_works_word_for_word() {
    let system = System::start(Plan::OPEN).await;
    run(&console::steps(&tours().0), &system, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_with_people_works_word_for_word() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    walk(&system, &people()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_of_a_fleet_works_word_for_word() {
    let document = repository::text(Path::new("docs/FLEET-TOUR.md")).expect("it is text");
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    walk(&system, &console::steps(&document)).await;
}
