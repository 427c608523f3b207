//! The socket, with a gate that knows whether bytes of a request left.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The outside view of a connection's socket. Holds it weakly, so that a
/// connection that ended gives its descriptor back at once.
pub(super) struct Wire {
    tcp: Weak<TcpStream>,
    gate: Mutex<Gate>,
}

/// Held across each write call, so that "nothing was written" and "nothing
/// will be written" are one statement.
#[derive(Debug, Default)]
struct Gate {
    sent: bool,
    sealed: bool,
}

impl Wire {
    /// Begins a request: from here on the gate counts for it.
    pub(super) fn begin(&self) {
        self.gate().sent = false;
    }

    /// Ends all writing and tells whether a byte left since [`Self::begin`].
    pub(super) fn seal(&self) -> bool {
        let mut gate = self.gate();
        gate.sealed = true;
        gate.sent
    }

    /// Whether a byte left since [`Self::begin`].
    pub(super) fn sent(&self) -> bool {
        self.gate().sent
    }

    /// Whether an idle connection is still open with nothing to read. Asks the
    /// kernel: an end or stray bytes may have arrived that no task has seen.
    pub(super) fn is_quiet(&self) -> bool {
        let Some(tcp) = self.tcp.upgrade() else {
            return false;
        };
        let mut byte = [MaybeUninit::uninit()];
        matches!(
            SockRef::from(&*tcp).peek(&mut byte),
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock
        )
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection's own view: reads and writes, reporting to the gate.
pub(super) struct Socket {
    tcp: Arc<TcpStream>,
    wire: Arc<Wire>,
}

impl Socket {
    pub(super) fn new(tcp: TcpStream) -> (Self, Arc<Wire>) {
        let tcp = Arc::new(tcp);
        let wire = Arc::new(Wire {
            tcp: Arc::downgrade(&tcp),
            gate: Mutex::default(),
        });
        let socket = Self {
            tcp,
            wire: Arc::clone(&wire),
        };
        (socket, wire)
    }

    fn poll_gated(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.tcp.poll_write_ready(cx))?;
            let mut gate = self.wire.gate();
            if gate.sealed {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            match write(&self.tcp) {
                Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {}
                Ok(count) => {
                    gate.sent |= count > 0;
                    return Poll::Ready(Ok(count));
                }
                Err(fault) => return Poll::Ready(Err(fault)),
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.tcp.poll_read_ready(cx))?;
            match self.tcp.try_read_buf(buf) {
                Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result.map(drop)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_gated(cx, |tcp| tcp.try_write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_gated(cx, |tcp| tcp.try_write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.tcp).shutdown(std::net::Shutdown::Write))
    }
}
