//! The conformance suite, run against both implementations, and what each of
//! them must withstand on its own.

mod embedded;
mod keys;
mod plans;
mod redis;
pub(super) mod redis_server;
mod registry;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::store::{Store, StoreError, Swap};

/// Two gateways' handles on the same content; one process can have only one on
/// a file, so there the two are the same.
#[derive(Clone)]
struct Pair {
    one: Store,
    two: Store,
}

/// One promise of the traits, checked on a store that holds nothing yet.
type Check = fn(Pair) -> BoxFuture<'static, ()>;

/// Every promise, by name.
fn suite() -> Vec<(&'static str, Check)> {
    [plans::CHECKS, keys::CHECKS, registry::CHECKS].concat()
}

/// Runs `racers` at once, spread over the pair, and gives what each came to.
async fn race<T, F>(pair: &Pair, racers: usize, run: impl Fn(Store, usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let start = std::sync::Arc::new(tokio::sync::Barrier::new(racers));
    let mut tasks = JoinSet::new();
    for number in 0..racers {
        let store = match number % 2 {
            0 => pair.one.clone(),
            _ => pair.two.clone(),
        };
        let start = start.clone();
        let work = run(store, number);
        tasks.spawn(async move {
            start.wait().await;
            work.await
        });
    }
    tasks.join_all().await
}

fn swapped(result: Result<Swap, StoreError>) {
    assert_eq!(result, Ok(Swap::Swapped));
}

fn lost(result: Result<Swap, StoreError>) {
    assert_eq!(result, Ok(Swap::Lost));
}

fn at(seconds: i64) -> Timestamp {
    crate::plans::fixtures::at(seconds)
}
