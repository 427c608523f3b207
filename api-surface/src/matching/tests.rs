use proptest::prelude::{Strategy, any, proptest};
use proptest::sample::select;

use super::{Candidates, Listener, Match, UnknownKind, find};
use crate::params::Params;
use crate::row::Row;
use crate::terms::{Method, ParamKind, ServedBy};
use crate::{Class, ROWS, SERVICES};

const ID: &str = "0190b3c4-0000-7000-8000-00000000000a";

/// What a match means, in one line.
fn check(listener: Listener, method: &str, path: &str, expected: &str) {
    let found = match find(listener, method, path) {
        Match::Found { rows, params, head } => {
            let rows: Vec<&str> = rows.iter().map(|row| row.name).collect();
            let params: Vec<String> = params
                .iter()
                .map(|(name, value)| format!(" {name}={value}"))
                .collect();
            format!(
                "{}{}{}",
                rows.join("+"),
                params.concat(),
                if head { " head" } else { "" }
            )
        }
        Match::MethodNotAllowed { allow } => format!("405 {allow}"),
        Match::NotFound => "404".to_owned(),
    };
    assert_eq!(found, expected, "{method} {path} at {listener:?}");
}

fn public(method: &str, path: &str, expected: &str) {
    check(Listener::Public, method, path, expected);
}

/// The listeners that serve a row.
fn listeners(row: &Row) -> Vec<Listener> {
    let mut listeners = Vec::new();
    if row.served_by == ServedBy::Ops {
        listeners.push(Listener::Ops);
    } else if row.class != Class::Internal {
        listeners.push(Listener::Public);
    }
    if row.served_by == ServedBy::Service {
        listeners.push(Listener::Service(row.service));
    }
    listeners
}

fn all_listeners() -> Vec<Listener> {
    let services = SERVICES.iter().map(|service| Listener::Service(service));
    [Listener::Public, Listener::Ops]
        .into_iter()
        .chain(services)
        .collect()
}

#[test]
fn a_path_and_a_method_are_a_row() {
    public("GET", "/health", "gateway.health");
    public("POST", "/api/swarm/land", "drones.swarm.land");
    public("GET", "/api/mission-plans", "drones.plan.list");
    public("POST", "/api/mission-plans", "drones.plan.propose");
}

#[test]
fn a_head_is_its_get() {
    public("HEAD", "/health", "gateway.health head");
    public("HEAD", "/api/swarm/land", "405 POST");
}

#[test]
fn other_methods_are_told_the_right_ones() {
    public("PUT", "/health", "405 GET, HEAD");
    public("DELETE", "/api/mission-plans", "405 GET, HEAD, POST");
    public("OPTIONS", "/api/swarm/land", "405 POST");
    public("TRACE", "/api/swarm/land", "405 POST");
    public("get", "/health", "405 GET, HEAD");
    public("", "/health", "405 GET, HEAD");
    check(
        Listener::Ops,
        "GET",
        "/registry/objects/Swarm/swarm-1",
        "405 DELETE, PUT",
    );
}

#[test]
fn a_uuid_is_canonicalized_and_nothing_else_is_one() {
    let path = |id: &str| format!("/api/missions/{id}");
    let found = format!("drones.mission.get mission={ID}");
    public("GET", &path(ID), &found);
    public("GET", &path(&ID.to_uppercase()), &found);
    let simple = ID.replace('-', "");
    let braced = format!("{{{ID}}}");
    let urn = format!("urn:uuid:{ID}");
    let short = ID.get(..35).expect("long enough");
    let longer = format!("{ID}0");
    for id in [
        "",
        "1",
        "abort",
        &simple,
        &braced,
        &urn,
        short,
        &longer,
        "0190b3c4_0000-7000-8000-00000000000a",
    ] {
        public("GET", &path(id), "404");
    }
}

