//! Foreign programs that only use Redis and the layout of its keys: actors, clients, supervisors.

mod actor;
mod bounds;
mod by_hand;
mod every_key;
mod functions;
mod job;
mod migration;
mod presence;
mod restart;
mod table;
mod whole;
mod worker;

use hero::model::JobId;

use crate::support::{Redis, until};
use worker::{LegacyWorker, Manner};

const OSIS: &str = "hero:q:work:type:osis";

/// HSET of a job of the legacy layout, by a client whose clock is right.
async fn hset(redis: &Redis, id: &JobId, script: &str, more: &[(&str, &str)]) {
    let now = hero::model::Timestamp::local().to_string();
    hset_at(redis, id.as_str(), &now, script, more).await;
}

/// The same of a client whose clock shows something else.
async fn hset_at(redis: &Redis, id: &str, now: &str, script: &str, more: &[(&str, &str)]) {
    let key = format!("hero:job:{id}");
    let fields = [
        ("id", id),
        ("caller_id", "foreign"),
        ("worker_id", "w1"),
        ("context_id", "0"),
        ("script", script),
        ("timeout", "10"),
        ("retries", "0"),
        ("concurrent", "false"),
        ("created_at", now),
        ("updated_at", now),
        ("status", "dispatched"),
    ];
    let mut words = vec!["HSET", &key];
    words.extend(fields.iter().chain(more).flat_map(|(field, value)| [*field, *value]));
    let _: i64 = redis.run(&words).await;
}

async fn lpush(redis: &Redis, queue: &str, id: &JobId) {
    let _: i64 = redis.run(&["LPUSH", queue, id.as_str()]).await;
}

async fn hget(redis: &Redis, id: &JobId, field: &str) -> Option<String> {
    redis.run(&["HGET", &format!("hero:job:{id}"), field]).await
}

/// Waits until a field of a job has a value.
async fn has(redis: &Redis, id: &JobId, field: &str, value: &str) {
    until(&format!("{field} of {id} is {value}"), || async { (hget(redis, id, field).await? == value).then_some(()) }).await;
}
