use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::{MISSING, MOWER, furnish};
use crate::testkit::Stage;

#[tokio::test]
async fn what_a_service_misses_reads_as_what_the_gateway_hides() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let token = stage.token("otto", &["acme"], json!({ "operator": ["acme"] }));
    let ours = stage
        .call(
            Some(&token),
            "GET",
            &format!("/api/v1/fleet/mowers/{MISSING}"),
            None,
        )
        .await;
    assert!(stage.heard().is_empty());
    stage.answers(|_| {
        let problem = json!({
            "type": "urn:interlock:problem:not-found", "status": 404, "title": "No such command",
            "detail": "there is no command 17 in the account acme", "effect": "none",
        });
        (404, problem)
    });
    let command = format!("/api/v1/fleet/commands/{MISSING}");
    let reset = format!("/api/v1/fleet/mowers/{MOWER}/emergency-reset");
    let stop = format!("/api/v1/fleet/mowers/{MOWER}/emergency-stop");
    let confirmed = Some(json!({ "on_site_confirmed": true }));
    for (method, path, body) in [
        ("GET", command, None),
        ("POST", reset, confirmed),
        ("POST", stop, None),
    ] {
        let theirs = stage.call(Some(&token), method, &path, body).await;
        assert_eq!(theirs.status, 404, "{path}");
        assert_eq!(theirs.body, ours.body, "{path}");
        assert_eq!(theirs.headers, ours.headers, "{path}");
        assert_eq!(stage.heard().len(), 1, "{path}");
    }
}

#[tokio::test]
async fn a_read_may_ask_with_a_body() {
    let stage = Stage::open().await;
    furnish(&stage);
    stage.answers(|_| (200, json!({ "path_hash": "00" })));
    let path = format!("/api/v1/fleet/mowers/{MOWER}/path-preview");
    let body = json!({ "area_ids": ["0197b1f0-0000-7000-8000-00000000000a"] });
    let told = stage.call(None, "POST", &path, Some(body.clone())).await;
    assert_eq!(
        (told.status, told.json()),
        (200, json!({ "path_hash": "00" }))
    );
    let heard = stage.heard();
    assert_eq!(
        (heard[0].method.as_str(), heard[0].path.as_str()),
        ("POST", path.as_str())
    );
    assert_eq!(heard[0].json(), body);
    // It stores nothing and moves nothing: there is no operation to settle.
    assert_eq!(heard[0].grant.get("operation"), None);
    let unknown = json!({ "area_ids": [], "start": true });
    assert_eq!(
        stage.call(None, "POST", &path, Some(unknown)).await.status,
        400
    );
    assert!(stage.heard().is_empty());
}

/// A service that waits for its caller to go, and says so.
#[tokio::test]
async fn a_caller_that_hangs_up_takes_its_question_back() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = listener.local_addr().unwrap();
    let (asked, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told_asked, told_gone) = (Arc::clone(&asked), Arc::clone(&gone));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = [0; 4096];
        assert!(stream.read(&mut read).await.unwrap() > 0);
        told_asked.notify_one();
        while stream.read(&mut read).await.unwrap_or(0) > 0 {}
        told_gone.notify_one();
    });
    let stage = Stage::open_before(service).await;
    furnish(&stage);
    let address = stage.listen();
    let mut caller = TcpStream::connect(address).await.unwrap();
    let body = r#"{"area_ids":[]}"#;
    let head = format!(
        "POST /api/v1/fleet/mowers/{MOWER}/path-preview HTTP/1.1\r\nHost: {address}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    caller.write_all(head.as_bytes()).await.unwrap();
    asked.notified().await;
    drop(caller);
    gone.notified().await;
}

#[tokio::test]
async fn a_service_is_ready_once_what_its_rows_name_is_there() {
    let stage = Stage::open().await;
    furnish(&stage);
    let (_, body) = crate::health::readiness(&stage.gateway).await;
    // Its rows about the gateway itself wait for no object of that name.
    assert_eq!(body["services"]["mowers"]["registered"], true);
}
