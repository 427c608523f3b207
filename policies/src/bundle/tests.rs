mod agreement;
mod broken;
mod decide;
mod files;
mod fleet;
mod matrix;
mod nesting;
mod optional;
pub(crate) mod overlay;
pub(crate) mod scene;
mod states;

use std::sync::OnceLock;

use super::Bundle;
use overlay::here;

/// The shipped bundle, loaded once for all tests: it never changes.
pub(crate) fn shipped() -> Bundle {
    static SHIPPED: OnceLock<Bundle> = OnceLock::new();
    let load = || match Bundle::load(&here("bundle")) {
        Ok(bundle) => bundle,
        Err(faults) => panic!("the shipped bundle is refused:\n{faults}"),
    };
    SHIPPED.get_or_init(load).clone()
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
