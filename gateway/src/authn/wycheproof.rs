//! The JOSE vectors of Wycheproof against our own vetting and verification: no
//! invalid vector is accepted, and every valid one that is refused is listed
//! with its reason in `testdata/wycheproof/outcomes.txt`.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::jws::Jws;
use super::vet::vet;

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "testdata", "wycheproof", name]
        .iter()
        .collect()
}

fn groups(name: &str) -> Vec<Value> {
    let text = std::fs::read(file(name)).unwrap();
    let mut vectors: Value = serde_json::from_slice(&text).unwrap();
    match vectors["testGroups"].take() {
        Value::Array(groups) => groups,
        other => panic!("no groups: {other}"),
    }
}

/// The set an issuer would publish. Groups of asymmetric keys come with a
/// public part; those of symmetric keys and of whole sets only with what
/// Wycheproof calls private.
fn published(group: &Value) -> Value {
    let key = group.get("public").unwrap_or(&group["private"]);
    match key.get("keys") {
        Some(_) => key.clone(),
        None => json!({"keys": [key]}),
    }
}

/// What our code says about one token under one published set.
fn judge(set: &Value, token: &str) -> Result<(), String> {
    let vetted = vet(set.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let jws = Jws::parse(token).map_err(|error| error.to_string())?;
    let key = match (jws.kid(), vetted.keys.as_slice()) {
        (None, [only]) => only,
        (kid, keys) => keys
            .iter()
            .find(|key| key.kid() == kid)
            .ok_or("no key of this id")?,
    };
    jws.verify(key).map_err(|error| error.to_string())
}

/// One line for each vector; panics on an accepted invalid one.
fn outcomes(name: &str) -> (String, u32) {
    let mut lines = String::new();
    let mut accepted = 0;
    for group in groups(name) {
        let set = published(&group);
        for vector in group["tests"].as_array().unwrap() {
            let outcome = judge(&set, vector["jws"].as_str().unwrap());
            let expected = vector["result"].as_str().unwrap();
            let id = format!("{} {}", vector["tcId"], vector["comment"].as_str().unwrap());
            assert!(
                expected == "valid" || outcome.is_err(),
                "{name}: vector {id} of `{}` is invalid and was accepted",
                group["comment"]
            );
            let told = match outcome {
                Ok(()) => {
                    accepted += 1;
                    "accepted".to_owned()
                }
                Err(reason) => format!("refused: {reason}"),
            };
            writeln!(lines, "{expected} {id}: {told}").unwrap();
        }
    }
    (lines, accepted)
}

#[test]
fn no_invalid_vector_is_accepted() {
    let (signatures, accepted) = outcomes("json_web_signature_test.json");
    let (keys, accepted_keys) = outcomes("json_web_key_test.json");
    // The positive controls: every RS256, PS256 and ES256 vector that is valid.
    assert_eq!((accepted, accepted_keys), (16, 1));
    let told =
        format!("# json_web_signature_test.json\n{signatures}\n# json_web_key_test.json\n{keys}");
    let golden = file("outcomes.txt");
    if std::env::var_os("INTERLOCK_GOLDEN").is_some_and(|order| order == "write") {
        std::fs::write(&golden, &told).unwrap();
    }
    assert_eq!(told, std::fs::read_to_string(golden).unwrap());
}
