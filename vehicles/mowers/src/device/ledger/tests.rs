use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{Ledger, Settled, Stage, StopMark};
use crate::contract::{Command, Envelope, Status};
use crate::device::metrics::Metrics;
use crate::device::testkit::{envelope, noon, stop_now};

async fn open_at(folder: &Path, room: usize, now: Timestamp) -> Ledger {
    Ledger::open(folder, room, now, Arc::new(Metrics::default()))
        .await
        .unwrap()
}

async fn open(folder: &Path) -> Ledger {
    open_at(folder, 100, noon()).await
}

fn pause() -> Envelope {
    envelope(Uuid::nil(), Command::PauseMow {}, noon())
}

#[tokio::test]
async fn the_first_final_stays() {
    for first in [
        Status::Executed,
        Status::Rejected,
        Status::Expired,
        Status::Failed,
    ] {
        for second in [
            Status::Executed,
            Status::Rejected,
            Status::Expired,
            Status::Failed,
        ] {
            let folder = tempfile::tempdir().unwrap();
            let ledger = open(folder.path()).await;
            let command = pause();
            let id = command.command_id;
            assert_eq!(
                ledger.settle(id, first, None, noon()).await,
                Settled::Unknown
            );
            ledger.take(&command, noon()).await;
            assert_eq!(ledger.settle(id, first, None, noon()).await, Settled::First);
            let expected = if first == second {
                Settled::Same
            } else {
                Settled::Late
            };
            assert_eq!(ledger.settle(id, second, None, noon()).await, expected);
            assert_eq!(ledger.finished(id).unwrap().status, first);
        }
    }
}

/// What a restart finds of a command that came so far.
async fn check(acting: bool, settled: Option<Status>, expected: Option<Status>) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let command = pause();
    let id = command.command_id;
    ledger.take(&command, noon()).await;
    ledger.queued(id);
    if acting {
        ledger.acting(id).await.unwrap();
    }
    if let Some(status) = settled {
        ledger.settle(id, status, None, noon()).await;
    }
    drop(ledger);
    let ledger = open(folder.path()).await;
    assert_eq!(ledger.finished(id).map(|result| result.status), expected);
    let unpublished = ledger.unpublished();
    assert_eq!(unpublished.len(), usize::from(expected.is_some()));
    if acting && settled.is_none() {
        assert_eq!(ledger.stage(id), Some(Stage::Acting));
    }
}

#[tokio::test]
async fn a_restart_knows_what_was_decided_and_what_was_never_sent() {
    check(false, None, Some(Status::Failed)).await;
    check(true, None, None).await;
    check(true, Some(Status::Executed), Some(Status::Executed)).await;
    check(false, Some(Status::Expired), Some(Status::Expired)).await;
}

#[tokio::test]
async fn a_restart_does_not_call_a_stop_unsent() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let stop = envelope(Uuid::nil(), stop_now(), noon());
    ledger.take(&stop, noon()).await;
    drop(ledger);
    let ledger = open(folder.path()).await;
    assert_eq!(ledger.stage(stop.command_id), Some(Stage::Acting));
    assert!(ledger.is_stop(stop.command_id));
}

#[tokio::test]
async fn what_the_stream_has_is_not_published_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let command = pause();
    let id = command.command_id;
    ledger.take(&command, noon()).await;
    ledger.settle(id, Status::Rejected, None, noon()).await;
    assert_eq!(ledger.unpublished().len(), 1);
    ledger.published(id).await;
    assert!(ledger.unpublished().is_empty());
    drop(ledger);
    let ledger = open(folder.path()).await;
    assert!(ledger.unpublished().is_empty());
    ledger.send_again(id);
    assert_eq!(ledger.unpublished().len(), 1);
}

#[tokio::test]
async fn finals_are_remembered_for_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let command = pause();
    let id = command.command_id;
    ledger.take(&command, noon()).await;
    ledger.settle(id, Status::Rejected, None, noon()).await;
    let day = noon() + SignedDuration::from_hours(24);
    ledger.prune(day - SignedDuration::from_secs(1)).await;
    assert!(ledger.finished(id).is_some());
    drop(ledger);
    let later = day - SignedDuration::from_secs(1);
    let ledger = open_at(folder.path(), 100, later).await;
    assert!(ledger.finished(id).is_some());
    ledger.prune(day).await;
    assert!(ledger.finished(id).is_none());
}

#[tokio::test]
async fn the_memory_is_bounded_and_loses_the_oldest_published_finals() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open_at(folder.path(), 2, noon()).await;
    let commands = [0, 1, 2, 3].map(|second| {
        let at = noon() + SignedDuration::from_secs(second);
        (envelope(Uuid::nil(), Command::PauseMow {}, at), at)
    });
    for (command, at) in &commands {
        ledger.take(command, *at).await;
        let id = command.command_id;
        ledger.settle(id, Status::Rejected, None, *at).await;
    }
    ledger.prune(noon()).await;
    let kept = |ledger: &Ledger| {
        let ids = commands.iter().map(|(command, _)| command.command_id);
        ids.map(|id| ledger.finished(id).is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&ledger), [true; 4], "none is published yet");
    for (command, _) in &commands {
        ledger.published(command.command_id).await;
    }
    ledger.prune(noon()).await;
    assert_eq!(kept(&ledger), [false, false, true, true]);
}

#[tokio::test]
async fn the_journal_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open_at(folder.path(), 10, noon()).await;
    for _ in 0..600 {
        let command = pause();
        ledger.take(&command, noon()).await;
        let id = command.command_id;
        ledger.settle(id, Status::Rejected, None, noon()).await;
        ledger.published(id).await;
    }
    ledger.prune(noon()).await;
    assert!(ledger.journal.lines() <= 30, "{}", ledger.journal.lines());
}

#[tokio::test]
async fn the_highest_calm_epoch_outlives_a_process_and_a_smaller_journal() {
    let folder = tempfile::tempdir().unwrap();
    let mower = Uuid::nil();
    let ledger = open_at(folder.path(), 10, noon()).await;
    assert_eq!(ledger.calm_epoch(mower), 0);
    for epoch in (1..=1_200).rev() {
        let line = ledger.calm(mower, epoch);
        ledger.write(vec![line], false).await;
    }
    assert_eq!(ledger.calm_epoch(mower), 1_200);
    drop(ledger);
    for _ in 0..2 {
        // Opening writes it anew where it has grown.
        let ledger = open_at(folder.path(), 10, noon()).await;
        assert_eq!(ledger.calm_epoch(mower), 1_200);
        assert_eq!(ledger.journal.lines(), 1);
    }
}

#[test]
fn a_stop_supersedes_what_was_issued_before_it() {
    let second = SignedDuration::from_secs(1);
    let mut mark = StopMark::default();
    assert!(!mark.supersedes(0, noon()));
    mark.raise(2, noon());
    for (epoch, issued_at, expected) in [
        (1, noon() + second, true),
        (2, noon(), true),
        (2, noon() - second, true),
        (2, noon() + second, false),
        (3, noon() + second, false),
    ] {
        assert_eq!(mark.supersedes(epoch, issued_at), expected);
    }
    // A stop that comes late changes nothing back.
    mark.raise(1, noon() - second);
    assert!(mark.supersedes(1, noon() + second));
    assert!(mark.supersedes(2, noon()));
}
