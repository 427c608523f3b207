//! The keys a service shares with the gateway, several at once so that they can rotate.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{DecodingKey, EncodingKey};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// A key shorter than its hash gives away strength (RFC 7518 section 3.2).
const MIN_SECRET_BYTES: usize = 32;

/// One shared key with its id.
#[derive(Clone)]
pub struct Key {
    kid: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl Key {
    /// A key from its id and its secret of at least 32 bytes.
    ///
    /// # Errors
    /// [`KeyError`] when the id is not 1 to 64 of `A-Z a-z 0-9 . _ -`, or the secret is short.
    pub fn new(kid: &str, secret: &[u8]) -> Result<Self, KeyError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if kid.is_empty() || kid.len() > 64 || !kid.chars().all(plain) {
            return Err(KeyError::Id);
        }
        if secret.len() < MIN_SECRET_BYTES {
            return Err(KeyError::Short {
                kid: kid.to_owned(),
                bytes: secret.len(),
            });
        }
        let refused = |_| KeyError::Encoding {
            kid: kid.to_owned(),
        };
        Ok(Self {
            kid: kid.to_owned(),
            encoding: EncodingKey::from_secret(secret).map_err(refused)?,
            decoding: DecodingKey::from_secret(secret).map_err(refused)?,
        })
    }

    /// A key from `kid:base64url`.
    ///
    /// # Errors
    /// [`KeyError`], which never shows the secret part.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let (kid, secret) = text.trim().split_once(':').ok_or(KeyError::Form)?;
        let secret = URL_SAFE_NO_PAD
            .decode(secret.trim_end_matches('='))
            .map_err(|_| KeyError::Encoding {
                kid: kid.to_owned(),
            })?;
        Self::new(kid, &secret)
    }

    /// The id that tokens name in their header.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    pub(crate) fn encoding(&self) -> &EncodingKey {
        &self.encoding
    }

    pub(crate) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("kid", &self.kid)
            .field("secret", &"<redacted>")
            .finish()
    }
}

/// The keys that count at one moment: the first signs, all verify.
#[derive(Clone, Debug)]
pub struct KeySet(Vec<Key>);

impl KeySet {
    /// A set of at least one key, each id once.
    ///
    /// # Errors
    /// [`KeyError::Empty`] and [`KeyError::Repeated`].
    pub fn new(keys: Vec<Key>) -> Result<Self, KeyError> {
        if keys.is_empty() {
            return Err(KeyError::Empty);
        }
        for (index, key) in keys.iter().enumerate() {
            if keys.iter().take(index).any(|other| other.kid == key.kid) {
                return Err(KeyError::Repeated {
                    kid: key.kid.clone(),
                });
            }
        }
        Ok(Self(keys))
    }

    /// A set from `kid:base64url`, several separated by commas.
    ///
    /// # Errors
    /// The first [`KeyError`] met.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let parts = text.split(',').filter(|part| !part.trim().is_empty());
        Self::new(parts.map(Key::parse).collect::<Result<_, _>>()?)
    }

    pub(crate) fn find(&self, kid: &str) -> Option<&Key> {
        self.0.iter().find(|key| key.kid == kid)
    }

    /// The key that signs.
    pub(crate) fn first(&self) -> Option<&Key> {
        self.0.first()
    }
}

/// The present key set, shared by everything that signs or verifies, and replaced in one step.
#[derive(Clone, Debug)]
pub struct Keys(Arc<ArcSwap<KeySet>>);

impl Keys {
    /// Starts with one set.
    #[must_use]
    pub fn new(set: KeySet) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(set)))
    }

    /// Replaces the set for every holder. To rotate without a refused call: add the new key
    /// behind the old one everywhere, then put it first at the signer, then drop the old one
    /// once its last token has expired.
    pub fn rotate(&self, set: KeySet) {
        self.0.store(Arc::new(set));
    }

    /// The set as it stands now.
    #[must_use]
    pub fn current(&self) -> Arc<KeySet> {
        self.0.load_full()
    }
}

/// Why a key was refused. Never shows a secret.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// No key at all.
    #[error("no key given: at least one `kid:base64url` is needed")]
    Empty,
    /// Not of the form `kid:base64url`.
    #[error("a key is written `kid:base64url`")]
    Form,
    /// The id has a character it may not have, or a wrong length.
    #[error("a key id is 1 to 64 of `A-Z a-z 0-9 . _ -`")]
    Id,
    /// The secret is not base64url.
    #[error("the secret of key `{kid}` is not base64url")]
    Encoding {
        /// The key's id.
        kid: String,
    },
    /// The secret is too short for HS256.
    #[error("the secret of key `{kid}` has {bytes} bytes; at least 32 are needed")]
    Short {
        /// The key's id.
        kid: String,
        /// How many bytes it has.
        bytes: usize,
    },
    /// One id twice.
    #[error("key id `{kid}` is given twice")]
    Repeated {
        /// The key's id.
        kid: String,
    },
}
