use super::CommandKind;

/// The names of the kinds of which something holds.
fn those(holds: fn(CommandKind) -> bool) -> Vec<&'static str> {
    let kinds = CommandKind::ALL.into_iter().filter(|kind| holds(*kind));
    kinds.map(CommandKind::as_str).collect()
}

#[test]
fn what_sets_in_motion_and_what_does_not() {
    let still = [
        "pause_mow",
        "set_blade_height",
        "set_speed",
        "emergency_stop",
        "sync_map",
        "resync_rtk",
    ];
    assert_eq!(those(|kind| !kind.moves()), still);
}

#[test]
fn what_calms() {
    assert_eq!(those(CommandKind::calms), ["pause_mow", "return_to_dock"]);
}

#[test]
fn what_a_later_calming_command_ends() {
    let yielding = [
        "start_mow",
        "resume_mow",
        "return_to_dock",
        "manual_drive",
        "leave_dock",
        "relocate_dock",
        "restart_mower",
    ];
    assert_eq!(those(CommandKind::yields_to_calming), yielding);
}
