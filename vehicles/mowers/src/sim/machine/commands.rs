//! Commands: the table of states says what happens, this does it.

use uuid::Uuid;

use crate::connection::Verdict;
use crate::contract::{Command, CommandKind, Drive, InactiveReason, StopSemantics};
use crate::sim::machine::manual::Framed;
use crate::sim::machine::states::{Ask, Reaction, State};
use crate::sim::machine::{Machine, Mode};

/// When a command is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Reply {
    /// At once.
    Now(Verdict),
    /// Executed, once the wheels stand.
    AtStandstill,
}

pub(super) fn executed() -> Reply {
    Reply::Now(Verdict::Executed(None))
}

pub(super) fn no_effect() -> Reply {
    Reply::Now(Verdict::Executed(Some("no-effect".to_owned())))
}

pub(super) fn rejected(code: &str) -> Reply {
    Reply::Now(Verdict::Rejected(code.to_owned()))
}

impl Machine {
    /// Obeys a command, or says why not. Stops are never refused.
    pub(in crate::sim) fn command(&mut self, id: Uuid, command: &Command) -> Reply {
        let kind = command.kind();
        if let Command::EmergencyStop { reason } = command {
            // SAFETY-STOP: before anything is asked.
            let reason = reason.as_deref().unwrap_or("emergency-stop");
            self.stop(reason);
            return Reply::AtStandstill;
        }
        if !self.profile.capabilities.kinds.contains(&kind) {
            return rejected("unsupported");
        }
        match command {
            Command::StartMow(start) => self.react(Ask::Start, |mower| mower.start(id, start)),
            Command::ResumeMow { expected_path_hash } => {
                let hash = expected_path_hash.as_deref();
                self.react(Ask::Resume, |mower| mower.resume(hash))
            }
            Command::PauseMow {} => {
                self.stay();
                self.react(Ask::Pause, Self::pause)
            }
            Command::ReturnToDock {} => {
                self.stay();
                self.react(Ask::Dock, Self::dock)
            }
            Command::SetBladeHeight { height_mm } => {
                self.react(Ask::Set, |mower| mower.set_height(*height_mm))
            }
            Command::SetSpeed { speed_mps } => {
                self.react(Ask::Set, |mower| mower.set_speed(*speed_mps))
            }
            Command::ManualDrive(frame) => match self.drive(frame) {
                Ok(()) => executed(),
                Err(code) => rejected(code),
            },
            Command::ResetEmergency { on_site_confirmed } => self.reset(*on_site_confirmed),
            Command::LeaveDock {} => self.leave_dock(),
            Command::RelocateDock {} => self.in_dock_only(executed),
            Command::SyncMap {} => executed(),
            Command::ResyncRtk {} => executed(),
            Command::RestartMower {} => self.restart_command(),
            Command::EmergencyStop { .. } => Reply::AtStandstill,
        }
    }

    fn react(&mut self, ask: Ask, act: impl FnOnce(&mut Self) -> Reply) -> Reply {
        match self.state().reaction(ask) {
            Reaction::NoEffect => no_effect(),
            Reaction::Reject(code) => rejected(code),
            Reaction::HomeIfAllowed
                if !self.fault.as_ref().is_some_and(|fault| fault.lets_home) =>
            {
                rejected("error")
            }
            Reaction::Begin
            | Reaction::Continue
            | Reaction::Hold
            | Reaction::Home
            | Reaction::HomeIfAllowed
            | Reaction::Set
            | Reaction::Follow => act(self),
        }
    }

    /// Does not go on by itself: who calms a mower that waits for its charge,
    /// a fix or the sun means it to stay, even where nothing else changes.
    fn stay(&mut self) {
        self.wait = None;
        self.interrupted = None;
        if let Some(homing) = &mut self.homing {
            homing.then = None;
        }
    }

    fn pause(&mut self) -> Reply {
        self.enter(Mode::Paused);
        Reply::AtStandstill
    }

    fn dock(&mut self) -> Reply {
        if self.profile.pause_before_dock && self.mode == Mode::Mowing {
            return rejected("pause-first");
        }
        self.fault = None;
        self.begin_returning(None, InactiveReason::None);
        executed()
    }

