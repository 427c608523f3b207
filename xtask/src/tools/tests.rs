//! What a program says of its version.

use super::{NATS_OLDEST, find, release};

#[test]
fn reads_a_release() {
    let check = |said: &str, expected: Option<(u32, u32)>| assert_eq!(release(said), expected);
    check("nats-server: v2.15.1", Some((2, 15)));
    check("nats-server: v2.9.10", Some((2, 9)));
    check("nats-server: v3.0.0-beta.1", Some((3, 0)));
    check("nats-server", None);
    check("", None);
    assert!(release("nats-server: v2.9.10") < Some(NATS_OLDEST));
}

#[test]
fn finds_what_is_on_the_path_and_nothing_else() {
    assert!(find("sh").is_some());
    assert_eq!(find("no-such-program"), None);
}
