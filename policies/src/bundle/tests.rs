mod agreement;
mod broken;
mod decide;
mod files;
mod matrix;
mod nesting;
mod optional;
pub(crate) mod overlay;
pub(crate) mod scene;

use super::Bundle;
use overlay::here;

pub(crate) fn shipped() -> Bundle {
    match Bundle::load(&here("bundle")) {
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
