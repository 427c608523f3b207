//! The records of the mower service: filled before it starts, and counted.

use std::collections::BTreeMap;

use interlock_mowers::records::{Place, Records};
use sqlx::Row;
use uuid::Uuid;

use crate::personas::ACCOUNT;
use crate::poll;

/// A fleet as the records have it.
#[derive(Debug)]
pub(super) struct Fleet {
    records: Records,
    /// Of all mowers.
    pub(super) mowers: Vec<Uuid>,
    /// The group of the first ones.
    pub(super) group: Uuid,
}

/// What became of some commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    /// Commands by status.
    pub(super) by_status: BTreeMap<String, u64>,
    /// When the last mower had confirmed its own, in milliseconds since the
    /// epoch.
    pub(super) last_ms: i64,
}

impl Outcomes {
    pub(super) fn all(&self) -> u64 {
        self.by_status.values().sum()
    }

    pub(super) fn executed(&self) -> u64 {
        self.by_status.get("executed").copied().unwrap_or_default()
    }

    fn open(&self) -> u64 {
        let open = ["pending", "accepted"].map(|it| self.by_status.get(it));
        open.into_iter().flatten().sum()
    }
}

impl Fleet {
    /// Registers simulated mowers of one account in the records alone; the
    /// service makes them known to the gateway when it starts, as after a crash.
    /// The first `grouped` of them form a group.
    pub(super) async fn seed(place: &Place, mowers: u32, grouped: u32) -> Fleet {
        let records = Records::open(place).await.expect("records that open");
        let (site, group) = (Uuid::now_v7(), Uuid::now_v7());
        let mut change = records.begin().await.expect("a transaction");
        for statement in [
            sqlx::query(
                "INSERT INTO accounts (id, name, features, time_zone, hierarchy_rev, rev, created_ms)
                 VALUES ($1, $1, '[\"control\"]', 'UTC', 1, 1, 0)",
            )
            .bind(ACCOUNT),
            sqlx::query(
                "INSERT INTO sites (id, account_id, name, time_zone, quiet_hours, is_default, rev,
                 created_ms, changed_ms) VALUES ($1, $2, 'Default', 'UTC', '[]', 1, 1, 0, 0)",
            )
            .bind(site.to_string())
            .bind(ACCOUNT),
            sqlx::query(
                "INSERT INTO mower_groups (id, account_id, site_id, name, rev, created_ms,
                 changed_ms) VALUES ($1, $2, $3, 'bench', 1, 0, 0)",
            )
            .bind(group.to_string())
            .bind(ACCOUNT)
            .bind(site.to_string()),
        ] {
            statement.execute(&mut *change).await.expect("a row");
        }
        let ids: Vec<Uuid> = (0..mowers).map(|_| Uuid::now_v7()).collect();
        for (number, id) in (1_u32..).zip(&ids) {
            sqlx::query(
                "INSERT INTO mowers (id, account_id, site_id, name, vendor, model, serial,
                 connection_kind, connection_options, hierarchy_rev, created_ms, changed_ms)
                 VALUES ($1, $2, $3, $4, 'bench', 'luba', $4, 'simulated', '{}', 1, 0, 0)",
            )
            .bind(id.to_string())
            .bind(ACCOUNT)
            .bind(site.to_string())
            .bind(format!("bench-{number}"))
            .execute(&mut *change)
            .await
            .expect("a row");
            if number <= grouped {
                sqlx::query("INSERT INTO group_members (mower_id, group_id) VALUES ($1, $2)")
                    .bind(id.to_string())
                    .bind(group.to_string())
                    .execute(&mut *change)
                    .await
                    .expect("a row");
            }
        }
        change.commit().await.expect("a commit");
        Fleet {
            records,
            mowers: ids,
            group,
        }
    }

    /// What became of every command of a kind.
    pub(super) async fn of_kind(&self, kind: &str) -> Outcomes {
        let text = "SELECT status, COUNT(*) AS n, MAX(COALESCE(result_ms, 0)) AS last
                    FROM commands WHERE kind = $1 GROUP BY status";
        let rows = sqlx::query(text).bind(kind.to_owned());
        let rows = rows.fetch_all(self.records.pool()).await;
        let mut outcomes = Outcomes::default();
        for row in rows.expect("the records answer") {
            let count: i64 = row.get("n");
            outcomes
                .by_status
                .insert(row.get("status"), count.unsigned_abs());
            outcomes.last_ms = outcomes.last_ms.max(row.get("last"));
        }
        outcomes
    }

    /// Waits until at least `count` commands of a kind are on record and every
    /// one has ended; however many there are, some must end all the time.
    pub(super) async fn ended(&self, kind: &str, count: u64) -> Outcomes {
        let mut last = Outcomes::default();
        loop {
            let what = format!("{kind} goes on after {last:?}");
            last = poll::until_async(&what, async || {
                let now = self.of_kind(kind).await;
                (now != last || is_over(&now, count)).then_some(now)
            })
            .await;
            if is_over(&last, count) {
                return last;
            }
        }
    }
}

fn is_over(outcomes: &Outcomes, count: u64) -> bool {
    outcomes.all() >= count && outcomes.open() == 0
}
