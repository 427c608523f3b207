//! The listener: HTTP/1.1 connections with bounded heads, drained at the end.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A head that takes longer than this to arrive ends its connection; so does an idle one.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// The most bytes of one head.
const HEAD_BYTES: usize = 64 * 1024;

/// How long requests in flight have once the service ends.
const DRAIN: Duration = Duration::from_secs(5);

/// The pause after an accept that failed, which happens when descriptors run out.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Serves until `ending` becomes true, then lets requests in flight finish.
pub async fn serve(listener: TcpListener, router: Router, mut ending: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
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
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("connections were cut at the end of the drain");
    }
}

/// Waits for the end; a sender that is gone will not say it any more.
async fn ended(ending: &mut watch::Receiver<bool>) {
    if ending.wait_for(|ending| *ending).await.is_err() {
        tracing::debug!("nobody is left to end the service but itself");
    }
}

async fn converse(stream: TcpStream, router: Router, mut ending: watch::Receiver<bool>) {
    // An answer to a stop must not wait for more bytes to share its packet.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("no delay cannot be set: {error}");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = ended(&mut ending) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!("a connection ended: {error}");
    }
}
