use super::{CALMED, Had, NO_AREA, NOT_HELD, STALE, STOPPED, had};
use crate::commands::record::{Late, Outcome};
use crate::commands::testkit::noon;
use crate::contract::Status;

fn outcome(status: Status, reason: &str) -> Outcome {
    Outcome {
        status,
        reason: Some(reason.to_owned()),
        result_at: Some(noon()),
        late: None,
    }
}

#[test]
fn what_the_service_ended_itself_is_told_from_what_a_device_gateway_ended() {
    for (status, reason, expected) in [
        (Status::Rejected, STOPPED, Had::Nobody),
        (Status::Rejected, CALMED, Had::Nobody),
        (Status::Rejected, STALE, Had::Nobody),
        (Status::Rejected, NO_AREA, Had::Nobody),
        (Status::Failed, NOT_HELD, Had::Nobody),
        (Status::Failed, "bus-unavailable: full", Had::Nobody),
        (Status::Failed, "not-stopped: it is away", Had::Nobody),
        (Status::Failed, "publish-unconfirmed: slow", Had::Unclear),
        (Status::Rejected, "superseded-by-stop", Had::Somebody),
        (Status::Rejected, "superseded-by-calming", Had::Somebody),
        (
            Status::Rejected,
            "unknown-area: `x` is not on it",
            Had::Somebody,
        ),
        (Status::Failed, "offline: nobody answers", Had::Somebody),
        (Status::Executed, "no-effect", Had::Somebody),
    ] {
        assert_eq!(had(&outcome(status, reason)), expected, "{reason}");
    }
    assert_eq!(had(&Outcome::PENDING), Had::Unclear);
}

#[test]
fn who_speaks_late_had_it() {
    let late = Some(Late {
        status: Status::Executed,
        reason: None,
        at: noon(),
    });
    let unconfirmed = outcome(Status::Failed, "publish-unconfirmed: slow");
    let outcome = Outcome {
        late,
        ..unconfirmed
    };
    assert_eq!(had(&outcome), Had::Somebody);
}
