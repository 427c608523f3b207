//! What happened so often, for whoever watches the service.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::contract::{CommandKind, Status};

/// Counts that only rise.
#[derive(Debug, Default)]
pub struct Counters {
    /// Commands, by what became of handing them on.
    pub commands: Commands,
    /// Results that moved a record forward.
    pub results: Results,
    /// Previews, by how they ended.
    pub previews: PreviewEnds,
    /// Results that said nothing new.
    pub results_same: Count,
    /// Results for commands nobody knows.
    pub results_unknown: Count,
    /// Results from somebody who does not hold the mower.
    pub results_foreign: Count,
    /// Second, different finals.
    pub results_conflicting: Count,
    /// Messages that cannot be read.
    pub results_unreadable: Count,
    /// Attempts to hand a stop on.
    pub stop_attempts: Count,
    /// Stops that nobody confirmed in time.
    pub stops_failed: Count,
    /// Stops whose life was over before anybody said that they were carried out.
    pub stops_unconfirmed: Count,
    /// Times that one issuer stopped often within an hour.
    pub stops_frequent: Count,
    /// Stops that went to the spool.
    pub stops_spooled: Count,
    /// Stops that were decided without the gateway.
    pub stops_degraded: Count,
    /// Paced commands that were not sent in their life.
    pub paced_unsent: Count,
    /// Rows that were purged.
    pub purged: Count,
}

/// One count.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn add(&self) {
        self.add_many(1);
    }

    /// So many more.
    pub fn add_many(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// So many.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What became of handing a command on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandedOn {
    /// The bus or a device gateway has it.
    Queued,
    /// The mower was stopped first; it was not sent.
    Superseded,
    /// Certainly nobody has it.
    Refused,
    /// Somebody may have it.
    Unconfirmed,
}

impl HandedOn {
    const ALL: [Self; 4] = [
        Self::Queued,
        Self::Superseded,
        Self::Refused,
        Self::Unconfirmed,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Superseded => "superseded",
            Self::Refused => "refused",
            Self::Unconfirmed => "unconfirmed",
        }
    }
}

/// Commands by kind and by what became of handing them on. Every count is there from the
/// beginning, so that counting takes no lock.
#[derive(Debug)]
pub struct Commands(BTreeMap<(&'static str, HandedOn), Count>);

impl Default for Commands {
    fn default() -> Self {
        let kinds = CommandKind::ALL.into_iter();
        let pairs = kinds.flat_map(|kind| HandedOn::ALL.map(|end| (kind.as_str(), end)));
        Self(pairs.map(|pair| (pair, Count::default())).collect())
    }
}

impl Commands {
    /// One more of this kind.
    pub fn add(&self, kind: CommandKind, end: HandedOn) {
        if let Some(count) = self.0.get(&(kind.as_str(), end)) {
            count.add();
        }
    }

    /// Kind, end and count of each.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let counts = self.0.iter();
        counts.map(|((kind, end), count)| (*kind, end.as_str(), count.get()))
    }
}

/// Results by status.
#[derive(Debug, Default)]
pub struct Results {
    accepted: Count,
    executed: Count,
    rejected: Count,
    expired: Count,
    failed: Count,
}

impl Results {
    /// One more with this status.
    pub fn add(&self, status: Status) {
        match status {
            // No result says so.
            Status::Pending => {}
            Status::Accepted => self.accepted.add(),
            Status::Executed => self.executed.add(),
            Status::Rejected => self.rejected.add(),
            Status::Expired => self.expired.add(),
            Status::Failed => self.failed.add(),
        }
    }

    /// Status and count of each.
    #[must_use]
    pub fn each(&self) -> [(&'static str, u64); 5] {
        [
            (Status::Accepted, &self.accepted),
            (Status::Executed, &self.executed),
            (Status::Rejected, &self.rejected),
            (Status::Expired, &self.expired),
            (Status::Failed, &self.failed),
        ]
        .map(|(status, count)| (status.as_str(), count.get()))
    }
}

/// Previews by how they ended.
#[derive(Debug, Default)]
pub struct PreviewEnds {
    /// There is a path.
    pub made: Count,
    /// There were too many at once, or in a minute.
    pub limited: Count,
    /// The mower's device gateway answered that there is none.
    pub refused: Count,
    /// Nobody answered in time, or nothing that can be read.
    pub unanswered: Count,
}

impl PreviewEnds {
    /// End and count of each.
    #[must_use]
    pub fn each(&self) -> [(&'static str, u64); 4] {
        [
            ("made", self.made.get()),
            ("limited", self.limited.get()),
            ("refused", self.refused.get()),
            ("unanswered", self.unanswered.get()),
        ]
    }
}
