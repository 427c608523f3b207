use std::fs;

use proptest::prelude::*;

use super::{Reload, Reloader};
use crate::bundle::tests::overlay::Overlay;
use crate::bundle::tests::shipped;

const GUARD: &str = "@id(\"guard.more\")
forbid (principal is Service, action in Action::\"plan\", resource)
when { context.ttl_ms > 60000 };
";

fn told(reload: &Reload) -> String {
    match reload {
        Reload::Unchanged => "unchanged".to_owned(),
        Reload::Loaded(bundle) => format!("loaded {}", bundle.len()),
        Reload::Refused(faults) => {
            let first = faults.iter().next().unwrap();
            format!("refused {}", first.check)
        }
    }
}

fn looks<const N: usize>(reloader: &mut Reloader, expected: [&str; N]) {
    let got: Vec<String> = (0..N).map(|_| told(&reloader.look())).collect();
    assert_eq!(got, expected);
}

fn watched() -> (Overlay, Reloader) {
    let overlay = Overlay::new();
    let reloader = Reloader::new(overlay.path(), Some(shipped().hash()));
    (overlay, reloader)
}

#[test]
fn an_edit_is_loaded_once_it_has_settled() {
    let (overlay, mut reloader) = watched();
    let more = format!("loaded {}", shipped().len() + 1);
    looks(&mut reloader, ["unchanged", "unchanged"]);
    overlay.write("guards/90-more.cedar", GUARD);
    looks(&mut reloader, ["unchanged", &more, "unchanged"]);
    // And back.
    overlay.remove("guards/90-more.cedar");
    let back = format!("loaded {}", shipped().len());
    looks(&mut reloader, ["unchanged", &back, "unchanged"]);
}

#[test]
fn a_state_that_is_still_being_written_is_left_alone() {
    let (overlay, mut reloader) = watched();
    for length in [20, 60, 100] {
        overlay.write("guards/90-more.cedar", &GUARD.as_bytes()[..length]);
        looks(&mut reloader, ["unchanged"]);
    }
    overlay.write("guards/90-more.cedar", GUARD);
    let more = format!("loaded {}", shipped().len() + 1);
    looks(&mut reloader, ["unchanged", &more]);
}

#[test]
fn a_broken_edit_is_refused_once_and_the_way_back_is_no_change() {
    let (overlay, mut reloader) = watched();
    overlay.write("guards/90-more.cedar", "forbid (");
    looks(
        &mut reloader,
        ["unchanged", "refused syntax", "unchanged", "unchanged"],
    );
    overlay.write(
        "guards/90-more.cedar",
        "forbid (principal, action, resource);",
    );
    looks(
        &mut reloader,
        ["unchanged", "refused policy-id", "unchanged"],
    );
}

#[test]
fn a_broken_edit_that_is_taken_back_ends_the_refusal() {
    let (overlay, mut reloader) = watched();
    overlay.write("guards/90-more.cedar", "forbid (");
    looks(&mut reloader, ["unchanged", "refused syntax"]);
    overlay.remove("guards/90-more.cedar");
    // Loaded again, so that whoever shows the refusal sees that it is over.
    let same = format!("loaded {}", shipped().len());
    looks(&mut reloader, ["unchanged", &same, "unchanged"]);
}

#[test]
fn a_vanished_directory_is_refused_and_comes_back() {
    let (overlay, mut reloader) = watched();
    let aside = overlay.path().with_extension("aside");
    fs::rename(overlay.path(), &aside).unwrap();
    looks(&mut reloader, ["unchanged", "refused files", "unchanged"]);
    fs::rename(&aside, overlay.path()).unwrap();
    let same = format!("loaded {}", shipped().len());
    looks(&mut reloader, ["unchanged", &same]);
}

#[test]
fn a_first_load_needs_no_bundle_in_force() {
    let overlay = Overlay::new();
    let mut reloader = Reloader::new(overlay.path(), None);
    let loaded = format!("loaded {}", shipped().len());
    looks(&mut reloader, ["unchanged", &loaded, "unchanged"]);
}

#[test]
fn a_bundle_in_use_outlives_its_successor() {
    let (overlay, mut reloader) = watched();
    let before = overlay.load().unwrap();
    overlay.write("guards/90-more.cedar", GUARD);
    looks(&mut reloader, ["unchanged"]);
    let Reload::Loaded(after) = reloader.look() else {
        panic!("the edit is not loaded");
    };
    assert_ne!(before.hash(), after.hash());
    assert_eq!(before.len() + 1, after.len());
}

/// Bytes of every sort, and bytes that look like what they replace.
fn contents() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    let text = "[\\PC\\n]{0,200}".prop_map(String::into_bytes);
    let policy = (0..GUARD.len(), any::<u8>()).prop_map(|(at, byte)| {
        let mut bytes = GUARD.as_bytes().to_vec();
        bytes[at] = byte;
        bytes
    });
    prop_oneof![bytes, text, policy]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_content_of_any_file_is_more_than_refused(
        name in prop::sample::select(vec![
            "guards/90-more.cedar",
            "tenants/acme.cedar",
            "schema/extra.cedarschema",
            "grants.json",
            "bundle.toml",
            "cases/more.json",
            "cases/entities/acme.json",
        ]),
        content in contents(),
    ) {
        let overlay = Overlay::new();
        overlay.write(name, content);
        if let Err(faults) = overlay.load() {
            // Every refusal can be read, as text and as JSON.
            prop_assert!(faults.iter().count() > 0);
            prop_assert!(!faults.to_string().is_empty());
            prop_assert!(serde_json::to_string(&faults).is_ok());
        }
    }
}
