//! Each fault, and what would find it.

use Closed::{By, Later as For};
use Later::Mcp;

/// What is done about a fault.
#[derive(Clone, Copy)]
pub(super) enum Closed {
    /// Tests, each as `FILE::NAME`.
    By(&'static [&'static str]),
    /// Nothing yet: what it is about is not there.
    Later(Later),
}

/// What a fault waits for.
#[derive(Clone, Copy)]
pub(super) enum Later {
    /// Tools for agents.
    Mcp,
}

/// Id, what goes wrong elsewhere, and what is done about it here.
pub(super) const TABLE: &[(u16, &str, Closed)] = &[
    (
        1,
        "dot segments lead from a lax row to a strict one",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_path_has_one_spelling",
            "gateway/src/edge/path/tests.rs::every_second_spelling_is_refused",
            "tests/tests/it/hostile/paths.rs::a_refused_path_is_on_record",
        ]),
    ),
    (
        2,
        "encoded dots and slashes mean something behind the gateway",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_path_has_one_spelling",
            "gateway/src/edge/path/tests.rs::every_second_spelling_is_refused",
        ]),
    ),
    (
        4,
        "two spellings of one escape are judged differently",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_path_has_one_spelling",
            "gateway/src/edge/path/tests.rs::every_second_spelling_is_refused",
        ]),
    ),
    (
        5,
        "a host in another case or form misses its rule",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_host_has_one_meaning",
            "gateway/src/edge/host/tests.rs::spellings_of_one_host_are_one",
        ]),
    ),
    (
        7,
        "the query takes part in the choice of the row",
        By(&["tests/tests/it/hostile/paths.rs::a_query_changes_no_class"]),
    ),
    (
        8,
        "a target without a slash is matched by no rule",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_path_has_one_spelling",
            "gateway/src/edge/tests.rs::other_forms_of_the_target_are_refused",
        ]),
    ),
    (
        10,
        "what is left of a stripped prefix is another route",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_path_has_one_spelling",
            "gateway/src/edge/path/tests.rs::every_second_spelling_is_refused",
        ]),
    ),
    (
        11,
        "a header or a query overrides the method",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_method_is_what_the_request_line_says",
            "tests/tests/it/hostile/forwarded.rs::no_header_of_a_caller_speaks_to_the_service",
        ]),
    ),
    (
        13,
        "a page makes a browser act with a GET",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_method_is_what_the_request_line_says",
            "tests/tests/it/hostile/forwarded.rs::no_header_of_a_caller_speaks_to_the_service",
            "tests/tests/it/verbs.rs::every_other_verb_is_refused_with_what_is_allowed",
        ]),
    ),
    (
        14,
        "a forwarded header decides the route",
        By(&[
            "tests/tests/it/hostile/headers.rs::a_route_or_a_name_in_a_header_decides_nothing",
            "tests/tests/it/hostile/paths.rs::a_host_has_one_meaning",
            "tests/tests/it/hostile/forwarded.rs::no_header_of_a_caller_speaks_to_the_service",
        ]),
    ),
    (
        16,
        "`Connection` takes our own headers away",
        By(&[
            "tests/tests/it/hostile/forwarded.rs::no_header_of_a_caller_speaks_to_the_service",
            "gateway/src/upstream/tests/headers.rs::no_connection_line_takes_our_fields_away",
        ]),
    ),
    (
        17,
        "a caller's identity headers reach the service",
        By(&[
            "tests/tests/it/hostile/headers.rs::a_route_or_a_name_in_a_header_decides_nothing",
            "tests/tests/it/hostile/forwarded.rs::no_header_of_a_caller_speaks_to_the_service",
        ]),
    ),
    (
        19,
        "a caller's forwarding fields stand beside ours",
        By(&[
            "tests/tests/it/hostile/forwarded.rs::no_header_of_a_caller_speaks_to_the_service",
            "gateway/src/upstream/tests/headers.rs::the_service_sees_our_own_fields_once",
        ]),
    ),
    (
        20,
        "two values of one field, and each hop picks another",
        By(&[
            "tests/tests/it/hostile/headers.rs::a_field_that_has_one_value_comes_once",
            "tests/tests/it/hostile/paths.rs::a_host_has_one_meaning",
            "tests/tests/it/hostile/tokens.rs::a_token_that_is_not_what_it_says_is_401",
            "gateway/src/edge/headers/tests.rs::a_single_value_header_comes_once",
        ]),
    ),
    (
        22,
        "HTTP/1.0 and stacked transfer codings are framed wrongly",
        By(&[
            "tests/tests/it/hostile/framing.rs::a_framing_game_is_refused_and_hides_nothing",
            "tests/tests/it/hostile/framing.rs::two_framings_at_once_end_the_connection",
            "tests/tests/it/hostile/framing.rs::the_operations_listener_plays_no_framing_games_either",
            "gateway/src/edge/tests/wire.rs::two_framings_hide_nothing",
        ]),
    ),
    (
        23,
        "odd framings are forwarded in another shape",
        By(&[
            "tests/tests/it/hostile/framing.rs::a_framing_game_is_refused_and_hides_nothing",
            "tests/tests/it/hostile/framing.rs::two_framings_at_once_end_the_connection",
            "tests/tests/it/hostile/framing.rs::the_operations_listener_plays_no_framing_games_either",
            "gateway/src/edge/tests/wire.rs::two_framings_hide_nothing",
        ]),
    ),
    (
        25,
        "an unread body becomes the next request",
        By(&[
            "tests/tests/it/hostile/framing.rs::an_unread_body_is_no_request",
            "gateway/src/server/tests.rs::an_unread_body_never_becomes_the_next_request",
        ]),
    ),
    (
        26,
        "policy sees another body than the service",
        By(&[
            "tests/tests/it/hostile/framing.rs::a_body_is_one_body_however_it_comes",
            "tests/tests/it/hostile/forwarded.rs::bytes_sent_are_bytes_decided",
        ]),
    ),
    (
        28,
        "an early refusal hangs or desynchronizes who expects 100",
        By(&[
            "tests/tests/it/hostile/framing.rs::who_waits_to_be_asked_is_answered_at_once",
            "gateway/src/server/tests.rs::an_early_refusal_asks_for_no_body",
        ]),
    ),
    (
        29,
        "slow heads, bodies and readers hold everything",
        By(&[
            "tests/tests/it/hostile/slow.rs::slow_callers_hold_up_no_stop",
            "gateway/src/server/tests.rs::a_head_that_does_not_end_is_closed",
            "gateway/src/server/tests.rs::a_caller_that_does_not_read_is_cut_off",
        ]),
    ),
    (
        31,
        "events wait in a buffer",
        By(&["gateway/src/upstream/tests/sockets.rs::an_event_passes_before_the_next_one_is_sent"]),
    ),
    (
        32,
        "an upgrade is half done",
        By(&[
            "tests/tests/it/hostile/headers.rs::a_field_that_has_one_value_comes_once",
            "gateway/src/upstream/tests/framing.rs::an_upgrade_nobody_asked_for_is_refused",
        ]),
    ),
    (
        34,
        "the service's connection fields reach the caller",
        By(&[
            "gateway/src/edge/headers/tests.rs::a_caller_sees_nothing_of_the_connection_behind",
            "gateway/src/upstream/tests/headers.rs::the_caller_sees_no_field_of_the_service_connection",
        ]),
    ),
    (
        35,
        "a write is sent again after a lost connection",
        By(&[
            "gateway/src/upstream/tests/sockets.rs::a_request_that_was_read_and_not_answered_is_sent_once",
            "gateway/src/upstream/tests/sockets.rs::a_request_on_a_pooled_connection_is_sent_once_too",
            "gateway/src/upstream/tests/sockets.rs::a_refused_connection_sends_nothing",
        ]),
    ),
    (
        37,
        "the token chooses its algorithm",
        By(&[
            "tests/tests/it/hostile/tokens.rs::a_token_that_is_not_what_it_says_is_401",
            "gateway/src/authn/wycheproof.rs::no_invalid_vector_is_accepted",
        ]),
    ),
    (
        38,
        "one issuer's key vouches for another",
        By(&[
            "tests/tests/it/hostile/tokens.rs::a_token_that_is_not_what_it_says_is_401",
            "gateway/src/authn/jwks/tests.rs::one_issuers_key_does_not_vouch_for_another",
        ]),
    ),
    (
        40,
        "a provider in trouble takes the good keys along",
        By(&[
            "tests/tests/it/hostile/tokens.rs::a_provider_in_trouble_is_asked_once_per_cooldown",
            "gateway/src/authn/jwks/tests.rs::a_good_set_is_never_replaced_by_a_failed_fetch",
            "gateway/src/authn/jwks/tests.rs::a_thousand_unknown_keys_cause_one_fetch_per_cooldown",
        ]),
    ),
    (
        41,
        "a rotated key needs a restart",
        By(&[
            "tests/tests/it/hostile/tokens.rs::a_new_key_works_without_a_restart",
            "gateway/src/authn/jwks/tests.rs::a_new_key_works_after_one_cooldown_and_an_old_one_goes_with_its_set",
            "tests/tests/it/reload/keys.rs::service_keys_rotate_without_a_restart_or_a_failed_call",
        ]),
    ),
    (
        43,
        "another kind of token passes for an access token",
        By(&[
            "tests/tests/it/hostile/tokens.rs::a_token_that_is_not_what_it_says_is_401",
            "gateway/src/authn/tests.rs::the_header_holds_no_surprises",
        ]),
    ),
    (
        44,
        "a token in the URL, and so in the log",
        By(&[
            "tests/tests/it/hostile/paths.rs::a_query_changes_no_class",
            "gateway/src/edge/query/tests.rs::a_secret_in_a_query_is_refused_and_not_repeated",
            "tests/tests/it/secrets.rs::no_secret_is_left_behind_on_redis",
        ]),
    ),
    (
        46,
        "a guard that cannot be evaluated is skipped",
        By(&[
            "tests/tests/it/reload/refusals.rs::a_broken_edit_never_replaces_and_says_where_it_is_wrong",
            "policies/src/bundle/tests/broken.rs::bad_twins_are_refused_by_the_check_they_name",
            "policies/src/bundle/tests/decide.rs::a_guard_that_fails_breaks_the_decision",
        ]),
    ),
    (
        47,
        "a guard that reads a missing attribute is skipped",
        By(&[
            "tests/tests/it/reload/refusals.rs::a_broken_edit_never_replaces_and_says_where_it_is_wrong",
            "policies/src/bundle/tests/broken.rs::bad_twins_are_refused_by_the_check_they_name",
            "tests/tests/it/problems/machinery.rs::of_the_policies_are_seen",
        ]),
    ),
    (
        49,
        "a schema that does not parse is ignored",
        By(&[
            "tests/tests/it/reload/refusals.rs::a_broken_edit_never_replaces_and_says_where_it_is_wrong",
            "policies/src/bundle/tests/broken.rs::bad_twins_are_refused_by_the_check_they_name",
        ]),
    ),
    (
        50,
        "a reload does nothing, or fails requests",
        By(&[
            "tests/tests/it/reload/edits.rs::an_edit_is_live_within_moments_and_so_is_the_way_back",
            "tests/tests/it/reload/edits.rs::many_edits_under_traffic_fail_no_request",
        ]),
    ),
    (
        52,
        "policies of two files overwrite each other",
        By(&[
            "tests/tests/it/reload/refusals.rs::a_broken_edit_never_replaces_and_says_where_it_is_wrong",
            "policies/src/bundle/tests/broken.rs::bad_twins_are_refused_by_the_check_they_name",
        ]),
    ),
    (
        53,
        "keys of different questions collide",
        By(&[
            "policies/src/facts/tests.rs::issuer_and_subject_cannot_run_into_each_other",
            "gateway/src/idempotency/tests.rs::a_record_is_one_callers_on_one_path",
            "tests/tests/it/reload/edits.rs::an_edit_is_live_within_moments_and_so_is_the_way_back",
        ]),
    ),
    (
        55,
        "two calls under one key both run",
        By(&[
            "tests/tests/it/races.rs::one_key_on_the_embedded_store",
            "tests/tests/it/races.rs::one_key_over_two_gateways_on_one_redis",
        ]),
    ),
    (
        56,
        "a key answers with another caller's answer",
        By(&[
            "gateway/src/idempotency/tests.rs::a_record_is_one_callers_on_one_path",
            "tests/tests/it/pair.rs::a_key_has_one_meaning",
        ]),
    ),
    (
        58,
        "a passing failure is replayed for a day",
        By(&[
            "gateway/src/idempotency/tests/model.rs::nothing_that_may_have_happened_runs_again",
            "tests/tests/it/problems/vehicle.rs::of_a_service_that_is_gone",
        ]),
    ),
    (
        59,
        "a crash leaves a key in progress for ever",
        By(&[
            "tests/tests/it/crashes/dispatches.rs::on_the_embedded_store",
            "tests/tests/it/crashes/dispatches.rs::on_redis",
            "tests/tests/it/crashes/dispatches.rs::of_a_start_without_a_plan",
        ]),
    ),
    (
        61,
        "the fingerprint covers too much or too little",
        By(&[
            "gateway/src/idempotency/tests.rs::cosmetic_changes_keep_the_fingerprint_and_real_ones_do_not",
            "gateway/src/idempotency/tests.rs::the_query_counts_and_its_order_does_not",
            "gateway/src/idempotency/tests.rs::another_field_is_another_fingerprint",
        ]),
    ),
    (
        62,
        "the loser of a race overwrites the winner",
        By(&[
            "tests/tests/it/races.rs::one_key_on_the_embedded_store",
            "tests/tests/it/races.rs::one_key_over_two_gateways_on_one_redis",
            "gateway/src/store/tests/redis.rs::conforms",
        ]),
    ),
    (
        64,
        "a code is read and spent in two steps",
        By(&[
            "tests/tests/it/races.rs::one_code_on_the_embedded_store",
            "tests/tests/it/races.rs::one_code_over_two_gateways_on_one_redis",
        ]),
    ),
    (
        65,
        "what was approved changes before it flies",
        By(&[
            "gateway/src/plans/tests.rs::a_record_changed_past_the_gateway_is_neither_approved_nor_sent",
            "gateway/src/plans/tests/properties.rs::every_part_of_the_content_is_in_the_digest",
        ]),
    ),
    (
        67,
        "somebody approves their own proposal under another name",
        By(&[
            "tests/tests/it/personas/duties.rs::a_plan_is_decided_by_somebody_else",
            "tests/tests/it/personas/duties.rs::who_delegates_the_proposal_cannot_approve_it",
            "policies/src/bundle/tests/decide.rs::a_proposer_does_not_approve_under_any_name",
        ]),
    ),
    (
        68,
        "a code or token in a log, a store or an error",
        By(&[
            "tests/tests/it/secrets.rs::no_secret_is_left_behind_on_the_embedded_store",
            "tests/tests/it/secrets.rs::no_secret_is_left_behind_on_redis",
            "tests/tests/it/secrets.rs::a_code_is_shown_once",
        ]),
    ),
    (
        70,
        "a code given back after an unclear failure flies twice",
        By(&[
            "tests/tests/it/crashes/service.rs::of_a_dispatch_on_the_embedded_store",
            "tests/tests/it/problems/vehicle.rs::of_a_service_that_hangs",
            "api-surface/tests/it/failures.rs::a_code_is_spent_exactly_when_the_effect_is_unclear",
        ]),
    ),
    (
        71,
        "a name given twice is read in two ways",
        By(&[
            "tests/tests/it/hostile/bodies.rs::a_body_has_one_reading",
            "tests/tests/it/hostile/bodies.rs::a_height_is_meters_within_the_limits",
            "tests/tests/it/grants/feed.rs::a_signed_body_is_read_as_strictly_as_a_callers",
        ]),
    ),
    (
        73,
        "a body is read whatever it says it is",
        By(&[
            "tests/tests/it/hostile/bodies.rs::a_body_is_json_and_says_so",
            "tests/tests/it/hostile/bodies.rs::a_body_has_one_reading",
        ]),
    ),
    (74, "decided on a header, done from the body", For(Mcp)),
    (76, "a lost answer is a second write", For(Mcp)),
    (77, "annotations of tools are wrong", For(Mcp)),
    (
        79,
        "an internal header is trusted from outside",
        By(&[
            "tests/tests/it/hostile/headers.rs::a_route_or_a_name_in_a_header_decides_nothing",
            "tests/tests/it/hostile/forwarded.rs::no_header_of_a_caller_speaks_to_the_service",
        ]),
    ),
    (80, "text from the world steers the agent", For(Mcp)),
    (
        82,
        "a start is sent or called twice",
        By(&[
            "tests/tests/it/races.rs::one_code_on_the_embedded_store",
            "tests/tests/it/races.rs::one_code_over_two_gateways_on_one_redis",
            "vehicles/drones/src/service/tests.rs::a_repeated_operation_is_answered_and_not_flown_again",
            "vehicles/drones/src/service/tests.rs::of_racing_starts_one_flies",
        ]),
    ),
    (
        83,
        "feet are taken for meters",
        By(&["tests/tests/it/hostile/bodies.rs::a_height_is_meters_within_the_limits"]),
    ),
    (
        85,
        "a height below the ground is flown",
        By(&[
            "tests/tests/it/hostile/bodies.rs::a_height_is_meters_within_the_limits",
            "vehicles/drones/src/limits/tests.rs::waypoints_one_by_one",
        ]),
    ),
    (
        86,
        "a distance is computed around the globe",
        By(&[
            "tests/tests/it/hostile/bodies.rs::a_height_is_meters_within_the_limits",
            "vehicles/drones/src/geometry/tests.rs::distances_are_euclidean",
        ]),
    ),
    (
        88,
        "valid when planned, not when flown",
        By(&[
            "vehicles/drones/src/service/tests.rs::what_must_not_fly_is_refused_and_nothing_is_sent",
            "vehicles/drones/src/fence/tests.rs::a_drone_may_drift_half_a_meter_and_no_more",
        ]),
    ),
    (
        89,
        "a meeting between two samples is missed",
        By(&[
            "vehicles/drones/src/preview/tests.rs::a_meeting_between_samples_is_found",
            "vehicles/drones/src/preview/tests.rs::the_bound_itself_is_allowed_and_nothing_below_it",
            "vehicles/drones/src/sim/swarm/tests/flights.rs::a_v_from_the_pads_comes_within_half_a_meter",
        ]),
    ),
    (
        104,
        "a stop waits for parts of ours",
        By(&[
            "api-surface/tests/it/failures.rs::nothing_of_ours_keeps_a_stop_from_going_out",
            "policies/src/bundle/tests/decide.rs::the_minimal_bundle_gives_sight_and_stop_and_nothing_else",
            "tests/tests/it/crashes/stops.rs::in_the_gateway",
            "tests/tests/it/stops.rs::while_redis_is_gone",
            "tests/tests/it/stops.rs::while_the_identity_provider_is_gone",
            "tests/tests/it/stops.rs::while_no_policy_can_decide",
            "tests/tests/it/stops.rs::by_a_gateway_that_is_alone_since_its_start",
        ]),
    ),
    (
        106,
        "a name becomes part of a page",
        By(&["tests/tests/it/hostile/forwarded.rs::names_go_back_as_data"]),
    ),
    (
        107,
        "any origin may read with credentials",
        By(&[
            "tests/tests/it/hostile/headers.rs::no_origin_is_let_in",
            "tests/tests/it/untouched.rs::a_refused_call_touches_nothing_in_open_mode",
        ]),
    ),
    (
        109,
        "the client stays with a demoted server",
        By(&[
            "gateway/src/store/tests/redis.rs::a_demoted_server_is_left_and_its_successor_used",
            "gateway/src/store/tests/redis.rs::after_a_failover_the_demoted_server_is_not_held_on_to",
            "tests/tests/it/outage/server.rs::a_read_only_replica_takes_no_writes",
        ]),
    ),
    (
        110,
        "the store drops what it promised to keep",
        By(&[
            "gateway/src/store/tests/redis.rs::an_evicting_server_is_refused_at_start_and_reported_later",
            "gateway/src/store/tests/redis.rs::a_full_server_refuses_and_can_still_let_go",
            "tests/tests/it/outage/server.rs::an_eviction_policy_set_at_run_time_is_told",
            "tests/tests/it/outage/server.rs::a_start_on_an_evicting_server_is_refused",
            "tests/tests/it/outage/server.rs::a_server_without_memory_takes_no_writes",
        ]),
    ),
];
