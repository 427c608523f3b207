//! One call while something is broken, held against what its cell promises.

use interlock_surface::{
    Answer as Promised, Case, Cell, Class, CodeFate, Idempotency, KeyFate, Method, Relation, Row,
    ServedBy,
};
use interlock_tests::http::{Answer, Call};
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use uuid::Uuid;

use super::trouble::{Stage, Trouble};
use crate::outage::flies;
use crate::personas::stage::fleet::FLEET;
use crate::personas::stage::{self, Ask};

/// Whether a call of this row goes on to a service.
pub(super) fn asks(row: &Row) -> bool {
    row.served_by == ServedBy::Service || row.preview.is_some() || row.becomes.is_some()
}

/// Who may.
fn persona(row: &Row) -> Persona {
    match row.relation {
        Relation::View => Persona::Viewer,
        Relation::Control => Persona::Operator,
        Relation::Drive => Persona::Driver,
        Relation::Bulk => Persona::Dispatcher,
        Relation::Manage => Persona::Manager,
        Relation::Approve => Persona::Approver,
    }
}

/// The same call, as often as it is made.
struct Repeated<'a> {
    stage: &'a Stage,
    ask: &'a Ask,
    key: Option<String>,
}

impl Repeated<'_> {
    async fn send(&self) -> Answer {
        let call = self.bare();
        let call = match &self.key {
            Some(key) => call.key(key),
            None => call,
        };
        call.send().await
    }

    /// Without its key.
    fn bare(&self) -> Call {
        let row = self.ask.row;
        let system = &self.stage.system;
        let call = system.call(persona(row), row.method.as_str(), &self.ask.path);
        match &self.ask.body {
            Some(body) => call.json(body),
            None => call,
        }
    }
}

/// Calls `row` while `trouble` lasts, mends it, and looks for everything that
/// `cell` promises: the answer, what was sent, what became of key and code,
/// and how what was in doubt was settled.
pub(super) async fn hold(stage: &Stage, trouble: Trouble, row: &'static Row, cell: &'static Cell) {
    let what = format!("{} in `{}` ({trouble:?})", row.name, cell.id);
    let ask = stage::set(&stage.system, row).await;
    if row.path.ends_with("/abort") {
        flies(&stage.system).await;
    }
    let read = matches!(row.class, Class::Read | Class::PrivateRead);
    let takes_key = row.idempotency != Idempotency::Never;
    if !takes_key && cell.case == Case::Keyed {
        return;
    }
    let keyed = !read && takes_key && cell.case != Case::Unkeyed;
    let call = Repeated {
        stage,
        ask: &ask,
        key: keyed.then(|| Uuid::new_v4().to_string()),
    };
    let lost = dropped(stage).await;
    let starts = started(stage, row).await;
    trouble.begin(stage).await;

    let service = stage.service(row);
    let heard = service.heard();
    let answer = call.send().await;
    answered(&what, row, cell, &answer);
    let sent = service.heard() > heard;
    assert_eq!(sent, cell.expectation.sent && asks(row), "{what}: sent");
    if keyed && cell.expectation.key == Some(KeyFate::Unknown) {
        let again = call.send().await;
        // What was deleted may be gone already, and the decision comes first.
        let gone = row.method == Method::Delete && again.status == 404;
        if !gone {
            assert_eq!(again.status, 409, "{what}: {}", again.text());
            assert_eq!(again.problem(), "outcome-unknown", "{what}");
            assert_eq!(again.json()["effect"], "maybe", "{what}");
        }
    }
    if cell.expectation.code == Some(CodeFate::Spent) {
        spent(&what, &call).await;
    }
    if trouble == Trouble::Records && read {
        // Its record is lost, and that is counted.
        let what = format!("{what}: the lost record is counted");
        poll::until_async(&what, async || (dropped(stage).await > lost).then_some(())).await;
    }

    trouble.end(stage).await;
    // A frame that was sent is not sent again: its number is used.
    let done = trouble == Trouble::Lost && row.kind == Some("manual_drive");
    if cell.expectation.settled && keyed {
        settled(&what, trouble, starts, &call).await;
    } else if cell.expectation.answer == Promised::Refuse && !done {
        // Nothing is left behind: the same call, key and code included, runs.
        let again = call.send().await;
        assert_eq!(
            again.status,
            row.success,
            "{what}, mended: {}",
            again.text()
        );
        assert_eq!(again.header("idempotency-replayed"), None, "{what}, mended");
    }
}

