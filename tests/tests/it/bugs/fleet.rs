//! Faults of mowers, of commands to many, of objects that are somebody else's,
//! of deadlines and of stops; the rest is in `table`.

use super::table::Closed::{self, By};

/// Id, what goes wrong elsewhere, and what is done about it here.
pub(super) const TABLE: &[(u16, &str, Closed)] = &[
    (
        91,
        "a start resumes another task",
        By(&[
            "tests/tests/it/fleet_api/faults.rs::a_start_is_never_taken_for_a_resume",
            "tests/tests/it/fleet_api/bodies.rs::a_command_has_one_reading_or_none",
            "vehicles/mowers/src/sim/machine/tests/states.rs::a_start_drops_the_old_job_and_a_resume_keeps_it",
        ]),
    ),
    (
        92,
        "accepted on the way, refused by the machine",
        By(&[
            "tests/tests/it/fleet_api/faults.rs::a_refusal_of_the_machine_is_the_end_of_the_command",
            "vehicles/mowers/src/device/worker/tests.rs::what_is_not_known_stays_accepted",
            "vehicles/mowers/src/sim/tests/vendor.rs::accepted_and_nothing_done",
            "vehicles/mowers/src/commands/reads/tests.rs::a_record_that_may_not_be_seen_is_like_none",
        ]),
    ),
    (
        94,
        "a redelivered command runs twice",
        By(&[
            "vehicles/mowers/src/device/commands/tests.rs::a_command_that_comes_again_gets_the_same_result_and_does_not_act_again",
            "vehicles/mowers/src/device/holding/tests.rs::a_restart_answers_a_redelivery_with_the_same_result",
            "vehicles/mowers/src/sim/tests/conformance.rs::one_final_per_command_under_duplicates_and_reorder",
            "vehicles/mowers/src/commands/issue/tests.rs::ten_racing_repeats_are_one_command",
        ]),
    ),
    (
        95,
        "an acknowledged command is lost",
        By(&[
            "tests/tests/it/fleet_api/bus.rs::a_command_that_the_bus_lost_is_overdue",
            "vehicles/mowers/src/bus/nats/tests.rs::every_outcome_is_true_when_the_server_is_killed",
            "vehicles/mowers/src/device/commands/tests.rs::an_expired_command_is_never_executed",
            "vehicles/mowers/src/sim/tests/conformance.rs::a_start_is_not_executed_after_its_life",
        ]),
    ),
    (
        97,
        "a foreign object is told from a missing one",
        By(&[
            "tests/tests/it/personas/hidden.rs::a_hidden_object_is_answered_like_one_that_never_was",
            "tests/tests/it/personas/hidden.rs::a_missing_plan_is_hidden_from_everybody",
            "tests/tests/it/fleet_api/worked.rs::nothing_tells_of_the_members_that_anna_does_not_see",
            "tests/tests/it/fleet_api/hidden.rs::a_page_has_neither_gap_nor_count_nor_cursor_of_what_is_hidden",
            "tests/tests/it/fleet_api/hidden.rs::a_filter_and_a_cursor_do_not_tell_hidden_from_missing",
            "tests/tests/it/fleet_api/hidden.rs::a_reference_does_not_tell_hidden_from_missing",
            "tests/tests/it/fleet_api/hidden.rs::a_group_has_no_mower_of_another_account",
            "tests/tests/it/fleet_api/accounts.rs::another_account_is_none_and_another_spelling_is_another_account",
            "tests/tests/it/fleet_api/accounts.rs::a_part_of_an_account_is_no_account",
            "tests/tests/it/fleet_api/confusion.rs::an_id_of_another_kind_is_an_id_that_never_was",
            "tests/tests/it/fleet_api/driving.rs::a_session_is_closed_by_who_sees_its_mower",
        ]),
    ),
    (
        98,
        "an outer deadline hides the inner reason",
        By(&[
            "tests/tests/it/fleet_api/bus.rs::each_layer_of_a_preview_tells_its_own_timeout",
            "gateway/src/config/tests.rs::waits_nest",
            "api-surface/tests/it/ways.rs::deadlines_nest",
            "vehicles/mowers/src/config/tests.rs::layers_must_end_one_after_the_other",
            "vehicles/mowers/src/preview/tests.rs::a_silent_device_gateway_times_out_after_the_mower_would_have",
        ]),
    ),
    (
        100,
        "motion goes on right after a stop",
        By(&[
            "tests/tests/it/races/stops.rs::motion_on_its_way_is_overtaken",
            "tests/tests/it/races/stops.rs::a_stop_in_the_same_moment_has_the_last_word",
            "vehicles/drones/src/service/tests/stops.rs::motion_asked_before_a_stop_is_refused",
            "tests/tests/it/fleet_api/faults.rs::a_stop_holds_and_its_reset_moves_nothing",
            "tests/tests/it/fleet_api/faults.rs::a_code_from_before_a_stop_starts_nothing",
            "tests/tests/it/fleet_api/driving.rs::a_session_is_its_holders_on_its_mower",
            "vehicles/mowers/src/sim/tests/conformance.rs::a_stop_overtakes_a_start_on_its_way",
            "vehicles/mowers/src/device/stops/tests.rs::a_stop_drops_what_waits_and_overtakes_what_runs",
        ]),
    ),
    (
        101,
        "nuisance uses up what a stop needs",
        By(&[
            "gateway/src/server/tests.rs::a_full_server_leaves_a_reserve_for_stops",
            "tests/tests/it/problems/machinery.rs::of_the_room_are_seen",
            "tests/tests/it/stops.rs::after_every_quota_is_used_up",
            "tests/tests/it/stops.rs::while_every_connection_is_taken",
            "tests/tests/it/fleet_api/faults.rs::twenty_stops_are_twenty_stops",
            "tests/tests/it/fleet_api/bodies.rs::nothing_beside_its_kind_keeps_a_stop",
            "vehicles/mowers/src/sim/tests/vendor.rs::a_limited_vendor_takes_stops_only",
        ]),
    ),
    (
        103,
        "clearing an emergency makes it go on",
        By(&[
            "tests/tests/it/fleet_api/faults.rs::a_stop_holds_and_its_reset_moves_nothing",
            "vehicles/mowers/src/sim/machine/tests/guards.rs::a_reset_wants_somebody_on_site",
            "vehicles/mowers/src/commands/issue/tests.rs::a_reset_needs_somebody_on_site",
        ]),
    ),
];
