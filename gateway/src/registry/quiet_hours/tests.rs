use jiff::tz::TimeZone;
use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};

use super::QuietHours;

fn hours(windows: Value) -> Result<QuietHours, String> {
    QuietHours::parse(&windows, TimeZone::get("Europe/Berlin").expect("a zone"))
}

fn check(windows: Value, now: &str, expected: bool) {
    let quiet = hours(windows.clone()).expect("quiet hours");
    let now = now.parse().expect("a time");
    assert_eq!(quiet.hold(now), expected, "{windows} at {now}");
}

#[test]
fn a_night_is_quiet_by_the_clocks_of_its_place() {
    let night = json!([{ "from": "20:00", "to": "07:00" }]);
    // Winter: one hour ahead of UTC.
    check(night.clone(), "2026-01-15T18:59:59Z", false);
    check(night.clone(), "2026-01-15T19:00:00Z", true);
    check(night.clone(), "2026-01-16T05:59:59Z", true);
    check(night.clone(), "2026-01-16T06:00:00Z", false);
    // Summer: two.
    check(night.clone(), "2026-07-15T17:59:59Z", false);
    check(night.clone(), "2026-07-15T18:00:00Z", true);
    check(night, "2026-07-16T05:00:00Z", false);
}

#[test]
fn the_night_of_a_day_ends_on_the_next_one() {
    // 2026-01-17 is a Saturday.
    let night = json!([{ "from": "22:00", "to": "06:00", "days": ["sat"] }]);
    check(night.clone(), "2026-01-16T22:00:00Z", false);
    check(night.clone(), "2026-01-17T22:00:00Z", true);
    check(night.clone(), "2026-01-18T04:59:00Z", true);
    check(night.clone(), "2026-01-18T22:00:00Z", false);
    check(night, "2026-01-17T04:00:00Z", false);
}

#[test]
fn a_whole_sunday_is_quiet() {
    let sunday = json!([{ "from": "00:00", "to": "24:00", "days": ["sun"], "source": "by-law" }]);
    check(sunday.clone(), "2026-01-17T22:59:59Z", false);
    check(sunday.clone(), "2026-01-17T23:00:00Z", true);
    check(sunday.clone(), "2026-01-18T22:59:59Z", true);
    check(sunday, "2026-01-18T23:00:00Z", false);
}

#[test]
fn an_hour_that_clocks_show_twice_is_quiet_twice() {
    // Clocks go back from 03:00 to 02:00 on 2026-10-25.
    let hour = json!([{ "from": "02:00", "to": "03:00" }]);
    check(hour.clone(), "2026-10-25T00:30:00Z", true);
    check(hour.clone(), "2026-10-25T01:30:00Z", true);
    check(hour, "2026-10-25T02:00:00Z", false);
}

#[test]
fn what_is_no_window_is_named() {
    for (windows, part) in [
        (json!({}), "a list"),
        (json!([7]), "window 1: must be an object"),
        (json!([{ "from": "20:00" }]), "`to` must be a time"),
        (
            json!([{ "from": "20:00", "to": "7:00" }]),
            "`to` must be a time",
        ),
        (
            json!([{ "from": "20:60", "to": "07:00" }]),
            "`from` must be a time",
        ),
        (
            json!([{ "from": "24:01", "to": "07:00" }]),
            "`from` must be a time",
        ),
        (json!([{ "from": "24:00", "to": "07:00" }]), "a whole day"),
        (json!([{ "from": "07:00", "to": "07:00" }]), "a whole day"),
        (
            json!([{ "from": "07:00", "to": "08:00", "days": [] }]),
            "`days` must be a list",
        ),
        (
            json!([{ "from": "07:00", "to": "08:00", "days": ["monday"] }]),
            "not `monday`",
        ),
        (
            json!([{ "from": "07:00", "to": "08:00", "day": ["mon"] }]),
            "`day` is no field",
        ),
        (
            json!([{ "from": "07:00", "to": "08:00", "source": 1 }]),
            "`source`",
        ),
        (Value::Array(vec![json!({}); 33]), "32 windows"),
    ] {
        let cause = hours(windows.clone()).expect_err(&windows.to_string());
        assert!(cause.contains(part), "{windows}: {cause}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A window and the one from its end to its start share no moment, and
    /// together leave none out.
    #[test]
    fn a_window_and_the_rest_of_the_day(from in 0_u16..1440, to in 0_u16..1440, at in any::<u32>()) {
        let text = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        if from != to {
            let window = |from, to| hours(json!([{ "from": text(from), "to": text(to) }]));
            let now = jiff::Timestamp::from_second(i64::from(at)).expect("a time");
            let inside = window(from, to).expect("a window").hold(now);
            let outside = window(to, from).expect("a window").hold(now);
            assert_ne!(inside, outside, "{from} to {to} at {now}");
        }
    }
}
