use serde_json::Map;
use uuid::Uuid;

use super::{ConnectionKind, Container, Member, Reach, Roster};

const SITE: Uuid = Uuid::from_u128(10);
const OTHER: Uuid = Uuid::from_u128(11);
const GROUP: Uuid = Uuid::from_u128(20);

fn member(id: u128, revision: u64, site: Uuid, groups: &[Uuid]) -> Member {
    Member {
        mower_id: Uuid::from_u128(id),
        account_id: "acme".to_owned(),
        site_id: site,
        group_ids: groups.to_vec(),
        hierarchy_rev: revision,
        vendor: "acme".to_owned(),
        model: "one".to_owned(),
        connection: Reach {
            kind: ConnectionKind::Simulated,
            options: Map::new(),
        },
        quarantined: false,
    }
}

fn check(roster: &Roster, of: Container<'_>, expected: &[u128]) {
    let found = roster.members(of);
    let ids: Vec<u128> = found.iter().map(|m| m.mower_id.as_u128()).collect();
    assert_eq!(ids, expected, "{of:?}");
}

#[test]
fn containers_hold_their_mowers() {
    let roster = Roster::default();
    assert!(!roster.is_loaded());
    roster.put(member(3, 1, SITE, &[GROUP]));
    roster.put(member(1, 1, SITE, &[]));
    roster.put(member(2, 1, OTHER, &[GROUP]));
    check(&roster, Container::Account("acme"), &[1, 2, 3]);
    check(&roster, Container::Account("beta"), &[]);
    check(&roster, Container::Site(SITE), &[1, 3]);
    check(&roster, Container::Group(GROUP), &[2, 3]);
    check(&roster, Container::Group(SITE), &[]);
}

#[test]
fn what_is_older_changes_nothing() {
    let roster = Roster::default();
    roster.put(member(1, 5, SITE, &[]));
    roster.put(member(1, 4, OTHER, &[]));
    check(&roster, Container::Site(SITE), &[1]);
    roster.remove(Uuid::from_u128(1), 4);
    check(&roster, Container::Site(SITE), &[1]);
    roster.remove(Uuid::from_u128(1), 6);
    check(&roster, Container::Account("acme"), &[]);
    roster.put(member(1, 6, SITE, &[]));
    check(&roster, Container::Account("acme"), &[]);
    roster.put(member(1, 7, SITE, &[]));
    check(&roster, Container::Account("acme"), &[1]);
}

#[test]
fn a_load_keeps_what_came_in_while_the_records_were_read() {
    let roster = Roster::default();
    roster.put(member(1, 1, SITE, &[]));
    roster.put(member(2, 1, SITE, &[]));
    roster.put(member(5, 1, SITE, &[]));
    let mark = roster.mark();
    // The records were read here: 1, 2 and 3 are in them, 5 is not.
    roster.put(member(2, 2, OTHER, &[]));
    roster.put(member(4, 1, SITE, &[]));
    roster.remove(Uuid::from_u128(3), 9);
    let read = vec![
        member(1, 1, SITE, &[]),
        member(2, 1, SITE, &[]),
        member(3, 1, SITE, &[]),
    ];
    roster.load(mark, read);
    assert!(roster.is_loaded());
    check(&roster, Container::Account("acme"), &[1, 2, 4]);
    check(&roster, Container::Site(OTHER), &[2]);
}
