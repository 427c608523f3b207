//! One connection, from the claim to its end.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use super::super::protocol::{
    Incoming, ProtocolError, Report, Request, encode, read_report, receive, state_of,
};
use super::outgoing::Queues;
use super::{Claim, Shared, TcpLinkConfig, outcome};
use crate::clock::Clock;

/// A swarm that does not accept a connection within this time is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a connection ended, or never was.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("no answer to the connection within {} s", CONNECT_TIMEOUT.as_secs())]
    ConnectTimeout,
    #[error("the swarm was silent for {} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("the swarm closed the connection")]
    Closed,
    #[error("the swarm sent a frame that is too long")]
    TooLong,
    #[error("claim cannot be written: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("not the writer of this swarm: {0}")]
    NotWriter(String),
    #[error("the swarm did not answer a start")]
    Unanswered,
    #[error("the service is going down")]
    Shutdown,
}

/// One connection, of which there is at most one at a time.
pub(super) struct Connection<'a> {
    /// Counted from 1.
    pub(super) number: u64,
    /// A swarm silent for this long is lost.
    pub(super) silence: Duration,
    pub(super) clock: &'a dyn Clock,
    pub(super) shared: &'a Shared,
}

impl Connection<'_> {
    /// Connects and serves the connection to its end.
    pub(super) async fn serve(&self, config: &TcpLinkConfig, queues: &mut Queues) -> End {
        let stream = match timeout(CONNECT_TIMEOUT, TcpStream::connect(&config.address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return End::Connect(error),
            Err(_) => return End::ConnectTimeout,
        };
        match self.converse(stream, config, queues).await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn converse(
        &self,
        stream: TcpStream,
        config: &TcpLinkConfig,
        queues: &mut Queues,
    ) -> Result<Infallible, End> {
        // A stop must not wait for more bytes to share its packet.
        stream.set_nodelay(true)?;
        let (reader, mut writer) = stream.into_split();
        let claim = encode(&Request::Claim {
            writer: config.writer,
            swarm: config.swarm.clone(),
            epoch: config.epoch,
        })?;
        timeout(self.silence, writer.write_all(&claim))
            .await
            .map_err(|_| End::Silent(self.silence))??;
        tokio::select! {
            end = self.read(BufReader::new(reader)) => end,
            end = self.write(writer, queues) => end,
            end = self.hung_up() => Err(end),
        }
    }

    async fn hung_up(&self) -> End {
        let mut hang_up = self.shared.hang_up.subscribe();
        match hang_up.wait_for(|last| *last >= self.number).await {
            Ok(_) => End::Unanswered,
            Err(_) => End::Shutdown,
        }
    }

    async fn write(
        &self,
        mut writer: OwnedWriteHalf,
        queues: &mut Queues,
    ) -> Result<Infallible, End> {
        loop {
            let outgoing = queues.next(self.number).await.ok_or(End::Shutdown)?;
            self.shared.expect(outgoing.seq, outgoing.reply);
            writer.write_all(&outgoing.bytes).await?;
            if let Some(gate) = &outgoing.gate {
                gate.written();
            }
        }
    }

    async fn read(&self, mut reader: BufReader<OwnedReadHalf>) -> Result<Infallible, End> {
        let mut frame = Vec::new();
        let mut held = false;
        loop {
            match timeout(self.silence, receive(&mut reader, &mut frame)).await {
                Err(_) => return Err(End::Silent(self.silence)),
                Ok(Err(error)) => return Err(End::Io(error)),
                Ok(Ok(Incoming::Closed)) => return Err(End::Closed),
                Ok(Ok(Incoming::TooLong)) => return Err(End::TooLong),
                Ok(Ok(Incoming::Frame)) => {}
            }
            let heard = read_report(&frame).map(|report| self.hear(report, &mut held));
            match heard {
                Ok(Ok(())) => {}
                Ok(Err(Unheard::End(end))) => return Err(end),
                Ok(Err(Unheard::Nonsense(error))) | Err(error) => self.count_nonsense(&error),
            }
        }
    }

    /// Takes in a report. `held` becomes true with the claim: before it
    /// nothing may be sent, and a live state would say that something may.
    fn hear(&self, report: Report, held: &mut bool) -> Result<(), Unheard> {
        match report {
            Report::Claimed { accepted: true, .. } => {
                *held = true;
                self.shared.claim.send_replace(Claim::Held);
            }
            Report::Claimed { reason, .. } => {
                let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
                self.shared.claim.send_replace(Claim::Refused {
                    reason: reason.clone(),
                });
                return Err(Unheard::End(End::NotWriter(reason)));
            }
            Report::State {
                simulated,
                drones,
                mission,
                known_missions,
                ..
            } => {
                if *held {
                    let now = self.clock.now();
                    let state =
                        state_of(simulated, drones, mission, known_missions, self.number, now)
                            .map_err(Unheard::Nonsense)?;
                    self.shared.state.send_replace(Arc::new(state));
                }
            }
            Report::Ack { .. } => self.answer(report),
            Report::Error { reason } => tracing::warn!("the swarm refused a frame: {reason}"),
            Report::Counters { .. } => {}
        }
        Ok(())
    }

    fn answer(&self, report: Report) {
        if let Some((seq, outcome)) = outcome(report)
            && let Some(reply) = self.shared.forget(seq)
        {
            // A caller that waits no longer needs no answer.
            let _ = reply.send(outcome);
        }
    }

    /// Logs the first one and then every hundredth: a swarm that only sends
    /// nonsense must not fill the log.
    fn count_nonsense(&self, error: &ProtocolError) {
        let count = self.shared.dropped_reports.fetch_add(1, Ordering::Relaxed) + 1;
        if count % 100 == 1 {
            tracing::warn!(count, "report from the swarm dropped: {error}");
        }
    }
}

/// Why a report could not be taken in.
enum Unheard {
    /// The connection ends with it.
    End(End),
    /// It is dropped.
    Nonsense(ProtocolError),
}
