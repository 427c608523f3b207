//! The fleet service in numbers.

use std::time::Duration;

use interlock_guard::ops::{Exposition, Kind};
use jiff::{SignedDuration, Timestamp};
use sqlx::Row as _;
use tokio::time::timeout;

use crate::commands::record::OVERDUE_AFTER;
use crate::records::{Records, RecordsError};
use crate::service::Fleet;

/// Records that take longer are said not to answer.
const WITHIN: Duration = Duration::from_millis(500);

/// Overdue commands are counted among those issued within this time.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(1);

/// Writes down how it goes now. What the records do not say in time is left out, and that they
/// do not is said.
pub(super) async fn write(fleet: &Fleet, exposition: &mut Exposition) {
    families(fleet, exposition);
    let counters = &fleet.control.counters;
    let counts = [
        (
            "interlock_mowers_stop_attempts_total",
            "Attempts to hand a stop on; several for one stop say that the bus is slow or gone",
            counters.stop_attempts.get(),
        ),
        (
            "interlock_mowers_stops_failed_total",
            "Stops that nobody had confirmed when they were answered",
            counters.stops_failed.get(),
        ),
        (
            "interlock_mowers_stops_unconfirmed_total",
            "Stops of all replicas whose life was over before anybody said that they were carried out",
            counters.stops_unconfirmed.get(),
        ),
        (
            "interlock_mowers_stops_spooled_total",
            "Stops that the records could not take at once",
            counters.stops_spooled.get(),
        ),
        (
            "interlock_mowers_stops_degraded_total",
            "Stops of many that were decided without the gateway",
            counters.stops_degraded.get(),
        ),
        (
            "interlock_mowers_stops_frequent_total",
            "Times that one issuer stopped more than 20 times within an hour; the log names it",
            counters.stops_frequent.get(),
        ),
        (
            "interlock_mowers_paced_unsent_total",
            "Commands of many whose turn came after their life",
            counters.paced_unsent.get(),
        ),
        (
            "interlock_mowers_rows_purged_total",
            "Rows that were purged because of their age",
            counters.purged.get(),
        ),
    ];
    for (name, help, value) in counts {
        exposition.counter(name, help, value);
    }
    let control = &fleet.control;
    let gauges = [
        (
            "interlock_mowers_bus_connected",
            "1 while the bus is connected",
            usize::from(fleet.bus.connected()),
        ),
        (
            "interlock_mowers_roster_loaded",
            "1 once it is known which mower is where",
            usize::from(fleet.roster.is_loaded()),
        ),
        (
            "interlock_mowers_registered",
            "Mowers on the roster",
            fleet.roster.all().len(),
        ),
        (
            "interlock_mowers_commands_paced",
            "Commands of many that wait for their turn",
            control.paced.len(),
        ),
        (
            "interlock_mowers_stops_waiting",
            "Stops in the spool, which the records do not have yet",
            control.spool.len(),
        ),
        (
            "interlock_mowers_drive_sessions",
            "Open drive sessions that this replica knows",
            fleet.drives.open_at(fleet.now()),
        ),
        (
            "interlock_mowers_previews_under_way",
            "Path previews under way",
            fleet.previews.under_way(),
        ),
    ];
    for (name, help, value) in gauges {
        exposition.gauge(name, help, u64::try_from(value).unwrap_or(u64::MAX));
    }
    kept(fleet, exposition).await;
}

/// What is counted by label.
fn families(fleet: &Fleet, exposition: &mut Exposition) {
    let counters = &fleet.control.counters;
    let help = "Commands, by kind and by what became of handing them on: queued, superseded by a \
                stop, refused (nobody has it), unconfirmed (somebody may have it)";
    let mut commands = exposition.family("interlock_mowers_commands_total", Kind::Counter, help);
    for (kind, outcome, count) in counters.commands.each() {
        commands.sample(&[("kind", kind), ("outcome", outcome)], count);
    }
    let help = "Results of device gateways that moved a record forward, by status";
    let mut results = exposition.family("interlock_mowers_results_total", Kind::Counter, help);
    for (status, count) in counters.results.each() {
        results.sample(&[("status", status)], count);
    }
    let help = "Results that changed nothing: same, conflicting (a second, different end), foreign \
                (from somebody who does not hold the mower), unknown, unreadable";
    let name = "interlock_mowers_results_ignored_total";
    let mut ignored = exposition.family(name, Kind::Counter, help);
    let whys = [
        ("same", &counters.results_same),
        ("conflicting", &counters.results_conflicting),
        ("foreign", &counters.results_foreign),
        ("unknown", &counters.results_unknown),
        ("unreadable", &counters.results_unreadable),
    ];
    for (why, count) in whys {
        ignored.sample(&[("why", why)], count.get());
    }
    let help = "Path previews: made, limited (too many), refused by the mower or its device \
                gateway, unanswered";
    let mut previews = exposition.family("interlock_mowers_previews_total", Kind::Counter, help);
    for (outcome, count) in counters.previews.each() {
        previews.sample(&[("outcome", outcome)], count);
    }
}

/// What only the records know.
async fn kept(fleet: &Fleet, exposition: &mut Exposition) {
    let counted = timeout(WITHIN, count(&fleet.records, fleet.now())).await;
    let counted = match counted {
        Ok(Ok(counted)) => Some(counted),
        Ok(Err(error)) => {
            tracing::debug!("the records are not counted: {error}");
            None
        }
        Err(_) => None,
    };
    exposition.gauge(
        "interlock_mowers_records_answer",
        "1 while the records answer in half a second; 0: the numbers below are missing",
        u64::from(counted.is_some()),
    );
    let Some((overdue, outbox)) = counted else {
        return;
    };
    exposition.gauge(
        "interlock_mowers_commands_overdue",
        "Commands of the last hour, of all replicas, that have said nothing 5 s after their life",
        overdue,
    );
    exposition.gauge(
        "interlock_mowers_outbox",
        "Events, of all replicas, that are committed and not yet on the bus",
        outbox,
    );
}

/// Overdue commands, and events that wait.
async fn count(records: &Records, now: Timestamp) -> Result<(u64, u64), RecordsError> {
    let before = |span| now.saturating_sub(span).unwrap_or(now).as_millisecond();
    let overdue = sqlx::query(
        "SELECT COUNT(*) AS counted FROM commands
         WHERE issued_ms >= $1 AND expires_ms < $2 AND rank < 2",
    )
    .bind(before(LOOK_BACK))
    .bind(before(OVERDUE_AFTER))
    .fetch_one(records.pool())
    .await?;
    let outbox = sqlx::query("SELECT COUNT(*) AS counted FROM outbox")
        .fetch_one(records.pool())
        .await?;
    let counted = |row: &sqlx::any::AnyRow| row.try_get::<i64, _>("counted");
    let unsigned = |count: i64| u64::try_from(count).unwrap_or_default();
    Ok((unsigned(counted(&overdue)?), unsigned(counted(&outbox)?)))
}
