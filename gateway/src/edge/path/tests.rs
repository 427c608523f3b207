use proptest::prelude::*;

use super::{PATH_BYTES, PathError, canonical};

fn check(path: &str, expected: Result<(), PathError>) {
    assert_eq!(canonical(path).map(drop), expected, "path: {path:?}");
}

#[test]
fn plain_paths_are_their_own_canonical_form() {
    for path in [
        "/",
        "/health",
        "/api/missions/0b5b1f8e-3f6a-4a55-9f0e-2f3f3a1d6c11/abort",
        "/registry/objects/Swarm/swarm-1",
        "/a/...",
        "/a/..b",
        "/a:b@c,d",
    ] {
        check(path, Ok(()));
    }
}

#[test]
fn every_second_spelling_is_refused() {
    use PathError::{Character, DotSegment, EmptySegment, Encoded, NoSlash};
    let table = [
        ("", NoSlash),
        ("*", NoSlash),
        ("api/missions", NoSlash),
        ("//api/missions", EmptySegment),
        ("/api//missions", EmptySegment),
        ("/api/missions/", EmptySegment),
        ("/api/mission-plans/../missions", DotSegment),
        ("/api/./missions", DotSegment),
        ("/..", DotSegment),
        ("/api/missions/.", DotSegment),
        ("/api/mission-plans/%2e%2e/missions", Encoded),
        ("/.%2E/api", Encoded),
        ("/%2e/api", Encoded),
        ("/api/mission-plans/p1%2Fdispatch", Encoded),
        ("/api/mission-plans/p1%2fdispatch", Encoded),
        ("/api/public/..%2Fmissions", Encoded),
        ("/api/%4Dissions", Encoded),
        ("/api/%4dissions", Encoded),
        ("/api/%6dissions", Encoded),
        ("/api/missions%5c..", Encoded),
        ("/api/missions%00", Encoded),
        ("/api/missions%0a", Encoded),
        ("/api/missions%", Encoded),
        ("/api/missions%zz", Encoded),
        ("/api/%252e%252e/missions", Encoded),
        ("/api/%c0%ae%c0%ae/missions", Encoded),
        ("/api/mission-plans\\..\\missions", Character(b'\\')),
        ("/api/missions;x=1", Character(b';')),
        ("/api/..;/missions", Character(b';')),
        ("/api/missions#x", Character(b'#')),
        ("/api/missions?x", Character(b'?')),
        ("/api/mis\tsions", Character(b'\t')),
        ("/api/mis sions", Character(b' ')),
        ("/api/mis\0sions", Character(0)),
        ("/api/mis\x7fsions", Character(0x7f)),
        ("/api/miss\u{ef}ons", Character(0xc3)),
        ("/api/\u{ff0e}\u{ff0e}/missions", Character(0xef)),
        ("/api/{mission}", Character(b'{')),
        ("/api/\"x\"", Character(b'"')),
    ];
    for (path, error) in table {
        check(path, Err(error));
    }
}

#[test]
fn the_length_is_bounded() {
    let longest = format!("/{}", "a".repeat(PATH_BYTES - 1));
    check(&longest, Ok(()));
    check(&format!("{longest}a"), Err(PathError::Long(PATH_BYTES + 1)));
}

proptest! {
    #[test]
    fn canonical_is_idempotent_and_never_repairs(path in "[/.%a-zA-Z0-9;\\\\ ~_-]{0,40}") {
        if let Ok(once) = canonical(&path) {
            prop_assert_eq!(once, path.as_str());
            prop_assert_eq!(canonical(once), Ok(once));
        }
    }

    /// What the URL parser of the HTTP client makes of an accepted path is the
    /// path itself: the bytes sent are the bytes decided on.
    #[test]
    fn no_url_parser_rewrites_an_accepted_path(path in "/[/.%a-zA-Z0-9;\\\\~!$&'()*+,=:@_-]{0,40}") {
        if canonical(&path).is_ok() {
            let url = reqwest::Url::parse("http://service").unwrap().join(&path).unwrap();
            prop_assert_eq!(url.path(), path.as_str());
        }
    }

    #[test]
    fn any_text_is_answered(path in ".*") {
        let _ = canonical(&path);
    }
}
