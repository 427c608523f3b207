//! Verified tokens, by digest: a signature is checked once, not per request.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use super::Caller;
use super::principal::LEEWAY;

/// How many verified tokens are kept.
const TOKENS: usize = 10_000;

/// SHA-256 of a token. Its `Debug` form is redacted: a digest that stands in
/// logs ties a caller's requests together for whoever reads them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest of a token's text.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("TokenDigest(redacted)")
    }
}

/// A verified token, and the key set that verified it.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    pub(super) caller: Arc<Caller>,
    /// Position of the issuer in the configuration.
    pub(super) issuer: usize,
    /// Generation of the issuer's key set; another one has to verify again.
    pub(super) generation: u64,
}

/// A bounded cache of verified tokens.
pub(super) struct TokenCache(Cache<TokenDigest, Verified>);

impl Default for TokenCache {
    fn default() -> Self {
        Self(Cache::new(TOKENS))
    }
}

impl TokenCache {
    /// The entry of a token that has not expired at `now`.
    pub(super) fn get(&self, digest: &TokenDigest, now: Timestamp) -> Option<Verified> {
        let verified = self.0.get(digest)?;
        let expires_at = verified.caller.expires_at?;
        if now.duration_since(expires_at) >= LEEWAY {
            self.0.remove(digest);
            return None;
        }
        Some(verified)
    }

    /// Remembers a verified token.
    pub(super) fn insert(&self, digest: TokenDigest, verified: Verified) {
        self.0.insert(digest, verified);
    }
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TokenCache")
            .field("tokens", &self.0.len())
            .finish()
    }
}