    fn set_height(&mut self, height_mm: u16) -> Reply {
        let (lowest, highest) = self.profile.capabilities.blade_height_mm;
        if !(lowest..=highest).contains(&height_mm) {
            return rejected("height-out-of-range");
        }
        self.blade.wanted_height_mm = height_mm;
        executed()
    }

    fn set_speed(&mut self, speed_mps: f64) -> Reply {
        let (lowest, highest) = self.profile.capabilities.speed_mps;
        if !(lowest..=highest).contains(&speed_mps) {
            return rejected("speed-out-of-range");
        }
        self.speed_mps = speed_mps;
        executed()
    }

    fn reset(&mut self, on_site: bool) -> Reply {
        if !on_site {
            return rejected("not-on-site");
        }
        if self.latch.is_none() {
            return no_effect();
        }
        if self.reset_emergency() {
            executed()
        } else {
            rejected("cause-present")
        }
    }

    fn leave_dock(&mut self) -> Reply {
        match self.state() {
            State::Docked => {
                // A job stays kept; leaving is not resuming.
                self.begin_undocking();
                self.stay_out = true;
                executed()
            }
            State::Low => rejected("low-battery"),
            State::Stopped => rejected("emergency-latched"),
            State::Paused => no_effect(),
            State::Error => rejected("error"),
            State::Updating => rejected("updating"),
            State::Undocking | State::Mowing | State::Returning | State::Driving => {
                rejected("job-running")
            }
        }
    }

    fn in_dock_only(&self, reply: fn() -> Reply) -> Reply {
        if self.mode == Mode::Docked {
            reply()
        } else {
            rejected("not-docked")
        }
    }

    fn restart_command(&mut self) -> Reply {
        if self.moving() {
            return rejected("job-running");
        }
        self.restart();
        executed()
    }

    /// Takes a frame of manual driving.
    ///
    /// # Errors
    /// The code of the refusal.
    pub(in crate::sim) fn drive(&mut self, frame: &Drive) -> Result<(), &'static str> {
        let kinds = &self.profile.capabilities.kinds;
        if !kinds.contains(&CommandKind::ManualDrive) {
            return Err("unsupported");
        }
        match self.state().reaction(Ask::Drive) {
            Reaction::Reject(code) => return Err(code),
            Reaction::Follow => {}
            _ => return Err("not-now"),
        }
        if self.outside_m(self.locator.seen(&self.body).at) > 0.0 {
            return Err("outside");
        }
        match self.manual.frame(frame, self.now_ms) {
            Framed::Taken => {}
            Framed::Occupied => return Err("occupied"),
            Framed::Stale => return Err("stale-frame"),
            Framed::TooSoon => return Err("too-soon"),
            Framed::Malformed => return Err("malformed"),
        }
        if self.mode != Mode::Driving {
            self.enter(Mode::Driving);
        }
        Ok(())
    }

    /// Nobody drives by this session any more.
    pub(in crate::sim) fn drive_over(&mut self, session: Uuid) {
        if self.manual.over(session) && self.mode == Mode::Driving {
            self.enter(Mode::Paused);
        }
    }

    /// The local stick takes over from any driver, or is let go.
    pub(in crate::sim) fn stick(&mut self, stick: Option<(f64, f64)>) {
        self.manual.stick = stick.filter(|(a, b)| a.is_finite() && b.is_finite());
        if self.manual.stick.is_some() {
            self.manual.end();
            if self.latch.is_none() && (self.moving() || self.mode == Mode::Paused) {
                self.enter(Mode::Driving);
            }
        }
    }

    /// Takes a lease number; false when a higher one was seen.
    pub(in crate::sim) fn holds(&mut self, fence: u64) -> bool {
        let holds = fence >= self.fence;
        self.fence = self.fence.max(fence);
        holds
    }

    /// Whether an emergency stop latches on this mower.
    pub(in crate::sim) fn latches(&self) -> bool {
        self.profile.capabilities.stop_semantics != StopSemantics::Pause
    }
}
