use std::time::Duration;

use redis::aio::MultiplexedConnection;

use crate::{Error, Store};

/// Waits for work that others push, without taking it.
///
/// `BLMOVE q q RIGHT RIGHT` puts the element it takes back in the same step. So nothing is lost when this process is killed, and it also
/// sees pushes of clients that know nothing of hero. It has a connection of its own, because it blocks.
pub struct Peek {
    store: Store,
    connection: Option<MultiplexedConnection>,
}

/// The time after which Redis ends a peek.
const BLOCK_TIME: Duration = Duration::from_secs(5);

impl Peek {
    /// Returns a peek that connects at its first use.
    pub fn new(store: Store) -> Self {
        Self { store, connection: None }
    }

    /// Returns when the queue holds something, or after some seconds. True means that it holds something.
    ///
    /// Dropping the future drops the connection with it.
    pub async fn wait(&mut self, queue: &str) -> Result<bool, Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.store.0.commands.blocking().await?,
        };
        let mut peek = redis::cmd("BLMOVE");
        peek.arg(queue).arg(queue).arg("RIGHT").arg("RIGHT").arg(BLOCK_TIME.as_secs());
        let limit = BLOCK_TIME + Duration::from_secs(2);
        let peeking = tokio::time::timeout(limit, peek.query_async(&mut connection)).await;
        let peeked: Result<Option<Vec<u8>>, Error> = match peeking {
            Ok(peeked) => peeked.map_err(Error::from),
            Err(_) => Err(Error::Deadline(limit)),
        };
        let id = peeked.inspect_err(|_| self.store.0.commands.doubt())?;
        self.connection = Some(connection);
        Ok(id.is_some())
    }
}
