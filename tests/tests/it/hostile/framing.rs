//! Messages whose end two readers could see in different places, each with a
//! marked request behind it.

use interlock_tests::sent::Sent;
use interlock_tests::system::System;
use interlock_tests::wire::Wire;

use super::stage::{self, MARK, case, filled, get, marked, mission, post, refused};

/// A head with these framing lines, a body, and the marked request.
fn behind(start: &str, lines: &str, body: &str) -> String {
    let json = "Content-Type: application/json\r\n";
    format!("{start}\r\nHOSTTOKEN{json}{lines}\r\n{body}{}", marked())
}

fn post_behind(lines: &str, body: &str) -> String {
    behind("POST /api/missions HTTP/1.1", lines, body)
}

#[tokio::test]
async fn a_framing_game_is_refused_and_hides_nothing() {
    let system = stage::system().await;
    let chunked = "Transfer-Encoding: chunked\r\n";
    let end = "0\r\n\r\n";
    let bad = &[400][..];
    let cases = [
        case(
            "B22 chunked in HTTP/1.0",
            behind("POST /api/missions HTTP/1.0", chunked, end),
            bad,
        ),
        case(
            "B22 two codings",
            post_behind("Transfer-Encoding: gzip, chunked\r\n", end),
            bad,
        ),
        case(
            "B22 identity",
            post_behind("Transfer-Encoding: identity\r\n", end),
            bad,
        ),
        case(
            "B22 identity last",
            post_behind("Transfer-Encoding: chunked, identity\r\n", end),
            bad,
        ),
        case(
            "B23 chunked twice",
            post_behind(&chunked.repeat(2), end),
            bad,
        ),
        case(
            "B23 an empty coding",
            post_behind("Transfer-Encoding: ,chunked\r\n", end),
            bad,
        ),
        case(
            "B23 a coding with a tab",
            post_behind("Transfer-Encoding: x\tchunked\r\n", end),
            bad,
        ),
        case(
            "B23 a quoted coding",
            post_behind("Transfer-Encoding: \"chunked\"\r\n", end),
            bad,
        ),
        case(
            "B23 an unknown coding",
            post_behind("Transfer-Encoding: xchunked\r\n", end),
            bad,
        ),
        case(
            "B23 a chunk size in hex notation",
            post_behind(chunked, &format!("0x0\r\n\r\n{end}")),
            bad,
        ),
        case(
            "B23 a signed chunk size",
            post_behind(chunked, &format!("+1\r\na\r\n{end}")),
            bad,
        ),
        case(
            "B23 an underscore in a chunk size",
            post_behind(chunked, &format!("1_0\r\na\r\n{end}")),
            bad,
        ),
        case(
            "B23 a negative chunk size",
            post_behind(chunked, "-1\r\n\r\n"),
            bad,
        ),
        case(
            "B23 a huge chunk size",
            post_behind(chunked, "fffffffffffffffff\r\n\r\n"),
            bad,
        ),
        case(
            "B23 a chunk longer than it says",
            post_behind(chunked, &format!("1\r\n{{}}\r\n{end}")),
            bad,
        ),
        case(
            "B23 two lengths",
            post_behind("Content-Length: 2\r\nContent-Length: 3\r\n", "{}"),
            bad,
        ),
        case(
            "B23 a list of lengths",
            post_behind("Content-Length: 2, 2\r\n", "{}"),
            bad,
        ),
        case(
            "B23 a signed length",
            post_behind("Content-Length: +2\r\n", "{}"),
            bad,
        ),
        case(
            "B23 a length in hex",
            post_behind("Content-Length: 0x2\r\n", "{}"),
            bad,
        ),
        case(
            "B23 an empty length",
            post_behind("Content-Length: \r\n", "{}"),
            bad,
        ),
        case(
            "B23 an endless length",
            post_behind("Content-Length: 99999999999999999999\r\n", "{}"),
            &[400, 413],
        ),
        case(
            "B23 a space in the name",
            post_behind("Content-Length : 2\r\n", "{}"),
            bad,
        ),
        case(
            "B23 another version",
            "GET /api/swarm/state HTTP/9.9\r\nHOSTTOKEN\r\n",
            bad,
        ),
    ];
    refused(&system, &cases);
}

/// Both framings at once: the message ends where its chunks end, whatever the
/// length says; it is forwarded in one clean framing, and the connection ends.
#[tokio::test]
async fn two_framings_at_once_end_the_connection() {
    let system = stage::system().await;
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", mission().len(), mission());
    for lines in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    ] {
        let start = "POST /api/mission-plans HTTP/1.1";
        let clean = sent(&system, &behind(start, lines, &chunks));
        assert_eq!(clean.values("content-length").len(), 1, "B23 {lines}");
    }
}

/// The operations listener reads heads as strictly as the public one.
#[tokio::test]
async fn the_operations_listener_plays_no_framing_games_either() {
    let system = stage::system().await;
    for lines in [
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Host: elsewhere.example\r\n",
    ] {
        let address = system.gateway().ops_address();
        let mut wire = Wire::connect(address);
        let host = format!("Host: {address}\r\n");
        let put = "PUT /registry/objects/Swarm/x HTTP/1.1\r\n";
        wire.send(format!(
            "{put}{host}{lines}\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n{host}\r\n"
        ));
        assert_eq!(wire.answer().expect("an answer").status, 400, "B23 {lines}");
        assert_eq!(wire.answer(), None, "B23 {lines}");
    }
}

