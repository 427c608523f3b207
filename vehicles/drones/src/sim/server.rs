//! The simulated swarm on a TCP listener, in real time.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::vehicle::STEP_SECONDS;
use super::world::{ConnectionId, World};
use crate::link::protocol::{Incoming, ProtocolError, Report, encode, receive};

/// Answers that may wait for one connection.
const QUEUE: usize = 64;

/// A reader this slow is cut off.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// The shortest time between two rounds of steps.
const SHORTEST_ROUND: Duration = Duration::from_millis(10);

/// After a pause of the process at most this many steps are made up for;
/// drones do not leap.
const MOST_STEPS_AT_ONCE: u32 = 20;

type Shared = Arc<Mutex<World>>;

/// Serves until the listener fails.
pub(super) async fn serve(listener: TcpListener, world: World, speed: f64) -> io::Error {
    let world = Arc::new(Mutex::new(world));
    let (rounds, round) = watch::channel(());
    tokio::select! {
        never = pass_time(Arc::clone(&world), rounds, speed) => match never {},
        error = accept(listener, world, round) => error,
    }
}

async fn accept(listener: TcpListener, world: Shared, round: watch::Receiver<()>) -> io::Error {
    let mut next: ConnectionId = 0;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // The peer gave up before it was served.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => return error,
        };
        next += 1;
        let connection = next;
        let (world, round) = (Arc::clone(&world), round.clone());
        tokio::spawn(async move {
            let end = converse(stream, connection, &world, round).await;
            lock(&world).disconnected(connection);
            if let Err(error) = end {
                tracing::debug!(connection, "connection ended: {error}");
            }
        });
    }
}

async fn pass_time(world: Shared, rounds: watch::Sender<()>, speed: f64) -> Infallible {
    let step = Duration::from_secs_f64(STEP_SECONDS / speed);
    let mut ticks = interval(step.max(SHORTEST_ROUND));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut due = Instant::now() + step;
    loop {
        let now = ticks.tick().await;
        let mut steps = 0;
        {
            let mut world = lock(&world);
            while due <= now && steps < MOST_STEPS_AT_ONCE {
                world.swarm.step();
                due += step;
                steps += 1;
            }
        }
        if due <= now {
            due = now + step;
        }
        if steps > 0 {
            rounds.send_replace(());
        }
    }
}

async fn converse(
    stream: TcpStream,
    connection: ConnectionId,
    world: &Shared,
    round: watch::Receiver<()>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    let (answers, queue) = mpsc::channel(QUEUE);
    let speaking = speak(writer, connection, world, queue, round);
    tokio::pin!(speaking);
    tokio::select! {
        end = hear(BufReader::new(reader), connection, world, answers) => end?,
        end = &mut speaking => return end,
    }
    // The peer says nothing more; what is answered still goes out.
    speaking.await
}

/// Reads frames until the peer ends, and has them answered in order.
async fn hear(
    mut reader: BufReader<OwnedReadHalf>,
    connection: ConnectionId,
    world: &Shared,
    answers: mpsc::Sender<Vec<Report>>,
) -> io::Result<()> {
    let mut frame = Vec::new();
    loop {
        let (reports, more) = match receive(&mut reader, &mut frame).await? {
            Incoming::Closed => return Ok(()),
            Incoming::Frame => {
                let now = Timestamp::now().as_millisecond();
                (lock(world).handle(connection, &frame, now), true)
            }
            Incoming::TooLong => {
                let error = ProtocolError::Bounds("frame longer than 1 MiB".to_owned());
                (vec![lock(world).malformed(&error)], false)
            }
        };
        if answers.send(reports).await.is_err() || !more {
            return Ok(());
        }
    }
}

/// Writes answers, and after every round the state to whoever holds the claim.
async fn speak(
    mut writer: OwnedWriteHalf,
    connection: ConnectionId,
    world: &Shared,
    mut queue: mpsc::Receiver<Vec<Report>>,
    mut round: watch::Receiver<()>,
) -> io::Result<()> {
    let mut held = false;
    loop {
        let reports = tokio::select! {
            biased;
            answers = queue.recv() => match answers {
                Some(answers) => answers,
                None => return Ok(()),
            },
            changed = round.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                let world = lock(world);
                let holds = world.is_writer(connection);
                let lost = held && !holds;
                held = holds;
                if lost {
                    vec![Report::Claimed {
                        accepted: false,
                        reason: Some("another writer has claimed this swarm".to_owned()),
                    }]
                } else if holds {
                    vec![world.swarm.report(Timestamp::now().as_millisecond())]
                } else {
                    continue;
                }
            }
        };
        let mut bytes = Vec::new();
        for report in &reports {
            bytes.extend(encode(report).map_err(io::Error::other)?);
        }
        timeout(WRITE_TIMEOUT, writer.write_all(&bytes)).await??;
    }
}

/// A step or an answer that panicked would be a fault of ours; the state is
/// whole after each of them.
fn lock(world: &Shared) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}
