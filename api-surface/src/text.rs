//! The two forms of text a path parameter takes. The build script compiles
//! this file too, to see which templates can match the same path.

/// Longest id, in bytes.
pub(crate) const MAX_ID: usize = 64;

/// Whether `text` is an id: `[A-Za-z0-9][A-Za-z0-9._:-]{0,63}`.
pub fn is_id(text: &str) -> bool {
    text.len() <= MAX_ID
        && text
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphanumeric)
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

/// Whether `text` is a UUID in its 8-4-4-4-12 text form, in any case (RFC 9562
/// section 4). Any version and variant will do.
pub fn is_uuid(text: &str) -> bool {
    let hyphen = |i: usize| matches!(i, 8 | 13 | 18 | 23);
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| {
            if hyphen(i) {
                b == b'-'
            } else {
                b.is_ascii_hexdigit()
            }
        })
}
