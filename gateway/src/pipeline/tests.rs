//! The security order from end to end, before a service that says what it is
//! told to. What is tested holds for any service; the rows are those of the one
//! that has them all.

mod account;
mod anew;
mod held;
mod kinds;
mod plans;
mod reads;
mod stops;

use serde_json::json;

use crate::testkit::{ACCOUNT, Stage};

/// A list of the caller's account.
const MOWERS: &str = "/api/v1/fleet/mowers";
/// An object with an id of its own.
const MOWER: &str = "0197b1f0-0000-7000-8000-000000000001";
/// One that nobody registered.
const MISSING: &str = "0197b1f0-0000-7000-8000-0000000000ff";

fn commands(mower: &str) -> String {
    format!("/api/v1/fleet/mowers/{mower}/commands")
}

/// Two accounts, and a mower in the first.
fn furnish(stage: &Stage) {
    let booked = json!({ "features": ["control"] });
    stage.register(("Scope", ACCOUNT), 1, &[], booked.clone());
    stage.register(("Scope", "beta"), 1, &[], booked);
    stage.register(("Mower", MOWER), 7, &[ACCOUNT], json!({}));
}
