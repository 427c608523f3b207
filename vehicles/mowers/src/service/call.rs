//! What a handler knows of the request it serves: the grant, the query, and what follows from them.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use interlock_guard::{Granted, Refusal};
use interlock_surface::ids::is_id;
use jiff::Timestamp;
use uuid::Uuid;

use super::problem::Problem;

#[cfg(test)]
mod tests;

/// How many items a page has where the caller does not say.
const PAGE: usize = 50;

/// The most items of one page.
const MOST: usize = 200;

/// A granted request. As an extractor it answers 401 where the guard is missing.
#[derive(Clone, Debug)]
pub struct Call {
    granted: Granted,
    query: Query,
}

impl<S: Sync> FromRequestParts<S> for Call {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        Ok(Self {
            granted: Granted::from_request_parts(parts, state).await?,
            query: Query::read(parts.uri.query().unwrap_or_default()),
        })
    }
}

impl Call {
    /// The proof that the gateway allows it.
    #[must_use]
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// The operation that this request is.
    ///
    /// # Errors
    /// [`Problem::Internal`] where there is none: the guard demands one of every write.
    pub fn operation(&self) -> Result<Uuid, Problem> {
        self.granted.operation().ok_or(Problem::Internal)
    }

    /// Refuses a request that comes after its sender has stopped waiting. Never asked of a stop.
    ///
    /// # Errors
    /// [`Problem::TooLate`].
    pub fn in_time(&self, now: Timestamp) -> Result<(), Problem> {
        if now > self.granted.deadline() {
            return Err(Problem::TooLate);
        }
        Ok(())
    }

    /// Refuses a change of something that moved after the gateway judged it.
    ///
    /// # Errors
    /// [`Problem::AuthzStale`], with the revision to judge.
    pub fn judged_at(&self, revision: u64) -> Result<(), Problem> {
        match self.granted.revision() {
            Some(judged) if judged < revision => Err(Problem::AuthzStale { revision }),
            Some(_) | None => Ok(()),
        }
    }

    /// The account that a row of the account is about. The gateway names the one that it judged,
    /// also where the caller did not.
    ///
    /// # Errors
    /// [`Problem::Invalid`] when the query does not name one.
    pub fn account(&self) -> Result<String, Problem> {
        let named = self.query.get("account").filter(|named| is_id(named));
        named.map(str::to_owned).ok_or_else(|| {
            Problem::Invalid(vec![
                "the query parameter `account` must name one".to_owned(),
            ])
        })
    }

    /// A parameter of the query.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name)
    }

    /// A yes-or-no parameter of the query; absent is no.
    ///
    /// # Errors
    /// [`Problem::Invalid`] for anything but `true` and `false`.
    pub fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.query.get(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Problem::Invalid(vec![format!(
                "`{name}` must be `true` or `false`"
            )])),
        }
    }

    /// An id in the query.
    ///
    /// # Errors
    /// [`Problem::Invalid`] when it is there and no UUID.
    pub fn id(&self, name: &str) -> Result<Option<Uuid>, Problem> {
        let given = self.query.get(name).map(Uuid::try_parse).transpose();
        given.map_err(|_| Problem::Invalid(vec![format!("`{name}` must be a UUID")]))
    }

    /// Which part of a list is asked for.
    ///
    /// # Errors
    /// [`Problem::Invalid`] with every fault.
    pub fn page(&self) -> Result<Page, Problem> {
        let mut faults = Vec::new();
        let limit = match self.query.get("limit").map(str::parse::<usize>) {
            None => PAGE,
            Some(Ok(limit)) if (1..=MOST).contains(&limit) => limit,
            Some(_) => {
                faults.push(format!("`limit` must be a whole number from 1 to {MOST}"));
                PAGE
            }
        };
        let after = match self.query.get("after").map(Uuid::try_parse) {
            None => None,
            Some(Ok(id)) => Some(id),
            Some(Err(_)) => {
                faults.push("`after` must be the `next` of an earlier page".to_owned());
                None
            }
        };
        match faults.is_empty() {
            true => Ok(Page { limit, after }),
            false => Err(Problem::Invalid(faults)),
        }
    }
}

/// Which part of a list is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many items at most, 1 to 200.
    pub limit: usize,
    /// The last item of the page before.
    pub after: Option<Uuid>,
}

/// The query, read. The gateway lets only the row's parameters pass, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Query(Vec<(String, String)>);

impl Query {
    fn read(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let read = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Self(read.collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Percent-decoding (RFC 3986 section 2.1); `+` is a blank, as forms write it. What is no escape
/// stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let escaped = match (byte, ahead.next(), ahead.next()) {
            (b'%', Some(high), Some(low)) => hex(high).zip(hex(low)),
            _ => None,
        };
        bytes.push(match (byte, escaped) {
            (_, Some((high, low))) => {
                rest = ahead;
                high * 16 + low
            }
            (b'+', None) => b' ',
            (other, None) => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
