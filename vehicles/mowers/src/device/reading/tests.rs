use async_trait::async_trait;
use bytes::Bytes;
use proptest::prelude::{any, proptest};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

use super::{Reading, parse, read};
use crate::bus::{BusError, Delivery, Receipt, subject};
use crate::contract::{Command, Envelope, Priority};
use crate::device::testkit::{envelope, noon, stop_now};

struct Nowhere;

#[async_trait]
impl Receipt for Nowhere {
    async fn ack(self: Box<Self>) -> Result<(), BusError> {
        Ok(())
    }
    async fn retry(self: Box<Self>, _: Duration) -> Result<(), BusError> {
        Ok(())
    }
    async fn reject(self: Box<Self>) -> Result<(), BusError> {
        Ok(())
    }
    async fn progress(&self) -> Result<(), BusError> {
        Ok(())
    }
}

const MOWER: Uuid = Uuid::from_u128(7);

fn delivery(id: &str, mower: Uuid, payload: Vec<u8>) -> Delivery {
    Delivery {
        subject: subject::command(mower),
        id: id.to_owned(),
        priority: Priority::Normal,
        payload: Bytes::from(payload),
        attempt: 1,
        receipt: Box::new(Nowhere),
    }
}

/// `whole`, a reason's code, or `malformed`.
fn check(change: impl FnOnce(&mut Value), stop: bool, expected: &str) {
    let command = if stop {
        stop_now()
    } else {
        Command::PauseMow {}
    };
    let envelope: Envelope = envelope(MOWER, command, noon());
    let mut value = serde_json::to_value(&envelope).unwrap();
    change(&mut value);
    let payload = serde_json::to_vec(&value).unwrap();
    let id = envelope.command_id.to_string();
    let said = match read(&delivery(&id, MOWER, payload), stop) {
        Reading::Command(_) => "whole".to_owned(),
        Reading::Refused(_, why) => why.split(':').next().unwrap().to_owned(),
        Reading::Malformed(_) => "malformed".to_owned(),
    };
    assert_eq!(said, expected, "{value}");
}

#[test]
fn an_envelope_is_whole_or_refused_or_malformed() {
    let set = |key: &'static str, to: Value| move |value: &mut Value| value[key] = to;
    check(|_| {}, false, "whole");
    check(|_| {}, true, "whole");
    let unknown = json!({"kind": "fly"});
    check(set("command", unknown), false, "unsupported-kind");
    let extra = json!({"kind": "pause_mow", "gently": true});
    check(set("command", extra), false, "invalid-parameters");
    check(set("command", json!({})), false, "malformed");
    check(set("command_id", json!("x")), false, "malformed");
    check(set("command_id", json!(MOWER)), false, "malformed");
    check(set("mower_id", json!(Uuid::nil())), false, "malformed");
    check(set("expires_at", json!(noon())), false, "malformed");
    check(set("priority", json!("emergency")), false, "malformed");
    check(set("priority", json!("normal")), true, "malformed");
    let stop = json!({"kind": "emergency_stop"});
    check(set("command", stop), false, "malformed");
    let start = json!({"kind": "pause_mow"});
    check(set("command", start), true, "malformed");
}

proptest! {
    #[test]
    fn nothing_panics(bytes in any::<Vec<u8>>()) {
        let _reading = parse(&bytes);
    }
}
