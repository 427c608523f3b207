//! The `Idempotency-Key` header and the name a record is kept under.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::identity::{Identity, hex};

/// The longest key, in characters.
pub const MAX_KEY: usize = 200;

/// A caller's key: 1 to 200 of `A-Z a-z 0-9 . _ : -`, as the IETF draft's
/// structured string (quoted) or bare; both spellings are the same key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// Why a header is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Two lines could name two keys; neither is taken.
    #[error("`Idempotency-Key` was sent {0} times; send it once")]
    Repeated(usize),
    /// No character between the quotes, or none at all.
    #[error("`Idempotency-Key` is empty; leave it out or send 1 to {MAX_KEY} characters")]
    Empty,
    /// More than [`MAX_KEY`].
    #[error("`Idempotency-Key` has {0} characters; at most {MAX_KEY} are allowed")]
    TooLong(usize),
    /// A character outside the alphabet.
    #[error(
        "`Idempotency-Key` may hold only `A-Z a-z 0-9 . _ : -`, bare or as a quoted \
         string; character {0} is none of these"
    )]
    BadCharacter(usize),
    /// A quote on one side only.
    #[error("`Idempotency-Key` is quoted on one side only")]
    Unbalanced,
}

impl IdempotencyKey {
    /// The key in a request's header lines, if there is one.
    pub fn from_lines<'a>(
        lines: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Option<Self>, KeyError> {
        let lines: Vec<&[u8]> = lines.into_iter().collect();
        match lines.as_slice() {
            [] => Ok(None),
            [line] => Self::parse(line).map(Some),
            more => Err(KeyError::Repeated(more.len())),
        }
    }

    /// The key in one header value.
    pub fn parse(value: &[u8]) -> Result<Self, KeyError> {
        // RFC 9110 section 5.5: white space around a field value is not part
        // of it.
        let value = value.trim_ascii();
        let text = match value {
            [b'"', inner @ .., b'"'] => inner,
            [b'"', ..] | [.., b'"'] => return Err(KeyError::Unbalanced),
            bare => bare,
        };
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if let Some(position) = text.iter().position(|byte| !allowed(*byte)) {
            return Err(KeyError::BadCharacter(position + 1));
        }
        if text.len() > MAX_KEY {
            return Err(KeyError::TooLong(text.len()));
        }
        Ok(Self(text.iter().map(|byte| char::from(*byte)).collect()))
    }

    /// The key without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-')
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The name of a record: one caller's key on one method and path. Two callers
/// with the same key never meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId {
    /// [`Identity::digest`]: all of a caller's records lie together.
    pub caller: String,
    /// SHA-256 over method, canonical path and key, hex.
    pub request: String,
}

impl KeyId {
    /// `path` is the canonical one, with its parameters filled in.
    pub fn new(caller: &Identity, method: &str, path: &str, key: &IdempotencyKey) -> Self {
        let mut hash = Sha256::new();
        for part in [method, path, key.as_str()] {
            // Length-prefixed, so that no two requests run together.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Self {
            caller: caller.digest(),
            request: hex(&hash.finalize()),
        }
    }
}
