use std::env;
use std::fs;
use std::path::Path;

use interlock_surface::render::GOLDENS;

/// The documents in the repository are those that the rows make. With
/// `INTERLOCK_GOLDEN=write` they are written instead of compared.
#[test]
fn the_documents_are_those_of_the_rows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a workspace");
    let write = env::var("INTERLOCK_GOLDEN").is_ok_and(|mode| mode == "write");
    let mut stale = Vec::new();
    for golden in GOLDENS {
        let path = root.join(golden.path);
        let text = (golden.render)();
        if fs::read_to_string(&path).ok().as_ref() == Some(&text) {
            // A file that is written again as it was would make what is built from it stale.
        } else if write {
            fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
            fs::write(&path, &text).expect("written");
        } else {
            stale.push(golden.path);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} differ from the rows; run `cargo xtask golden`"
    );
}

#[test]
fn every_document_ends_with_one_newline_and_has_no_trailing_blanks() {
    for golden in GOLDENS {
        let text = (golden.render)();
        assert!(
            text.ends_with('\n') && !text.ends_with("\n\n"),
            "{}",
            golden.path
        );
        let blank = text.lines().find(|line| line.ends_with(' '));
        assert_eq!(blank, None, "{}", golden.path);
    }
}
