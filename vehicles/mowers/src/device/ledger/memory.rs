//! What a device gateway remembers, and how it follows from the journal's lines.

use std::collections::HashMap;

use jiff::Timestamp;
use uuid::Uuid;

use super::mark::StopMark;
use crate::contract::CommandResult;
use crate::device::journal::Line;

/// How far a command came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Taken; not in the mower's queue yet.
    Taken,
    /// In the queue.
    Queued,
    /// Sent, or about to be: it may have happened.
    Acting,
    /// Decided.
    Final(CommandResult),
}

/// A command that is remembered.
pub(super) struct Entry {
    pub(super) mower_id: Uuid,
    pub(super) account_id: String,
    pub(super) stop: bool,
    pub(super) at: Timestamp,
    pub(super) stage: Stage,
    /// The stream has the final.
    pub(super) published: bool,
    /// The final is on the disk, or cannot be: it may go out.
    pub(super) ready: bool,
}

/// All of them, and the last stop and the highest calm epoch of each mower.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) entries: HashMap<Uuid, Entry>,
    pub(super) marks: HashMap<Uuid, StopMark>,
    pub(super) calms: HashMap<Uuid, u64>,
}

impl Memory {
    /// Takes in a line of the journal, or what would be one.
    pub(super) fn take_in(&mut self, line: Line) {
        match line {
            Line::Taken {
                command_id,
                mower_id,
                account_id,
                stop,
                at,
            } => {
                self.entries.entry(command_id).or_insert(Entry {
                    mower_id,
                    account_id,
                    stop,
                    at,
                    stage: Stage::Taken,
                    published: false,
                    ready: false,
                });
            }
            Line::Acting { command_id } => {
                if let Some(entry) = self.entries.get_mut(&command_id)
                    && !matches!(entry.stage, Stage::Final(_))
                {
                    entry.stage = Stage::Acting;
                }
            }
            Line::Final { result } => {
                let entry = self.entries.entry(result.command_id).or_insert(Entry {
                    mower_id: result.mower_id,
                    account_id: result.account_id.clone(),
                    stop: false,
                    at: result.at,
                    stage: Stage::Taken,
                    published: false,
                    ready: false,
                });
                if !matches!(entry.stage, Stage::Final(_)) {
                    entry.stage = Stage::Final(result);
                    entry.ready = true;
                }
            }
            Line::Published { command_id } => {
                if let Some(entry) = self.entries.get_mut(&command_id) {
                    entry.published = true;
                }
            }
            Line::Stopped {
                mower_id,
                epoch,
                issued_at,
            } => self
                .marks
                .entry(mower_id)
                .or_default()
                .raise(epoch, issued_at),
            Line::Calmed { mower_id, epoch } => {
                let highest = self.calms.entry(mower_id).or_default();
                *highest = epoch.max(*highest);
            }
        }
    }

    /// Forgets what is not younger than `oldest`, and where there is no `room`
    /// the oldest that the stream has; how many of these.
    pub(super) fn forget(&mut self, oldest: Timestamp, room: usize) -> usize {
        self.entries.retain(|_, entry| entry.at > oldest);
        let surplus = self.entries.len().saturating_sub(room);
        if surplus == 0 {
            return 0;
        }
        let done = self.entries.iter();
        let done =
            done.filter(|(_, entry)| matches!(entry.stage, Stage::Final(_)) && entry.published);
        let mut done: Vec<(Timestamp, Uuid)> = done.map(|(id, entry)| (entry.at, *id)).collect();
        done.sort_unstable();
        done.truncate(surplus);
        for (_, id) in &done {
            self.entries.remove(id);
        }
        done.len()
    }

    /// The same memory as few lines.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (command_id, entry) in &self.entries {
            let command_id = *command_id;
            lines.push(Line::Taken {
                command_id,
                mower_id: entry.mower_id,
                account_id: entry.account_id.clone(),
                stop: entry.stop,
                at: entry.at,
            });
            match &entry.stage {
                Stage::Taken | Stage::Queued => {}
                Stage::Acting => lines.push(Line::Acting { command_id }),
                Stage::Final(result) => lines.push(Line::Final {
                    result: result.clone(),
                }),
            }
            if entry.published {
                lines.push(Line::Published { command_id });
            }
        }
        for (mower_id, mark) in &self.marks {
            lines.push(Line::Stopped {
                mower_id: *mower_id,
                epoch: mark.epoch,
                issued_at: mark.issued_at.unwrap_or(Timestamp::UNIX_EPOCH),
            });
        }
        let calms = self.calms.iter();
        lines.extend(calms.map(|(mower_id, epoch)| Line::Calmed {
            mower_id: *mower_id,
            epoch: *epoch,
        }));
        lines
    }
}
