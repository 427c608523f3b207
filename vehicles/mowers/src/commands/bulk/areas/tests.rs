use uuid::Uuid;

use super::{Areas, chosen};

fn ids(numbers: &[u128]) -> Vec<Uuid> {
    numbers.iter().map(|&n| Uuid::from_u128(n)).collect()
}

fn check(wanted: &[u128], own: &[u128], expected: Areas) {
    assert_eq!(chosen(&ids(wanted), ids(own)), expected);
}

#[test]
fn each_mower_mows_what_is_on_its_own_map() {
    check(&[], &[1, 2], Areas::Own(ids(&[1, 2])));
    check(&[3, 2, 9], &[1, 2, 3], Areas::Own(ids(&[3, 2])));
    check(&[9], &[1, 2], Areas::NoneOfThem);
    check(&[], &[], Areas::NoneOfThem);
}
