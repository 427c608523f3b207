//! Keys, fingerprints and stored answers: a repeated request is answered, never
//! carried out twice. Pure: the store keeps records, this module judges them.

pub mod fingerprint;
pub mod key;
pub mod record;

pub use self::fingerprint::Fingerprint;
pub use self::key::{IdempotencyKey, KeyError, KeyId};
pub use self::record::{KeyRecord, KeyState, RETENTION, StoredAnswer, Subject, Verdict, judge};

#[cfg(test)]
mod tests;
