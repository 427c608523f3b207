use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::{Exposition, Kind, Metrics, router};

struct Two;

#[async_trait]
impl Metrics for Two {
    async fn write(&self, exposition: &mut Exposition) {
        exposition.gauge("waiting", "What waits", 7);
        let mut family = exposition.family("asked_total", Kind::Counter, "Back\\slash\nnext");
        family.sample(&[("kind", "a\"b"), ("end", "c\\d\n")], 1);
        family.sample(&[("kind", "e"), ("end", "f")], u64::MAX);
    }
}

async fn check(method: &str, path: &str, status: StatusCode, body: &str) {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(Body::empty()).unwrap();
    let response = router(Arc::new(Two)).oneshot(request).await.unwrap();
    assert_eq!(response.status(), status, "{method} {path}");
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(String::from_utf8_lossy(&bytes), body, "{method} {path}");
}

#[tokio::test]
async fn two_paths_are_served_and_no_other() {
    check("GET", "/healthz", StatusCode::OK, r#"{"status":"Healthy"}"#).await;
    check("POST", "/healthz", StatusCode::METHOD_NOT_ALLOWED, "").await;
    check("GET", "/", StatusCode::NOT_FOUND, "").await;
}

#[tokio::test]
async fn the_text_is_that_of_prometheus() {
    let text = r#"# HELP waiting What waits
# TYPE waiting gauge
waiting 7
# HELP asked_total Back\\slash\nnext
# TYPE asked_total counter
asked_total{kind="a\"b",end="c\\d\n"} 1
asked_total{kind="e",end="f"} 18446744073709551615
"#;
    check("GET", "/metrics", StatusCode::OK, text).await;
}