#[test]
fn an_id_is_taken_as_it_is() {
    let path = |id: &str| format!("/registry/objects/Swarm/{id}");
    let put = |id: &str, expected: &str| check(Listener::Ops, "PUT", &path(id), expected);
    put("swarm-1", "ops.registry.put type=Swarm id=swarm-1");
    put("Swarm:1_a.b", "ops.registry.put type=Swarm id=Swarm:1_a.b");
    let longest = "a".repeat(64);
    put(
        &longest,
        &format!("ops.registry.put type=Swarm id={longest}"),
    );
    for id in ["", ".", "..", "-a", "a b", "a%20b", "ä", &"a".repeat(65)] {
        put(id, "404");
    }
}

#[test]
fn other_paths_do_not_exist() {
    for path in [
        "",
        "/",
        "//",
        "health",
        "/health/",
        "//health",
        "/Health",
        "/api",
        "/api/swarm/state/x",
    ] {
        public("GET", path, "404");
    }
}

#[test]
fn each_listener_has_its_own_rows() {
    public("POST", "/internal/preview", "404");
    public("GET", "/readyz", "404");
    check(Listener::Ops, "GET", "/readyz", "ops.ready");
    check(Listener::Ops, "GET", "/health", "404");
    let drones = Listener::Service("drones");
    check(
        drones,
        "POST",
        "/internal/preview",
        "drones.internal.preview",
    );
    check(drones, "POST", "/api/missions", "drones.mission.start");
    check(drones, "POST", "/api/mission-plans", "404");
    check(drones, "GET", "/health", "404");
    check(Listener::Service("mowers"), "POST", "/api/missions", "404");
}

#[test]
fn every_row_is_served_somewhere() {
    for row in ROWS {
        assert!(!listeners(row).is_empty(), "{row}");
    }
}

const fn kind(index: u16, kind: Option<&'static str>) -> Row {
    Row {
        index,
        kind,
        kind_field: None,
        judges_members: false,
        name: "x.thing.command",
        service: "x",
        method: Method::Post,
        path: "/things",
        segments: &[],
        class: Class::Write,
        relation: crate::Relation::Control,
        calming: false,
        public: false,
        action: None,
        resource: crate::ResourceType::Swarm,
        resource_from: crate::ResourceFrom::Service,
        idempotency: crate::Idempotency::Honoured,
        timeout: &crate::Timeout {
            name: "write",
            connect_ms: 1,
            attempt_ms: 2,
            total_ms: 2,
            gateway_ms: 3,
        },
        body_limit: 1,
        body: crate::BodyRule::Required,
        acting: &[],
        annotation: &[],
        query: &[],
        mcp_tool: None,
        preview: None,
        becomes: None,
        served_by: ServedBy::Service,
        stream: false,
        success: 202,
        summary: "Command a thing",
        request_schema: None,
        response_schema: None,
    }
}

static START: Row = kind(0, Some("start"));
static STOP: Row = kind(1, Some("stop"));
static PLAIN: Row = kind(2, None);
static REST: [&Row; 1] = [&STOP];

#[test]
fn a_kind_is_chosen_by_name_and_never_guessed() {
    let kinds = Candidates {
        first: &START,
        rest: &REST,
    };
    assert!(kinds.by_kind());
    assert_eq!(kinds.choose(Some("start")), Ok(&START));
    assert_eq!(kinds.choose(Some("stop")), Ok(&STOP));
    let known = "`start`, `stop`".to_owned();
    assert_eq!(
        kinds.choose(None),
        Err(UnknownKind::Missing {
            known: known.clone()
        })
    );
    for kind in ["", "START", "pause"] {
        let unlisted = UnknownKind::Unlisted {
            kind: kind.to_owned(),
            known: known.clone(),
        };
        assert_eq!(kinds.choose(Some(kind)), Err(unlisted));
    }
    let told = kinds.choose(Some("a\nb")).expect_err("unknown").to_string();
    assert_eq!(
        told,
        r"`a\nb` is no command kind of this path, which knows `start`, `stop`"
    );
}

