//! One suite for every bus, and what belongs to a single one.

mod local;
mod pattern;
pub(crate) mod server;
pub(crate) mod suite;

/// Runs the whole suite on the bus that an expression makes.
macro_rules! conforms {
    ($bus:expr) => {
        conforms! { $bus;
            stores_an_id_once,
            says_what_it_certainly_did_not_store,
            refuses_the_next_command_of_a_full_mower,
            drops_the_oldest_stop_for_a_new_one,
            delivers_in_order_what_was_published,
            delivers_again_what_was_dropped,
            does_not_deliver_again_what_was_acknowledged,
            delivers_again_when_told_to,
            gives_up_after_the_last_delivery,
            never_delivers_again_what_was_rejected,
            holds_back_while_too_much_is_out,
            shares_a_durable_between_its_readers,
            goes_on_where_the_durable_was,
            keeps_to_the_subjects_of_a_consumer,
            takes_over_new_subjects,
            gives_a_nameless_reader_only_what_is_new,
            refuses_a_consumer_that_cannot_be,
            brings_the_answer_of_the_one_who_answers,
            says_when_nobody_listens,
            says_when_nobody_answers,
            keeps_requests_off_the_streams,
            tells_every_listener,
            brings_a_whole_path,
        }
    };
    ($bus:expr; $($case:ident,)+) => {
        $(
            #[tokio::test]
            async fn $case() {
                let bus = $bus.await;
                crate::bus::tests::suite::$case(bus.as_ref()).await;
            }
        )+
    };
}
pub(crate) use conforms;
