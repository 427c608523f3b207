use super::{Authority, HostError, HostRules};

fn check(text: &str, expected: Result<&str, HostError>) {
    let parsed = Authority::parse(text).map(|authority| authority.to_string());
    assert_eq!(parsed, expected.map(str::to_owned), "host: {text:?}");
}

#[test]
fn spellings_of_one_host_are_one() {
    let table = [
        ("gateway.local", "gateway.local"),
        ("GATEWAY.LOCAL", "gateway.local"),
        ("gateway.local.", "gateway.local"),
        ("gateway.local:443", "gateway.local"),
        ("gateway.local:80", "gateway.local"),
        ("gateway.local:0080", "gateway.local"),
        ("gateway.local:8080", "gateway.local:8080"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("[::1]", "[::1]"),
        ("[0:0:0:0:0:0:0:1]:8080", "[::1]:8080"),
    ];
    for (text, expected) in table {
        check(text, Ok(expected));
    }
}

#[test]
fn malformed_hosts_are_refused() {
    for text in [
        "",
        ".",
        "..",
        "a..b",
        ":8080",
        "a:",
        "a:b",
        "a:+80",
        "a:99999",
        "a:1:2",
        "::1",
        "[::1",
        "[::1]8080",
        "[::1%25eth0]",
        "user@gateway.local",
        "gateway.local/x",
        "gateway local",
        "gate\u{e9}way",
        "a,b",
    ] {
        check(text, Err(HostError::Malformed));
    }
}

fn admitted(rules: &HostRules, host: &str) -> bool {
    match rules.admit(&Authority::parse(host).unwrap()) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error, HostError::Misdirected);
            false
        }
    }
}

#[test]
fn open_mode_answers_for_loopback_with_its_own_port() {
    let rules = HostRules::Open { port: 8080 };
    for host in [
        "localhost:8080",
        "LOCALHOST.:8080",
        "127.0.0.1:8080",
        "127.8.9.1:8080",
        "[::1]:8080",
    ] {
        assert!(admitted(&rules, host), "{host}");
    }
    for host in [
        "localhost",
        "localhost:8081",
        "evil.example:8080",
        "localhost.evil.example:8080",
        "127.0.0.1.nip.io:8080",
        "10.0.0.1:8080",
        "0.0.0.0:8080",
        "[::]:8080",
    ] {
        assert!(!admitted(&rules, host), "{host}");
    }
    assert!(admitted(&HostRules::Open { port: 80 }, "localhost"));
}

#[test]
fn enforced_mode_answers_for_what_is_configured() {
    let hosts = ["Gateway.Example.", "gateway.example:8080"]
        .map(|host| Authority::parse(host).unwrap())
        .to_vec();
    let rules = HostRules::Enforced { hosts };
    for host in [
        "gateway.example",
        "GATEWAY.EXAMPLE:443",
        "gateway.example.:8080",
    ] {
        assert!(admitted(&rules, host), "{host}");
    }
    for host in ["gateway.example:8081", "localhost", "example", "[::1]"] {
        assert!(!admitted(&rules, host), "{host}");
    }
}

#[test]
fn operations_are_addressed_by_address() {
    for host in [
        "127.0.0.1:8081",
        "localhost:8081",
        "10.1.2.3:8081",
        "[::1]:8081",
    ] {
        assert!(admitted(&HostRules::Operations, host), "{host}");
    }
    for host in ["evil.example:8081", "localhost.evil.example"] {
        assert!(!admitted(&HostRules::Operations, host), "{host}");
    }
}
