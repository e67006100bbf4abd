//! The other side of each layout, with plain Redis commands, step by step as its document describes.

mod legacy;
mod numbered;
mod push;
pub mod reuse;
mod rhailib;
mod runner;
mod served;

use hero::model::JobId;

use crate::support::{Redis, until};

fn id() -> String {
    JobId::random().to_string()
}

async fn hset(redis: &Redis, key: &str, fields: &[(&str, &str)]) {
    let mut words = vec!["HSET", key];
    for (field, value) in fields {
        words.extend([field, value]);
    }
    let _: i64 = redis.run(&words).await;
}

async fn lpush(redis: &Redis, list: &str, element: &str) {
    let _: i64 = redis.run(&["LPUSH", list, element]).await;
}

async fn blpop(redis: &Redis, list: &str) -> String {
    let popped: Option<(String, String)> = redis.run(&["BLPOP", list, "60"]).await;
    popped.unwrap_or_else(|| panic!("nothing in {list} within a minute")).1
}

async fn hget(redis: &Redis, key: &str, field: &str) -> Option<String> {
    redis.run(&["HGET", key, field]).await
}

async fn llen(redis: &Redis, list: &str) -> i64 {
    redis.run(&["LLEN", list]).await
}

async fn ttl(redis: &Redis, key: &str) -> i64 {
    redis.run(&["TTL", key]).await
}

/// Waits until a field of a hash has this value.
async fn becomes(redis: &Redis, key: &str, field: &str, value: &str) {
    until(&format!("{field} of {key} is {value}"), || async { (hget(redis, key, field).await.as_deref() == Some(value)).then_some(()) })
        .await;
}

/// Waits until a list holds nothing.
async fn empties(redis: &Redis, list: &str) {
    until(&format!("{list} is empty"), || async { (llen(redis, list).await == 0).then_some(()) }).await;
}
