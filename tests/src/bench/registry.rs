//! Memory of registered objects.

use std::process::Command;

use interlock_gateway::registry::{Object, Registry};
use serde_json::Map;
use uuid::Uuid;

use crate::process::{binary, resident_bytes};

/// How many objects are registered.
const OBJECTS: u32 = 100_000;

/// Bytes of resident memory per object, measured in a process of its own.
pub(super) fn measure() -> (u32, f64) {
    let output = Command::new(binary("interlock-bench"))
        .args(["registry", &OBJECTS.to_string()])
        .output()
        .expect("this very program starts");
    assert!(
        output.status.success(),
        "registry ended with {}",
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (OBJECTS, text.trim().parse().expect("bytes are a number"))
}

/// Registers `objects` objects in this process and returns how much its
/// resident memory grew per object. Ids are UUIDs below one of a thousand
/// scopes, as those of a large fleet are.
pub fn bytes_per_object(objects: u32) -> f64 {
    let registry = Registry::default();
    // The first object brings what there is only once.
    registry.apply(&object(0));
    let before = resident_bytes(std::process::id());
    for number in 1..=objects {
        assert!(registry.apply(&object(number)), "an object was not taken");
    }
    let after = resident_bytes(std::process::id());
    assert_eq!(registry.len(), objects as usize + 1);
    (after - before) as f64 / f64::from(objects)
}

fn object(number: u32) -> Object {
    Object {
        kind: "Swarm".to_owned(),
        id: Uuid::from_u64_pair(0x0123_4567_89ab_4def, u64::from(number)).to_string(),
        owner: "drones".to_owned(),
        revision: 1,
        parents: vec![format!("group-{}", number % 1000)],
        attributes: Map::new(),
        deleted: false,
    }
}
