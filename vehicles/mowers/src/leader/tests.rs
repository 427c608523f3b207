use jiff::{SignedDuration, Timestamp};

use super::{LEASE, give_up, hold};
use crate::records::testkit::on_both;

#[tokio::test]
async fn one_has_the_part_until_it_runs_out_or_is_given_up() {
    on_both(async |store| {
        let records = &store.records;
        let begin: Timestamp = "2026-05-01T10:00:00Z".parse().unwrap();
        let check = async |holder: &str, after: SignedDuration, expected: bool| {
            let held = hold(records, "leases", holder, begin + after)
                .await
                .unwrap();
            assert_eq!(held, expected, "{holder} after {after:?}");
        };
        let millisecond = SignedDuration::from_millis(1);
        check("one", SignedDuration::ZERO, true).await;
        check("two", LEASE, false).await;
        check("one", LEASE, true).await;
        check("two", LEASE + LEASE, false).await;
        check("two", LEASE + LEASE + millisecond, true).await;
        check("one", LEASE + LEASE + millisecond, false).await;
        give_up(records, "leases", "one").await.unwrap();
        check("one", LEASE + LEASE + millisecond, false).await;
        give_up(records, "leases", "two").await.unwrap();
        check("one", LEASE + LEASE + millisecond, true).await;
    })
    .await;
}
