//! Subjects and the patterns that cover them: tokens joined by dots, where `*`
//! in a pattern stands for exactly one token.

use super::BusError;

/// A subject, or several of them by `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`BusError::Invalid`] for an empty token, `>`, a `*` inside of a token, a
    /// character that is not visible ASCII, or a name of the bus's own (`$`, `_`).
    pub fn parse(text: &str) -> Result<Pattern, BusError> {
        check(text, true)?;
        Ok(Pattern {
            text: text.to_owned(),
        })
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it names a single subject.
    #[must_use]
    pub fn is_subject(&self) -> bool {
        self.text.split('.').all(|token| token != "*")
    }

    /// Whether it covers a subject, or everything that another pattern covers.
    #[must_use]
    pub fn covers(&self, subject: &str) -> bool {
        pairwise(&self.text, subject, |ours, theirs| {
            ours == theirs || ours == "*"
        })
    }

    /// Whether there is a subject that both cover.
    #[must_use]
    pub fn meets(&self, other: &Pattern) -> bool {
        pairwise(&self.text, &other.text, |ours, theirs| {
            ours == theirs || ours == "*" || theirs == "*"
        })
    }
}

/// Reads a subject, which has no `*`.
///
/// # Errors
/// As [`Pattern::parse`].
pub fn subject(text: &str) -> Result<Pattern, BusError> {
    check(text, false)?;
    Ok(Pattern {
        text: text.to_owned(),
    })
}

fn pairwise(one: &str, two: &str, agree: impl Fn(&str, &str) -> bool) -> bool {
    let mut ours = one.split('.');
    let mut theirs = two.split('.');
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some(one), Some(two)) if agree(one, two) => {}
            _ => return false,
        }
    }
}

fn check(text: &str, wildcards: bool) -> Result<(), BusError> {
    let token = |token: &str| {
        let plain = !token.is_empty()
            && token
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'*' && byte != b'>');
        plain || (wildcards && token == "*")
    };
    let own = text.starts_with('$') || text.starts_with('_');
    if own || text.len() > 255 || !text.split('.').all(token) {
        return Err(BusError::Invalid(format!("`{text}` is not a subject")));
    }
    Ok(())
}
