//! Every public row, called by every persona, in both modes, against a table
//! that people write and read.

mod duties;
mod hidden;
pub(crate) mod stage;
mod table;

use interlock_surface::{Class, ROWS, Row, ServedBy};
use interlock_tests::personas::Persona;
use interlock_tests::repository;
use interlock_tests::system::{Plan, System};

use table::Table;

const TABLE: &str = "tests/tests/it/golden/personas.txt";

/// The rows that callers can reach.
pub(crate) fn public() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
        .filter(|row| row.class != Class::Internal && row.served_by != ServedBy::Ops)
}

/// The part of the table about `mode`.
fn written(mode: &str) -> Table {
    let text = std::fs::read_to_string(repository::root().join(TABLE)).unwrap();
    let mut table = table::parse(&text).unwrap_or_else(|fault| panic!("{TABLE}: {fault}"));
    assert!(
        table
            .keys()
            .all(|(mode, ..)| ["enforced", "open"].contains(&mode.as_str())),
        "a mode that there is not"
    );
    table.retain(|(of, ..), _| of == mode);
    table
}

/// Makes every call of one mode and compares the statuses.
///
/// Those who may are asked last, and until then on one and the same object: it
/// was there and good while the others were refused, and none of them has
/// used it up.
async fn check(mode: &str, plan: Plan) {
    let expected = written(mode);
    let system = System::start(plan).await;
    let mut seen = Table::new();
    for row in public() {
        let cell = |persona: Persona| {
            (
                mode.to_owned(),
                row.name.to_owned(),
                persona.name().to_owned(),
            )
        };
        let may = |persona: &Persona| {
            expected
                .get(&cell(*persona))
                .is_some_and(|status| *status < 300)
        };
        let (those_who_may, others): (Vec<Persona>, Vec<Persona>) =
            Persona::ALL.into_iter().partition(may);
        assert!(
            !those_who_may.is_empty(),
            "{mode}: the table lets nobody do {}, so it says nothing about the others",
            row.name
        );
        let mut ask = stage::set(&system, row).await;
        for persona in others.into_iter().chain(those_who_may) {
            let answer = ask.by(&system, persona).send().await;
            seen.insert(cell(persona), answer.status);
            if answer.status < 300 && used_up(row) {
                ask = stage::set(&system, row).await;
            }
        }
    }
    let differences = table::differences(&expected, &seen);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Whether a call that went through leaves nothing to make it on again.
fn used_up(row: &Row) -> bool {
    match row.class {
        Class::Read | Class::PrivateRead => false,
        Class::Record | Class::Plan | Class::Approval | Class::GatedWrite => true,
        // A mower takes a command or a stop as often as it comes; it is driven
        // by one person, and a swarm flies one mission.
        Class::Write | Class::SafetyWrite | Class::Internal => {
            row.service == "drones"
                || row.path.contains("drive-sessions")
                || row.kind == Some("manual_drive")
        }
    }
}

#[tokio::test]
async fn every_row_answers_every_persona_as_written_in_enforced_mode() {
    check("enforced", Plan::ENFORCED.with_mowers()).await;
}

#[tokio::test]
async fn every_row_answers_every_persona_as_written_in_open_mode() {
    check("open", Plan::OPEN.with_mowers()).await;
}
