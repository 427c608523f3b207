//! Second spellings of paths, hosts and methods.

use super::stage::{self, case, get, good, mission, post, refused};

#[tokio::test]
async fn a_path_has_one_spelling() {
    let system = stage::system().await;
    let start = |target: &str| post(target, "", &mission());
    let bad = &[400][..];
    refused(
        &system,
        &[
            case(
                "B01 dot segments",
                start("/api/mission-plans/../missions"),
                bad,
            ),
            case("B01 one dot", start("/api/./missions"), bad),
            case("B01 at the end", start("/api/missions/.."), bad),
            case("B01 beyond the root", start("/../../api/missions"), bad),
            case(
                "B02 encoded dots",
                start("/api/mission-plans/%2e%2e/missions"),
                bad,
            ),
            case("B02 one encoded dot", start("/api/.%2E/api/missions"), bad),
            case("B02 encoded slash", start("/api/public/..%2Fmissions"), bad),
            case(
                "B02 backslash",
                start("/api/mission-plans\\..\\missions"),
                bad,
            ),
            case("B02 encoded twice", start("/api/%252e%252e/missions"), bad),
            case(
                "B02 overlong UTF-8",
                start("/api/%c0%ae%c0%ae/missions"),
                bad,
            ),
            case(
                "B04 upper case escape",
                start("/api/mission-plans/p1%2Fdispatch"),
                bad,
            ),
            case(
                "B04 lower case escape",
                start("/api/mission-plans/p1%2fdispatch"),
                bad,
            ),
            case("B04 an encoded letter", start("/api/%4Dissions"), bad),
            case("B04 the same in lower case", start("/api/%4dissions"), bad),
            case("B08 no slash", start("api/missions"), bad),
            case("B08 asterisk", "OPTIONS * HTTP/1.1\r\nHOSTTOKEN\r\n", bad),
            case(
                "B08 another authority",
                start("http://other/api/missions"),
                bad,
            ),
            case("B08 another scheme", start("ftp://other/api/missions"), bad),
            case("B08 not a path at all", get("!", ""), bad),
            case("B08 empty", "GET  HTTP/1.1\r\nHOSTTOKEN\r\n", bad),
            case(
                "B10 another service's prefix",
                start("/drones/../api/missions"),
                bad,
            ),
            case("B10 encoded", start("/drones/%2e%2e/api/missions"), bad),
            case("two slashes", start("/api//missions"), bad),
            case("two slashes first", start("//api/missions"), bad),
            case("a slash at the end", start("/api/missions/"), bad),
            case("a path parameter", start("/api/missions;v=1"), bad),
            case("an encoded zero", start("/api/missions%00"), bad),
            case(
                "an encoded line end",
                start("/api/missions%0d%0aX:%20y"),
                bad,
            ),
            case("another case", start("/API/missions"), &[404]),
            case("an unlisted path", start("/internal/preview"), &[404]),
            case("an operations path", get("/metrics", ""), &[404]),
        ],
    );
    good(&system, &get("/api/swarm/state", ""), 200);
}

#[tokio::test]
async fn a_host_has_one_meaning() {
    let system = stage::system().await;
    let port = system.gateway().address().port();
    let with = |hosts: &str| format!("GET /api/swarm/state HTTP/1.1\r\n{hosts}TOKEN\r\n");
    let other = |name: &str| with(&format!("Host: {name}\r\n"));
    refused(
        &system,
        &[
            case("B05 another name", other("admin.example"), &[421]),
            case(
                "B05 upper case",
                other(&format!("GATEWAY.LOCAL:{port}")),
                &[421],
            ),
            case(
                "B05 a trailing dot",
                other(&format!("gateway.local.:{port}")),
                &[421],
            ),
            case("B05 another port", other("127.0.0.1:443"), &[421]),
            case("B05 no port", other("127.0.0.1"), &[421]),
            case("B05 IPv6", other(&format!("[::1]:{port}")), &[421]),
            case(
                "B05 IPv6 that stands for ours",
                other(&format!("[::ffff:127.0.0.1]:{port}")),
                &[421],
            ),
            case("B05 a number", other(&format!("2130706433:{port}")), &[421]),
            case(
                "B05 user information",
                other(&format!("127.0.0.1:{port}@evil.example")),
                &[400],
            ),
            case(
                "B05 with a path",
                other(&format!("127.0.0.1:{port}/x")),
                &[400],
            ),
            case("B05 empty", other(""), &[400, 421]),
            case("B05 none", with(""), &[400]),
            case("B20 two", with("HOSTHost: admin.example\r\n"), &[400]),
            case("B20 the same twice", with("HOSTHOST"), &[400]),
            case(
                "B20 a list",
                other(&format!("127.0.0.1:{port}, evil.example")),
                &[400],
            ),
            case(
                "B14 the right one in another header",
                other("x.example").replace(
                    "TOKEN",
                    &format!("TOKENX-Forwarded-Host: 127.0.0.1:{port}\r\n"),
                ),
                &[421],
            ),
        ],
    );
    good(&system, &other(&format!("127.0.0.1:{port}")), 200);
}

