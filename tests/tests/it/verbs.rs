//! Every verb on every path of every listener: what the table lists is served,
//! every other verb is 405 with `Allow`, every other path 404.

mod head;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use interlock_surface::{Class, Method, ROWS, Row, ServedBy};
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use interlock_tests::wire::{Raw, Wire};

/// An id that no object has.
const ID: &str = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000";

/// Verbs of RFC 9110, RFC 5789 and RFC 4918, one that nobody ever defined, and
/// one that differs from a listed verb in case only, which makes it another.
const VERBS: [&str; 12] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "FLY", "get",
    "Post",
];

/// A place that serves rows.
struct Place {
    name: &'static str,
    address: SocketAddr,
    serves: fn(&Row) -> bool,
    /// The token of somebody with every right, where the place takes tokens.
    token: Option<String>,
}

fn places(system: &System) -> [Place; 4] {
    [
        Place {
            name: "public",
            address: system.gateway().address(),
            serves: |row| row.class != Class::Internal,
            token: Persona::Proposer.token(&system.idp),
        },
        Place {
            name: "ops",
            address: system.gateway().ops_address(),
            serves: |row| row.served_by == ServedBy::Ops,
            token: None,
        },
        Place {
            name: "drones",
            address: system.drones.address(),
            serves: |row| row.service == "drones" && row.served_by == ServedBy::Service,
            token: None,
        },
        Place {
            name: "mowers",
            address: system
                .mowers
                .as_ref()
                .expect("a plan with mowers")
                .address(),
            serves: |row| row.service == "mowers" && row.served_by == ServedBy::Service,
            token: None,
        },
    ]
}

impl Place {
    /// Each path, ids filled in, with the methods that are served there. Worked
    /// out from the rows alone, not from the matching under test.
    fn paths(&self) -> BTreeMap<String, Vec<Method>> {
        let mut paths: BTreeMap<String, Vec<Method>> = BTreeMap::new();
        for row in ROWS.iter().filter(|row| (self.serves)(row)) {
            let parts = row.path.split('/').map(|part| match part.starts_with('{') {
                true => ID,
                false => part,
            });
            let path = parts.collect::<Vec<_>>().join("/");
            paths.entry(path).or_default().push(row.method);
        }
        paths
    }

    /// Whether a row's path is this one, with any word where the row has an id.
    fn lists(&self, path: &str) -> bool {
        let is = |row: &Row| {
            let mut parts = path.split('/');
            let each = row.path.split('/').all(|part| {
                let word = parts.next();
                word.is_some() && (part.starts_with('{') || word == Some(part))
            });
            each && parts.next().is_none()
        };
        ROWS.iter().filter(|row| (self.serves)(row)).any(is)
    }

