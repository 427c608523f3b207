use std::time::Duration;

use super::{Address, Addresses, REST};
use crate::upstream::{Endpoint, EndpointError, UpstreamLimits};

fn addresses(count: u16) -> Addresses {
    let endpoint = Endpoint {
        service: "drones".to_owned(),
        authorities: (1..=count).map(|port| format!("vehicle:{port}")).collect(),
    };
    Addresses::new(&endpoint, &UpstreamLimits::default()).unwrap()
}

/// What happens: an address fails, so many milliseconds after the start.
fn check(count: u16, failures: &[(usize, u64)], in_use: u16, then: &[u16]) {
    let addresses = addresses(count);
    let mut now = addresses.began;
    for (place, at) in failures {
        now = addresses.began + Duration::from_millis(*at);
        addresses.failed(addresses.all().nth(*place).unwrap(), now);
    }
    let port = |address: &Address| address.authority.rsplit_once(':').unwrap().1.parse();
    let used = addresses.in_use();
    assert_eq!(port(used), Ok(in_use), "{failures:?}");
    let after: Vec<_> = addresses.after(used, now).into_iter().map(port).collect();
    let then: Vec<_> = then.iter().copied().map(Ok).collect();
    assert_eq!(after, then, "{failures:?}");
}

#[test]
fn an_address_is_in_use_until_it_fails() {
    check(1, &[], 1, &[]);
    check(1, &[(0, 0)], 1, &[]);
    check(3, &[], 1, &[2, 3]);
    check(3, &[(0, 0)], 2, &[3, 1]);
    // It stays in use when the first could serve again.
    check(3, &[(0, 0), (2, 60_000)], 2, &[1, 3]);
}

#[test]
fn one_that_failed_lately_is_passed_over() {
    let rest = u64::try_from(REST.as_millis()).unwrap();
    check(2, &[(0, 0), (1, rest + 1)], 1, &[2]);
    check(3, &[(0, 0), (1, rest - 1)], 3, &[1, 2]);
    check(3, &[(0, 0), (1, 1), (2, 2)], 1, &[2, 3]);
    // The third failed before the second: it is tried before it.
    check(3, &[(2, 0), (0, 1), (1, 2)], 3, &[1, 2]);
}

#[test]
fn a_late_failure_turns_nobody_away_from_a_good_address() {
    check(3, &[(0, 0), (0, 1), (0, 2)], 2, &[3, 1]);
}

#[test]
fn an_endpoint_needs_an_address() {
    let endpoint = Endpoint {
        service: "drones".to_owned(),
        authorities: Vec::new(),
    };
    let refused = Addresses::new(&endpoint, &UpstreamLimits::default()).err();
    let service = "drones".to_owned();
    assert_eq!(refused, Some(EndpointError::NoAddress { service }));
}
