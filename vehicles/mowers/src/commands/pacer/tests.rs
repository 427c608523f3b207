use jiff::{SignedDuration, Timestamp};

use super::Pacer;
use crate::commands::testkit::noon;

fn at(milliseconds: i64) -> Timestamp {
    noon() + SignedDuration::from_millis(milliseconds)
}

#[test]
fn five_at_once_then_five_a_second() {
    let pacer = Pacer::default();
    let turns: Vec<_> = (0..12).map(|_| pacer.turn("one", at(0))).collect();
    let wanted = [
        0, 0, 0, 0, 0, 1_000, 1_000, 1_000, 1_000, 1_000, 2_000, 2_000,
    ];
    assert_eq!(turns, wanted.map(|milliseconds| Ok(at(milliseconds))));
    assert_eq!(pacer.turn("two", at(0)), Ok(at(0)));
}

#[test]
fn never_more_than_five_in_any_second() {
    let pacer = Pacer::default();
    let mut turns = Vec::new();
    for n in 0..40 {
        turns.extend(pacer.turn("one", at(n * 130)));
    }
    for window in turns.windows(6) {
        let (Some(first), Some(sixth)) = (window.first(), window.last()) else {
            panic!("six turns");
        };
        let apart = sixth.duration_since(*first);
        assert!(apart >= SignedDuration::from_secs(1), "{apart:?}");
    }
}

#[test]
fn a_turn_too_far_ahead_is_not_given_and_says_when_to_ask_again() {
    let pacer = Pacer::default();
    let given = (0..2_000).filter_map(|_| pacer.turn("one", at(0)).ok());
    assert_eq!(given.count(), 5 * 101, "a command to five hundred has room");
    let again = Err(SignedDuration::from_secs(1));
    assert_eq!(pacer.turn("one", at(0)), again);
    // A second later there is room for five more.
    let later = (0..10).filter_map(|_| pacer.turn("one", at(1_000)).ok());
    assert_eq!(later.count(), 5);
}
