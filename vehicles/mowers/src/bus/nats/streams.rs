//! The table of streams, as the server has to have it.

use async_nats::jetstream::Context;
use async_nats::jetstream::context::GetStreamByNameErrorKind;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};

use crate::bus::stream::{Discard, Limits, MAX_MESSAGE, Storage};
use crate::bus::{BusError, Stream, subject};

/// Makes or changes the streams, and looks whether one covers a request.
pub(super) async fn prepare(jetstream: &Context, replicas: usize) -> Result<(), BusError> {
    for stream in Stream::ALL {
        let limits = stream.limits();
        let made = jetstream.create_or_update_stream(config(limits, replicas));
        made.await.map_err(|cause| {
            BusError::Unavailable(format!("the stream {}: {cause}", limits.name))
        })?;
    }
    for request in subject::REQUESTS {
        uncovered(jetstream, request).await?;
    }
    Ok(())
}

/// Every setting is given: a default of the server's may not be ours.
pub(super) fn config(limits: &Limits, replicas: usize) -> Config {
    Config {
        name: limits.name.to_owned(),
        subjects: limits.subjects.iter().map(ToString::to_string).collect(),
        retention: RetentionPolicy::Limits,
        storage: match limits.storage {
            Storage::File => StorageType::File,
            Storage::Memory => StorageType::Memory,
        },
        max_age: limits.max_age,
        max_messages: -1,
        max_bytes: i64::from(limits.max_bytes),
        max_messages_per_subject: match limits.per_subject {
            0 => -1,
            cap => i64::from(cap),
        },
        max_message_size: i32::try_from(MAX_MESSAGE + HEADERS).unwrap_or(i32::MAX),
        max_consumers: -1,
        duplicate_window: limits.window,
        discard: match limits.discard {
            Discard::New => DiscardPolicy::New,
            Discard::Old => DiscardPolicy::Old,
        },
        discard_new_per_subject: limits.discard == Discard::New && limits.per_subject > 0,
        num_replicas: replicas,
        // A message of a stream is never changed or taken away by hand.
        deny_delete: true,
        allow_direct: false,
        allow_rollup: false,
        no_ack: false,
        ..Config::default()
    }
}

/// What the headers of a message may take besides its payload.
const HEADERS: usize = 1024;

/// Fails when any stream of the server covers what is asked outside of them.
async fn uncovered(jetstream: &Context, request: &str) -> Result<(), BusError> {
    match jetstream.stream_by_subject(request).await {
        Ok(name) => Err(BusError::Invalid(format!(
            "the stream {name} covers `{request}`: its acknowledgment would pass for an answer"
        ))),
        Err(cause) if cause.kind() == GetStreamByNameErrorKind::NotFound => Ok(()),
        Err(cause) => Err(BusError::Unavailable(cause.to_string())),
    }
}
