//! The README's tour with people on the distributed system, with a replica of
//! the mower service killed on the way.

use interlock_tests::console::Step;

use super::pair::{PAIR, with_both};
use super::stand::{Spread, ends, records};
use crate::personas::stage::text;
use crate::readme;

/// The same gateway goes on word for word, and no start is lost or doubled.
#[tokio::test(flavor = "multi_thread")]
async fn the_tour_goes_on_when_a_replica_is_killed_on_the_way() {
    let mut spread = with_both(Spread::start(PAIR).await).await;
    let mut steps = readme::people();
    let accepted = |step: &Step| {
        step.expected
            .iter()
            .any(|it| it == "\"meaning\":\"queued\"")
    };
    let start = steps.iter().position(accepted).expect("a start");
    let kill = Step {
        line: steps[start].line,
        command: format!("kill -9 {}", spread.fleet().process.id()),
        expected: Vec::new(),
    };
    steps.insert(start + 1, kill);
    let mowers = readme::walk(&spread.system, &steps).await;

    assert!(spread.fleet().process.ended().is_some(), "it was killed");
    let mut starts = 0;
    for mower in mowers {
        for record in records(&spread.system, &mower).await {
            if record["kind"] == "start_mow" {
                let id = text(&record["command_id"]);
                ends(&spread.system, &id, "executed").await;
                assert_eq!(spread.arrivals(&id), 1, "{record}");
                starts += 1;
            }
        }
    }
    // The operator's, and the one that was planned.
    assert_eq!(starts, 2);
}
