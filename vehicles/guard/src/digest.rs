//! The digest that binds a token to the bytes of one body.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// SHA-256 over the body as sent, in base64url without padding (RFC 4648 section 5): 43
/// characters. An absent body has the digest of zero bytes.
#[must_use]
pub fn body_digest(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}
