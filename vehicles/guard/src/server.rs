//! The listener: HTTP/1.1 connections with bounded heads, drained at the end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

#[cfg(test)]
mod tests;

/// Who connects has this long to send the first head: nobody holds a connection by silence.
const FIRST_HEAD_WITHIN: Duration = Duration::from_secs(2);

/// A later head that takes longer than this ends its connection; so does an idle one. Longer,
/// since only who has shown a valid grant gets here: every refusal ends its connection.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// The most connections at once; further ones wait to be accepted.
const CONNECTIONS: usize = 512;

/// The most bytes of one head.
const HEAD_BYTES: usize = 64 * 1024;

/// How long requests in flight have once the service ends.
const DRAIN: Duration = Duration::from_secs(5);

/// The pause after an accept that failed, which happens when descriptors run out.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Serves until `ending` becomes true, then lets requests in flight finish.
pub async fn serve(listener: TcpListener, router: Router, ending: watch::Receiver<bool>) {
    serve_at_most(CONNECTIONS, listener, router, ending).await;
}

async fn serve_at_most(
    most: usize,
    listener: TcpListener,
    router: Router,
    mut ending: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if connections.len() < most => accepted,
            () = ended(&mut ending) => break,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(converse(stream, router.clone(), ending.clone()));
            }
            Err(error) => {
                tracing::warn!("a connection cannot be accepted: {error}");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("connections were cut at the end of the drain");
    }
}

/// Waits for the end; a sender that is gone will not say it any more.
async fn ended(ending: &mut watch::Receiver<bool>) {
    if ending.wait_for(|ending| *ending).await.is_err() {
        tracing::debug!("nobody is left to end the service but itself");
    }
}

/// Whether this answer may go to a stranger, who is to hold nothing afterwards.
fn ends(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    )
}

async fn converse(stream: TcpStream, router: Router, mut ending: watch::Receiver<bool>) {
    // An answer to a stop must not wait for more bytes to share its packet.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("no delay cannot be set: {error}");
    }
    let heard = Arc::new(Notify::new());
    let hearing = Arc::clone(&heard);
    let inner = TowerToHyperService::new(router);
    let service = service_fn(move |request| {
        hearing.notify_one();
        let answering = inner.call(request);
        async move {
            let mut response: Response = answering.await?;
            if ends(response.status()) {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let silent = async {
        if timeout(FIRST_HEAD_WITHIN, heard.notified()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = silent => {
            tracing::debug!("a connection asked nothing");
            return;
        }
        () = ended(&mut ending) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!("a connection ended: {error}");
    }
}
