//! Each failure that the fleet is built for, and the tests that cause it: here
//! in the real processes, and where only a part of one can be made to fail,
//! beside that part.

use crate::bugs::fault;

/// Number, what fails, and the tests, each as `FILE::NAME`.
const TABLE: &[(u8, &str, &[&str])] = &[
    (
        1,
        "the bus is down",
        &[
            "tests/tests/it/fleet/bus.rs::nobody_listens",
            "vehicles/mowers/src/commands/stop/tests.rs::a_stop_finds_its_way_past_a_dead_stream",
        ],
    ),
    (
        2,
        "the bus does not answer",
        &["tests/tests/it/fleet/bus.rs::nobody_answers"],
    ),
    (
        3,
        "the database is down",
        &[
            "tests/tests/it/fleet/database.rs::it_was_killed",
            "tests/tests/it/fleet/database.rs::it_hangs",
            "tests/tests/it/fleet/database.rs::connections_to_it_are_reset",
        ],
    ),
    (
        4,
        "the gateway's objects are old",
        &["tests/tests/it/fleet/registry.rs::the_service_is_not_heard_of"],
    ),
    (
        5,
        "the gateway's store is down",
        &["tests/tests/it/fleet/store.rs::the_store_is_down"],
    ),
    (
        6,
        "a replica dies after the commit",
        &[
            "tests/tests/it/fleet/deaths.rs::in_the_middle_of_a_start",
            "tests/tests/it/fleet/deaths.rs::in_the_middle_of_a_stop",
        ],
    ),
    (
        7,
        "a replica dies after the publish",
        &[
            "tests/tests/it/fleet/deaths.rs::in_the_middle_of_a_start",
            "tests/tests/it/fleet/pair.rs::one_replica_is_killed",
        ],
    ),
    (
        8,
        "a result comes twice",
        &[
            "vehicles/mowers/src/commands/status/tests.rs::all_forty_orders_end_in_the_final_after_one_or_two_writes",
        ],
    ),
    (
        9,
        "results come out of order",
        &[
            "vehicles/mowers/src/commands/tests.rs::a_record_goes_forward_only_also_under_racing_results",
        ],
    ),
    (
        10,
        "two different finals",
        &[
            "vehicles/mowers/src/commands/status/tests.rs::the_first_final_stays_and_the_second_is_kept_beside_it_once",
        ],
    ),
    (
        11,
        "a command is delivered twice",
        &["tests/tests/it/fleet/shards.rs::delivered_twice"],
    ),
    (
        12,
        "a command expires in the queue",
        &[
            "tests/tests/it/fleet/shards.rs::expired_in_the_queue",
            "tests/tests/it/fleet/shards.rs::a_stop_that_nobody_carried_out",
        ],
    ),
    (
        13,
        "a mower is offline",
        &["tests/tests/it/fleet/shards.rs::a_mower_is_offline"],
    ),
    (
        14,
        "a mower is moved during a command",
        &[
            "tests/tests/it/fleet/moves.rs::out_of_reach",
            "tests/tests/it/fleet/moves.rs::within_reach",
            "tests/tests/it/fleet/moves.rs::under_a_stop",
        ],
    ),
    (
        15,
        "a mower is deleted during a command",
        &["tests/tests/it/fleet/moves.rs::deleted_after_a_command"],
    ),
    (
        16,
        "two shards think that they hold a mower",
        &[
            "tests/tests/it/fleet/shards.rs::one_shard_is_away_and_comes_back",
            "vehicles/mowers/src/device/leases/tests.rs::never_two_holders",
        ],
    ),
    (
        17,
        "no shard holds a mower",
        &[
            "tests/tests/it/fleet/shards.rs::nobody_holds_it",
            "vehicles/mowers/src/commands/presence/tests.rs::a_command_to_a_mower_that_nobody_holds_ends_at_once",
        ],
    ),
    (
        18,
        "a preview gets no answer, or a slow one",
        &[
            "vehicles/mowers/src/preview/tests.rs::nobody_answers",
            "vehicles/mowers/src/preview/tests.rs::a_silent_device_gateway_times_out_after_the_mower_would_have",
            "vehicles/mowers/src/preview/tests.rs::each_error_has_its_status",
            "vehicles/mowers/src/config/tests.rs::layers_must_end_one_after_the_other",
        ],
    ),
    (
        19,
        "clocks differ",
        &[
            "vehicles/mowers/src/device/commands/tests.rs::a_clock_that_is_off_by_more_than_two_seconds_refuses_all_but_stops",
        ],
    ),
    (
        20,
        "the vendor takes no more calls",
        &[
            "vehicles/mowers/src/sim/tests/vendor.rs::a_limited_vendor_takes_stops_only",
            "vehicles/mowers/src/device/worker/tests.rs::a_vendor_at_its_limit_is_not_asked_again_before_its_time",
        ],
    ),
    (
        21,
        "a driver loses the link",
        &[
            "vehicles/mowers/src/device/drive/tests.rs::the_dead_man_stops_the_wheels_at_the_end_of_the_frame",
            "vehicles/mowers/src/device/drive/tests.rs::an_idle_session_ends_after_ten_seconds",
        ],
    ),
    (
        22,
        "a word on a change of a mower is not sent",
        &["vehicles/mowers/src/hierarchy/tests/heard.rs::a_crash_after_the_send_repeats_the_event"],
    ),
    (
        23,
        "a policy reload is refused",
        &[
            "tests/tests/it/matrix.rs::while_a_policy_reload_is_refused",
            "tests/tests/it/reload/refusals.rs::a_broken_edit_never_replaces_and_says_where_it_is_wrong",
        ],
    ),
    (
        24,
        "whoever commanded many is gone",
        &["tests/tests/it/fleet/bulk.rs::the_caller_is_gone"],
    ),
    (
        25,
        "everything starts anew",
        &["tests/tests/it/fleet/deaths.rs::of_everything_at_once"],
    ),
];

#[test]
fn every_failure_is_caused_by_a_test_that_is_there() {
    let numbers: Vec<u8> = TABLE.iter().map(|(number, ..)| *number).collect();
    assert_eq!(numbers, (1..=25).collect::<Vec<u8>>());
    let mut faults = Vec::new();
    for (number, what, tests) in TABLE {
        assert!(!tests.is_empty(), "F{number}: {what}");
        faults.extend(tests.iter().filter_map(|place| fault(place)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
