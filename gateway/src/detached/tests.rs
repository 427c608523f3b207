use std::sync::Arc;

use tokio::sync::oneshot;

use super::Detached;

#[tokio::test]
async fn work_goes_on_when_nobody_waits_and_is_waited_for_at_the_end() {
    let detached = Arc::new(Detached::default());
    let (go, gone) = oneshot::channel::<()>();
    let (done, ended) = oneshot::channel();
    let caller = tokio::spawn({
        let detached = Arc::clone(&detached);
        async move {
            detached
                .run(async move {
                    gone.await.unwrap();
                    done.send("done").unwrap();
                })
                .await
        }
    });
    // The caller is polled once and then dropped, as a handler is whose
    // connection broke.
    tokio::task::yield_now().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();
    detached.finished().await;
    assert_eq!(ended.await.unwrap(), "done");
}

#[tokio::test]
async fn a_panic_is_told() {
    let detached = Detached::default();
    assert!(
        detached
            .run(async { panic!("on purpose") })
            .await
            .unwrap_err()
            .is_panic()
    );
    detached.finished().await;
}
