//! The records of a command to many.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::answer::Item;
use super::areas::Areas;
use super::kept::Head;
use super::places::Place;
use super::{Bulk, Candidate, Plan, Written, skip};
use crate::commands::paced::Waiting;
use crate::commands::record::{Decided, Outcome, Record};
use crate::commands::unsent::NO_AREA;
use crate::commands::{life, room};
use crate::contract::{Command, Envelope, Priority, Status};
use crate::hierarchy::roster::Member;
use crate::service::Fleet;

/// What the transaction found.
pub(super) struct Found {
    /// Where the candidates stand.
    pub(super) places: HashMap<Uuid, Place>,
    /// Their new calm epochs, where the command calms.
    pub(super) calmed: HashMap<Uuid, u64>,
    /// Those that have no room for another command that does not calm.
    pub(super) full: HashSet<Uuid>,
}

impl Found {
    /// Of candidates that stand here, before more is known.
    pub(super) fn at(places: HashMap<Uuid, Place>) -> Self {
        Self {
            places,
            calmed: HashMap::new(),
            full: HashSet::new(),
        }
    }

    /// How often each was calmed before.
    pub(super) fn calm_epochs(&self) -> Vec<(Uuid, u64)> {
        let places = self.places.iter();
        places.map(|(id, it)| (*id, it.calm_epoch)).collect()
    }
}

/// What is the same for all.
struct Common {
    bulk_id: Uuid,
    correlation_id: Uuid,
    now: Timestamp,
}

impl Bulk {
    /// The records of those that may still be commanded, and a word on each other.
    pub(super) fn compose(
        &self,
        fleet: &Fleet,
        (bulk_id, account_id): (Uuid, String),
        plan: Plan,
        found: &Found,
        now: Timestamp,
    ) -> Written {
        let kind = self.request.command.kind();
        let life = fleet.settings.lives().of(kind, self.request.ttl_seconds);
        let common = Common {
            bulk_id,
            correlation_id: self.request.correlation_id.unwrap_or_else(Uuid::now_v7),
            now,
        };
        let mut items = plan.items;
        let mut records = Vec::with_capacity(plan.candidates.len());
        let mut refused = Vec::new();
        for candidate in plan.candidates {
            let mower = candidate.member.mower_id;
            // Deleted a moment ago: there is nothing to command.
            let Some(place) = found.places.get(&mower) else {
                continue;
            };
            fleet.control.epochs.learn(mower, place.stop_epoch);
            if let Some(reason) = self.outdated(fleet, &candidate, place) {
                items.push(Item::failed(mower, None, reason));
                continue;
            }
            if found.full.contains(&mower) {
                items.push(Item::failed(mower, None, room::FULL));
                continue;
            }
            let make = |command, turn| {
                let expires_at = life::after(turn, life);
                let mut record = self.record(fleet, &candidate.member, place, command, &common);
                record.envelope.expires_at = expires_at;
                if let Some(epoch) = found.calmed.get(&mower) {
                    record.envelope.calm_epoch = *epoch;
                }
                record
            };
            let command = match self.command(mower) {
                Ok(command) => command,
                Err(NotStarted::NoArea) => {
                    let mut record = make(self.request.command.clone(), now);
                    record.outcome = no_area(now);
                    let id = record.envelope.command_id;
                    items.push(Item::failed(mower, Some(id), NO_AREA));
                    refused.push(record);
                    continue;
                }
                Err(NotStarted::NotHeld) => {
                    items.push(Item::failed(mower, None, "not-held"));
                    continue;
                }
            };
            let turn = match skip::is_paced(kind) {
                false => Ok(now),
                true => fleet
                    .control
                    .pacer
                    .turn(&vendor_account(&candidate.member), now),
            };
            match turn {
                Ok(turn) => {
                    let record = make(command, turn);
                    let judged = candidate.highest;
                    records.push((turn, Waiting { record, judged }));
                }
                Err(wait) => {
                    let seconds = wait.as_secs() + i64::from(wait.subsec_nanos() > 0);
                    let reason = format!("too-many-starts-ahead: ask again in {seconds} s");
                    items.push(Item::skipped(mower, &reason));
                }
            }
        }
        let ends = records.iter().map(|(_, it)| it.record.envelope.expires_at);
        let head = Head {
            bulk_id,
            account_id,
            kind,
            target: self.target.clone(),
            issued_at: now,
            expires_at: ends.max().unwrap_or_else(|| life::after(now, life)),
        };
        Written {
            head,
            records,
            refused,
            items,
        }
    }

    /// Why a member is not commanded any more.
    fn outdated(
        &self,
        fleet: &Fleet,
        candidate: &Candidate,
        place: &Place,
    ) -> Option<&'static str> {
        let mower = candidate.member.mower_id;
        let judged = candidate.judged;
        let calms = self.request.command.kind().calms();
        let changed = candidate.highest < place.highest && !calms;
        if changed || judged.is_some_and(|judged| judged < place.revision) {
            return Some("authz-stale");
        }
        let epochs = &fleet.control.epochs;
        let moves = self.request.command.kind().moves();
        (moves && epochs.stopped_since(mower, self.ask.asked_at)).then_some("stopped-since")
    }

    /// The command to one mower.
    fn command(&self, mower: Uuid) -> Result<Command, NotStarted> {
        let Command::StartMow(start) = &self.request.command else {
            return Ok(self.request.command.clone());
        };
        let mut start = start.clone();
        match self.areas.get(&mower) {
            Some(Areas::Own(areas)) => start.area_ids.clone_from(areas),
            Some(Areas::NoneOfThem) => return Err(NotStarted::NoArea),
            // The device gateway that holds it looks for the areas once more.
            Some(Areas::Unknown) | None if !start.area_ids.is_empty() => {}
            Some(Areas::Unknown) | None => return Err(NotStarted::NotHeld),
        }
        Ok(Command::StartMow(start))
    }

    fn record(
        &self,
        fleet: &Fleet,
        member: &Member,
        place: &Place,
        command: Command,
        common: &Common,
    ) -> Record {
        let mower = member.mower_id;
        Record {
            envelope: Envelope {
                command_id: Uuid::new_v5(&common.bulk_id, mower.as_bytes()),
                mower_id: mower,
                account_id: member.account_id.clone(),
                issued_by: self.ask.issuer.clone(),
                issued_at: common.now,
                expires_at: common.now,
                priority: Priority::of(command.kind()),
                correlation_id: common.correlation_id,
                stop_epoch: fleet.control.epochs.current(mower),
                calm_epoch: place.calm_epoch,
                command,
            },
            bulk_id: Some(common.bulk_id),
            plan_id: None,
            area_clear: self.area_clear,
            decided: Decided {
                hierarchy_rev: place.revision,
                ..self.ask.decided.clone()
            },
            outcome: Outcome::PENDING,
        }
    }
}

/// Why a member of a start is not started.
enum NotStarted {
    /// None of the areas is its own.
    NoArea,
    /// Nobody says which areas it has.
    NotHeld,
}

fn no_area(now: Timestamp) -> Outcome {
    Outcome::ended(Status::Rejected, NO_AREA, now)
}

/// Which budget of calls a mower is commanded from.
fn vendor_account(member: &Member) -> String {
    let kind = member.connection.kind.as_str();
    let named = member.connection.options.get("vendor_account");
    let name = named
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    format!("{} {kind} {name}", member.account_id)
}
