use std::net::SocketAddr;

use super::{Foundation, Gateway, Mowers, Ports, Store};

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn the_second_gateway_leaves_the_three_ports_alone() {
    let first = Ports::from_base(8080);
    assert_eq!(first.gateway, at("127.0.0.1:8080"));
    assert_eq!(first.ops, at("127.0.0.1:8081"));
    let second = Ports::second(8080);
    assert_eq!(second.gateway, at("127.0.0.1:8083"));
    assert_eq!(second.ops, at("127.0.0.1:8084"));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ports = Ports {
        gateway: taken.local_addr().unwrap(),
        ops: at("127.0.0.1:0"),
    };
    let text = ports.check().unwrap_err().to_string();
    assert!(text.contains(&ports.gateway.to_string()), "{text}");
}

fn mowers(ops: &[SocketAddr], foundation: &Foundation) -> String {
    Mowers {
        listen: at("127.0.0.1:1"),
        ops,
        key: "k:s",
        foundation,
        replica: "one",
        shard: "a",
        state: "/state/shard-a".into(),
        spool: "/state/spool".into(),
    }
    .text()
}

#[test]
fn a_replica_is_told_of_every_gateway_and_of_what_is_shared() {
    let foundation = Foundation::Shared {
        records: "postgres://interlock@127.0.0.1:5/postgres".to_owned(),
        bus: at("127.0.0.1:4"),
    };
    let expected = r#"listen = "127.0.0.1:1"
ops = "127.0.0.1:0"
account = "acme"
gateway_ops = ["http://127.0.0.1:2", "http://127.0.0.1:3"]
keys = ["k:s"]
replica = "one"
shard = "a"
state = "/state/shard-a"
spool = "/state/spool"

[records]
kind = "postgres"
url = "postgres://interlock@127.0.0.1:5/postgres"

[bus]
kind = "nats"
url = "nats://127.0.0.1:4"
"#;
    let ops = [at("127.0.0.1:2"), at("127.0.0.1:3")];
    assert_eq!(mowers(&ops, &foundation), expected);
}

#[test]
fn one_process_has_everything_inside() {
    let foundation = Foundation::Inside("/state/mowers.db".into());
    let text = mowers(&[at("127.0.0.1:2")], &foundation);
    assert!(
        text.contains("[records]\nkind = \"sqlite\"\npath = \"/state/mowers.db\"\n"),
        "{text}"
    );
    assert!(text.contains("[bus]\nkind = \"local\"\n"), "{text}");
}

#[test]
fn a_gateway_is_told_of_every_replica() {
    let text = Gateway {
        issuer: None,
        ports: Ports::from_base(8080),
        drones: at("127.0.0.1:1"),
        mowers: &[at("127.0.0.1:2"), at("127.0.0.1:3")],
        store: &Store::Redis(at("127.0.0.1:4")),
        bundle: "/bundle".into(),
        audit: "/audit".into(),
        kept: "/kept".into(),
        drone_keys: "/drones.key".into(),
        mower_keys: "/mowers.key".into(),
    }
    .text();
    let url = "url = [\"http://127.0.0.1:2\", \"http://127.0.0.1:3\"]\n";
    assert!(text.contains(url), "{text}");
}
