use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::task::Poll;
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection, PubSub};
use redis::{Client, Cmd, ErrorKind, FromRedisValue, Pipeline, RedisResult, ServerErrorKind};
use tokio::time::{Instant, timeout, timeout_at};

use super::deadline::{DEADLINE, blocking};
use super::home::{Home, is_elsewhere};
use crate::error::Error;

/// The time that an old connection may still take to answer after a new one has answered. After that it counts as broken.
const PROOF_TIMEOUT: Duration = Duration::from_secs(1);

/// The part of the deadline that is left to callers when no node with the keys is found.
const TIME_LEFT_TO_CALLERS: Duration = Duration::from_millis(250);

/// One multiplexed connection that reconnects for ever, with a deadline for every call.
///
/// It follows the keys: if a node of a cluster refuses a call because it does not hold the keys, the call goes to the node that does. A
/// call that ran into its deadline may have been executed.
pub(crate) struct RedisConnection {
    home: Arc<Home>,
    /// The connection, with the generation of the home that it leads to.
    manager: RwLock<(u64, ConnectionManager)>,
    health: Arc<Health>,
}

/// Evidence whether a connection still works. The network may lose everything that is sent, without an error.
#[derive(Default)]
struct Health {
    /// The number of answered calls.
    answered: AtomicU64,
    /// Whether a test of the connection is under way.
    in_doubt: AtomicBool,
}

impl RedisConnection {
    /// Returns a link to one Redis.
    pub(crate) fn new(client: Client) -> Result<Self, Error> {
        Self::to(&Arc::new(Home::of(client)))
    }

    /// Returns a link to the Redis that holds the keys of a context.
    pub(crate) fn to(home: &Arc<Home>) -> Result<Self, Error> {
        let (generation, client) = home.now();
        let manager = RwLock::new((generation, manager(&client, home.is_in_a_cluster())?));
        Ok(Self { home: home.clone(), manager, health: Arc::default() })
    }

    fn current(&self) -> (u64, ConnectionManager) {
        let current = self.manager.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        if current.0 == self.home.generation() {
            return current;
        }
        let (generation, client) = self.home.now();
        let mut known = self.manager.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if known.0 != generation
            && let Ok(fresh) = manager(&client, self.home.is_in_a_cluster())
        {
            *known = (generation, fresh);
        }
        known.clone()
    }

    /// The place of the keys.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Sends one command.
    pub(crate) async fn call<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<T, Error> {
        self.within(|mut connection| async move { cmd.query_async(&mut connection).await }).await.map_err(|error| error.of(cmd))
    }

    /// Sends several commands in one round trip, not atomic.
    pub(crate) async fn pipeline<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, Error> {
        self.within(|mut connection| async move { pipeline.query_async(&mut connection).await }).await
    }

    /// Sends a pipeline that ignores errors, and returns the outcome of each command.
    pub(crate) async fn each<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<Vec<RedisResult<T>>, Error> {
        let asking = |mut connection: ConnectionManager| async move {
            let answers: Vec<RedisResult<T>> = pipeline.query_async(&mut connection).await?;
            match answers.iter().find_map(|answer| answer.as_ref().err().filter(|error| is_elsewhere(error))) {
                Some(elsewhere) => Err(elsewhere.clone()),
                None => Ok(answers),
            }
        };
        self.within(asking).await
    }

