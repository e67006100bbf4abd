use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::timeout;

use hero_engine::{Answer, LARGEST_TEXT, RedisCall, RedisCommand};
use hero_store::GrantedRedis;

/// Timeout for a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a command to the Redis that the operator named.
pub(super) async fn answer(redis: &GrantedRedis, call: RedisCall) -> Answer {
    let RedisCall { command, arguments } = call;
    if arguments.len() != command.arguments() {
        return Err(format!("{} takes {} arguments", command.name(), command.arguments()));
    }
    let called = timeout(COMMAND_TIMEOUT, redis.call(command.name(), &arguments, LARGEST_TEXT));
    let reply = called.await.unwrap_or_else(|_| Err(format!("Redis did not answer within {} seconds", COMMAND_TIMEOUT.as_secs())))?;
    Ok(told(command, reply).into())
}

/// Returns a reply as scripts get it.
fn told(command: RedisCommand, reply: Value) -> Value {
    match (command, reply) {
        // The value was stored. The number of new fields does not matter.
        (RedisCommand::Set | RedisCommand::HSet, _) => true.into(),
        (RedisCommand::Del | RedisCommand::Exists | RedisCommand::Expire | RedisCommand::HDel, count) => (count.as_i64() > Some(0)).into(),
        (RedisCommand::HGetAll, Value::Array(items)) => {
            let mut fields = Map::new();
            let mut items = items.into_iter();
            while let (Some(Value::String(name)), Some(value)) = (items.next(), items.next()) {
                fields.insert(name, value);
            }
            fields.into()
        }
        (_, reply) => reply,
    }
}
