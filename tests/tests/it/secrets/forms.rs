//! A secret in every form in which it could be written down.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// A secret, and what it looks like.
pub(super) struct Secret {
    what: String,
    forms: Vec<String>,
}

impl Secret {
    /// An approval code.
    pub(super) fn code(code: &str) -> Secret {
        let bytes = URL_SAFE_NO_PAD.decode(code).expect("a code is base64url");
        let mut forms = written(code.as_bytes());
        forms.insert(0, code.to_owned());
        // What it stands for, in other alphabets.
        forms.push(hex(&bytes));
        forms.push(hex(&bytes).to_uppercase());
        forms.push(STANDARD_NO_PAD.encode(&bytes));
        Secret::of("the approval code", forms)
    }

    /// A signed token. Its signature alone is what makes it one.
    pub(super) fn token(whose: &str, token: &str) -> Secret {
        let signature = token.rsplit('.').next().expect("a token has parts");
        assert!(signature.len() >= 40, "no signature: {whose}");
        Secret::of(&format!("the token of {whose}"), vec![signature.to_owned()])
    }

    /// A key, `id:base64url`.
    pub(super) fn key(key: &str) -> Secret {
        let (_, text) = key.split_once(':').expect("a key has an id");
        let bytes = URL_SAFE_NO_PAD.decode(text).expect("a key is base64url");
        let mut forms = written(&bytes);
        forms.push(text.to_owned());
        forms.extend(written(text.as_bytes()));
        Secret::of("the service's key", forms)
    }

    fn of(what: &str, mut forms: Vec<String>) -> Secret {
        let mut seen = std::collections::HashSet::new();
        forms.retain(|form| seen.insert(form.clone()));
        assert!(
            forms.iter().all(|form| form.len() >= 24),
            "{what}: too short to tell"
        );
        Secret {
            what: what.to_owned(),
            forms,
        }
    }

    pub(super) fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn forms(&self) -> &[String] {
        &self.forms
    }
}

/// Hexadecimal in both cases, and base64 in both alphabets wherever the bytes
/// stand in a longer text.
fn written(bytes: &[u8]) -> Vec<String> {
    let mut forms = vec![hex(bytes), hex(bytes).to_uppercase()];
    for before in 0..3 {
        let text = [&b"\0\0"[..before], bytes].concat();
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&text);
            // The first and the last characters hold bits of the neighbours.
            let start = [0, 2, 3][before];
            let end = text.len() * 8 / 6;
            forms.push(encoded[start..end].to_owned());
        }
    }
    forms
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_bytes_are_found_in_any_base64() {
    let secret = b"0123456789abcdefghijklmnopqrstuv";
    for before in ["", "a", "ab", "abc", "abcd"] {
        let text = [before.as_bytes(), secret, b"more"].concat();
        let encoded = STANDARD_NO_PAD.encode(text);
        let found = written(secret)
            .iter()
            .any(|form| encoded.contains(form.as_str()));
        assert!(found, "after `{before}`");
    }
}
