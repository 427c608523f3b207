//! Bodies, both ways. The response body is streamed, bounded by the deadline,
//! and the keeper of its connection until it has been read whole.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::effect::Effect;
use crate::upstream::outcome::{UnknownCause, effect_of};
use crate::upstream::pool::{Lease, driven};

/// Whatever a streamed request body failed with.
pub type BodyError = Box<dyn Error + Send + Sync>;

/// A request body on its way out.
#[derive(Debug)]
pub enum OutboundBody {
    /// Read whole, as inspected.
    Whole(Full<Bytes>),
    /// Passed on as it comes, unbuffered.
    Stream(UnsyncBoxBody<Bytes, BodyError>),
}

impl OutboundBody {
    /// A body that was read and inspected.
    pub fn whole(bytes: Bytes) -> Self {
        Self::Whole(Full::new(bytes))
    }

    /// A body that is passed on as it comes.
    pub fn stream<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error: Into<BodyError>> + Send + 'static,
    {
        Self::Stream(UnsyncBoxBody::new(body.map_err(Into::into)))
    }
}

impl Body for OutboundBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body)
                .poll_frame(cx)
                .map_err(|never| match never {}),
            Self::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Stream(body) => body.size_hint(),
        }
    }
}

/// A response body. Dropped before its end, it takes its connection with it.
pub struct UpstreamBody {
    source: Source,
    lease: Option<Lease>,
    deadline: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

enum Source {
    Live(Incoming),
    Whole(Option<Bytes>),
}

impl UpstreamBody {
    pub(super) fn live(incoming: Incoming, lease: Lease, deadline: Option<Instant>) -> Self {
        let mut body = Self {
            source: Source::Live(incoming),
            lease: Some(lease),
            deadline,
            sleep: None,
        };
        if body.is_end_stream() {
            body.release();
        }
        body
    }

    /// A body that was read before.
    pub fn whole(bytes: Bytes) -> Self {
        Self {
            source: Source::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())),
            lease: None,
            deadline: None,
            sleep: None,
        }
    }

    /// The body was read whole: the connection may serve the next request.
    fn release(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.finish();
        }
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else {
            return Poll::Pending;
        };
        // The timer is made on the first wait: most bodies never wait.
        self.sleep
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)))
            .as_mut()
            .poll(cx)
    }
}

impl std::fmt::Debug for UpstreamBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamBody").finish_non_exhaustive()
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = UnknownCause;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UnknownCause>>> {
        let this = self.get_mut();
        let incoming = match &mut this.source {
            Source::Whole(bytes) => {
                return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))));
            }
            Source::Live(incoming) => incoming,
        };
        loop {
            match poll_live(incoming, this.lease.as_mut(), cx) {
                // Trailers end here: nobody declared them (RFC 9110, 6.5.1).
                Poll::Ready(Some(Ok(frame))) if frame.is_trailers() => {}
                Poll::Ready(Some(Ok(frame))) => {
                    if incoming.is_end_stream() {
                        this.release();
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Poll::Ready(Some(Err(fault))) => {
                    this.lease = None;
                    return Poll::Ready(Some(Err(body_fault(&fault))));
                }
                Poll::Ready(None) => {
                    this.release();
                    return Poll::Ready(None);
                }
                Poll::Pending => {
                    std::task::ready!(this.poll_deadline(cx));
                    this.lease = None;
                    return Poll::Ready(Some(Err(UnknownCause::BodyTimeout)));
                }
            }
        }
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
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
        }
    }
}

/// The next frame. What has come is taken first; then the connection is driven.
fn poll_live(
    incoming: &mut Incoming,
    lease: Option<&mut Lease>,
    cx: &mut Context<'_>,
) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
    let come = Pin::new(&mut *incoming).poll_frame(&mut driven());
    match lease {
        Some(lease) if come.is_pending() => {
            lease.connection.drive(cx);
            Pin::new(incoming).poll_frame(&mut driven())
        }
        _ => come,
    }
}

/// Whether the stream ended early or was never well-formed.
fn body_fault(fault: &hyper::Error) -> UnknownCause {
    let malformed = fault
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>())
        .is_some_and(|io| {
            matches!(
                io.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
            )
        });
    if malformed {
        UnknownCause::BadBody
    } else {
        UnknownCause::Closed
    }
}

/// Reads a body whole, up to `limit` bytes. A body that breaks, stalls past
/// the deadline or is larger leaves the outcome unknown.
pub async fn collect(mut body: UpstreamBody, limit: usize) -> Result<Bytes, UnknownCause> {
    let mut first: Option<Bytes> = None;
    let mut rest = BytesMut::new();
    let mut length = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        length = length.saturating_add(data.len());
        if length > limit {
            return Err(UnknownCause::TooLarge { limit });
        }
        match &first {
            None => first = Some(data),
            Some(head) => {
                if rest.is_empty() {
                    rest.extend_from_slice(head);
                }
                rest.extend_from_slice(&data);
            }
        }
    }
    if rest.is_empty() {
        Ok(first.unwrap_or_default())
    } else {
        Ok(rest.freeze())
    }
}

/// An answer read whole.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its end-to-end fields.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl Answer {
    /// Reads a response whole, as [`collect`] does.
    pub async fn read(
        response: Response<UpstreamBody>,
        limit: usize,
    ) -> Result<Self, UnknownCause> {
        let (parts, body) = response.into_parts();
        Ok(Self {
            status: parts.status,
            headers: parts.headers,
            body: collect(body, limit).await?,
        })
    }

    /// What it says about its effect.
    pub fn effect(&self) -> Effect {
        effect_of(self.status, &self.body)
    }

    /// The response it was read from.
    pub fn into_response(self) -> Response<UpstreamBody> {
        let mut response = Response::new(UpstreamBody::whole(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
