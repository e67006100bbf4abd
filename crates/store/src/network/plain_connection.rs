use std::time::Duration;

use redis::{Cmd, FromRedisValue};

use super::connection::RedisConnection;
use super::deadline::{blocking, in_time};
use crate::{Endpoint, Error};

/// A connection for plain commands, without the library of functions: for clients of other layouts, and for measurements.
#[derive(Clone)]
pub(crate) struct PlainConnection(std::sync::Arc<RedisConnection>);

impl PlainConnection {
    /// Connects to the database that the endpoint names.
    pub(crate) async fn connect(endpoint: &Endpoint) -> Result<Self, Error> {
        let client = endpoint.client(0)?;
        // A link retries for ever, and its deadline would hide the reason why it cannot connect.
        in_time(blocking(&client)).await?;
        Ok(Self(std::sync::Arc::new(RedisConnection::new(client)?)))
    }

    /// Sends one command, with the deadline of every call.
    pub(crate) async fn call<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<T, Error> {
        self.0.call(cmd).await
    }

    /// Sends one command that may block for `limit`, on a separate connection.
    pub(crate) async fn blocking<T: FromRedisValue>(&self, cmd: &Cmd, limit: Duration) -> Result<T, Error> {
        let mut connection = self.0.blocking().await?;
        // Redis ends the command itself. The margin allows for the round trip.
        let limit = limit + Duration::from_secs(2);
        let answer = tokio::time::timeout(limit, cmd.query_async(&mut connection)).await.map_err(|_| Error::Deadline(limit))?;
        answer.map_err(|error| Error::from(error).of(cmd))
    }
}
