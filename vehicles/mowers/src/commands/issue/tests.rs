use serde_json::json;
use uuid::Uuid;

use crate::bus::Stream;
use crate::commands::testkit::{Asking, Rig, mower};
use crate::contract::Status;

fn start() -> serde_json::Value {
    json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] })
}

#[tokio::test]
async fn a_command_is_on_record_and_on_the_bus() {
    let rig = Rig::new(1).await;
    let asking = Asking::command(mower(1), start());
    let reply = rig.send(&asking).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    let answer = reply.json();
    assert_eq!(answer["command_id"], json!(asking.operation));
    assert_eq!(answer["status"], "pending");
    assert_eq!(rig.bus.published(), 1);
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Pending);
    let _ = Stream::Command;
}
