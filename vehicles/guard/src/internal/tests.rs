use std::sync::Arc;

use interlock_surface::row;
use jiff::Timestamp;
use uuid::Uuid;

use super::sign_internal;
use crate::guard::Guard;
use crate::keys::{Key, KeySet, Keys};
use crate::layer::tests::SetClock;
use crate::refusal::Refusal;

const NOW: i64 = 1_764_500_000;

fn keys() -> Keys {
    Keys::new(KeySet::new(vec![Key::new("k", &[1; 32]).unwrap()]).unwrap())
}

#[test]
fn a_service_may_call_its_own_internal_rows_and_nothing_else() {
    let now = Timestamp::from_second(NOW).unwrap();
    let guard = Guard::new("mowers", keys(), Arc::new(SetClock::at(NOW)));
    let sign = |name| {
        let call = ("/internal/accounts", &b"{}"[..]);
        sign_internal(&keys(), row(name).unwrap(), call, Uuid::from_u128(7), now)
    };
    let token = sign("mowers.internal.account").unwrap();
    let granted = guard
        .check(&token, "POST", "/internal/accounts", b"{}")
        .unwrap();
    assert_eq!(granted.operation(), Some(Uuid::from_u128(7)));
    let other = guard.check(&token, "POST", "/internal/accounts", b"{ }");
    assert_eq!(other.err(), Some(Refusal::Body));
    assert!(sign("mowers.mower.register").is_err());
}
