use axum::Router;
use axum::routing::post;

use super::{StandIn, Word};
use crate::background::Background;
use crate::http::Http;
use crate::ports;

/// One call, told `word`: its status, if one came, and how often the service
/// itself was called.
async fn check(word: Word, expected: Option<u16>, served: u64) {
    let listener = ports::listener();
    let address = listener.local_addr().unwrap();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = count.clone();
    let _service = Background::run("service", async move {
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let called = move || async move {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            axum::http::StatusCode::CREATED
        };
        let router = Router::new().route("/api/missions", post(called));
        axum::serve(listener, router).await.unwrap();
    });
    let stand_in = StandIn::before(address);
    stand_in.calls(word);
    let answer = Http::to(stand_in.address()).post("/api/missions");
    let answer = answer.try_send().await.ok().map(|answer| answer.status);
    assert_eq!(answer, expected, "{word:?}");
    let called = count.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(called, served, "{word:?}");
    assert_eq!(stand_in.heard(), 1, "{word:?}");
}

#[tokio::test]
async fn it_passes_on_refuses_and_loses_as_it_is_told() {
    check(Word::Passes, Some(201), 1).await;
    check(Word::Unable, Some(503), 0).await;
    check(Word::Silent, None, 0).await;
    check(Word::Lost, None, 1).await;
}
