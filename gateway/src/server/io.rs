//! The caller's socket: bounded waits for a slow reader, and an end that does
//! not cut off our last answer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// How long, and for how many bytes, a closing connection still reads what the
/// peer was sending. A socket closed with bytes unread resets the connection,
/// and the reset can overtake the answer (RFC 9112, section 9.6).
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 1024 * 1024;

pub(super) struct CallerSocket {
    tcp: TcpStream,
    stall: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    lingering: Option<usize>,
}

impl CallerSocket {
    pub(super) fn new(tcp: TcpStream, stall: Duration) -> Self {
        Self {
            tcp,
            stall,
            sleep: None,
            lingering: None,
        }
    }

    fn bounded<T>(
        &mut self,
        cx: &mut Context<'_>,
        progress: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.sleep = None;
            return progress;
        }
        ready!(self.poll_sleep(self.stall, cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_sleep(&mut self, limit: Duration, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep
            .get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + limit)))
            .as_mut()
            .poll(cx)
    }
}

impl AsyncRead for CallerSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for CallerSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.tcp).poll_write(cx, buf);
        this.bounded(cx, progress)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.tcp).poll_write_vectored(cx, bufs);
        this.bounded(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut read = match this.lingering {
            Some(read) => read,
            None => {
                ready!(Pin::new(&mut this.tcp).poll_shutdown(cx))?;
                this.sleep = None;
                0
            }
        };
        let mut space = [0_u8; 8192];
        while read < LINGER_BYTES {
            this.lingering = Some(read);
            let mut buf = ReadBuf::new(&mut space);
            match Pin::new(&mut this.tcp).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => read += buf.filled().len(),
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(this.poll_sleep(LINGER, cx));
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
