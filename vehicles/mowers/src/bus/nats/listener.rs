//! Requests and plain messages that come in.

use std::sync::Arc;

use async_nats::Subscriber;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;

use super::link::{Link, Links, lost};
use super::within_bounds;
use crate::bus::pattern::Pattern;
use crate::bus::{Asked, BusError, Listen, Reply};

/// One listener. After a lost connection it listens again.
pub(super) struct Listener {
    links: Links,
    pattern: Pattern,
    open: Option<(Arc<Link>, Subscriber)>,
}

impl Listener {
    pub(super) async fn open(links: Links, pattern: Pattern) -> Result<Listener, BusError> {
        let link = links.current()?;
        let open = Some(subscribe(link, &pattern).await?);
        Ok(Listener {
            links,
            pattern,
            open,
        })
    }
}

async fn subscribe(
    link: Arc<Link>,
    pattern: &Pattern,
) -> Result<(Arc<Link>, Subscriber), BusError> {
    let unavailable = |cause: String| BusError::Unavailable(cause);
    let subscribing = async {
        let subscriber = link.client.subscribe(pattern.as_str().to_owned()).await;
        let subscriber = subscriber.map_err(|cause| unavailable(cause.to_string()))?;
        let flushed = link.client.flush().await;
        flushed.map_err(|cause| unavailable(cause.to_string()))?;
        Ok(subscriber)
    };
    let subscriber = tokio::select! {
        subscriber = subscribing => subscriber?,
        () = link.closed() => return Err(lost()),
    };
    Ok((link, subscriber))
}

#[async_trait]
impl Listen for Listener {
    async fn next(&mut self) -> Result<Asked, BusError> {
        if self.open.is_none() {
            let link = self.links.next().await?;
            self.open = Some(subscribe(link, &self.pattern).await?);
        }
        let Some((link, subscriber)) = &mut self.open else {
            return Err(lost());
        };
        let message = tokio::select! {
            message = subscriber.next() => message,
            () = link.closed() => None,
        };
        let Some(message) = message else {
            self.open = None;
            return Err(lost());
        };
        Ok(Asked {
            subject: message.subject.to_string(),
            payload: message.payload,
            reply: Box::new(Back {
                link: link.clone(),
                inbox: message.reply.map(|inbox| inbox.to_string()),
            }),
        })
    }
}

/// The way back to who asked.
struct Back {
    link: Arc<Link>,
    inbox: Option<String>,
}

#[async_trait]
impl Reply for Back {
    async fn send(self: Box<Self>, payload: Bytes) -> Result<(), BusError> {
        within_bounds(&payload)?;
        match self.inbox {
            // Only on the connection that the question came by: the one who
            // asked does not wait for another.
            Some(inbox) if self.link.is_open() => self.link.tell(inbox, payload).await,
            Some(_) => Err(lost()),
            None => Ok(()),
        }
    }
}
