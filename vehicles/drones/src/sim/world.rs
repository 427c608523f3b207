//! The swarm behind the link: who may write, what came, what is answered.

use uuid::Uuid;

use super::swarm::{Started, Swarm};
use crate::link::LinkMission;
use crate::link::protocol::{ProtocolError, Report, Request, WireMission, read_request};

#[cfg(test)]
mod tests;

/// Names a connection for its life.
pub(super) type ConnectionId = u64;

/// The swarm, its one writer, and the count of frames.
#[derive(Debug)]
pub(super) struct World {
    pub(super) swarm: Swarm,
    /// The swarm's name; `None` takes claims for any.
    name: Option<String>,
    writer: Option<Writer>,
    counters: Counters,
}

#[derive(Debug)]
struct Writer {
    id: Uuid,
    epoch: u64,
    connection: ConnectionId,
    connected: bool,
}

#[derive(Debug, Default)]
struct Counters {
    starts: u64,
    flights: u64,
    commands: u64,
    refused: u64,
    malformed: u64,
}

impl World {
    pub(super) fn new(swarm: Swarm, name: Option<String>) -> Self {
        Self {
            swarm,
            name,
            writer: None,
            counters: Counters::default(),
        }
    }

    /// Whether this connection writes now.
    pub(super) fn is_writer(&self, connection: ConnectionId) -> bool {
        self.writer
            .as_ref()
            .is_some_and(|writer| writer.connection == connection)
    }

    /// The connection is gone; another writer may follow.
    pub(super) fn disconnected(&mut self, connection: ConnectionId) {
        if let Some(writer) = &mut self.writer
            && writer.connection == connection
        {
            writer.connected = false;
        }
    }

    /// Obeys a frame or does not, and says so. After a change the answer
    /// comes behind the new state, so that who reads it knows both.
    pub(super) fn handle(
        &mut self,
        connection: ConnectionId,
        frame: &[u8],
        now_ms: i64,
    ) -> Vec<Report> {
        match read_request(frame) {
            Ok(Request::Claim {
                writer,
                swarm,
                epoch,
            }) => vec![self.claim(connection, writer, &swarm, epoch)],
            Ok(Request::Start { seq, mission }) => {
                self.counters.starts += 1;
                let answer = self.start(connection, seq, mission);
                vec![self.swarm.report(now_ms), answer]
            }
            Ok(Request::Command { seq, command, .. }) => {
                self.counters.commands += 1;
                let answer = if self.is_writer(connection) {
                    // Whatever mission was meant: a stop is never wrong.
                    Report::Ack {
                        seq,
                        drones: self.swarm.command(command),
                        accepted: true,
                        already_known: false,
                        reason: None,
                    }
                } else {
                    self.refuse(seq, NOT_WRITER.to_owned())
                };
                vec![self.swarm.report(now_ms), answer]
            }
            Ok(Request::Counters) => vec![self.counters()],
            Err(error) => vec![self.malformed(&error)],
        }
    }

    /// A frame that could not even be taken in whole.
    pub(super) fn malformed(&mut self, error: &ProtocolError) -> Report {
        self.counters.malformed += 1;
        self.counters.refused += 1;
        Report::Error {
            reason: error.to_string(),
        }
    }

    /// A writer gives way to itself on a new connection and at its next start
    /// (a higher epoch), and to anyone else only once it is gone.
    fn claim(&mut self, connection: ConnectionId, id: Uuid, swarm: &str, epoch: u64) -> Report {
        let other_swarm = self
            .name
            .as_ref()
            .filter(|name| *name != swarm)
            .map(|name| format!("this is {name}"));
        let held = self
            .writer
            .as_ref()
            .filter(|held| held.connected && (held.id != id || held.epoch > epoch))
            .map(|held| {
                format!(
                    "writer {} holds this swarm at epoch {}",
                    held.id, held.epoch
                )
            });
        let reason = other_swarm.or(held);
        if reason.is_some() {
            self.counters.refused += 1;
        } else {
            self.writer = Some(Writer {
                id,
                epoch,
                connection,
                connected: true,
            });
        }
        Report::Claimed {
            accepted: reason.is_none(),
            reason,
        }
    }

    fn start(&mut self, connection: ConnectionId, seq: u64, mission: WireMission) -> Report {
        if !self.is_writer(connection) {
            return self.refuse(seq, NOT_WRITER.to_owned());
        }
        let started = match LinkMission::try_from(mission) {
            Ok(mission) => self.swarm.start(&mission),
            Err(error) => Started::Refused(error.to_string()),
        };
        let already_known = match started {
            Started::Refused(reason) => return self.refuse(seq, reason),
            Started::AlreadyKnown => true,
            Started::Flying => {
                self.counters.flights += 1;
                false
            }
        };
        Report::Ack {
            seq,
            drones: self.swarm.acks(),
            accepted: true,
            already_known,
            reason: already_known.then(|| "this mission was accepted before".to_owned()),
        }
    }

    fn refuse(&mut self, seq: u64, reason: String) -> Report {
        self.counters.refused += 1;
        Report::Ack {
            seq,
            drones: Vec::new(),
            accepted: false,
            already_known: false,
            reason: Some(reason),
        }
    }

    fn counters(&self) -> Report {
        Report::Counters {
            starts: self.counters.starts,
            flights: self.counters.flights,
            commands: self.counters.commands,
            refused: self.counters.refused,
            malformed: self.counters.malformed,
        }
    }
}

const NOT_WRITER: &str = "this connection does not hold the claim to the swarm";
