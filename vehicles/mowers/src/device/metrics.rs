//! What happened, in numbers; the readiness of the process shows them.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// One number that only rises.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// The live counters.
        #[derive(Debug, Default)]
        pub(crate) struct Metrics {
            $(pub(crate) $name: Counter,)+
        }

        /// The counters at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Counts {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Counts {
            /// Exported name, meaning and number of each.
            pub(crate) fn each(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((
                    concat!("interlock_device_", stringify!($name), "_total"),
                    concat!($($doc),+).trim_ascii(),
                    self.$name,
                ),)+]
            }
        }

        impl Metrics {
            pub(crate) fn read(&self) -> Counts {
                Counts { $($name: self.$name.read(),)+ }
            }
        }
    };
}

counters! {
    /// Commands that were accepted.
    accepted,
    /// Finals that were decided.
    finals,
    /// Commands that came again.
    redelivered,
    /// Commands issued before this shard held the mower; left alone.
    not_ours,
    /// Messages that could not be read.
    malformed,
    /// Stops that were begun.
    stops,
    /// Somebody has to look: a stop that was not carried out or not confirmed.
    alarms,
    /// Vendor answers that came after another final.
    late_answers,
    /// Vendor answers to commands that were never sent.
    stray_answers,
    /// Commands refused because the clocks differ too much.
    clock_refusals,
    /// Leases that ran out.
    leases_lost,
    /// Mowers whose kind of connection has no adapter here.
    without_adapter,
    /// Results the stream did not take at first.
    publish_retries,
    /// Frames that drove.
    frames_driven,
    /// Frames that were dropped.
    frames_dropped,
    /// Dead-man stops of driving.
    dead_man,
    /// States that could not be published.
    telemetry_lost,
    /// Remembered finals dropped before their time for want of room.
    forgotten_early,
    /// Lines the journal could not write.
    journal_failures,
    /// Times the bus was lost.
    bus_lost,
}
