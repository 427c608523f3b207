//! A TCP relay between two processes that a test can break.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::background::Background;
use crate::ports;

/// What the relay does with connections, those that are open included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Bytes pass both ways.
    Up,
    /// Connections stay open and are accepted; no byte passes.
    Hung,
    /// Connections are closed (FIN); new ones are closed at once.
    Cut,
    /// Connections are reset (RST); new ones are reset at once.
    Reset,
}

/// A relay to one address.
#[derive(Debug)]
pub struct Chaos {
    address: SocketAddr,
    line: watch::Sender<Line>,
    counted: Arc<Counted>,
    _task: Background,
}

/// What a relay knows of its past, and where it leads.
#[derive(Debug, Default)]
struct Counted {
    target: Mutex<Option<SocketAddr>>,
    accepted: AtomicU64,
    bytes: AtomicU64,
    /// What passed towards the target, once somebody listens.
    heard: Mutex<Option<Vec<u8>>>,
}

impl Counted {
    fn target(&self) -> Option<SocketAddr> {
        *self.target.lock().expect("no holder of this lock panics")
    }

    fn passed(&self, bytes: &[u8]) {
        self.bytes.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        let mut heard = self.heard.lock().expect("no holder of this lock panics");
        if let Some(heard) = heard.as_mut() {
            heard.extend_from_slice(bytes);
        }
    }
}

impl Chaos {
    /// A relay to `target`, up.
    pub fn to(target: SocketAddr) -> Chaos {
        let chaos = Chaos::nowhere();
        chaos.aim(target);
        chaos
    }

    /// A relay whose target is not known yet: it resets what connects.
    pub fn nowhere() -> Chaos {
        let listener = ports::listener();
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let (line, state) = watch::channel(Line::Up);
        let counted = Arc::new(Counted::default());
        let shared = counted.clone();
        let task = Background::run("chaos", async move {
            listener.set_nonblocking(true).expect("a socket option");
            let listener = TcpListener::from_std(listener).expect("a listener");
            relay(listener, state, shared).await;
        });
        Chaos {
            address,
            line,
            counted,
            _task: task,
        }
    }

    /// Leads new connections to `target`.
    pub fn aim(&self, target: SocketAddr) {
        *self
            .counted
            .target
            .lock()
            .expect("no holder of this lock panics") = Some(target);
    }

    /// Where to connect instead of the target.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what happens, for open connections too.
    pub fn set(&self, line: Line) {
        self.line.send_replace(line);
    }

    /// Connections that were ever accepted.
    pub fn accepted(&self) -> u64 {
        self.counted.accepted.load(Ordering::SeqCst)
    }

    /// Bytes that ever passed towards the target.
    pub fn bytes_to_target(&self) -> u64 {
        self.counted.bytes.load(Ordering::SeqCst)
    }

    /// Keeps what passes towards the target from now on, and returns what was
    /// kept since the last call. Connections are not told apart: who needs
    /// whole messages makes one call at a time.
    pub fn listen(&self) -> Vec<u8> {
        let heard = &self.counted.heard;
        let mut heard = heard.lock().expect("no holder of this lock panics");
        heard.replace(Vec::new()).unwrap_or_default()
    }
}

async fn relay(listener: TcpListener, line: watch::Receiver<Line>, counted: Arc<Counted>) {
    loop {
        let (near, _) = listener.accept().await.expect("a listener accepts");
        counted.accepted.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(connection(near, line.clone(), counted.clone()));
    }
}

async fn connection(near: TcpStream, mut line: watch::Receiver<Line>, counted: Arc<Counted>) {
    // A line that hangs from the start hangs before it reaches the target.
    let broken = line
        .wait_for(|line| *line != Line::Hung)
        .await
        .map(|line| *line);
    if let Ok(Line::Cut) | Err(_) = broken {
        return;
    }
    if let Ok(Line::Reset) = broken {
        reset(&near);
        return;
    }
    let far = match counted.target() {
        Some(target) => TcpStream::connect(target).await.ok(),
        None => None,
    };
    let Some(far) = far else {
        // The nearest to a refused connection that a relay can give.
        reset(&near);
        return;
    };
    let (mut near_in, mut near_out) = near.into_split();
    let (mut far_in, mut far_out) = far.into_split();
    let out = pump(&mut near_in, &mut far_out, line.clone(), Some(&*counted));
    let back = pump(&mut far_in, &mut near_out, line.clone(), None);
    let broken = async {
        line.wait_for(|line| matches!(line, Line::Cut | Line::Reset))
            .await
            .map_or(Line::Cut, |line| *line)
    };
    let how = tokio::select! {
        how = broken => how,
        () = async { tokio::join!(out, back); } => Line::Cut,
    };
    if how == Line::Reset
        && let (Ok(near), Ok(far)) = (near_in.reunite(near_out), far_in.reunite(far_out))
    {
        reset(&near);
        reset(&far);
    }
}

/// Copies until the reading end is at its end, then closes the writing end.
/// While the line hangs, bytes wait here.
async fn pump(
    from: &mut tokio::net::tcp::OwnedReadHalf,
    to: &mut tokio::net::tcp::OwnedWriteHalf,
    mut line: watch::Receiver<Line>,
    count: Option<&Counted>,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if line.wait_for(|line| *line == Line::Up).await.is_err() {
            return;
        }
        if let Some(count) = count {
            count.passed(&buffer[..length]);
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    // The other end may be gone already.
    drop(to.shutdown().await);
}

/// Makes the coming close a reset.
fn reset(stream: &TcpStream) {
    stream.set_zero_linger().expect("a socket option");
}

#[cfg(test)]
mod tests;
