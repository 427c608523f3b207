use crate::contract::CommandKind;

#[test]
fn what_sets_in_motion_and_what_does_not() {
    let still: Vec<&str> = CommandKind::ALL
        .into_iter()
        .filter(|kind| !kind.moves())
        .map(CommandKind::as_str)
        .collect();
    let wanted = [
        "pause_mow",
        "set_blade_height",
        "set_speed",
        "emergency_stop",
        "sync_map",
        "resync_rtk",
    ];
    assert_eq!(still, wanted);
}
