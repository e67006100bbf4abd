//! The cost of walks through all keys while nothing happens.

use std::time::{Duration, Instant};

use hero::dispatch::Indexer;
use hero::model::{JobId, PrivateKey};
use hero::store::{Pace, Store};

use crate::support::{Redis, round, until};

/// No two walks begin within this, where they are short.
const WALK_PAUSE_SECONDS: u64 = 2;

/// An indexer that has been through all keys.
async fn walked(store: &Store) -> Indexer {
    let mut indexer = Indexer::new(store.clone());
    // It has looked at all identities, too, when it has a pause.
    while round(&mut indexer).await < Duration::from_secs(WALK_PAUSE_SECONDS) {}
    indexer
}

/// How often a command is called while an indexer makes a few steps, and how often it may have begun to walk through all keys meanwhile.
async fn calls(redis: &Redis, indexer: &mut Indexer, command: &str) -> (u64, u64) {
    let (before, began) = (redis.calls(command).await, Instant::now());
    for _ in 0..20 {
        round(indexer).await;
    }
    (redis.calls(command).await - before, began.elapsed().as_secs() / WALK_PAUSE_SECONDS)
}

#[tokio::test]
async fn no_key_is_looked_at_while_none_come_and_a_foreign_job_is_found_soon() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut indexer = walked(&store).await;
    let (scans, walks) = calls(&redis, &mut indexer, "scan").await;
    assert!(scans <= walks, "{scans} steps in {walks} walks");
    let job = format!("hero:job:{}", JobId::random());
    let _: i64 = redis.run(&["HSET", &job, "script", "1", "status", "finished", "output", "1"]).await;
    let indexer = tokio::sync::Mutex::new(indexer);
    until("the job in the index", async || {
        round(&mut *indexer.lock().await).await;
        redis.run::<Option<String>>(&["HGET", &job, "indexed"]).await
    })
    .await;
}

#[tokio::test]
async fn identities_are_looked_at_where_keys_go_a_thousand_at_a_time() {
    const MANY: u64 = 2500;
    let redis = Redis::start().await;
    let store = redis.store().await;
    for id in 1..=MANY {
        let _: i64 = redis.run(&["HSET", &format!("actor:{id}"), "id", &id.to_string()]).await;
        let _: i64 = redis.run(&["ZADD", "hero:access:identities", &id.to_string(), &id.to_string()]).await;
    }
    let mut indexer = walked(&store).await;
    let (looks, walks) = calls(&redis, &mut indexer, "exists").await;
    assert!(looks <= 3 * walks, "{looks} looks in {walks} walks");
    let _: i64 = redis.run(&["DEL", "actor:1700"]).await;
    let (before, began) = (redis.calls("exists").await, Instant::now());
    while redis.run::<Option<String>>(&["ZSCORE", "hero:access:identities", "1700"]).await.is_some() {
        round(&mut indexer).await;
    }
    // Two parts, the second of which looks at each of its own, and says of one that it is gone.
    let (looks, walks) = (redis.calls("exists").await - before, began.elapsed().as_secs() / WALK_PAUSE_SECONDS);
    assert!((2..=1100 + 3 * walks).contains(&looks), "{looks} looks in {walks} walks");
}

/// Makes an indexer walk through all keys once more, because a new one arrived.
async fn walk_again(redis: &Redis, indexer: &mut Indexer) {
    let key = format!("another:{}", JobId::random());
    let _: () = redis.run(&["SET", &key, "1"]).await;
    let (scans, indexer) = (redis.calls("scan").await, tokio::sync::Mutex::new(indexer));
    until("a walk begins", async || {
        round(&mut **indexer.lock().await).await;
        (redis.calls("scan").await > scans).then_some(())
    })
    .await;
    let indexer = indexer.into_inner();
    while round(indexer).await < Duration::from_secs(WALK_PAUSE_SECONDS) {}
}

#[tokio::test]
async fn identities_are_listed_once_and_again_only_where_their_keys_change() {
    const MANY: u64 = 1000;
    /// After so long everything is looked at once more.
    const FORGET_SECONDS: u64 = 60;
    let redis = Redis::start().await;
    let store = redis.store().await;
    let began = Instant::now();
    let write = "for id = 1, ARGV[1] do redis.call('HSET', 'actor:' .. id, 'id', id, 'pubkey', '') end";
    let _: Option<String> = redis.run(&["EVAL", write, "0", &MANY.to_string()]).await;
    let mut indexer = walked(&store).await;
    assert_eq!(redis.run::<u64>(&["ZCARD", "hero:access:identities"]).await, MANY);
    let before = redis.calls("zadd").await;
    for _ in 0..2 {
        walk_again(&redis, &mut indexer).await;
    }
    let changed = PrivateKey::random();
    let _: i64 = redis.run(&["HSET", "actor:700", "pubkey", changed.public_key().as_str()]).await;
    walk_again(&redis, &mut indexer).await;
    let known: Option<String> = redis.run(&["HGET", "hero:access:pubkeys", changed.public_key().as_str()]).await;
    assert_eq!(known.as_deref(), Some("700"));
    // Where another one has the key it is looked at again, because that one may give it up.
    let _: i64 = redis.run(&["HSET", "actor:701", "pubkey", changed.public_key().as_str()]).await;
    walk_again(&redis, &mut indexer).await;
    let _: i64 = redis.run(&["HSET", "actor:700", "pubkey", ""]).await;
    for _ in 0..2 {
        walk_again(&redis, &mut indexer).await;
    }
    let known: Option<String> = redis.run(&["HGET", "hero:access:pubkeys", changed.public_key().as_str()]).await;
    assert_eq!(known.as_deref(), Some("701"));
    let (listed, forgot) = (redis.calls("zadd").await - before, began.elapsed().as_secs() / FORGET_SECONDS);
    assert!(listed < MANY / 2 + 2 * MANY * forgot, "{listed} were listed again");
}

#[tokio::test]
async fn presences_are_looked_for_where_keys_come() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut pace = Pace::new();
    store.actors().survey_in_time(&mut pace).await.unwrap();
    let before = redis.calls("scan").await;
    let _: () = redis.run(&["SET", "hero:meta:actor:inst:v:default:1", "alive", "EX", "600"]).await;
    // It waits until the next survey is due.
    store.actors().survey_in_time(&mut pace).await.unwrap();
    assert_eq!(redis.calls("scan").await, before + 1);
    assert_eq!(store.actors().list().await.unwrap().len(), 1);
}
