use super::owned;
use crate::command::output;

#[test]
fn a_folder_of_another_user_is_new_unless_it_is_kept() {
    let base = tempfile::tempdir().unwrap();
    let me = output("id", &["-un"]).unwrap();
    let make = |keep| owned(base.path(), 8080, &me, keep).unwrap();
    let folder = make(false);
    std::fs::write(folder.join("note"), "kept").unwrap();
    assert!(make(true).join("note").exists());
    assert!(!make(false).join("note").exists());

    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::remove_dir(&folder).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
    // A link is not followed, whoever made it: a folder takes its place.
    assert!(make(true).symlink_metadata().unwrap().is_dir());
    assert!(elsewhere.path().is_dir());
    assert!(owned(base.path(), 8081, "no-such-user", false).is_err());
}
