use std::time::Duration;

use jiff::Timestamp;

use super::{StopEpoch, Stops};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn motion_asked_before_or_at_the_last_stop_is_too_old() {
    let epoch = StopEpoch::new(Stops::default());
    assert!(!epoch.current().after(at(5)));
    assert_eq!(epoch.raise(at(10)), 1);
    assert!(epoch.current().after(at(9)));
    assert!(epoch.current().after(at(10)));
    assert!(!epoch.current().after(at(11)));
}

#[test]
fn a_clock_set_back_does_not_take_back_a_stop() {
    let epoch = StopEpoch::new(Stops::default());
    epoch.raise(at(10));
    epoch.raise(at(5));
    let expected = Stops {
        epoch: 2,
        last: Some(at(10)),
    };
    assert_eq!(epoch.current(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_recorded_once_it_or_a_later_one_is() {
    let epoch = StopEpoch::new(Stops {
        epoch: 3,
        last: None,
    });
    let patience = Duration::from_millis(100);
    assert!(epoch.is_recorded(3, patience).await);
    let raised = epoch.raise(at(1));
    assert!(!epoch.is_recorded(raised, patience).await);
    assert_eq!(epoch.unrecorded().await.epoch, 4);
    epoch.raise(at(2));
    assert_eq!(epoch.unrecorded().await.epoch, 5);
    epoch.mark_recorded(5);
    assert!(epoch.is_recorded(raised, patience).await);
    epoch.mark_recorded(4);
    assert!(
        epoch.is_recorded(5, patience).await,
        "recording never goes back"
    );
}
