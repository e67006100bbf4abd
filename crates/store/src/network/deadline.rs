//! The deadline of every call to Redis.

use std::future::Future;
use std::time::Duration;

use redis::Client;
use redis::aio::MultiplexedConnection;
use tokio::time::timeout;

use crate::error::Error;

/// The longest time that a call may take, reconnecting included.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// Returns the result of a call, or an error if there is none within the deadline.
pub(crate) async fn in_time<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(DEADLINE, call).await.unwrap_or(Err(Error::Deadline(DEADLINE)))
}

/// Opens a separate connection for commands that may block.
pub(crate) async fn blocking(client: &Client) -> Result<MultiplexedConnection, Error> {
    let config = redis::AsyncConnectionConfig::new().set_connection_timeout(Some(DEADLINE)).set_response_timeout(None);
    Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
}
