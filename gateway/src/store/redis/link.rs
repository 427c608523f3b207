//! The connection: one, multiplexed, made when first needed and again whenever
//! it is in doubt. Every call ends within the configured time, whatever the
//! server does, and at most so many calls are under way at once.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult,
    ScriptInvocation, ServerErrorKind,
};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::RedisConfig;
use crate::store::StoreError;

/// No wait is longer, whatever the configuration says.
const LONGEST: Duration = Duration::from_secs(60);

/// The way to the server.
pub(super) struct Link {
    client: Client,
    settings: AsyncConnectionConfig,
    timeout: Duration,
    places: Semaphore,
    /// The connection at hand; none before the first call and after a failure.
    current: ArcSwapOption<MultiplexedConnection>,
    /// Held by the one who makes a connection for all.
    connecting: Mutex<()>,
}

impl Link {
    pub(super) fn new(config: &RedisConfig) -> Result<Self, StoreError> {
        let client = Client::open(config.url.as_str()).map_err(|error| StoreError::Refused {
            // The URL itself is not repeated: it may hold a password.
            detail: format!("the Redis URL cannot be used: {}", error.category()),
        })?;
        let timeout = config.timeout.min(LONGEST);
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(Some(timeout));
        Ok(Self {
            client,
            settings,
            timeout,
            places: Semaphore::new(config.in_flight.clamp(1, Semaphore::MAX_PERMITS)),
            current: ArcSwapOption::empty(),
            connecting: Mutex::default(),
        })
    }

    /// Runs a script: by its digest, and by its text where the server has
    /// forgotten it.
    pub(super) async fn script<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, StoreError> {
        self.call(async |mut connection| script.invoke_async(&mut connection).await)
            .await
    }

    /// Runs commands, not as one atomic step.
    pub(super) async fn pipe<T: FromRedisValue>(&self, pipe: &Pipeline) -> Result<T, StoreError> {
        self.call(async |mut connection| pipe.query_async(&mut connection).await)
            .await
    }

    async fn call<T>(
        &self,
        work: impl AsyncFnOnce(MultiplexedConnection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        // The pipeline bounds how many callers can wait here.
        let deadline = Instant::now() + self.timeout;
        let _place = match timeout_at(deadline, self.places.acquire()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_)) | Err(_) => return Err(StoreError::Busy),
        };
        let connection = timeout_at(deadline, self.connection())
            .await
            .map_err(|_| StoreError::TimedOut)??;
        let answer = timeout_at(deadline, work(connection.as_ref().clone())).await;
        let error = match answer {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) if !in_doubt(&error) => return Err(translate(&error)),
            Ok(Err(error)) => translate(&error),
            Err(_) => StoreError::TimedOut,
        };
        // Only this connection: another caller may have made a new one already.
        self.current.compare_and_swap(&connection, None);
        Err(error)
    }

    /// The connection at hand, or a new one. Whoever makes it makes it for all
    /// who wait meanwhile.
    async fn connection(&self) -> Result<Arc<MultiplexedConnection>, StoreError> {
        if let Some(connection) = self.current.load_full() {
            return Ok(connection);
        }
        let _turn = self.connecting.lock().await;
        if let Some(connection) = self.current.load_full() {
            return Ok(connection);
        }
        let connection = self
            .client
            .get_multiplexed_async_connection_with_config(&self.settings)
            .await
            .map_err(|error| translate(&error))?;
        let connection = Arc::new(connection);
        self.current.store(Some(connection.clone()));
        Ok(connection)
    }
}

/// Whether another connection may do better: this one broke, hangs, or leads
/// to a server that has been demoted.
fn in_doubt(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_unrecoverable_error()
        || matches!(
            error.kind(),
            ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown)
        )
}

fn translate(error: &RedisError) -> StoreError {
    if error.is_timeout() {
        return StoreError::TimedOut;
    }
    let detail = error.to_string();
    match error.kind() {
        ErrorKind::Io
        | ErrorKind::Server(
            ServerErrorKind::ReadOnly
            | ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::TryAgain,
        ) => StoreError::Unavailable { detail },
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse => StoreError::Corrupt {
            place: "an answer of the server".to_owned(),
            detail,
        },
        _ if error.is_unrecoverable_error() => StoreError::Unavailable { detail },
        _ => StoreError::Refused { detail },
    }
}
