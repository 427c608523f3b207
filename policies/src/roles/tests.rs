use interlock_surface::Relation;

use super::{Role, Roles};

fn check(role: &Role, expected: &str) {
    let roles = Roles::default();
    let relations = roles.relations(role).iter().map(|r| r.as_str());
    assert_eq!(relations.collect::<Vec<_>>().join(" "), expected, "{role}");
}

#[test]
fn built_in_roles_give_what_the_table_says() {
    check(&Role::VIEWER, "view");
    check(&Role::OPERATOR, "view control");
    check(&Role::DRIVER, "view control drive");
    check(&Role::DISPATCHER, "view control bulk");
    check(&Role::APPROVER, "view approve");
    check(&Role::MANAGER, "view manage");
    check(&Role::ADMIN, "view control drive approve manage bulk");
    check(&Role::OWNER, "view control drive approve manage bulk");
    check(&Role::named("chief").unwrap(), "");
}

#[test]
fn a_name_is_one_lower_case_word() {
    for bad in ["", "Chief", "1st", "-a", "a b", "a_b", "ä", &"a".repeat(65)] {
        assert_eq!(Role::named(bad), None, "{bad}");
    }
    for good in ["a", "bulk-only", "tier-2", &"a".repeat(64)] {
        assert_eq!(Role::named(good).unwrap().as_str(), good);
    }
}

#[test]
fn a_role_is_added_once_and_gives_what_it_lists() {
    let mut roles = Roles::default();
    let bulk = Role::named("bulk-only").unwrap();
    assert!(roles.add(bulk.clone(), vec![Relation::Bulk]));
    assert!(!roles.add(bulk.clone(), vec![Relation::View]));
    assert!(!roles.add(Role::VIEWER, vec![Relation::Control]));
    assert_eq!(roles.relations(&bulk), [Relation::Bulk]);
    assert_eq!(roles.relations(&Role::VIEWER), [Relation::View]);
}
