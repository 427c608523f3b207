//! Header fields that hide, double or nominate others.

use super::stage::{self, case, get, good, mission, post, refused};

#[tokio::test]
async fn a_field_that_has_one_value_comes_once() {
    let system = stage::system().await;
    let start = |lines: &str| post("/api/missions", lines, &mission());
    let bad = &[400][..];
    let two_types = start("Content-Type: text/plain\r\n");
    let two_lengths = start("Content-Length: 5\r\n");
    refused(
        &system,
        &[
            case("B20 two tokens", start("TOKEN"), &[400, 401]),
            case(
                "B20 a token and a password",
                start("Authorization: Basic eDp5\r\n"),
                &[400, 401],
            ),
            case(
                "B20 two keys",
                start("Idempotency-Key: a\r\nIdempotency-Key: b\r\n"),
                bad,
            ),
            case(
                "B20 one key twice",
                start("Idempotency-Key: a\r\nidempotency-key: a\r\n"),
                bad,
            ),
            case("B20 two content types", two_types, bad),
            case("B20 two lengths", two_lengths, bad),
            case(
                "B20 two origins",
                start("Origin: http://a\r\nOrigin: http://b\r\n"),
                bad,
            ),
            case("a malformed key", start("Idempotency-Key: a b\r\n"), bad),
            case(
                "a key that is too long",
                start(&format!("Idempotency-Key: {}\r\n", "a".repeat(201))),
                bad,
            ),
            case("a field without a colon", start("Interlock\r\n"), bad),
            case("a field with a space in its name", start("X Y: z\r\n"), bad),
            case("a space before the colon", start("X-Y : z\r\n"), bad),
            case("a folded line", start("X-Y: a\r\n b\r\n"), bad),
            case("a zero in a value", start("X-Y: a\0b\r\n"), bad),
            case("a lone carriage return", start("X-Y: a\rZ: b\r\n"), bad),
            case(
                "an encoded body",
                start("Content-Encoding: gzip\r\n"),
                &[415],
            ),
            case(
                "B32 an upgrade",
                get(
                    "/api/swarm/state",
                    "Connection: upgrade\r\nUpgrade: websocket\r\n",
                ),
                &[501],
            ),
            case(
                "B32 http 2 by upgrade",
                get(
                    "/api/swarm/state",
                    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
                ),
                &[501],
            ),
            case(
                "a head that is too large",
                start(&format!("X-Y: {}\r\n", "a".repeat(40_000))),
                &[431],
            ),
            case("too many fields", start(&"X-Y: a\r\n".repeat(200)), &[431]),
        ],
    );
    good(&system, &get("/api/swarm/state", ""), 200);
}

/// A name that another header gives decides nothing.
#[tokio::test]
async fn a_route_or_a_name_in_a_header_decides_nothing() {
    let system = stage::system().await;
    let body = mission();
    let nobody = |lines: &str| post("/api/missions", lines, &body).replace("TOKEN", "");
    let anonymous = &[401][..];
    refused(
        &system,
        &[
            case(
                "B14 forwarded uri",
                nobody("X-Forwarded-Uri: /health\r\n"),
                anonymous,
            ),
            case(
                "B14 original url",
                nobody("X-Original-URL: /health\r\n"),
                anonymous,
            ),
            case(
                "B14 rewritten url",
                nobody("X-Rewrite-URL: /health\r\n"),
                anonymous,
            ),
            case(
                "B14 forwarded path",
                nobody("X-Forwarded-Path: /health\r\n"),
                anonymous,
            ),
            case(
                "B17 a principal",
                nobody("X-Interlock-Principal: User::\"admin\"\r\n"),
                anonymous,
            ),
            case(
                "B17 a grant",
                nobody("Interlock-Grant: e30.e30.e30\r\n"),
                anonymous,
            ),
            case(
                "B17 a class",
                nobody("X-Interlock-Class: read\r\nX-Approval-Id: p1\r\n"),
                anonymous,
            ),
            case(
                "B17 forwarded user",
                nobody("X-Forwarded-User: admin\r\nX-Real-Ip: 127.0.0.1\r\n"),
                anonymous,
            ),
            case(
                "B79 a service's token",
                nobody("Interlock-Service: e30.e30.e30\r\n"),
                anonymous,
            ),
        ],
    );
}

/// No page of another origin may read an answer.
#[tokio::test]
async fn no_origin_is_let_in() {
    let system = stage::system().await;
    let approve = "/api/mission-plans/0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000/approve";
    for origin in [
        "https://evil.example",
        "null",
        "https://127.0.0.1.evil.example",
    ] {
        let lines = format!("Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\n");
        let preflight = format!("OPTIONS {approve} HTTP/1.1\r\nHOST{lines}\r\n");
        for (sent, right) in [
            (preflight, 405),
            (get("/health", &lines), 200),
            (get("/api/swarm/state", &lines), 200),
            (get("/nowhere", &lines), 404),
        ] {
            let answers = stage::answers(&system, stage::filled(&system, &sent));
            let [answer] = &answers[..] else {
                panic!("B107 {origin}: {answers:?}");
            };
            assert_eq!(answer.status, right, "B107 {origin}: {sent}");
            let cross = answer
                .headers
                .iter()
                .find(|(name, _)| name.starts_with("access-control-"));
            assert_eq!(cross, None, "B107 {origin}");
        }
    }
}
