use std::time::Duration;

use redis::{Cmd, FromRedisValue};

use super::connection::Link;
use super::deadline::{blocking, in_time};
use super::{Endpoint, Error};

/// A connection for plain commands, without the library of functions: for clients of other layouts, and for measurements.
#[derive(Clone)]
pub(super) struct PlainConnection(std::sync::Arc<Link>);

impl PlainConnection {
    /// Connects to the database that the endpoint names.
    pub(super) async fn connect(endpoint: &Endpoint) -> Result<Self, Error> {
        let client = endpoint.client(0)?;
        // A link tries for ever, and would hide behind its deadline why it cannot connect.
        in_time(blocking(&client)).await?;
        Ok(Self(std::sync::Arc::new(Link::new(client)?)))
    }

    /// One command, with the deadline of every call.
    pub(super) async fn call<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<T, Error> {
        self.0.call(cmd).await
    }

    /// One command that may block for `limit`, on a connection of its own.
    pub(super) async fn blocking<T: FromRedisValue>(&self, cmd: &Cmd, limit: Duration) -> Result<T, Error> {
        let mut connection = self.0.blocking().await?;
        // Redis ends the command itself; the margin is for the way.
        let limit = limit + Duration::from_secs(2);
        let answer = tokio::time::timeout(limit, cmd.query_async(&mut connection)).await.map_err(|_| Error::Deadline(limit))?;
        answer.map_err(|error| Error::from(error).of(cmd))
    }
}