#[tokio::test]
async fn a_method_is_what_the_request_line_says() {
    let system = stage::system().await;
    let plan = crate::personas::stage::pending(&system).await;
    let dispatch = format!("/api/mission-plans/{plan}/dispatch");
    let code = "A".repeat(32);
    let verb = |verb: &str, target: &str, lines: &str| {
        format!("{verb} {target} HTTP/1.1\r\nHOSTTOKEN{lines}\r\n")
    };
    refused(
        &system,
        &[
            case("B11 delete", verb("DELETE", "/api/swarm/state", ""), &[405]),
            case(
                "B11 put by override",
                verb("PUT", "/api/swarm/state", "X-HTTP-Method-Override: GET\r\n"),
                &[405],
            ),
            case(
                "B11 patch by override",
                verb("PATCH", "/api/missions", "X-HTTP-Method: POST\r\n"),
                &[405],
            ),
            case(
                "B11 a get that wants to be a post",
                get("/api/missions", "X-Method-Override: POST\r\n"),
                &[405],
            ),
            case(
                "B11 in the query",
                post("/api/missions?_method=PUT", "", &mission()),
                &[400],
            ),
            case(
                "B11 lower case",
                verb("get", "/api/swarm/state", ""),
                &[405],
            ),
            case(
                "B11 no method at all",
                verb("B@D", "/api/swarm/state", ""),
                &[400],
            ),
            case("B11 trace", verb("TRACE", "/api/swarm/state", ""), &[405]),
            case("B13 a get", get(&dispatch, ""), &[405]),
            case(
                "B13 with the code in the query",
                get(&format!("{dispatch}?approvalCode={code}"), ""),
                &[400, 405],
            ),
            case(
                "B13 the code beside a body",
                post(&format!("{dispatch}?approvalCode={code}"), "", "{}"),
                &[400],
            ),
            case(
                "B13 another spelling of the name",
                post(&format!("{dispatch}?ApprovalCode={code}"), "", "{}"),
                &[400],
            ),
            case("a tunnel", verb("CONNECT", "127.0.0.1:1", ""), &[400, 501]),
        ],
    );
}

/// The class of a call comes from its path alone.
#[tokio::test]
async fn a_query_changes_no_class() {
    let system = stage::system().await;
    let body = mission();
    let nobody =
        |query: &str| post(&format!("/api/missions{query}"), "", &body).replace("TOKEN", "");
    refused(
        &system,
        &[
            case("B07 a public path", nobody("?x=/health"), &[401]),
            case("B07 a path as a name", nobody("?/api/swarm/state"), &[400]),
            case("B07 two question marks", nobody("??a"), &[400]),
            case("B07 a class", nobody("?class=read"), &[401]),
            case(
                "B07 a class, by somebody",
                post("/api/missions?class=read", "", &body),
                &[400],
            ),
            case("B07 encoded", nobody("%3Fx=/health"), &[400]),
            case(
                "B44 a token",
                get("/api/swarm/state?access_token=x.y.z", "").replace("TOKEN", ""),
                &[400, 401],
            ),
            case(
                "B44 by another name",
                get("/api/swarm/state?token=x.y.z", "").replace("TOKEN", ""),
                &[400, 401],
            ),
            case(
                "B44 in a cookie",
                get("/api/swarm/state", "Cookie: token=x.y.z\r\n").replace("TOKEN", ""),
                &[401],
            ),
        ],
    );
}

/// What was refused before any row was known is on record as it was sent.
#[tokio::test]
async fn a_refused_path_is_on_record() {
    let system = stage::system().await;
    let target = "/api/mission-plans/../missions";
    refused(
        &system,
        &[case("B01 recorded", post(target, "", &mission()), &[400])],
    );
    interlock_tests::poll::until("the path is on record", || {
        let held = system.holding(target.as_bytes());
        held.iter()
            .any(|file| file.to_string_lossy().contains("audit"))
            .then_some(())
    });
}
