//! The query: kept apart from the path, never part of the class.

use std::fmt::Write;

/// The longest raw query, in bytes.
pub const QUERY_BYTES: usize = 2048;

/// Names that carry secrets elsewhere. A URL ends in logs, histories and
/// `Referer`, so they are refused here whatever the row accepts.
const SECRETS: [&str; 5] = [
    "access_token",
    "token",
    "approvalcode",
    "approval_code",
    "code",
];

/// Why a query has no canonical form. Values are never repeated.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum QueryError {
    /// Longer than [`QUERY_BYTES`].
    #[error("the query is {0} bytes long; at most {QUERY_BYTES} are accepted")]
    Long(usize),
    /// A name with characters other than letters, digits, `_`, `-` and `.`.
    #[error(
        "parameter {0} of the query has a malformed name; use letters, digits, `_`, `-` and `.`"
    )]
    Name(usize),
    /// `name` without `=`.
    #[error("the query parameter `{0}` has no value; write `{0}=VALUE`")]
    NoValue(String),
    /// A value that is not percent-encoded UTF-8, or holds a control
    /// character, or a raw `+` (a space to some readers, a plus to others).
    #[error("the query parameter `{0}` has a malformed value; percent-encode it as UTF-8")]
    Value(String),
    /// One name twice.
    #[error("the query parameter `{0}` is given more than once")]
    Duplicate(String),
    /// A secret in a URL.
    #[error(
        "the query parameter `{0}` is refused: a secret belongs in a header or the body, never in a URL; treat this one as disclosed"
    )]
    Secret(String),
    /// A parameter the row does not declare.
    #[error("the query parameter `{0}` is not known here")]
    Undeclared(String),
}

/// The parameters of a query, decoded, each name once, in the order sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads a raw query (without the `?`).
    ///
    /// # Errors
    /// [`QueryError`] names the parameter, never its value.
    pub fn parse(raw: Option<&str>) -> Result<Self, QueryError> {
        let Some(raw) = raw.filter(|raw| !raw.is_empty()) else {
            return Ok(Self::default());
        };
        if raw.len() > QUERY_BYTES {
            return Err(QueryError::Long(raw.len()));
        }
        let mut query = Self::default();
        for (index, parameter) in raw.split('&').enumerate() {
            let (name, value) = match parameter.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (parameter, None),
            };
            if !named(name) {
                return Err(QueryError::Name(index + 1));
            }
            let owned = name.to_owned();
            if SECRETS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(QueryError::Secret(owned));
            }
            let Some(value) = value else {
                return Err(QueryError::NoValue(owned));
            };
            if query.get(name).is_some() {
                return Err(QueryError::Duplicate(owned));
            }
            match decode(value) {
                Some(value) => query.pairs.push((owned, value)),
                None => return Err(QueryError::Value(owned)),
            }
        }
        Ok(query)
    }

    /// Whether there is no parameter at all.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The decoded value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Names and decoded values in the order sent.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The same without the parameters that are not `declared`.
    #[must_use]
    pub fn kept(&self, declared: &[&str]) -> Self {
        let pairs = self.pairs.iter();
        Self {
            pairs: pairs
                .filter(|(name, _)| declared.contains(&&**name))
                .cloned()
                .collect(),
        }
    }

    /// The same with a parameter that was not given.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        if self.get(name).is_none() {
            self.pairs.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Checks that every parameter is one of `declared`.
    ///
    /// # Errors
    /// [`QueryError::Undeclared`] with the first that is not.
    pub fn only(&self, declared: &[&str]) -> Result<(), QueryError> {
        match self
            .pairs
            .iter()
            .find(|(name, _)| !declared.contains(&&**name))
        {
            Some((name, _)) => Err(QueryError::Undeclared(name.clone())),
            None => Ok(()),
        }
    }

    /// The canonical text that is decided on, signed and forwarded: names
    /// sorted, everything but RFC 3986 unreserved characters percent-encoded
    /// in upper case. Empty when there is no parameter.
    pub fn render(&self) -> String {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort();
        let mut text = String::new();
        for (name, value) in pairs {
            if !text.is_empty() {
                text.push('&');
            }
            text.push_str(name);
            text.push('=');
            for byte in value.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    text.push(char::from(byte));
                } else {
                    // Writing to a String cannot fail.
                    let _ = write!(text, "%{byte:02X}");
                }
            }
        }
        text
    }
}

fn named(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Percent-decodes a value; `None` when it is malformed.
fn decode(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            // RFC 3986 `query` without `+`, `&` (split off) and `#` (unseen).
            _ if byte.is_ascii_alphanumeric() || b"-._~!$'()*,;=:@/?".contains(&byte) => {
                bytes.push(byte);
            }
            _ => return None,
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests;
