use std::future::Future;
use std::pin::pin;
use std::sync::RwLock;
use std::task::Poll;
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{Client, Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, ServerErrorKind};
use sha2::{Digest, Sha256};

use super::error::Error;

/// How long any call may take, reconnecting included.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// One multiplexed connection that reconnects for ever, with a deadline round every call.
///
/// A call that ran into its deadline may have been executed.
pub(super) struct Link {
    client: Client,
    manager: RwLock<ConnectionManager>,
}

/// A Lua script with its SHA-1.
pub(super) struct Script {
    code: String,
    sha: String,
}

impl Script {
    /// A script that stands after the keys and what all transitions share.
    pub(super) fn new(code: &str) -> Self {
        let code = with_what_it_uses(code);
        let sha = redis::Script::new(&code).get_hash().to_owned();
        Self { code, sha }
    }

    /// The beginning of a call; arguments follow.
    pub(super) fn call(&self) -> Cmd {
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(&self.sha).arg(0);
        cmd
    }
}

impl Link {
    pub(super) fn new(client: Client) -> Result<Self, Error> {
        let manager = RwLock::new(manager(&client)?);
        Ok(Self { client, manager })
    }

    fn current(&self) -> ConnectionManager {
        self.manager.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// One command.
    pub(super) async fn call<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<T, Error> {
        let mut connection = self.current();
        self.within(async move { cmd.query_async(&mut connection).await }).await
    }

    /// Several commands in one round trip, not atomic.
    pub(super) async fn pipeline<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, Error> {
        let mut connection = self.current();
        self.within(async move { pipeline.query_async(&mut connection).await }).await
    }

    /// A script; it is sent whole when this Redis does not have it.
    pub(super) async fn script<T: FromRedisValue>(&self, script: &Script, call: &Cmd) -> Result<T, Error> {
        self.script_and_then(script, call, || {}).await
    }

    /// A script, and what to do as soon as it is on its way. What that sends on this connection comes after the script.
    pub(super) async fn script_and_then<T: FromRedisValue>(&self, script: &Script, call: &Cmd, sent: impl Fn()) -> Result<T, Error> {
        match first_sent(self.call(call), &sent).await {
            Err(Error::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                let _: String = self.call(redis::cmd("SCRIPT").arg("LOAD").arg(&script.code)).await?;
                first_sent(self.call(call), &sent).await
            }
            answer => answer,
        }
    }

    async fn within<T>(&self, call: impl Future<Output = RedisResult<T>>) -> Result<T, Error> {
        match tokio::time::timeout(DEADLINE, call).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                self.renew_after(&error);
                Err(error.into())
            }
            Err(_) => Err(Error::Deadline(DEADLINE)),
        }
    }

    /// A server that became a replica refuses writes on a connection that looks healthy: name resolution starts over.
    fn renew_after(&self, error: &RedisError) {
        if error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
            && let Ok(fresh) = manager(&self.client)
        {
            *self.manager.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = fresh;
        }
    }

    /// A connection of its own for a blocking command, without a response timeout: the caller brings the deadline.
    pub(super) async fn blocking(&self) -> Result<MultiplexedConnection, Error> {
        blocking(&self.client).await
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

/// Awaits a call; `sent` is done once it has been handed to the connection.
async fn first_sent<T>(call: impl Future<Output = T>, sent: impl Fn()) -> T {
    let mut call = pin!(call);
    let answer = futures_util::poll!(&mut call);
    sent();
    match answer {
        Poll::Ready(answer) => answer,
        Poll::Pending => call.await,
    }
}

/// A script behind those parts of the keys and of what transitions share that it mentions, directly or through others.
///
/// Every call makes every function anew, so what is not used would cost each of them a microsecond.
fn with_what_it_uses(code: &str) -> String {
    let shared = [
        include_str!("../keys.lua"),
        include_str!("scripts/shared.lua"),
        include_str!("scripts/relations.lua"),
        include_str!("scripts/foreign.lua"),
        include_str!("scripts/conveyor.lua"),
        include_str!("scripts/slot.lua"),
    ];
    let shared = shared.join("\n");
    let mut code = code.to_owned();
    for part in shared.split("\n\n").collect::<Vec<_>>().into_iter().rev() {
        let mentioned = names(part).any(|name| mentions(&code, name));
        if mentioned {
            code = format!("{part}\n\n{code}");
        }
    }
    code
}

/// What a part defines.
fn names(part: &str) -> impl Iterator<Item = &str> {
    let defined = part.lines().filter_map(|line| line.strip_prefix("local function ").or_else(|| line.strip_prefix("local ")));
    defined.flat_map(|line| line.split(['=', '(']).next().unwrap_or_default().split(',').map(str::trim))
}

/// Whether code uses a name as a whole word.
fn mentions(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| !code[..at].ends_with(is_word) && !code[at + name.len()..].starts_with(is_word))
}

/// Connects once. A [`Link`] tries for ever, and would hide behind its deadline why it cannot.
pub(super) async fn try_once(client: &Client) -> Result<(), Error> {
    match tokio::time::timeout(DEADLINE, blocking(client)).await {
        Ok(connected) => connected.map(drop),
        Err(_) => Err(Error::Deadline(DEADLINE)),
    }
}

/// A connection of its own, whose commands may block.
pub(super) async fn blocking(client: &Client) -> Result<MultiplexedConnection, Error> {
    let config = redis::AsyncConnectionConfig::new().set_connection_timeout(Some(DEADLINE)).set_response_timeout(None);
    Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
}

fn manager(client: &Client) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(usize::MAX)
        .set_min_delay(Duration::from_millis(20))
        .set_max_delay(Duration::from_millis(500))
        .set_connection_timeout(Some(DEADLINE))
        // Link brings its own deadline, which also covers reconnecting.
        .set_response_timeout(None)
        .set_pipeline_buffer_size(4096);
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}

/// The SHA-256 of texts, in hexadecimal; `\0` stands between them.
pub(super) fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
