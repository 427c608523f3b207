use proptest::prelude::{any, proptest};
use uuid::Uuid;

use super::{ReplayError, ReplayMemory};

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

#[test]
fn a_grant_is_spent_once_until_it_expires() {
    let mut memory = ReplayMemory::new(8);
    assert_eq!(memory.spend(id(1), 110, 100), Ok(()));
    assert_eq!(memory.spend(id(1), 110, 100), Err(ReplayError::Replayed));
    assert_eq!(memory.spend(id(1), 110, 110), Err(ReplayError::Replayed));
    assert_eq!(memory.spend(id(2), 120, 111), Ok(()));
    assert_eq!(memory.seen.len(), 1, "the expired id is gone");
}

#[test]
fn a_clock_set_back_revives_nothing() {
    let mut memory = ReplayMemory::new(8);
    assert_eq!(memory.spend(id(1), 110, 100), Ok(()));
    assert_eq!(memory.spend(id(2), 300, 200), Ok(()));
    assert_eq!(memory.spend(id(1), 110, 100), Err(ReplayError::Replayed));
}

#[test]
fn a_full_memory_refuses_and_never_forgets_early() {
    let mut memory = ReplayMemory::new(2);
    assert_eq!(memory.spend(id(1), 110, 100), Ok(()));
    assert_eq!(memory.spend(id(2), 120, 100), Ok(()));
    assert_eq!(memory.spend(id(3), 130, 100), Err(ReplayError::Full));
    assert_eq!(memory.spend(id(1), 110, 105), Err(ReplayError::Replayed));
    assert_eq!(
        memory.spend(id(3), 130, 111),
        Ok(()),
        "room once one expired"
    );
    assert_eq!(memory.spend(id(2), 120, 111), Err(ReplayError::Replayed));
}

proptest! {
    /// However spends and time run, no id is accepted twice within its life.
    #[test]
    fn no_id_is_accepted_twice_in_its_life(
        steps in proptest::collection::vec((0_u128..20, 0_i64..30, any::<bool>()), 0..200)
    ) {
        let mut memory = ReplayMemory::new(8);
        let mut accepted = std::collections::HashMap::new();
        let mut now = 1000;
        for (n, life, tick) in steps {
            now += i64::from(tick);
            if memory.spend(id(n), now + life, now).is_ok() {
                let earlier = accepted.insert(n, now + life);
                assert!(earlier.is_none_or(|until| until < now));
            }
        }
    }
}
