use std::time::Duration;

use super::Lives;
use crate::contract::CommandKind;

const LIVES: Lives = Lives {
    stop: Duration::from_secs(10),
    most: Duration::from_secs(300),
};

fn check(kind: CommandKind, wished: Option<u16>, seconds: u64) {
    assert_eq!(
        LIVES.of(kind, wished),
        Duration::from_secs(seconds),
        "{kind:?} {wished:?}"
    );
}

#[test]
fn wished_but_capped() {
    check(CommandKind::StartMow, None, 30);
    check(CommandKind::StartMow, Some(1), 1);
    check(CommandKind::StartMow, Some(300), 300);
    check(CommandKind::ReturnToDock, None, 60);
    check(CommandKind::PauseMow, Some(45), 45);
    let short = Lives {
        most: Duration::from_secs(20),
        ..LIVES
    };
    assert_eq!(
        short.of(CommandKind::StartMow, None),
        Duration::from_secs(20)
    );
    assert_eq!(
        short.of(CommandKind::StartMow, Some(300)),
        Duration::from_secs(20)
    );
}

#[test]
fn the_wish_of_a_stop_a_frame_and_a_reset_is_ignored() {
    check(CommandKind::EmergencyStop, Some(300), 10);
    check(CommandKind::EmergencyStop, Some(1), 10);
    check(CommandKind::ManualDrive, Some(300), 2);
    check(CommandKind::ResetEmergency, Some(300), 10);
}
