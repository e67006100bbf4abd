//! A Redis that the operator allows scripts to use. It is never one in which hero keeps its jobs.

use std::sync::LazyLock;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Script, Value};
use tokio::sync::Mutex;

use super::error::Error;
use super::{Inner, Store};
use crate::network::endpoint::Endpoint;

/// The time limit of a connection and of a command.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a command and returns its reply, unless the reply is too large.
///
/// ARGV: the most bytes, the command, its arguments after the key. KEYS: the key, if it has one.
static BOUNDED: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        local most = tonumber(ARGV[1])
        local call = { ARGV[2], KEYS[1] }
        for at = 3, #ARGV do call[#call + 1] = ARGV[at] end
        local reply = redis.pcall(unpack(call))
        local function size(value)
          if type(value) == 'string' then return #value + 8 end
          if type(value) ~= 'table' then return 8 end
          local sum = 8
          for _, one in ipairs(value) do sum = sum + size(one) end
          return sum
        end
        if type(reply) == 'table' and (reply.err or reply.ok) then return reply end
        if size(reply) > most then return redis.error_reply('ERR the reply is larger than ' .. most .. ' bytes') end
        return reply
        ",
    )
});

/// A Redis that the operator allows scripts to use, with a connection to it.
pub struct GrantedRedis {
    client: Client,
    shown: String,
    /// The stores of hero.
    own: Vec<Store>,
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// The reason why a Redis is not used.
#[derive(Debug, thiserror::Error)]
pub enum NotGranted {
    /// It is one of hero's.
    #[error("{0} is a Redis in which hero keeps its jobs, or a copy of it; no script gets that: name another")]
    Own(String),
    /// It cannot be reached, or does not say which Redis it is.
    #[error("the Redis at {0} cannot be used: {1}")]
    Silent(String, String),
}

impl std::fmt::Debug for GrantedRedis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GrantedRedis").field(&self.shown).finish()
    }
}

impl GrantedRedis {
    /// Returns the Redis at `endpoint`, unless it is one of the Redis of `own`. Connects later.
    pub fn new(endpoint: &Endpoint, own: Vec<Store>) -> Result<Self, Error> {
        Ok(Self { client: endpoint.client(0)?, shown: endpoint.shown(), own, connection: Mutex::new(None) })
    }

    /// Connects, unless there is a connection, and checks which Redis it is.
    pub async fn verify(&self) -> Result<(), NotGranted> {
        self.connection().await.map(drop)
    }

    /// Runs a command whose first argument is the key. A reply of more than `most` bytes is an error.
    pub async fn call(&self, command: &str, arguments: &[String], most: usize) -> Result<serde_json::Value, String> {
        let mut connection = self.live().await.map_err(|why| why.to_string())?;
        let mut call = BOUNDED.prepare_invoke();
        call.arg(most).arg(command);
        if let Some((key, rest)) = arguments.split_first() {
            call.key(key);
            for argument in rest {
                call.arg(argument);
            }
        }
        // After a broken connection it is unknown whether the command was executed, so no command is sent twice.
        match call.invoke_async(&mut connection).await {
            Ok(reply) => told(reply),
            Err(error) => {
                if is_broken(&error) {
                    *self.connection.lock().await = None;
                    return Err(format!("the Redis at {} is not there: {error}", self.shown));
                }
                // The message of Redis, without that of its client.
                let words = [error.code(), error.detail()];
                let words: Vec<&str> = words.into_iter().flatten().collect();
                Err(if words.is_empty() { error.to_string() } else { words.join(" ") })
            }
        }
    }

    /// Returns a connection that has just answered. A kept connection may have been closed since.
    async fn live(&self) -> Result<MultiplexedConnection, NotGranted> {
        let (mut connection, was_kept) = self.connection().await?;
        if was_kept && redis::cmd("PING").exec_async(&mut connection).await.is_err_and(|error| is_broken(&error)) {
            *self.connection.lock().await = None;
            (connection, _) = self.connection().await?;
        }
        Ok(connection)
    }

    /// Returns the connection, and whether it existed before.
    async fn connection(&self) -> Result<(MultiplexedConnection, bool), NotGranted> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = &*kept {
            return Ok((connection.clone(), true));
        }
        let silent = |why: String| NotGranted::Silent(self.shown.clone(), why);
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(REQUEST_TIMEOUT)).set_response_timeout(Some(REQUEST_TIMEOUT));
        let connected = self.client.get_multiplexed_async_connection_with_config(&config).await;
        let mut connection = connected.map_err(|error| silent(error.to_string()))?;
        // The check runs with each new connection, because another server may have taken the place of the first.
        let mut names = Vec::new();
        for section in ["server", "replication"] {
            let info: String =
                redis::cmd("INFO").arg(section).query_async(&mut connection).await.map_err(|error| silent(error.to_string()))?;
            names.extend(names_in(&info));
        }
        if names.is_empty() {
            return Err(silent("it does not say which it is (INFO)".to_owned()));
        }
        for own in &self.own {
            let theirs = own.0.server_names().await.map_err(|error| silent(format!("it cannot be told from that of hero: {error}")))?;
            if theirs.iter().any(|name| names.contains(name)) {
                return Err(NotGranted::Own(self.shown.clone()));
            }
        }
        *kept = Some(connection.clone());
        Ok((connection, false))
    }
}

impl Inner {
    /// Returns the names of the server with these keys: its run id, and the id of the data that it replicates.
    async fn server_names(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for section in ["server", "replication"] {
            let info: String = self.commands.call(redis::cmd("INFO").arg(section)).await?;
            names.extend(names_in(&info));
        }
        Ok(names)
    }
}

/// Whether an error is of the connection.
fn is_broken(error: &redis::RedisError) -> bool {
    error.is_io_error() || error.is_unrecoverable_error()
}

/// Returns the names of a server: its run id, and the id of the data that it replicates. A replica shares the second with its master.
fn names_in(info: &str) -> impl Iterator<Item = String> + '_ {
    let named =
        |line: &str| line.strip_prefix("run_id:").or_else(|| line.strip_prefix("master_replid:")).map(|name| name.trim().to_owned());
    info.lines().filter_map(named)
}

/// Converts a reply to JSON.
fn told(reply: Value) -> Result<serde_json::Value, String> {
    let text = |bytes| String::from_utf8(bytes).map_err(|_| "what is stored there is no text (UTF-8)".to_owned());
    Ok(match reply {
        Value::Nil => serde_json::Value::Null,
        Value::Int(number) => number.into(),
        Value::BulkString(bytes) => text(bytes)?.into(),
        Value::SimpleString(text) => text.into(),
        Value::Okay => true.into(),
        Value::Boolean(is) => is.into(),
        Value::Double(number) => number.into(),
        Value::Array(items) => items.into_iter().map(told).collect::<Result<Vec<_>, _>>()?.into(),
        Value::ServerError(error) => return Err(error.to_string()),
        _ => return Err("the reply is of a kind that scripts have not".to_owned()),
    })
}
