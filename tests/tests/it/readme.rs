//! The README's tours work word for word.

use std::path::Path;

use interlock_tests::personas::{self, Persona};
use interlock_tests::system::{Plan, System};
use interlock_tests::{console, repository};
use serde_json::json;
use uuid::Uuid;

use crate::personas::stage::fleet::{FLEET, held};

/// Where the second tour begins.
const PEOPLE: &str = "## Five more";

/// The two tours of the README.
fn tours() -> (String, String) {
    let document = repository::text(Path::new("README.md")).expect("the README is text");
    let (first, second) = document.split_once(PEOPLE).expect("a second tour");
    (first.to_owned(), second.to_owned())
}

/// Runs a tour with these words of it replaced.
fn run(tour: &str, system: &System, folders: &[(&str, &str)]) {
    let steps = console::steps(tour);
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
    if let Err(report) = console::run(&steps, &repository::root(), &shown) {
        panic!("README.md, {report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_works_word_for_word() {
    let system = System::start(Plan::OPEN).await;
    run(&tours().0, &system, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_with_people_works_word_for_word() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    for name in ["Front lawn", "Orchard", "Courtyard"] {
        let mower = json!({
            "name": name, "vendor": "Interlock", "model": "Simulated luba",
            "serial": Uuid::new_v4().to_string(),
            "connection": { "kind": "simulated", "options": { "profile": "luba", "speed": 5 } },
        });
        let path = format!("{FLEET}/mowers");
        let answer = system.post(Persona::Manager, &path, &mower).await;
        held(&system, answer.expect(201).json()["id"].as_str().unwrap()).await;
    }
    let tokens = system.folder().join("tokens");
    personas::write_tokens(&system.idp, &tokens).expect("a folder of ours");
    let tokens = tokens.display().to_string();
    run(&tours().1, &system, &[("var/up/tokens", &tokens)]);
}
