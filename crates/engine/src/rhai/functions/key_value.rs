use rhai::{INT, ImmutableString, NativeCallContext};

use super::asking::ask;
use super::definition::{Definition, Functions};
use crate::{RedisCall, RedisCommand};

/// Defines a function that fails in the same cases as the others here.
const fn definition(signature: &'static str, description: &'static str, example: &'static str, result: &'static str) -> Definition {
    Definition { signature, description, errors: "Redis does not answer within 5 seconds, or refuses the command.", example, result }
}

pub(super) const DEFINITIONS: &[Definition] = &[
    definition(
        "redis_ping() -> string",
        "Returns `PONG` if the Redis that the operator named for the pool answers. It is never the one in which hero keeps its jobs.",
        "redis_ping()",
        r#""PONG""#,
    ),
    definition("redis_set(key: string, value: string) -> bool", "Stores a text.", "redis_set(\"city\", \"London\")", "true"),
    definition(
        "redis_get(key: string) -> string|nothing",
        "Returns a text, or `()` if there is none. An answer of any of these functions has at most 240 KB.",
        "redis_set(\"city\", \"London\"); redis_get(\"city\")",
        r#""London""#,
    ),
    definition(
        "redis_del(key: string) -> bool",
        "Deletes a key, and returns whether it existed.",
        "redis_set(\"old\", \"1\"); redis_del(\"old\")",
        "true",
    ),
    definition("redis_exists(key: string) -> bool", "Returns whether a key exists.", "redis_exists(\"nobody-set-this\")", "false"),
    definition(
        "redis_expire(key: string, seconds: int) -> bool",
        "Sets the time after which a key is deleted, and returns whether the key exists.",
        "redis_set(\"code\", \"1\"); redis_expire(\"code\", 60)",
        "true",
    ),
    definition(
        "redis_incr(key: string) -> int",
        "Adds one to a number, from 0 if there is none, and returns it.",
        "redis_del(\"count\"); redis_incr(\"count\"); redis_incr(\"count\")",
        "2",
    ),
    definition(
        "redis_hset(key: string, field: string, value: string) -> bool",
        "Stores a text in a field of a hash.",
        "redis_hset(\"ada\", \"born\", \"1815\")",
        "true",
    ),
    definition(
        "redis_hget(key: string, field: string) -> string|nothing",
        "Returns the text in a field, or `()`.",
        "redis_hset(\"ada\", \"born\", \"1815\"); redis_hget(\"ada\", \"born\")",
        r#""1815""#,
    ),
    definition(
        "redis_hgetall(key: string) -> map",
        "Returns all fields of a hash.",
        "redis_hset(\"alan\", \"born\", \"1912\"); redis_hgetall(\"alan\")",
        r#"{"born":"1912"}"#,
    ),
    definition(
        "redis_hdel(key: string, field: string) -> bool",
        "Deletes a field, and returns whether it existed.",
        "redis_hdel(\"ada\", \"no-such-field\")",
        "false",
    ),
    definition(
        "redis_lpush(key: string, value: string) -> int",
        "Adds a text to the beginning of a list, and returns the length of the list.",
        "redis_del(\"line\"); redis_lpush(\"line\", \"first\")",
        "1",
    ),
    definition(
        "redis_rpush(key: string, value: string) -> int",
        "Appends a text to a list, and returns the length of the list.",
        "redis_del(\"tail\"); redis_rpush(\"tail\", \"a\"); redis_rpush(\"tail\", \"b\")",
        "2",
    ),
    definition("redis_llen(key: string) -> int", "Returns the length of a list.", "redis_llen(\"nobody-set-this\")", "0"),
    definition(
        "redis_lrange(key: string, start: int, stop: int) -> array",
        "Returns the texts of a list from one position to another, both included and counted from 0, or from the end if negative.",
        "redis_del(\"abc\"); for text in [\"a\", \"b\", \"c\"] { redis_rpush(\"abc\", text); }\nredis_lrange(\"abc\", 1, -1)",
        r#"["b","c"]"#,
    ),
];

pub(super) fn add(functions: &mut Functions<'_>) {
    let run = functions.run();
    functions.add("redis_ping", move |context: NativeCallContext| {
        ask(&context, &run, RedisCall { command: RedisCommand::Ping, arguments: Vec::new() })
    });
    for (name, command) in [
        ("redis_get", RedisCommand::Get),
        ("redis_del", RedisCommand::Del),
        ("redis_exists", RedisCommand::Exists),
        ("redis_incr", RedisCommand::Incr),
        ("redis_hgetall", RedisCommand::HGetAll),
        ("redis_llen", RedisCommand::LLen),
    ] {
        let run = functions.run();
        functions.add(name, move |context: NativeCallContext, key: ImmutableString| {
            ask(&context, &run, RedisCall { command, arguments: vec![key.into_owned()] })
        });
    }
    for (name, command) in [
        ("redis_set", RedisCommand::Set),
        ("redis_hget", RedisCommand::HGet),
        ("redis_hdel", RedisCommand::HDel),
        ("redis_lpush", RedisCommand::LPush),
        ("redis_rpush", RedisCommand::RPush),
    ] {
        let run = functions.run();
        functions.add(name, move |context: NativeCallContext, key: ImmutableString, value: ImmutableString| {
            ask(&context, &run, RedisCall { command, arguments: vec![key.into_owned(), value.into_owned()] })
        });
    }
    let run = functions.run();
    functions.add("redis_expire", move |context: NativeCallContext, key: ImmutableString, seconds: INT| {
        let arguments = vec![key.into_owned(), seconds.to_string()];
        ask(&context, &run, RedisCall { command: RedisCommand::Expire, arguments })
    });
    let run = functions.run();
    functions.add("redis_hset", move |context: NativeCallContext, key: ImmutableString, field: ImmutableString, value: ImmutableString| {
        let arguments = vec![key.into_owned(), field.into_owned(), value.into_owned()];
        ask(&context, &run, RedisCall { command: RedisCommand::HSet, arguments })
    });
    let run = functions.run();
    functions.add("redis_lrange", move |context: NativeCallContext, key: ImmutableString, start: INT, stop: INT| {
        let arguments = vec![key.into_owned(), start.to_string(), stop.to_string()];
        ask(&context, &run, RedisCall { command: RedisCommand::LRange, arguments })
    });
}