fn answered(what: &str, row: &Row, cell: &Cell, answer: &Answer) {
    let text = answer.text();
    let promised = &cell.expectation;
    if promised.answer == Promised::Serve {
        return assert_eq!(answer.status, row.success, "{what}: {text}");
    }
    assert_eq!(Some(answer.status), promised.status, "{what}: {text}");
    assert!(!answer.problem().is_empty(), "{what} is no problem: {text}");
    let effect = promised.effect.map(|effect| effect.as_str());
    assert_eq!(answer.json()["effect"].as_str(), effect, "{what}: {text}");
    if row.class == Class::SafetyWrite && answer.status == 504 {
        assert_eq!(answer.problem(), "may-not-have-stopped", "{what}");
    }
}

/// The code flies nothing any more, under no key at all.
async fn spent(what: &str, call: &Repeated<'_>) {
    let again = call.bare().send().await;
    assert_eq!(again.status, 409, "{what}: {}", again.text());
    assert_eq!(again.problem(), "plan-state", "{what}");
}

/// What was in doubt comes to its end without anybody asking for it, and is
/// told from then on. What was never carried out may be asked for again, an
/// approved plan under its code too: in the end it is carried out once.
async fn settled(what: &str, trouble: Trouble, starts: u64, call: &Repeated<'_>) {
    let done = trouble == Trouble::Lost;
    if call.ask.row.class == Class::GatedWrite {
        let plan = call.ask.path.trim_end_matches("/dispatch");
        let system = &call.stage.system;
        let end = poll::until_async(&format!("{what}: the plan is settled"), async || {
            let plan = system.get(Persona::Viewer, plan).await.expect(200).json();
            let status = plan["status"].as_str().unwrap().to_owned();
            (status != "Unknown" && status != "Dispatching").then_some(status)
        })
        .await;
        assert_eq!(end, if done { "Dispatched" } else { "Approved" }, "{what}");
    }
    let ended = poll::until_async(&format!("{what}: the key is settled"), async || {
        let again = call.send().await;
        (again.problem() != "outcome-unknown").then_some(again)
    })
    .await;
    // What was deleted is gone, and the decision comes before the key.
    if done && call.ask.row.method == Method::Delete && ended.status == 404 {
        return;
    }
    let text = ended.text();
    let replayed = ended.header("idempotency-replayed").is_some();
    assert_eq!(replayed, done, "{what}: {text}");
    assert_eq!(ended.status, call.ask.row.success, "{what}: {text}");
    let row = call.ask.row;
    let starts = started(call.stage, row).await - starts;
    let once = match (row.class, row.relation) {
        // What is stored and a session are no commands, and a mower that has
        // nothing to do is passed over.
        (Class::Record, _) | (_, Relation::Drive) => starts == 0,
        (_, Relation::Bulk) => starts <= 1,
        _ => starts == 1,
    };
    assert!(once, "{what}: {starts} starts");
    if call.ask.row.class == Class::GatedWrite {
        spent(what, call).await;
    }
}

/// How often the vehicles of the row's service were told to do something: each
/// object here is a fresh one, and an account's commands are all of its rows'.
async fn started(stage: &Stage, row: &Row) -> u64 {
    if row.service != "mowers" {
        return stage.system.sim.counters().starts;
    }
    let mut count = 0;
    let mut path = format!("{FLEET}/commands?limit=200");
    loop {
        let page = stage
            .system
            .get(Persona::Viewer, &path)
            .await
            .expect(200)
            .json();
        count += page["items"].as_array().map_or(0, Vec::len) as u64;
        match page["next"].as_str() {
            None => return count,
            Some(next) => path = format!("{FLEET}/commands?limit=200&after={next}"),
        }
    }
}

/// Records that were given up.
async fn dropped(stage: &Stage) -> f64 {
    let series = "interlock_audit_records_total{fate=\"dropped\"}";
    stage.system.gateway().metric(series).await
}
