//! The request body, with a bound on every wait for its next bytes.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::server::ResponseBody;
use crate::server::connections::InRequest;

/// A request body that did not come whole.
#[derive(Debug, Error)]
pub enum RequestBodyError {
    /// The caller stopped sending.
    #[error("the request body stalled")]
    Stalled,
    /// The connection ended or the framing is broken.
    #[error("the request body broke off: {0}")]
    Broken(#[from] hyper::Error),
}

/// A request body as it comes.
#[derive(Debug)]
pub struct RequestBody {
    source: Source,
    stall: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Source {
    Live(Incoming),
    Whole(Option<Bytes>),
}

impl RequestBody {
    pub(super) fn live(incoming: Incoming, stall: Duration) -> Self {
        Self {
            source: Source::Live(incoming),
            stall,
            sleep: None,
        }
    }

    /// A body that lies in memory already.
    pub fn whole(bytes: Bytes) -> Self {
        Self {
            source: Source::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())),
            stall: Duration::MAX,
            sleep: None,
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = RequestBodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestBodyError>>> {
        let this = self.get_mut();
        let incoming = match &mut this.source {
            Source::Whole(bytes) => {
                return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))));
            }
            Source::Live(incoming) => incoming,
        };
        if let Poll::Ready(frame) = Pin::new(incoming).poll_frame(cx) {
            this.sleep = None;
            return Poll::Ready(frame.map(|frame| Ok(frame?)));
        }
        let stall = this.stall;
        let sleep = this
            .sleep
            .get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + stall)));
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Some(Err(RequestBodyError::Stalled)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Live(incoming) => incoming.is_end_stream(),
            Source::Whole(bytes) => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Live(incoming) => incoming.size_hint(),
            Source::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}

/// A response body that keeps its connection busy until it was sent.
pub(super) struct Guarded {
    pub(super) body: ResponseBody,
    pub(super) _in_request: InRequest,
}

impl Body for Guarded {
    type Data = Bytes;
    type Error = <ResponseBody as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
