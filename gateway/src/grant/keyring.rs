//! The keys one service shares with the gateway.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use thiserror::Error;

/// Shortest key, in bytes: as long as the hash (RFC 7518, section 3.2).
const MIN_KEY_BYTES: usize = 32;
const MAX_KID_CHARS: usize = 64;

/// Keys by id. The first one signs; all of them verify, so that a key can be
/// rotated on both sides one after the other.
#[derive(Clone)]
pub struct Keyring {
    keys: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    kid: String,
    /// The token's first part, ready to sign under.
    header: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

/// A keyring that cannot be used. Names keys by place and id, never by value.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyringError {
    /// Nothing between the commas.
    #[error("key {place} is empty; write `kid:base64url`, several separated by commas")]
    Empty {
        /// Counted from 1.
        place: usize,
    },
    /// No colon.
    #[error("key {place} has no id; write `kid:base64url`")]
    NoId {
        /// Counted from 1.
        place: usize,
    },
    /// The id is not usable.
    #[error("key {place} has a bad id; use 1 to 64 of A-Z a-z 0-9 . _ -")]
    BadId {
        /// Counted from 1.
        place: usize,
    },
    /// The secret does not decode.
    #[error("key `{kid}` is not base64url without padding (RFC 4648, section 5)")]
    NotBase64 {
        /// The key's id.
        kid: String,
    },
    /// The secret is too short.
    #[error("key `{kid}` has {bytes} bytes; at least {MIN_KEY_BYTES} are needed")]
    TooShort {
        /// The key's id.
        kid: String,
        /// How long it is.
        bytes: usize,
    },
    /// Two keys with one id.
    #[error("key id `{kid}` is given twice; give every key its own id")]
    Duplicate {
        /// The key's id.
        kid: String,
    },
    /// The signer does not take it.
    #[error("key `{kid}` is not accepted by the signer")]
    Rejected {
        /// The key's id.
        kid: String,
    },
}

impl Keyring {
    /// Parses `kid:base64url`, several separated by commas or each on a line of
    /// its own. Empty lines and those that begin with `#` are comments.
    ///
    /// # Errors
    /// [`KeyringError`] names the key by its place or id.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        let mut keys: Vec<Key> = Vec::new();
        let lines = text.lines().map(str::trim);
        let told = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (index, part) in told.flat_map(|line| line.split(',')).enumerate() {
            let key = Key::parse(index.saturating_add(1), part.trim())?;
            if keys.iter().any(|other| other.kid == key.kid) {
                return Err(KeyringError::Duplicate { kid: key.kid });
            }
            keys.push(key);
        }
        match keys.is_empty() {
            true => Err(KeyringError::Empty { place: 1 }),
            false => Ok(Self { keys }),
        }
    }

    /// The verifying key of this id, if it is one of ours.
    pub fn decoding_key(&self, kid: &str) -> Option<&DecodingKey> {
        self.keys
            .iter()
            .find(|key| key.kid == kid)
            .map(|key| &key.decoding)
    }

    /// `header.claims.signature` by the first key.
    pub(super) fn sign(&self, claims: &[u8]) -> Result<String, jsonwebtoken::errors::Error> {
        let Some(key) = self.keys.first() else {
            // `parse` never makes an empty ring.
            return Err(jsonwebtoken::errors::ErrorKind::InvalidKeyFormat.into());
        };
        let mut token = String::with_capacity(key.header.len() + claims.len() * 4 / 3 + 64);
        token.push_str(&key.header);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims, &mut token);
        let signature =
            jsonwebtoken::crypto::sign(token.as_bytes(), &key.encoding, Algorithm::HS256)?;
        token.push('.');
        token.push_str(&signature);
        Ok(token)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.keys.iter().map(|key| format!("{}:***", key.kid)))
            .finish()
    }
}

impl Key {
    fn parse(place: usize, text: &str) -> Result<Self, KeyringError> {
        if text.is_empty() {
            return Err(KeyringError::Empty { place });
        }
        let (kid, secret) = text.split_once(':').ok_or(KeyringError::NoId { place })?;
        let is_id_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if kid.is_empty() || kid.len() > MAX_KID_CHARS || !kid.chars().all(is_id_char) {
            return Err(KeyringError::BadId { place });
        }
        let kid = kid.to_owned();
        let Ok(secret) = URL_SAFE_NO_PAD.decode(secret) else {
            return Err(KeyringError::NotBase64 { kid });
        };
        if secret.len() < MIN_KEY_BYTES {
            return Err(KeyringError::TooShort {
                kid,
                bytes: secret.len(),
            });
        }
        let (Ok(encoding), Ok(decoding)) = (
            EncodingKey::from_secret(&secret),
            DecodingKey::from_secret(&secret),
        ) else {
            return Err(KeyringError::Rejected { kid });
        };
        let header = format!(r#"{{"alg":"HS256","typ":"interlock-grant+jwt","kid":"{kid}"}}"#);
        Ok(Self {
            header: URL_SAFE_NO_PAD.encode(header),
            encoding,
            decoding,
            kid,
        })
    }
}
