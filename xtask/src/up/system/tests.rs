use super::{listening, operations, twins};

#[test]
fn finds_the_address_in_a_log() {
    let check = |log: &str, expected: Option<&str>| {
        let expected = expected.map(|address| address.parse().unwrap());
        assert_eq!(listening(log), expected, "{log}");
    };
    check("listening on 127.0.0.1:7070\n", Some("127.0.0.1:7070"));
    check(
        "{\"level\":\"INFO\"}\nlistening on 127.0.0.1:1\n",
        Some("127.0.0.1:1"),
    );
    check("listening on 127.0.0.1:80", None);
    check("not listening on 127.0.0.1:80\n", None);
    check("", None);
    let log = "operations on 127.0.0.1:2\nlistening on 127.0.0.1:1\n";
    check(log, Some("127.0.0.1:1"));
    assert_eq!(operations(log), "127.0.0.1:2".parse().ok());
}

#[test]
fn a_process_is_missed_by_its_twin_alone() {
    assert!(twins("mowers", "mowers-2"));
    assert!(twins("shard-b", "shard-a"));
    assert!(!twins("mowers", "mowers"));
    assert!(!twins("mowers", "gateway-2"));
    assert!(!twins("redis", "nats"));
}
