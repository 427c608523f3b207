//! The database is gone, in every way in which it can be: nothing that moves is
//! sent, and every stop is.

use interlock_tests::chaos::{Chaos, Line};
use interlock_tests::personas::Persona;
use interlock_tests::postgres::Postgres;
use interlock_tests::system::System;

use super::stand::{
    EMBEDDED, command, ends, find, latched, mower, records, refused, start, state, stop,
};
use crate::personas::stage::fleet::FLEET;
use crate::personas::stage::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    Killed,
    Hung,
    Reset,
}

/// F3.
async fn check(outage: Outage) {
    let mut postgres = Postgres::start();
    let line = Chaos::to(postgres.address());
    let url = postgres.url();
    let url = url.replace(&postgres.address().to_string(), &line.address().to_string());
    let system = System::start_fleet(
        EMBEDDED,
        |config| config,
        |mut config| {
            config.records = format!("kind = \"postgres\"\nurl = \"{url}\"");
            config
        },
    )
    .await;
    let mower = mower(&system).await;
    match outage {
        Outage::Killed => postgres.kill(),
        Outage::Hung => postgres.hang(),
        Outage::Reset => line.set(Line::Reset),
    }

    let started = command(&system, &mower.id, &start(&mower, 300)).await;
    refused(&started, 503, "records-unavailable", "none");
    let docked = state(&system, &mower.id).await;
    assert_eq!(docked["job"], serde_json::Value::Null, "{docked}");
    let stopped = stop(&system, &mower.id).await.expect(202).json();
    assert_eq!(stopped["recorded"], false, "{stopped}");
    latched(&system, &mower.id).await;
    let stopped = text(&stopped["command_id"]);
    let path = format!("{FLEET}/commands/{stopped}");
    let read = system.get(Persona::Viewer, &path).await;
    refused(&read, 503, "records-unavailable", "none");

    match outage {
        Outage::Killed => postgres.restart(),
        Outage::Hung => postgres.resume(),
        Outage::Reset => line.set(Line::Up),
    }
    let kept = ends(&system, &stopped, "executed").await;
    assert_eq!(kept["issued_by"]["display"], "vera", "{kept}");
    let kept = records(&system, &mower.id).await;
    assert_eq!(kept.len(), 1, "the start is on record: {kept:?}");
    // Once, and not again.
    assert!(find(&system, &stopped).await.is_some());
    let spooled = system.folder().join("stops.spool");
    interlock_tests::poll::until("the spool is empty", || {
        let spool = std::fs::read(&spooled).expect("the spool is there");
        spool.is_empty().then_some(())
    });
    let count = format!("SELECT count(*) FROM commands WHERE id = '{stopped}'");
    assert_eq!(postgres.query(&count), "1");
}

#[tokio::test]
async fn it_was_killed() {
    check(Outage::Killed).await;
}

#[tokio::test]
async fn it_hangs() {
    check(Outage::Hung).await;
}

#[tokio::test]
async fn connections_to_it_are_reset() {
    check(Outage::Reset).await;
}
