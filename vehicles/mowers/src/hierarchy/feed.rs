//! Tells the gateway's registry, in an order in which nothing hangs in the air.

use futures_util::future::join_all;

use super::model::SCOPE;
use crate::gateway_link::{GatewayLink, LinkError, Object};

/// How many mowers are told to the gateway at once.
const AT_ONCE: usize = 16;

/// Tells the gateway of these objects: first what holds others, then mowers, several at once. What
/// is gone comes last, and the other way round.
///
/// # Errors
/// The first failure. Of stale ones all are tried, and the highest revision is told.
pub(super) async fn feed<'a>(
    gateway: &GatewayLink,
    objects: &'a [Object],
) -> Result<(), LinkError> {
    let (there, gone): (Vec<&Object>, Vec<&Object>) =
        objects.iter().partition(|object| object.state.is_some());
    let apart = |some: Vec<&'a Object>| -> (Vec<&'a Object>, Vec<&'a Object>) {
        some.into_iter().partition(|object| object.kind == SCOPE)
    };
    let ((scopes, mowers), (left, gone)) = (apart(there), apart(gone));
    let mut highest = None;
    for object in scopes {
        highest = highest.max(stale(gateway.feed(object).await)?);
    }
    for some in mowers.chunks(AT_ONCE).chain(gone.chunks(AT_ONCE)) {
        let telling: Vec<_> = some.iter().map(|object| gateway.feed(object)).collect();
        for told in join_all(telling).await {
            highest = highest.max(stale(told)?);
        }
    }
    for object in left {
        highest = highest.max(stale(gateway.feed(object).await)?);
    }
    match highest {
        Some(current) => Err(LinkError::Stale { current }),
        None => Ok(()),
    }
}

/// The revision that a refusal names, where it is one of an old revision.
fn stale(told: Result<u64, LinkError>) -> Result<Option<u64>, LinkError> {
    match told {
        Ok(_) => Ok(None),
        Err(LinkError::Stale { current }) => Ok(Some(current)),
        Err(error) => Err(error),
    }
}
