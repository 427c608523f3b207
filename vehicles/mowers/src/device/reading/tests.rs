use async_trait::async_trait;
use bytes::Bytes;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::{Index, select};
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

/// The names of an envelope, and of what is in it.
const PLACES: [&str; 12] = [
    "/command_id",
    "/mower_id",
    "/account_id",
    "/issued_by",
    "/issued_by/kind",
    "/issued_at",
    "/expires_at",
    "/priority",
    "/correlation_id",
    "/stop_epoch",
    "/command",
    "/command/kind",
];

fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        Just(json!({"kind": "start_mow"})),
        Just(json!(MOWER)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,20}".prop_map(|text| json!(text)),
    ]
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
        let _reading = parse(&bytes);
    }

    /// An envelope with one thing in it that is wrong, whole or cut off: what is
    /// answered is answered to the command that it was.
    #[test]
    fn no_envelope_panics(place in select(PLACES.to_vec()), with in anything(), cut in any::<Index>()) {
        let envelope: Envelope = envelope(MOWER, Command::PauseMow {}, noon());
        let mut value = serde_json::to_value(&envelope).unwrap();
        *value.pointer_mut(place).unwrap() = with;
        let payload = serde_json::to_vec(&value).unwrap();
        let id = envelope.command_id.to_string();
        match read(&delivery(&id, MOWER, payload.clone()), false) {
            Reading::Command(read) => prop_assert_eq!(read.command_id, envelope.command_id),
            Reading::Refused(read, why) => {
                prop_assert_eq!(read.command_id, envelope.command_id);
                prop_assert!(why.starts_with("unsupported-kind") || why.starts_with("invalid-"));
            }
            Reading::Malformed(_) => {}
        }
        let cut = payload[..cut.index(payload.len())].to_vec();
        let reading = read(&delivery(&id, MOWER, cut), false);
        prop_assert!(matches!(reading, Reading::Malformed(_)));
    }
}
