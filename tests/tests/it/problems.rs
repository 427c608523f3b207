//! Every kind of problem, caused for real and seen by a caller over HTTP.

mod caller;
pub(crate) mod machinery;
mod mower;
mod plan;
mod request;
mod seen;
mod vehicle;

use std::collections::HashSet;

use interlock_gateway::problem::Kind;

/// Each test below ends by comparing what it saw with its own list; together
/// the lists are all kinds there are, each in one of them.
#[test]
fn every_kind_is_seen() {
    let lists = [
        &[request::KINDS, caller::KINDS, mower::KINDS, plan::KINDS][..],
        &vehicle::KINDS,
        &machinery::KINDS,
    ];
    let listed: Vec<Kind> = lists.concat().concat();
    let distinct: HashSet<Kind> = listed.iter().copied().collect();
    assert_eq!(distinct.len(), listed.len(), "a kind is listed twice");
    let missing: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| !distinct.contains(kind))
        .collect();
    assert_eq!(missing, Vec::<Kind>::new(), "seen in no test");
    assert_eq!(listed.len(), Kind::ALL.len());
}
