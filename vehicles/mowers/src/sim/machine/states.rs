//! What a mower does when it is asked something, in each of its states: a table.

/// The states a command can meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum State {
    /// In the dock with 20 % or more.
    Docked,
    /// In the dock with less than 20 %.
    Low,
    /// Backing out of the dock.
    Undocking,
    /// On the path of its job.
    Mowing,
    /// Standing in the garden.
    Paused,
    /// On its way home.
    Returning,
    /// Driven by hand.
    Driving,
    /// An emergency is latched.
    Stopped,
    /// In a fault.
    Error,
    /// Installing software in the dock.
    Updating,
}

/// The questions. A stop is none: it is carried out in every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Ask {
    Start,
    Resume,
    Pause,
    Dock,
    Set,
    Drive,
}

/// The answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Reaction {
    /// Drop the old job and begin a new one.
    Begin,
    /// Go on with the kept job; without one, `no-job`.
    Continue,
    /// Stand still.
    Hold,
    /// Drive home.
    Home,
    /// Drive home if the fault allows it; else `error`.
    HomeIfAllowed,
    /// Take the setting.
    Set,
    /// Follow the frame if its session holds the mower.
    Follow,
    /// There already.
    NoEffect,
    /// Not in this state: the code says why.
    Reject(&'static str),
}

impl State {
    /// The row of the table: start, resume, pause, dock, set, drive.
    /// A start and a resume are two things: one never turns into the other.
    const fn row(self) -> [Reaction; 6] {
        use Reaction::{Begin, Continue, Follow, Hold, Home, HomeIfAllowed, NoEffect, Reject, Set};
        const fn no(code: &'static str) -> Reaction {
            Reject(code)
        }
        match self {
            Self::Docked => [Begin, Continue, NoEffect, NoEffect, Set, no("docked")],
            Self::Low => {
                let low = no("low-battery");
                [low, low, NoEffect, NoEffect, Set, no("docked")]
            }
            Self::Undocking => {
                let busy = no("job-running");
                [busy, NoEffect, Hold, Home, Set, busy]
            }
            Self::Mowing => {
                let busy = no("job-running");
                [busy, NoEffect, Hold, Home, Set, busy]
            }
            Self::Paused => [Begin, Continue, NoEffect, Home, Set, Follow],
            Self::Returning => [Begin, Continue, Hold, NoEffect, Set, no("returning")],
            Self::Driving => {
                let driving = no("driving");
                [driving, driving, Hold, Home, Set, Follow]
            }
            Self::Stopped => {
                let latched = no("emergency-latched");
                [latched, latched, NoEffect, latched, Set, latched]
            }
            Self::Error => {
                let error = no("error");
                [error, error, NoEffect, HomeIfAllowed, Set, error]
            }
            Self::Updating => {
                let updating = no("updating");
                [updating, updating, NoEffect, NoEffect, updating, updating]
            }
        }
    }

    /// What a mower in this state does when asked.
    pub(in crate::sim) const fn reaction(self, ask: Ask) -> Reaction {
        let [start, resume, pause, dock, set, drive] = self.row();
        match ask {
            Ask::Start => start,
            Ask::Resume => resume,
            Ask::Pause => pause,
            Ask::Dock => dock,
            Ask::Set => set,
            Ask::Drive => drive,
        }
    }
}