    async fn within<T, Call>(&self, call: impl Fn(ConnectionManager) -> Call) -> Result<T, Error>
    where
        Call: Future<Output = RedisResult<T>>,
    {
        let until = Instant::now() + DEADLINE;
        loop {
            let (seen, connection) = self.current();
            let before = self.health.answered.load(Ordering::Relaxed);
            let answer = timeout_at(until, call(connection.clone())).await;
            if answer.as_ref().is_ok_and(|answer| answer.as_ref().err().is_none_or(|error| !error.is_io_error())) {
                self.health.answered.fetch_add(1, Ordering::Relaxed);
            }
            let error = match answer {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => error,
                Err(_) => {
                    self.home.doubt(seen);
                    self.prove(seen, connection, before);
                    return Err(Error::Deadline(DEADLINE));
                }
            };
            if !self.home.is_in_a_cluster() {
                // A server that became a replica refuses writes on a connection that looks healthy.
                if error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly) {
                    self.home.find_again(seen).await;
                }
                return Err(error.into());
            }
            if !is_elsewhere(&error) {
                if error.is_io_error() {
                    self.home.doubt(seen);
                }
                return Err(error.into());
            }
            // The call is known to have done nothing. The caller learns that before its own deadline.
            if timeout_at(until - TIME_LEFT_TO_CALLERS, self.home.find_again(seen)).await.is_err() {
                return Err(error.into());
            }
        }
    }

    /// Tests a connection in the background on which nothing was answered while a call waited in vain. Gives it up if a new connection
    /// works and this one does not.
    ///
    /// While Redis itself is silent, the connection is kept: a new one would work no better, and each would go on reconnecting.
    fn prove(&self, seen: u64, mut old: ConnectionManager, before: u64) {
        let (home, health) = (self.home.clone(), self.health.clone());
        if health.answered.load(Ordering::Relaxed) != before || health.in_doubt.swap(true, Ordering::Relaxed) {
            return;
        }
        tokio::spawn(async move {
            let ping = redis::cmd("PING");
            let works = async {
                let mut fresh = blocking(&home.now().1).await?;
                Ok::<String, Error>(ping.query_async(&mut fresh).await?)
            };
            let works = matches!(timeout(DEADLINE, works).await, Ok(Ok(_)));
            let silent = works && timeout(PROOF_TIMEOUT, ping.query_async::<String>(&mut old)).await.is_err();
            if silent && health.answered.load(Ordering::Relaxed) == before {
                tracing::warn!("a connection to Redis swallows what is sent and a new one works; it is left");
                home.renew(seen);
            }
            health.in_doubt.store(false, Ordering::Relaxed);
        });
    }

    /// Opens a separate connection for a blocking command, without a response timeout: the caller sets the deadline.
    pub(crate) async fn blocking(&self) -> Result<MultiplexedConnection, Error> {
        self.open(|client| async move { blocking(&client).await }).await
    }

    /// Opens a separate connection for subscriptions.
    pub(crate) async fn pubsub(&self) -> Result<PubSub, Error> {
        self.open(|client| async move { Ok(client.get_async_pubsub().await?) }).await
    }

    /// Checks in the background whether the keys are still at the place that this leads to, after a separate connection has failed.
    pub(crate) fn doubt(&self) {
        self.home.doubt(self.home.generation());
    }

    async fn open<T, Opening>(&self, connect: impl Fn(Client) -> Opening) -> Result<T, Error>
    where
        Opening: Future<Output = Result<T, Error>>,
    {
        let until = Instant::now() + DEADLINE;
        loop {
            let (seen, client) = self.home.now();
            let error = match timeout_at(until, connect(client)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => error,
                Err(_) => {
                    self.home.doubt(seen);
                    return Err(Error::Deadline(DEADLINE));
                }
            };
            if !self.home.is_in_a_cluster() || timeout_at(until, self.home.find_again(seen)).await.is_err() {
                return Err(error);
            }
        }
    }
}

/// Awaits a call, and calls `sent` once the call has been handed to the connection.
pub(crate) async fn first_sent<T>(call: impl Future<Output = T>, sent: impl Fn()) -> T {
    let mut call = pin!(call);
    let answer = futures_util::poll!(&mut call);
    sent();
    match answer {
        Poll::Ready(answer) => answer,
        Poll::Pending => call.await,
    }
}

fn manager(client: &Client, in_a_cluster: bool) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        // In a cluster, another node may hold the keys by now, so each failure is reported at once.
        .set_number_of_retries(if in_a_cluster { 0 } else { usize::MAX })
        .set_min_delay(Duration::from_millis(20))
        .set_max_delay(Duration::from_millis(500))
        .set_connection_timeout(Some(DEADLINE))
        // RedisConnection sets its own deadline, which also covers reconnecting.
        .set_response_timeout(None)
        .set_pipeline_buffer_size(4096);
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}
