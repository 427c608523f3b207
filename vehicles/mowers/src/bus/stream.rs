//! What each stream keeps, and for how long. One table; both buses obey it.

use std::time::Duration;

use super::pattern::Pattern;
use super::{BusError, Stream};

/// The largest message that a stream takes, in bytes.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// The largest request or answer, in bytes: a previewed path is up to 4 MiB.
pub const MAX_REQUEST: usize = 5 * 1024 * 1024;

/// The bounds of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The name on the bus.
    pub name: &'static str,
    /// What it covers.
    pub subjects: &'static [&'static str],
    /// Where it lies.
    pub storage: Storage,
    /// A message older than that is gone, whether somebody read it or not.
    pub max_age: Duration,
    /// So many messages of one subject; 0 is no bound.
    pub per_subject: u32,
    /// The bytes of all messages together.
    pub max_bytes: u32,
    /// An id that comes again within this time is not stored again.
    pub window: Duration,
    /// What happens when a bound is reached.
    pub discard: Discard,
    /// Whether redeliveries become rarer, up to [`LONGEST_WAIT`]. Only where
    /// messages live long enough for that.
    pub patient: bool,
}

/// Where a stream lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// On disk: it survives a restart of the server.
    File,
    /// In memory.
    Memory,
}

/// What happens when a bound is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// The new message is refused, and its publisher hears of it.
    New,
    /// The oldest message goes.
    Old,
}

/// The longest time between two deliveries of a patient stream.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

const MIB: u32 = 1024 * 1024;

/// As long as the longest life of a command: a stale one is physically gone,
/// and its id is known for as long as it lies there.
const COMMAND: Limits = Limits {
    name: "COMMAND",
    subjects: &["command.mower.*"],
    storage: Storage::File,
    max_age: Duration::from_secs(300),
    per_subject: 64,
    max_bytes: 64 * MIB,
    window: Duration::from_secs(300),
    discard: Discard::New,
    patient: false,
};

// SAFETY-STOP: the oldest goes, so that a new stop is never refused. As long as
// the longest life of a stop; the window outlives its repeats, and may not be
// longer (the server takes no such stream).
const STOP: Limits = Limits {
    name: "STOP",
    subjects: &["command.stop.mower.*"],
    storage: Storage::File,
    max_age: Duration::from_secs(60),
    per_subject: 8,
    max_bytes: 16 * MIB,
    window: Duration::from_secs(60),
    discard: Discard::Old,
    patient: false,
};

const RESULT: Limits = Limits {
    name: "RESULT",
    subjects: &["command.result.mower.*"],
    storage: Storage::File,
    max_age: Duration::from_secs(24 * 3600),
    per_subject: 0,
    max_bytes: 128 * MIB,
    window: Duration::from_secs(600),
    discard: Discard::Old,
    patient: true,
};

const EVENTS: Limits = Limits {
    name: "EVENTS",
    subjects: &["mower.*", "identity.account.created"],
    storage: Storage::File,
    max_age: Duration::from_secs(7 * 24 * 3600),
    per_subject: 0,
    max_bytes: 64 * MIB,
    window: Duration::from_secs(600),
    discard: Discard::Old,
    patient: true,
};

/// The shortest window there is: JetStream reads zero as two minutes.
const TELEMETRY: Limits = Limits {
    name: "TELEMETRY",
    subjects: &["telemetry.mower.*"],
    storage: Storage::Memory,
    max_age: Duration::from_secs(60),
    per_subject: 4,
    max_bytes: 64 * MIB,
    window: Duration::from_millis(100),
    discard: Discard::Old,
    patient: false,
};

impl Stream {
    /// Every stream.
    pub const ALL: [Stream; 5] = [
        Stream::Command,
        Stream::Stop,
        Stream::Result,
        Stream::Events,
        Stream::Telemetry,
    ];

    /// Its bounds.
    #[must_use]
    pub const fn limits(self) -> &'static Limits {
        match self {
            Stream::Command => &COMMAND,
            Stream::Stop => &STOP,
            Stream::Result => &RESULT,
            Stream::Events => &EVENTS,
            Stream::Telemetry => &TELEMETRY,
        }
    }

    /// Whether all that `pattern` covers belongs to it.
    #[must_use]
    pub fn covers(self, pattern: &Pattern) -> bool {
        self.patterns().any(|it| it.covers(pattern.as_str()))
    }

    /// Whether something that `pattern` covers belongs to it.
    #[must_use]
    pub fn meets(self, pattern: &Pattern) -> bool {
        self.patterns().any(|it| it.meets(pattern))
    }

    fn patterns(self) -> impl Iterator<Item = Pattern> {
        // A test parses the whole table; none is skipped here.
        let texts = self.limits().subjects.iter();
        texts.filter_map(|text| Pattern::parse(text).ok())
    }
}

/// Refuses a subject for plain requests that a stream covers: the stream's own
/// acknowledgment would come back as if it were the answer.
///
/// # Errors
/// [`BusError::Invalid`], naming the stream.
pub fn outside_streams(pattern: &Pattern) -> Result<(), BusError> {
    for stream in Stream::ALL {
        if stream.meets(pattern) {
            return Err(BusError::Invalid(format!(
                "`{}` is covered by the stream {}: its acknowledgment would pass for an answer",
                pattern.as_str(),
                stream.limits().name
            )));
        }
    }
    Ok(())
}