    /// One request without a body, on a connection of its own.
    fn ask(&self, verb: &str, path: &str, token: Option<&str>) -> Raw {
        let mut wire = Wire::connect(self.address);
        let token = token.map_or(String::new(), |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        let host = self.address;
        wire.send(format!(
            "{verb} {path} HTTP/1.1\r\nHost: {host}\r\n{token}\r\n"
        ));
        let answer = wire.answer_to(verb);
        answer.unwrap_or_else(|| panic!("{}: {verb} {path} got no answer", self.name))
    }
}

/// `Allow` as the rows have it: HEAD goes with GET.
fn allow(methods: &[Method]) -> String {
    let mut names: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
    if names.contains(&"GET") {
        names.push("HEAD");
    }
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

#[tokio::test]
async fn every_other_verb_is_refused_with_what_is_allowed() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    for place in places(&system) {
        let paths = place.paths();
        assert!(paths.len() >= 6, "{}: {} paths", place.name, paths.len());
        for (path, methods) in &paths {
            let allow = allow(methods);
            for verb in VERBS {
                let what = format!("{}: {verb} {path}", place.name);
                let listed = allow.split(", ").any(|listed| listed == verb);
                for token in [None, place.token.as_deref()] {
                    if listed && token.is_some() {
                        // It would be done.
                        continue;
                    }
                    let answer = place.ask(verb, path, token);
                    if listed {
                        assert_ne!(answer.status, 405, "{what}");
                        continue;
                    }
                    assert_eq!(answer.status, 405, "{what}: {}", answer.text());
                    assert_eq!(answer.header("allow"), Some(allow.as_str()), "{what}");
                    let text = answer.text();
                    let told = verb == "HEAD" || text.contains("problem:method-not-allowed");
                    assert!(told, "{what}: {text}");
                    assert!(!text.contains(ID), "{what}: {text}");
                }
            }
        }
    }
    assert_eq!(
        system.sim.counters(),
        Default::default(),
        "nothing reached the swarm"
    );
}

#[tokio::test]
async fn every_other_path_is_missing_with_a_token_or_without() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    for place in places(&system) {
        let paths = place.paths();
        let near = paths.keys().flat_map(|path| {
            [
                format!("{path}/more"),
                format!("/x{path}"),
                path.to_ascii_uppercase(),
            ]
        });
        let elsewhere = [
            "/",
            "/api",
            "/internal",
            "/favicon.ico",
            "/.well-known/security.txt",
        ];
        let mut unlisted: Vec<String> = near.chain(elsewhere.map(str::to_owned)).collect();
        // What another place serves is not served here.
        for other in places(&system)
            .iter()
            .filter(|other| other.name != place.name)
        {
            unlisted.extend(other.paths().into_keys());
        }
        unlisted.retain(|path| !place.lists(path));
        for path in &unlisted {
            for verb in VERBS {
                for token in [None, place.token.as_deref()] {
                    let answer = place.ask(verb, path, token);
                    assert_eq!(answer.status, 404, "{}: {verb} {path}", place.name);
                    assert_eq!(
                        answer.header("allow"),
                        None,
                        "{}: {verb} {path}",
                        place.name
                    );
                }
            }
        }
    }
}

/// A tunnel is no request for a row: it is refused before any path is looked
/// at, in whatever form its target has.
#[tokio::test]
async fn no_listener_is_a_tunnel() {
    let system = System::start(Plan::ENFORCED.with_mowers()).await;
    for place in places(&system) {
        for target in [place.address.to_string(), "/health".to_owned()] {
            let answer = place.ask("CONNECT", &target, None);
            let refused = matches!(answer.status, 400 | 404 | 405 | 501);
            assert!(
                refused,
                "{}: CONNECT {target}: {}",
                place.name, answer.status
            );
        }
    }
    let answer = places(&system)[0].ask("CONNECT", "gateway.example:443", None);
    assert_eq!(answer.status, 501);
}

/// The rows above are all there are: none is left out for being served nowhere.
#[test]
fn every_row_is_served_at_one_place_at_least() {
    let served = |row: &Row| {
        row.class != Class::Internal
            || row.served_by == ServedBy::Ops
            || (["drones", "mowers"].contains(&row.service) && row.served_by == ServedBy::Service)
    };
    let lost: Vec<&str> = ROWS
        .iter()
        .filter(|row| !served(row))
        .map(|row| row.name)
        .collect();
    assert_eq!(lost, Vec::<&str>::new());
}

/// A header that some servers take for the verb is none here.
#[tokio::test]
async fn the_verb_is_the_one_of_the_request_line() {
    let system = System::start(Plan::OPEN.with_mowers()).await;
    let http = system.gateway().http();
    for header in [
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
    ] {
        let get = http
            .get("/api/swarm/land")
            .header(header, "POST")
            .send()
            .await;
        assert_eq!(get.status, 405, "{header}");
        let post = http
            .post("/api/swarm/state")
            .header(header, "GET")
            .send()
            .await;
        assert_eq!(post.status, 405, "{header}");
    }
    assert_eq!(
        system.sim.counters(),
        Default::default(),
        "nothing reached the swarm"
    );
}
