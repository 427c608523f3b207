//! Work that outlives its caller: a connection that breaks must leave neither
//! a consumed code, nor a held key, nor an undelivered stop behind.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// More than can ever be under way.
const PLACES: u32 = 1 << 24;

/// Counts the work under way, so that the process does not end in its middle.
pub struct Detached {
    places: Arc<Semaphore>,
}

impl Default for Detached {
    fn default() -> Self {
        Detached {
            places: Arc::new(Semaphore::new(PLACES as usize)),
        }
    }
}

impl Detached {
    /// Runs `work` to its end, whoever stops waiting for it.
    ///
    /// # Errors
    /// When the work panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, JoinError> {
        // Never waited for: a stop must not be held up by a count.
        let place = Arc::clone(&self.places).try_acquire_owned();
        tokio::spawn(async move {
            let _place = place;
            work.await
        })
        .await
    }

    /// Waits until nothing is under way.
    pub async fn finished(&self) {
        // Closing is the only error, and nobody closes it.
        let _ = self.places.acquire_many(PLACES).await;
    }
}

#[cfg(test)]
mod tests;
