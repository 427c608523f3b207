//! One connection, from the claim to its end.

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

/// The swarm reports ten times a second; one silent for this long is lost.
const SILENCE: Duration = Duration::from_secs(2);

/// Why a connection ended, or never was.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("no answer to the connection within {} s", CONNECT_TIMEOUT.as_secs())]
    ConnectTimeout,
    #[error("the swarm was silent for {} s", SILENCE.as_secs())]
    Silent,
    #[error("the swarm closed the connection")]
    Closed,
    #[error("the swarm sent a frame that is too long")]
    TooLong,
    #[error("claim cannot be written: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("not the writer of this swarm: {0}")]
    NotWriter(String),
    #[error("a new connection was asked for, to fence this one")]
    Fenced,
    #[error("the service is going down")]
    Shutdown,
}

/// Serves one connection to its end. `reported` becomes true with its first
/// good report.
pub(super) async fn serve(
    config: &TcpLinkConfig,
    clock: &dyn Clock,
    shared: &Arc<Shared>,
    queues: &mut Queues,
    reported: &mut bool,
) -> End {
    let stream = match timeout(CONNECT_TIMEOUT, TcpStream::connect(&config.address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return End::Connect(error),
        Err(_) => return End::ConnectTimeout,
    };
    match converse(stream, config, clock, shared, queues, reported).await {
        Ok(never) => match never {},
        Err(end) => end,
    }
}

async fn converse(
    stream: TcpStream,
    config: &TcpLinkConfig,
    clock: &dyn Clock,
    shared: &Arc<Shared>,
    queues: &mut Queues,
    reported: &mut bool,
) -> Result<std::convert::Infallible, End> {
    // A stop must not wait for more bytes to share its packet.
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.into_split();
    let claim = encode(&Request::Claim {
        writer: config.writer,
        swarm: config.swarm.clone(),
        epoch: config.epoch,
    })?;
    timeout(SILENCE, writer.write_all(&claim))
        .await
        .map_err(|_| End::Silent)??;
    tokio::select! {
        end = read(BufReader::new(reader), clock, shared, reported) => end,
        end = write(writer, shared, queues) => end,
        () = shared.reconnect.notified() => Err(End::Fenced),
    }
}

async fn write(
    mut writer: OwnedWriteHalf,
    shared: &Shared,
    queues: &mut Queues,
) -> Result<std::convert::Infallible, End> {
    loop {
        let outgoing = queues.next().await.ok_or(End::Shutdown)?;
        shared.expect(outgoing.seq, outgoing.reply);
        writer.write_all(&outgoing.bytes).await?;
        if let Some(gate) = &outgoing.gate {
            gate.written();
        }
    }
}

async fn read(
    mut reader: BufReader<OwnedReadHalf>,
    clock: &dyn Clock,
    shared: &Shared,
    reported: &mut bool,
) -> Result<std::convert::Infallible, End> {
    let mut frame = Vec::new();
    let mut held = false;
    loop {
        match timeout(SILENCE, receive(&mut reader, &mut frame)).await {
            Err(_) => return Err(End::Silent),
            Ok(Err(error)) => return Err(End::Io(error)),
            Ok(Ok(Incoming::Closed)) => return Err(End::Closed),
            Ok(Ok(Incoming::TooLong)) => return Err(End::TooLong),
            Ok(Ok(Incoming::Frame)) => {}
        }
        match hear(&frame, clock, shared, &mut held)? {
            Heard::State => *reported = true,
            Heard::Other => {}
            Heard::Nonsense(error) => {
                let count = shared.dropped_reports.fetch_add(1, Ordering::Relaxed) + 1;
                // The first one and then every hundredth: a swarm that only
                // sends nonsense must not fill the log.
                if count % 100 == 1 {
                    tracing::warn!(count, "report from the swarm dropped: {error}");
                }
            }
        }
    }
}

enum Heard {
    State,
    Other,
    Nonsense(ProtocolError),
}

fn hear(frame: &[u8], clock: &dyn Clock, shared: &Shared, held: &mut bool) -> Result<Heard, End> {
    let report = match read_report(frame) {
        Ok(report) => report,
        Err(error) => return Ok(Heard::Nonsense(error)),
    };
    match report {
        Report::Claimed { accepted: true, .. } => {
            *held = true;
            shared.connections.fetch_add(1, Ordering::AcqRel);
            shared.claim.send_replace(Claim::Held);
        }
        Report::Claimed { reason, .. } => {
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            shared.claim.send_replace(Claim::Refused {
                reason: reason.clone(),
            });
            return Err(End::NotWriter(reason));
        }
        Report::State {
            simulated,
            drones,
            mission,
            known_missions,
            ..
        } => {
            // Before the claim is held nothing may be sent, and a live state
            // would say that something may.
            if !*held {
                return Ok(Heard::Other);
            }
            match state_of(simulated, drones, mission, known_missions, clock.now()) {
                Ok(state) => {
                    shared.state.send_replace(Arc::new(state));
                    return Ok(Heard::State);
                }
                Err(error) => return Ok(Heard::Nonsense(error)),
            }
        }
        Report::Ack { .. } => {
            if let Some((seq, outcome)) = outcome(report)
                && let Some(reply) = shared.forget(seq)
            {
                // A caller that waits no longer needs no answer.
                let _ = reply.send(outcome);
            }
        }
        Report::Error { reason } => tracing::warn!("the swarm refused a frame: {reason}"),
        Report::Counters { .. } => {}
    }
    Ok(Heard::Other)
}
