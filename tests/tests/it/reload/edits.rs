//! Good edits.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use interlock_tests::personas::Persona;
use interlock_tests::poll;

use super::stage::Edited;

/// How often the bundle changes under load.
const EDITS: usize = 40;

#[tokio::test]
async fn an_edit_is_live_within_moments_and_so_is_the_way_back() {
    let edited = Edited::start(None).await;
    let first = edited.hash().await;
    assert!(edited.may_dispatch().await);
    poll::until("the decision is on record", || {
        (edited.recorded()? == first).then_some(())
    });

    for (allowed, what) in [(false, "forbid"), (true, "allow")] {
        let before = edited.hash().await;
        match allowed {
            false => edited.close(),
            true => edited.restore(),
        }
        let saved = Instant::now();
        poll::until_async(what, async || {
            (edited.may_dispatch().await == allowed).then_some(())
        })
        .await;
        println!(
            "{what}: live {} ms after it was saved",
            saved.elapsed().as_millis()
        );
        let hash = edited.hash().await;
        assert_ne!(hash, before, "{what}");
        assert_eq!(edited.policy().await["hash"], hash.as_str());
        poll::until("the decision is on record", || {
            (edited.recorded()? == hash).then_some(())
        });
    }
    assert_eq!(
        edited.hash().await,
        first,
        "the same files have the same hash"
    );
}

/// Calls in flight keep the bundle they began with, and none of them fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_edits_under_traffic_fail_no_request() {
    let edited = Edited::start(Some(50)).await;
    let (over, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let traffic = async || {
        while !over.load(Ordering::SeqCst) {
            let state = edited.system.get(Persona::Viewer, "/api/swarm/state").await;
            state.expect(200);
            assert!(edited.may_dispatch().await);
            asked.fetch_add(2, Ordering::SeqCst);
        }
    };
    let edit = async || {
        let guards = edited.file("guards/40-state.cedar");
        let text = fs::read_to_string(&guards).unwrap();
        let mut last = edited.hash().await;
        for number in 0..EDITS {
            fs::write(&guards, format!("{text}// edit {number}\n")).unwrap();
            last = poll::until_async("the next edit is in force", async || {
                let hash = edited.hash().await;
                (hash != last).then_some(hash)
            })
            .await;
        }
        over.store(true, Ordering::SeqCst);
    };
    tokio::join!(edit(), traffic(), traffic());
    let asked = asked.into_inner();
    assert!(asked > EDITS as u64, "only {asked} requests went by");
    let loaded = edited
        .system
        .gateway()
        .metric("interlock_policy_reloads_total")
        .await;
    assert_eq!(loaded, EDITS as f64);
}
