use super::{Listener, Match, find};

#[test]
fn a_head_is_its_get() {
    let Match::Found { rows, params, head } = find(
        Listener::Public,
        "HEAD",
        "/api/missions/0190B3C4-0000-7000-8000-00000000000A",
    ) else {
        panic!("no row");
    };
    assert_eq!(rows.any().name, "drones.mission.get");
    assert_eq!(
        params.get("mission"),
        Some("0190b3c4-0000-7000-8000-00000000000a")
    );
    assert!(head);
}