#[test]
fn a_path_without_kinds_does_not_look_at_one() {
    let plain = Candidates {
        first: &PLAIN,
        rest: &[],
    };
    assert!(!plain.by_kind());
    assert_eq!(plain.choose(None), Ok(&PLAIN));
    assert_eq!(plain.choose(Some("start")), Ok(&PLAIN));
}

/// Texts that resemble paths: the surface's own words, ids, and noise.
fn path() -> impl Strategy<Value = String> {
    let words: Vec<&str> = ROWS.iter().flat_map(|row| row.path.split('/')).collect();
    let piece = proptest::prop_oneof![
        select(words).prop_map(str::to_owned),
        "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
        "[A-Za-z0-9._:-]{0,70}",
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..7).prop_map(|pieces| format!("/{}", pieces.join("/")))
}

/// A value for each parameter of `row`, UUIDs in mixed case.
fn values(row: &'static Row) -> impl Strategy<Value = Vec<(&'static str, String)>> {
    row.params()
        .map(|(name, kind)| {
            let text = match kind {
                ParamKind::Uuid => "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
                ParamKind::Text => "[A-Za-z0-9][A-Za-z0-9._:-]{0,63}",
            };
            text.prop_map(move |value| (name, value))
        })
        .collect::<Vec<_>>()
}

fn row_and_values() -> impl Strategy<Value = (&'static Row, Vec<(&'static str, String)>)> {
    (0..ROWS.len()).prop_flat_map(|index| {
        let row = &ROWS[index];
        values(row).prop_map(move |values| (row, values))
    })
}

proptest! {
    #[test]
    fn any_text_is_answered(method in any::<String>(), path in any::<String>()) {
        for listener in all_listeners() {
            find(listener, &method, &path);
        }
    }

    #[test]
    fn what_is_found_renders_to_the_canonical_path(path in path(), method in "GET|POST|PUT|HEAD") {
        for listener in all_listeners() {
            if let Match::Found { rows, params, .. } = find(listener, &method, &path) {
                let rendered = params.render(rows.any()).expect("its own parameters");
                assert!(rendered.eq_ignore_ascii_case(&path));
                let again = find(listener, &method, &rendered);
                assert!(matches!(again, Match::Found { rows: same, params: ref p, .. }
                    if same == rows && *p == params));
            }
        }
    }

    #[test]
    fn a_rendered_row_is_found_again((row, values) in row_and_values()) {
        let values: Vec<(&str, &str)> =
            values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let params = Params::of(row, &values).expect("good values");
        let path = params.render(row).expect("all given");
        for listener in listeners(row) {
            let found = find(listener, row.method.as_str(), &path);
            let Match::Found { rows, params: again, head: false } = found else {
                panic!("{path} is not found at {listener:?}");
            };
            assert!(rows.iter().any(|found| found == row));
            assert_eq!(&again, &params);
        }
        for listener in all_listeners().into_iter().filter(|one| !listeners(row).contains(one)) {
            let found = find(listener, row.method.as_str(), &path);
            assert!(!matches!(found, Match::Found { rows, .. } if rows.iter().any(|r| r == row)));
        }
    }

    #[test]
    fn every_other_method_of_a_row_is_405((row, values) in row_and_values(), method in "[A-Z]{3,8}") {
        let values: Vec<(&str, &str)> =
            values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let path = Params::of(row, &values).expect("good values").render(row).expect("all given");
        for listener in listeners(row) {
            if let Match::MethodNotAllowed { allow } = find(listener, &method, &path) {
                let listed: Vec<&str> = allow.split(", ").collect();
                assert!(listed.is_sorted() && !listed.contains(&method.as_str()));
                assert_eq!(listed.contains(&"GET"), listed.contains(&"HEAD"));
                for verb in listed {
                    assert!(matches!(find(listener, verb, &path), Match::Found { .. }));
                }
            } else {
                assert!(Method::parse(&method).is_some() || method == "HEAD");
            }
        }
    }
}
