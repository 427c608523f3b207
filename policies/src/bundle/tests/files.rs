//! Reading a bundle from disk, and what its hash covers.

use std::fs;

use super::overlay::Overlay;
use super::shipped;
use crate::bundle::files::Files;
use crate::diagnostics::Check;

fn refused(overlay: &Overlay, expected: &str) {
    let faults = overlay.load().unwrap_err();
    assert!(
        faults.iter().all(|fault| fault.check == Check::Files),
        "{faults}"
    );
    assert!(faults.to_string().contains(expected), "{faults}");
}

#[test]
fn unreadable_files_are_refused_by_name() {
    let overlay = Overlay::new();
    overlay.write("guards/90-more.cedar", [b'/', b'/', 0xff]);
    refused(
        &overlay,
        "guards/90-more.cedar: files: not UTF-8: the byte at offset 2",
    );

    let overlay = Overlay::new();
    overlay.write("guards/90-more.cedar", vec![b' '; (1 << 20) + 1]);
    refused(
        &overlay,
        "guards/90-more.cedar: files: larger than 1048576 bytes",
    );

    let overlay = Overlay::new();
    fs::create_dir(overlay.path().join("guards/90-more.cedar")).unwrap();
    refused(
        &overlay,
        "guards/90-more.cedar: files: this does not belong in a bundle",
    );

    let overlay = Overlay::new();
    overlay.write("quards/10-more.cedar", "");
    refused(&overlay, "quards: files: this does not belong in a bundle");

    let overlay = Overlay::new();
    fs::remove_dir_all(overlay.path()).unwrap();
    refused(&overlay, "the directory cannot be read");
}

#[test]
fn missing_files_are_refused_by_name() {
    for (name, check) in [
        ("bundle.toml", Check::Manifest),
        ("grants.json", Check::Grants),
    ] {
        let overlay = Overlay::new();
        let faults = overlay.remove(name).load().unwrap_err();
        let fault = faults.iter().next().unwrap();
        assert_eq!((fault.check, fault.file.as_deref()), (check, Some(name)));
    }
}

#[test]
fn editors_own_files_and_notes_are_no_part_of_the_bundle() {
    let overlay = Overlay::new();
    overlay
        .write("guards/.30-duties.cedar.swp", "x")
        .write("guards/30-duties.cedar~", "x")
        .write("guards/README.md", "x");
    assert_eq!(overlay.load().unwrap().hash(), shipped().hash());
}

#[test]
fn the_hash_covers_every_name_and_every_byte() {
    let hash = |files: &[(&str, &str)]| {
        let owned = files
            .iter()
            .map(|(n, t)| ((*n).to_owned(), (*t).to_owned()));
        owned.collect::<Files>().hash()
    };
    let all = [
        hash(&[]),
        hash(&[("a", "b")]),
        hash(&[("a", "c")]),
        hash(&[("ab", "")]),
        hash(&[("", "ab")]),
        hash(&[("a", "b"), ("c", "d")]),
        hash(&[("a", "bcd")]),
        hash(&[("a", "b"), ("cd", "")]),
    ];
    for (n, left) in all.iter().enumerate() {
        assert!(all.iter().skip(n + 1).all(|right| left != right));
    }
    assert_eq!(
        hash(&[("a", "b"), ("c", "d")]),
        hash(&[("c", "d"), ("a", "b")])
    );
}
