use jiff::{SignedDuration, Timestamp};
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use uuid::Uuid;

use super::{Leases, MARGIN};
use crate::device::testkit::noon;
use crate::device::wire::{Hold, LeaseRequest};

const LEASE: SignedDuration = SignedDuration::from_secs(6);

fn mowers() -> Vec<Uuid> {
    (1..=20).map(Uuid::from_u128).collect()
}

fn at(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

fn table() -> Leases {
    Leases::new(LEASE, noon())
}

/// A shard that follows the protocol.
struct Shard {
    name: &'static str,
    instance: Uuid,
    holds: Vec<Hold>,
}

impl Shard {
    fn new(name: &'static str) -> Self {
        Shard {
            name,
            instance: Uuid::now_v7(),
            holds: Vec::new(),
        }
    }

    fn ask(&mut self, leases: &mut Leases, now: Timestamp) {
        self.holds = self.hear(leases, now, false);
    }

    fn hear(&self, leases: &mut Leases, now: Timestamp, leaving: bool) -> Vec<Hold> {
        let request = LeaseRequest {
            shard: self.name.to_owned(),
            instance: self.instance,
            holds: self.holds.clone(),
            leaving,
        };
        leases.answer(&request, &mowers(), now).holds
    }

    fn fence(&self, mower: Uuid) -> Option<u64> {
        let mut holds = self.holds.iter();
        holds
            .find(|hold| hold.mower_id == mower)
            .map(|hold| hold.fence)
    }
}

#[test]
fn one_shard_gets_all_and_keeps_its_numbers() {
    let mut leases = table();
    let mut one = Shard::new("one");
    one.ask(&mut leases, at(0));
    assert_eq!(one.holds.len(), 20);
    let first = one.holds.clone();
    for second in 1..100 {
        one.ask(&mut leases, at(second));
    }
    assert_eq!(one.holds, first);
}

#[test]
fn a_second_shard_gets_its_share_once_the_first_let_go() {
    let mut leases = table();
    let (mut one, mut two) = (Shard::new("one"), Shard::new("two"));
    one.ask(&mut leases, at(0));
    one.ask(&mut leases, at(1));
    two.ask(&mut leases, at(2));
    assert!(two.holds.is_empty(), "the first holds all until it is told");
    let before = one.holds.clone();
    one.ask(&mut leases, at(3));
    two.ask(&mut leases, at(4));
    assert!(
        two.holds.is_empty(),
        "told, but it did not say yet that it let go"
    );
    one.ask(&mut leases, at(5));
    two.ask(&mut leases, at(6));
    assert!(!two.holds.is_empty());
    assert_eq!(one.holds.len() + two.holds.len(), 20);
    for hold in &two.holds {
        let old = before
            .iter()
            .find(|it| it.mower_id == hold.mower_id)
            .unwrap();
        assert!(hold.fence > old.fence);
        assert_eq!(hold.since, at(6));
    }
}

#[test]
fn a_silent_shard_loses_its_mowers_after_lease_and_margin() {
    let mut leases = table();
    let (mut one, mut two) = (Shard::new("one"), Shard::new("two"));
    one.ask(&mut leases, at(0));
    let all = LEASE + MARGIN;
    two.ask(&mut leases, noon() + all - SignedDuration::from_millis(1));
    assert!(two.holds.is_empty());
    two.ask(&mut leases, noon() + all);
    assert_eq!(two.holds.len(), 20);
}

#[test]
fn a_new_process_of_the_same_shard_gets_higher_numbers_and_keeps_its_beginning() {
    let mut leases = table();
    let mut old = Shard::new("one");
    old.ask(&mut leases, at(0));
    let mut new = Shard::new("one");
    new.ask(&mut leases, at(3));
    for mower in mowers() {
        assert!(new.fence(mower) > old.fence(mower));
    }
    assert!(new.holds.iter().all(|hold| hold.since == at(0)));
    old.ask(&mut leases, at(4));
    assert!(old.holds.is_empty(), "an older process gets nothing");
    let before = new.holds.clone();
    new.ask(&mut leases, at(5));
    assert_eq!(new.holds, before);
}

#[test]
fn a_shard_that_leaves_frees_its_mowers_at_once() {
    let mut leases = table();
    let (mut one, mut two) = (Shard::new("one"), Shard::new("two"));
    one.ask(&mut leases, at(0));
    one.ask(&mut leases, at(1));
    one.holds.clear();
    assert!(one.hear(&mut leases, at(2), true).is_empty());
    two.ask(&mut leases, at(2));
    assert_eq!(two.holds.len(), 20);
}

#[test]
fn a_forgotten_table_believes_the_holders_and_waits_for_the_rest() {
    let mut leases = table();
    let (mut one, mut two) = (Shard::new("one"), Shard::new("two"));
    one.ask(&mut leases, at(0));
    let mut fresh = Leases::new(LEASE, at(10) + LEASE);
    two.ask(&mut fresh, at(10));
    assert!(two.holds.is_empty(), "somebody may hold them");
    let mut before = one.holds.clone();
    one.ask(&mut fresh, at(11));
    before.retain(|hold| one.fence(hold.mower_id).is_some());
    assert_eq!(one.holds, before);
    assert!(!one.holds.is_empty());
}

#[test]
fn an_answer_that_was_lost_is_given_again() {
    let mut leases = table();
    let mut one = Shard::new("one");
    let lost = one.hear(&mut leases, at(0), false);
    one.ask(&mut leases, at(2));
    assert_eq!(one.holds, lost);
}

#[derive(Clone, Debug)]
enum Step {
    Ask(usize),
    LoseAnswer(usize),
    Restart(usize),
    Pass(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize).prop_map(Step::Ask),
        1 => (0..3_usize).prop_map(Step::LoseAnswer),
        1 => (0..3_usize).prop_map(Step::Restart),
        3 => (100..3_000_i64).prop_map(Step::Pass),
        1 => Just(Step::Pass(8_000)),
    ]
}

proptest! {
    /// Two shards that count their leases from their asking never hold one
    /// mower at once, and numbers only rise.
    #[test]
    fn never_two_holders(steps in proptest::collection::vec(step(), 1..120)) {
        let mut leases = table();
        let mut shards = ["one", "two", "three"].map(|name| (Shard::new(name), noon()));
        let mut now = noon();
        let mut highest = std::collections::HashMap::new();
        for step in steps {
            match step {
                Step::Pass(milliseconds) => now += SignedDuration::from_millis(milliseconds),
                Step::Ask(index) => {
                    let (shard, until) = &mut shards[index];
                    shard.ask(&mut leases, now);
                    *until = now + LEASE;
                    for hold in &shard.holds {
                        let seen = highest.entry(hold.mower_id).or_insert(hold.fence);
                        assert!(hold.fence >= *seen);
                        *seen = hold.fence;
                    }
                }
                Step::LoseAnswer(index) => {
                    let _lost = shards[index].0.hear(&mut leases, now, false);
                }
                Step::Restart(index) => {
                    let name = shards[index].0.name;
                    shards[index] = (Shard::new(name), now);
                }
            }
            let living = shards.iter().filter(|(_, until)| *until > now);
            let mut held: Vec<Uuid> = living
                .flat_map(|(shard, _)| shard.holds.iter().map(|hold| hold.mower_id))
                .collect();
            let all = held.len();
            held.sort_unstable();
            held.dedup();
            assert_eq!(held.len(), all, "two shards hold one mower");
        }
    }
}
