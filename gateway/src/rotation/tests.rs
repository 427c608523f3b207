use std::collections::HashMap;
use std::path::Path;

use super::{keyrings, look};
use crate::config::service::{KeySource, ServiceConfig};
use crate::grant::Keyring;
use crate::grant::Keyrings;

const OLD: &str = "old:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const NEW: &str = "new:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE";

fn service(file: &Path) -> ServiceConfig {
    ServiceConfig {
        name: "drones".to_owned(),
        urls: vec!["http://127.0.0.1:9001".parse().unwrap()],
        object: "swarm-1".to_owned(),
        key_source: KeySource::File(file.to_owned()),
        keys: Keyring::parse(OLD).unwrap(),
    }
}

fn check(rings: &Keyrings, kid: &str, expected: bool) {
    let rings = rings.load();
    assert_eq!(
        rings["drones"].decoding_key(kid).is_some(),
        expected,
        "{kid}"
    );
}

#[test]
fn a_changed_file_replaces_the_keys_and_a_bad_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let service = service(&file);
    let rings = keyrings(std::slice::from_ref(&service));
    let mut known = HashMap::new();

    std::fs::write(&file, OLD).unwrap();
    look(&rings, &service, &mut known);
    check(&rings, "old", true);

    std::fs::write(&file, format!("{NEW}\n{OLD}")).unwrap();
    look(&rings, &service, &mut known);
    check(&rings, "old", true);
    check(&rings, "new", true);

    std::fs::write(&file, "new:short").unwrap();
    look(&rings, &service, &mut known);
    check(&rings, "new", true);

    std::fs::remove_file(&file).unwrap();
    look(&rings, &service, &mut known);
    check(&rings, "new", true);

    std::fs::write(&file, NEW).unwrap();
    look(&rings, &service, &mut known);
    check(&rings, "old", false);
    check(&rings, "new", true);
}
