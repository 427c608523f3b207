mod wire;

use std::net::SocketAddr;

use http::request::Parts;
use http::{Method, Request};
use interlock_surface::{Class, row};

use super::headers::HeaderError;
use super::host::{Authority, HostError, HostRules};
use super::path::PathError;
use super::query::QueryError;
use super::{Clean, EdgeError, EdgeRules, clean};

fn parts(method: &str, target: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn open() -> EdgeRules {
    EdgeRules {
        hosts: HostRules::Open { port: 8080 },
    }
}

fn enforced() -> EdgeRules {
    EdgeRules {
        hosts: HostRules::Enforced {
            hosts: vec![Authority::parse("localhost:8080").unwrap()],
        },
    }
}

fn cleaned(parts: &Parts, rules: &EdgeRules) -> Result<Clean, EdgeError> {
    clean(parts, SocketAddr::from(([127, 0, 0, 1], 50_000)), rules)
}

const HOST: (&str, &str) = ("host", "localhost:8080");

fn check(method: &str, target: &str, headers: &[(&str, &str)], expected: EdgeError) {
    for rules in [open(), enforced()] {
        let error = cleaned(&parts(method, target, headers), &rules).unwrap_err();
        assert_eq!(error, expected, "{method} {target} {headers:?}");
    }
}

#[test]
fn a_plain_request_is_clean() {
    let request = parts("POST", "/api/missions?limit=2", &[HOST]);
    let clean = cleaned(&request, &open()).unwrap();
    assert_eq!(clean.method(), Method::POST);
    assert_eq!(clean.path(), "/api/missions");
    assert_eq!(clean.host(), "localhost:8080");
    assert!(clean.loopback());
    assert!(!clean.expects_continue());
    let list = row("drones.plan.list").unwrap();
    assert_eq!(clean.query_for(list).unwrap().get("limit"), Some("2"));
    let start = row("drones.mission.start").unwrap();
    assert_eq!(
        clean.query_for(start),
        Err(QueryError::Undeclared("limit".to_owned()))
    );
}

#[test]
fn absolute_form_is_the_same_request_when_it_is_ours() {
    let request = parts("GET", "http://LOCALHOST:8080/health", &[HOST]);
    assert_eq!(cleaned(&request, &open()).unwrap().path(), "/health");
    for target in [
        "http://other/health",
        "http://127.0.0.1:8080/health",
        "ftp://localhost:8080/health",
    ] {
        check("GET", target, &[HOST], EdgeError::Target);
    }
    check(
        "GET",
        "http://user@localhost:8080/health",
        &[HOST],
        EdgeError::Host(HostError::Malformed),
    );
}

#[test]
fn other_forms_of_the_target_are_refused() {
    check("CONNECT", "localhost:8080", &[HOST], EdgeError::Connect);
    check("GET", "localhost:8080", &[HOST], EdgeError::Target);
    check("GET", "!", &[HOST], EdgeError::Target);
    check("OPTIONS", "*", &[HOST], PathError::NoSlash.into());
    check(
        "GET",
        "/api/../health",
        &[HOST],
        PathError::DotSegment.into(),
    );
}

#[test]
fn the_host_is_ours_and_comes_once() {
    check("GET", "/health", &[], HostError::Missing.into());
    check(
        "GET",
        "/health",
        &[HOST, HOST],
        HeaderError::Duplicate(http::header::HOST).into(),
    );
    check(
        "GET",
        "/health",
        &[("host", "evil.example:8080")],
        HostError::Misdirected.into(),
    );
}

#[test]
fn a_query_that_cannot_be_read_says_so() {
    let secret = QueryError::Secret("access_token".to_owned());
    let request = parts("GET", "/api/swarm/state?limit=2&access_token=x", &[HOST]);
    for rules in [open(), enforced()] {
        let clean = cleaned(&request, &rules).unwrap();
        assert_eq!(clean.readable(), Err(secret.clone().into()));
        let list = row("drones.plan.list").unwrap();
        assert_eq!(clean.query_for(list), Err(secret.clone()));
        assert!(clean.query_of(list).is_empty());
    }
}

#[test]
fn in_open_mode_another_origin_may_only_stop() {
    let request = parts(
        "POST",
        "/api/missions",
        &[HOST, ("origin", "https://evil.example")],
    );
    let clean = cleaned(&request, &open()).unwrap();
    for class in Class::ALL {
        let expected = match class {
            Class::SafetyWrite => Ok(()),
            _ => Err(EdgeError::CrossSite),
        };
        assert_eq!(clean.admits(*class), expected, "{class}");
    }
    // In enforced mode a web page has no token to send.
    let clean = cleaned(&request, &enforced()).unwrap();
    assert_eq!(clean.admits(Class::Write), Ok(()));
}
