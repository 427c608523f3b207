use std::os::unix::fs::PermissionsExt;

use super::State;
use crate::failure::Failure;
use crate::workspace::Workspace;

fn workspace(folder: &tempfile::TempDir) -> Workspace {
    Workspace {
        root: folder.path().to_owned(),
        target: folder.path().join("target"),
    }
}

#[test]
fn a_second_system_on_the_same_state_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(&folder);
    let first = State::prepare(&workspace, 8080, false).unwrap();
    let second = State::prepare(&workspace, 8080, false);
    assert!(matches!(second, Err(Failure::Locked { .. })));
    State::prepare(&workspace, 9080, false).unwrap();
    drop(first);
    State::prepare(&workspace, 8080, false).unwrap();
}

#[test]
fn keys_are_for_their_owner_alone_and_fresh_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(&folder);
    let key = |keep| {
        let state = State::prepare(&workspace, 8080, keep).unwrap();
        let key = state.key("drones").unwrap();
        let file = state.file("drones.key").metadata().unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
        let directory = state.logs().parent().unwrap().metadata().unwrap();
        assert_eq!(directory.permissions().mode() & 0o777, 0o700);
        key
    };
    let first = key(false);
    assert_eq!(key(true), first);
    assert_ne!(key(false), first);
    let secret = first.strip_prefix("drones-1:").unwrap();
    assert_eq!(secret.len(), 43, "32 bytes in base64url");
}
