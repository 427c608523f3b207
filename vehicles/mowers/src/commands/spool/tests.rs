use std::io::Write;

use uuid::Uuid;

use super::Spool;
use crate::commands::record::Record;
use crate::commands::{store, testkit};
use crate::contract::Command;
use crate::records::testkit::fresh;

fn stop(mower: u128) -> Record {
    testkit::record(
        Uuid::from_u128(mower),
        Command::EmergencyStop { reason: None },
    )
}

#[tokio::test]
async fn what_is_spooled_reaches_the_records_once() {
    let (folder, records) = fresh().await;
    let path = folder.path().join("spool.jsonl");
    let spool = Spool::open(&path).expect("a spool");
    let stops = [stop(1), stop(2)];
    spool.append(None, &stops).await.expect("an append");
    assert!(spool.holds(stops[0].envelope.command_id));
    // The process ends here; the next one finds the file.
    let spool = Spool::open(&path).expect("a spool");
    assert!(spool.holds(stops[1].envelope.command_id));
    assert_eq!(spool.replay(&records).await.expect("a replay").len(), 2);
    assert!(spool.is_empty());
    for stop in &stops {
        let found = store::find(&records, stop.envelope.command_id).await;
        assert_eq!(found.expect("a read").as_ref(), Some(stop));
    }
    assert_eq!(std::fs::metadata(&path).expect("the file").len(), 0);
    assert_eq!(spool.replay(&records).await.expect("nothing to do"), []);
}

#[tokio::test]
async fn a_stop_that_is_on_record_stays_as_it_is() {
    let (folder, records) = fresh().await;
    let spool = Spool::open(&folder.path().join("spool.jsonl")).expect("a spool");
    let stop = stop(1);
    spool
        .append(None, std::slice::from_ref(&stop))
        .await
        .expect("an append");
    let mut known = stop.clone();
    known.outcome.status = crate::contract::Status::Executed;
    let mut transaction = records.begin().await.expect("a transaction");
    store::insert(&mut transaction, std::slice::from_ref(&known))
        .await
        .expect("an insert");
    transaction.commit().await.expect("a commit");
    spool.replay(&records).await.expect("a replay");
    let found = store::find(&records, stop.envelope.command_id).await;
    assert_eq!(found.expect("a read"), Some(known));
}

#[tokio::test]
async fn a_torn_line_is_kept_aside_and_holds_nothing_up() {
    let (folder, records) = fresh().await;
    let path = folder.path().join("spool.jsonl");
    let spool = Spool::open(&path).expect("a spool");
    let stop = stop(1);
    spool
        .append(None, std::slice::from_ref(&stop))
        .await
        .expect("an append");
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("the file");
    file.write_all(b"{\"stop\":{\"enve").expect("half a line");
    let spool = Spool::open(&path).expect("a spool");
    spool
        .append(None, &[self::stop(2)])
        .await
        .expect("an append");
    assert_eq!(spool.replay(&records).await.expect("a replay").len(), 2);
    let aside = std::fs::read_to_string(folder.path().join("spool.unreadable"));
    assert_eq!(aside.expect("kept aside"), "{\"stop\":{\"enve\n");
    assert!(spool.is_empty());
}

#[tokio::test]
async fn records_that_are_down_keep_everything_waiting() {
    let (folder, records) = fresh().await;
    let spool = Spool::open(&folder.path().join("spool.jsonl")).expect("a spool");
    spool.append(None, &[stop(1)]).await.expect("an append");
    records.pool().close().await;
    assert!(spool.replay(&records).await.is_err());
    assert!(!spool.is_empty());
}

#[test]
fn a_place_that_cannot_be_written_is_said_at_the_start() {
    let error = Spool::open(std::path::Path::new("/nonexistent/spool")).expect_err("no folder");
    assert!(error.to_string().contains("/nonexistent/spool"), "{error}");
}
