//! One canonical form for everyone, so that separation of duties cannot be
//! dodged by spelling.

/// How a caller is written where rights are looked up: exactly as verified,
/// but for a trailing slash of the issuer.
///
/// The issuer may not contain white space (checked where facts are made), so
/// the first space always ends it and two different pairs never meet.
pub(crate) fn exact(issuer: &str, subject: &str) -> String {
    format!("{} {subject}", issuer.trim_end_matches('/'))
}

/// How a caller is written where two of them are compared: folded, so that
/// spellings that a provider may treat alike count as one.
///
/// Folding only ever refuses more; it is never used to look up a right.
pub(crate) fn canonical(issuer: &str, subject: &str) -> String {
    format!(
        "{} {}",
        fold(issuer.trim_end_matches('/')),
        fold(subject.trim())
    )
}

/// The alias of a person, in the same set as canonical identities. It has no
/// space, and so is never one.
pub(crate) fn alias(person: &str) -> String {
    format!("person:{person}")
}

// Upper case first: it unites what lower case alone keeps apart (ß and ss, the
// Kelvin sign and k), close to full case folding as Unicode defines it.
fn fold(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}

#[cfg(test)]
mod tests;
