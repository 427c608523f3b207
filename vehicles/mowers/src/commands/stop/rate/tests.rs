use jiff::SignedDuration;

use super::{ISSUERS, OFTEN, StopRate};
use crate::commands::testkit::noon;

/// Which of so many calls, a second apart, are told of.
fn told(rate: &StopRate, issuer: &str, calls: u32, after: SignedDuration) -> Vec<u32> {
    let at = |call: u32| noon() + after + SignedDuration::from_secs(i64::from(call));
    let all = 1..=calls;
    all.filter(|call| rate.is_often(issuer, at(*call)))
        .collect()
}

#[test]
fn too_many_in_an_hour_are_told_of_once() {
    let rate = StopRate::default();
    let now = SignedDuration::ZERO;
    assert_eq!(told(&rate, "anna", OFTEN, now), Vec::<u32>::new());
    assert_eq!(told(&rate, "bert", OFTEN * 3, now), [OFTEN + 1]);
    assert_eq!(told(&rate, "anna", 5, now), [1]);
    // An hour later all of it begins again.
    let later = SignedDuration::from_hours(1);
    assert_eq!(told(&rate, "anna", OFTEN, later), Vec::<u32>::new());
    assert_eq!(told(&rate, "bert", OFTEN * 3, later), [OFTEN + 1]);
}

#[test]
fn a_crowd_does_not_fill_the_memory() {
    let rate = StopRate::default();
    for issuer in 0..ISSUERS * 2 {
        assert!(!rate.is_often(&issuer.to_string(), noon()));
    }
    assert!(rate.0.lock().unwrap().len() <= ISSUERS);
    let later = SignedDuration::from_hours(2);
    assert_eq!(told(&rate, "anna", OFTEN + 1, later), [OFTEN + 1]);
}