/// What the gateway does not read of a body never becomes a request.
#[tokio::test]
async fn an_unread_body_is_no_request() {
    let system = stage::system().await;
    let hidden = filled(&system, &post("/api/missions", "", &mission()));
    let large = "a".repeat(70_000);
    let start = format!("POST /api/mission-plans/{MARK}/approve HTTP/1.1");
    let length = hidden.len();
    let cases = [
        case(
            "B25 refused for its token",
            format!("POST /api/missions HTTP/1.1\r\nHOSTContent-Length: {length}\r\n\r\n{hidden}"),
            &[401],
        ),
        case(
            "B25 refused for its path",
            format!("POST /nowhere HTTP/1.1\r\nHOSTContent-Length: {length}\r\n\r\n{hidden}"),
            &[404],
        ),
        case(
            "B25 where no body is taken",
            format!("{start}\r\nHOSTTOKENContent-Length: {length}\r\n\r\n{hidden}"),
            &[400],
        ),
        case(
            "B25 where no body is taken, in chunks",
            format!(
                "{start}\r\nHOSTTOKENTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{hidden}\r\n0\r\n\r\n"
            ),
            &[400],
        ),
        case("B25 too large", post("/api/missions", "", &large), &[413]),
    ];
    refused(&system, &cases);
}

/// Early refusals answer at once and ask for nothing.
#[tokio::test]
async fn who_waits_to_be_asked_is_answered_at_once() {
    let system = stage::system().await;
    let expect = "Expect: 100-continue\r\n";
    let head = |lines: &str, length: usize| {
        format!(
            "POST /api/missions HTTP/1.1\r\nHOST{lines}{expect}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let cases = [
        case("B28 nobody", head("", 1_000_000), &[401]),
        case("B28 too large", head("TOKEN", 1_000_000), &[413]),
        case(
            "B28 another expectation",
            head("TOKEN", 2).replace("100-continue", "200-ok"),
            &[400, 417],
        ),
        case(
            "B28 sent all the same",
            format!("{}{}", head("", 2), "{}"),
            &[401],
        ),
    ];
    refused(&system, &cases);
}

/// Bodies in one piece, in chunks of one byte, with trailers: one decision, and
/// one framing towards the service.
#[tokio::test]
async fn a_body_is_one_body_however_it_comes() {
    let system = stage::system().await;
    let body = mission();
    let mut chunks = String::new();
    for character in body.chars() {
        chunks += &format!("1\r\n{character}\r\n");
    }
    let json = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let start = "POST /api/mission-plans HTTP/1.1\r\nHOSTTOKEN";
    let whole = sent(&system, &post("/api/mission-plans", "", &body));
    for (id, other) in [
        (
            "B26 in chunks",
            format!("{start}{json}\r\n{chunks}0\r\n\r\n"),
        ),
        (
            "B26 with an extension",
            format!(
                "{start}{json}\r\n{:x};a=b\r\n{body}\r\n0\r\n\r\n",
                body.len()
            ),
        ),
        (
            "B26 with a trailer",
            format!(
                "{start}{json}\r\n{:x}\r\n{body}\r\n0\r\nX-Interlock-Class: read\r\n\r\n",
                body.len()
            ),
        ),
    ] {
        let other = sent(&system, &other);
        assert_eq!(other.body, whole.body, "{id}");
        assert_eq!(
            other.values("x-interlock-class"),
            Vec::<&str>::new(),
            "{id}"
        );
    }
    // Refused alike too.
    let viewer = |text: &str| {
        let token = interlock_tests::personas::Persona::Viewer
            .token(&system.idp)
            .unwrap();
        text.replace("TOKEN", &format!("Authorization: Bearer {token}\r\n"))
    };
    let cases = [
        case(
            "B26 whole",
            viewer(&post("/api/mission-plans", "", &body)),
            &[403],
        ),
        case(
            "B26 in chunks",
            viewer(&format!("{start}{json}\r\n{chunks}0\r\n\r\n")),
            &[403],
        ),
    ];
    refused(&system, &cases);
}

/// The one request that the service got for what was sent.
fn sent(system: &System, text: &str) -> Sent {
    system.upstream.listen();
    let answers = stage::answers(system, filled(system, text));
    assert_eq!(answers.len(), 1, "{text}: {answers:?}");
    assert_eq!(answers[0].status, 201, "{text}: {}", answers[0].text());
    let sent = Sent::all(&system.upstream.listen());
    let [one] = &sent[..] else {
        panic!("{text}: {sent:?}");
    };
    one.clone()
}

/// Two good requests on one connection are two, so that the ones above were
/// hidden by what they hid behind.
#[tokio::test]
async fn a_marked_request_shows_where_nothing_hides_it() {
    let system = stage::system().await;
    system.upstream.listen();
    let both = get("/api/swarm/state", "") + &marked();
    let answers = stage::answers(&system, filled(&system, &both));
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 404]);
    let heard = String::from_utf8_lossy(&system.upstream.listen()).into_owned();
    assert!(heard.contains(MARK));
}
