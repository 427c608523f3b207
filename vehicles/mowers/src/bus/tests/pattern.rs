//! Subjects and patterns.

use crate::bus::pattern::{Pattern, subject};
use crate::bus::stream::outside_streams;
use crate::bus::{Stream, subject};

#[test]
fn reads_what_is_a_subject_and_nothing_else() {
    let check = |text: &str, is_subject: bool, is_pattern: bool| {
        assert_eq!(subject(text).is_ok(), is_subject, "{text}");
        assert_eq!(Pattern::parse(text).is_ok(), is_pattern, "{text}");
    };
    check("command.mower.1", true, true);
    check("command.mower.*", false, true);
    check("command.mower.a*", false, false);
    check("command.mower.>", false, false);
    check("command..mower", false, false);
    check(".command", false, false);
    check("command.", false, false);
    check("", false, false);
    check("a b", false, false);
    check("a.b\r\nPUB c", false, false);
    check("ä.b", false, false);
    check("$JS.API.STREAM.PURGE.COMMAND", false, false);
    check("_INBOX.x", false, false);
    check(&"a".repeat(256), false, false);
}

#[test]
fn covers_token_by_token() {
    let check = |pattern: &str, subject: &str, expected: bool| {
        let pattern = Pattern::parse(pattern).expect("a pattern");
        assert_eq!(pattern.covers(subject), expected, "{pattern:?} {subject}");
    };
    check("mower.*", "mower.registered", true);
    check("mower.*", "mower", false);
    check("mower.*", "mower.a.b", false);
    check("command.mower.*", "command.stop.mower.1", false);
    check("command.mower.*", "command.mower.*", true);
    check("command.mower.1", "command.mower.*", false);
}

#[test]
fn meets_where_a_subject_is_common() {
    let check = |one: &str, two: &str, expected: bool| {
        let (one, two) = (Pattern::parse(one), Pattern::parse(two));
        let (one, two) = (one.expect("a pattern"), two.expect("a pattern"));
        assert_eq!(one.meets(&two), expected, "{one:?} {two:?}");
        assert_eq!(two.meets(&one), expected, "{two:?} {one:?}");
    };
    check("mower.*", "*.registered", true);
    check("mower.*", "fleet.*", false);
    check("mower.*", "mower.*.x", false);
    check("drive.mower.*", "drive.mower.7", true);
}

#[test]
fn the_streams_share_no_subject_and_cover_no_request() {
    let patterns = |stream: Stream| {
        let texts = stream.limits().subjects.iter();
        texts.map(|text| Pattern::parse(text).expect("a pattern"))
    };
    for stream in Stream::ALL {
        for pattern in patterns(stream) {
            let holders = Stream::ALL.into_iter().filter(|it| it.meets(&pattern));
            assert_eq!(holders.collect::<Vec<_>>(), [stream]);
        }
    }
    for request in subject::REQUESTS {
        let request = Pattern::parse(request).expect("a pattern");
        outside_streams(&request).expect("outside of the streams");
    }
}

#[test]
fn a_subject_names_its_mower() {
    let mower = uuid::Uuid::now_v7();
    for subject in [
        subject::command(mower),
        subject::stop(mower),
        subject::result(mower),
        subject::telemetry(mower),
        subject::preview(mower),
        subject::preview_over(mower),
        subject::ask(mower, "map"),
        subject::direct_stop(mower),
        subject::drive(mower),
        subject::session(mower),
        subject::drive_ended(mower),
    ] {
        assert_eq!(subject::mower(&subject), Some(mower), "{subject}");
    }
    assert_eq!(subject::mower(subject::MOWERS_LIST), None);
}

/// Each subject of one mower that is asked or told is on the list of those that
/// the start looks for in the streams.
#[test]
fn every_request_is_on_the_list() {
    let mower = uuid::Uuid::now_v7();
    for asked in [
        subject::LEASES.to_owned(),
        subject::preview(mower),
        subject::preview_over(mower),
        subject::ask(mower, "map"),
        subject::ask(mower, "capabilities"),
        subject::ask(mower, "state"),
        subject::direct_stop(mower),
        subject::drive(mower),
        subject::session(mower),
        subject::drive_ended(mower),
    ] {
        let listed = subject::REQUESTS.into_iter().filter(|request| {
            let request = Pattern::parse(request).expect("a pattern");
            request.covers(&asked)
        });
        assert_eq!(listed.count(), 1, "{asked}");
    }
}
