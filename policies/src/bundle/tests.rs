use std::path::Path;

use super::Bundle;

pub(crate) fn shipped() -> Bundle {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("bundle");
    match Bundle::load(&directory) {
        Ok(bundle) => bundle,
        Err(faults) => panic!("the shipped bundle is refused:\n{faults}"),
    }
}

#[test]
fn the_shipped_bundle_loads() {
    let bundle = shipped();
    assert_eq!(bundle.hash().len(), 64);
}

#[test]
fn the_minimal_bundle_loads() {
    let bundle = Bundle::minimal().unwrap();
    assert_eq!(bundle.len(), 2);
}
