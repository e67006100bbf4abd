//! Missing, temporarily unreadable and damaged values get three different answers.

use hero::model::{FlowId, IdentityId, JobId, MessageKey, PublicKey, RunnerId, ScheduleId, TokenId};
use hero::store::{Error, Score, Store};

use crate::support::{Redis, until};

const MESSAGE: MessageKey = MessageKey { caller_id: 7, message_id: 7 };
/// The generator of secp256k1.
const KEY: &str =
    "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";

/// What is read of a store, and whether there is one.
async fn looks(store: &Store) -> Vec<(&'static str, Result<bool, Error>)> {
    let (job, schedule): (JobId, ScheduleId) =
        ("6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().unwrap(), "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().unwrap());
    let token: TokenId = "0123456789abcdef".parse().unwrap();
    let key: PublicKey = KEY.parse().unwrap();
    let name = "weather".parse().unwrap();
    vec![
        ("actor:7", store.access().identity(IdentityId(7)).await.map(|found| found.is_some())),
        ("hero:access:pubkeys", store.access().identity_with(&key).await.map(|found| found.is_some())),
        ("hero:access:tokens", store.access().token(&token).await.map(|found| found.is_some())),
        ("runner:7", store.runners().get(RunnerId(7)).await.map(|found| found.is_some())),
        ("message:7:7", store.messages().get(MESSAGE).await.map(|found| found.is_some())),
        ("flow:7", store.flows().get(FlowId(7)).await.map(|found| found.is_some())),
        ("flow:7", store.flows().caller(FlowId(7)).await.map(|found| found.is_some())),
        ("hero:job:6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70", store.jobs().get(&job).await.map(|found| found.is_some())),
        ("hero:job:6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70", store.jobs().outputs(&[job]).await.map(|found| found[0].is_some())),
        ("hero:schedule:6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70", store.schedules().spec(&schedule).await.map(|found| found.is_some())),
        ("hero:osis:weather:objects", store.objects().get(&name, &"x".parse().unwrap()).await.map(|found| found.is_some())),
    ]
}

/// Lists, each with how many are in it.
async fn lists(store: &Store) -> Vec<(&'static str, Result<usize, Error>)> {
    vec![
        ("messages", store.messages().get_all(&[MESSAGE]).await.map(|found| found.into_iter().flatten().count())),
        ("runners", store.runners().list(Score::from(0), 9).await.map(|(found, _)| found.len())),
        ("identities", store.access().identities(Score::from(0), 9).await.map(|(found, _)| found.len())),
        ("flows", store.flows().before(Score::HIGHEST, 9).await.map(|(found, ..)| found.len())),
        ("actors", store.actors().list().await.map(|found| found.len())),
    ]
}

/// Hashes that other programs wrote, each with a field whose name and value are no text.
async fn fill(redis: &Redis) {
    let hash = |key: &str, fields: &str| format!("redis.call('HSET', '{key}', {fields}, '\\255\\254', '\\255')\n");
    let script = [
        hash("actor:7", &format!("'id', '7', 'pubkey', '{KEY}'")),
        hash("runner:7", "'type', 'osis'"),
        hash("message:7:7", "'message', 'x'"),
        hash("flow:7", "'status', 'started', 'caller_id', '7'"),
        hash("hero:job:6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70", "'script', '1', 'status', 'finished', 'output', '1'"),
        hash("hero:schedule:6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70", "'spec', '{}'"),
        hash("hero:osis:weather:objects", "'x', '{}'"),
        hash("hero:access:pubkeys", &format!("'{KEY}', '7'")),
        hash(
            "hero:access:tokens",
            "'0123456789abcdef', '{\"token_id\":\"0123456789abcdef\",\"identity_id\":7,\"created_at\":\"2026-01-01T00:00:00Z\",\"digest\":\"x\"}'",
        ),
        "for _, set in ipairs({ 'hero:meta:runners', 'hero:access:identities', 'hero:meta:flows' }) do redis.call('ZADD', set, 7, '7') end\n".to_owned(),
        "redis.call('SADD', 'hero:meta:actors', 'hero:meta:actor:inst:osis:io:1')\n".to_owned(),
        "redis.call('SET', 'hero:meta:actor:inst:osis:io:1', '{}')\n".to_owned(),
    ];
    redis.run::<redis::Value>(&["EVAL", &script.concat(), "0"]).await;
}

#[tokio::test]
async fn entries_are_read_beside_unreadable_ones() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for (key, found) in looks(&store).await {
        assert!(!found.unwrap(), "{key}");
    }
    fill(&redis).await;
    for (key, found) in looks(&store).await {
        assert!(found.unwrap(), "{key}");
    }
    for (list, found) in lists(&store).await {
        assert_eq!(found.unwrap(), 1, "{list}");
    }
}

#[tokio::test]
async fn entries_without_read_permission_are_not_reported_missing() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    fill(&redis).await;
    let _: String = redis.run(&["ACL", "SETUSER", "default", "-hgetall", "-hget", "-hmget", "-get", "-getrange"]).await;
    for (key, found) in looks(&store).await {
        let error = found.unwrap_err();
        assert!(error.barred().is_some() && !error.is_spoilt(), "{key}: {error}");
    }
    for (list, found) in lists(&store).await {
        assert!(found.unwrap_err().barred().is_some(), "{list}");
    }
    let _: String = redis.run(&["ACL", "SETUSER", "default", "allcommands"]).await;
    assert!(store.flows().get(FlowId(7)).await.unwrap().is_some());
}

#[tokio::test]
async fn entries_are_not_reported_missing_while_redis_is_busy() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    fill(&redis).await;
    let _: String = redis.run(&["CONFIG", "SET", "busy-reply-threshold", "1"]).await;
    let client = redis::Client::open(redis.url()).unwrap();
    let mut script = crate::support::connection(&client).await.unwrap();
    let running =
        tokio::spawn(async move { redis::cmd("EVAL").arg("while true do end").arg(0).query_async::<redis::Value>(&mut script).await });
    until("a Redis that is busy", || async { store.access().identity(IdentityId(7)).await.err() }).await;
    for (key, found) in looks(&store).await {
        let error = found.unwrap_err();
        assert!(error.may_pass() && !error.is_spoilt(), "{key}: {error}");
    }
    for (list, found) in lists(&store).await {
        assert!(found.unwrap_err().may_pass(), "{list}");
    }
    let _: String = redis.run(&["SCRIPT", "KILL"]).await;
    running.await.unwrap().unwrap_err();
    assert!(store.access().identity(IdentityId(7)).await.unwrap().is_some());
}

#[tokio::test]
async fn what_another_program_spoilt_is_named_with_its_cure_and_left_out_of_lists() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    fill(&redis).await;
    for (key, _) in looks(&store).await {
        let _: () = redis.run(&["SET", key, "x"]).await;
    }
    for (key, found) in looks(&store).await {
        let error = found.unwrap_err();
        assert!(error.is_spoilt() && !error.may_pass() && error.not_done(), "{key}: {error}");
        let told = error.to_string();
        assert!(told.contains(key) && told.contains("delete or rename it"), "{told}");
    }
    let log = tempfile::NamedTempFile::new().unwrap();
    let writer = std::sync::Mutex::new(log.reopen().unwrap());
    let listening = tracing::subscriber::set_default(tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish());
    for _ in 0..2 {
        for (list, found) in lists(&store).await {
            assert_eq!(found.unwrap(), usize::from(list == "actors"), "{list}");
        }
    }
    drop(listening);
    let log = std::fs::read_to_string(log.path()).unwrap();
    for key in ["message:7:7", "runner:7", "actor:7", "flow:7"] {
        let told = log.lines().filter(|line| line.contains(&format!("the key {key} of Redis")) && line.contains("delete or rename it"));
        assert_eq!(told.count(), 1, "{log}");
    }
    // What stands where a number or a record belongs is no more a sign that there is none.
    for (key, field) in [("hero:access:pubkeys", KEY), ("hero:access:tokens", "0123456789abcdef"), ("hero:osis:weather:objects", "x")] {
        let _: u64 = redis.run(&["DEL", key]).await;
        let _: u64 = redis.run(&["HSET", key, field, "nonsense"]).await;
    }
    for (key, found) in looks(&store).await {
        assert!(found.is_err_and(|error| error.is_spoilt() && error.to_string().contains(key)), "{key}");
    }
}

#[tokio::test]
async fn keys_that_are_read_by_functions_alone_are_named_in_the_log_once_in_a_while() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for key in ["hero:q:unsent", "hero:q:messages", "hero:q:answers", "hero:meta:nonces"] {
        let _: () = redis.run(&["SET", key, "x"]).await;
    }
    let log = tempfile::NamedTempFile::new().unwrap();
    let writer = std::sync::Mutex::new(log.reopen().unwrap());
    let listening = tracing::subscriber::set_default(tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish());
    for _ in 0..2 {
        store.maintenance().name_spoilt().await.unwrap();
    }
    drop(listening);
    let log = std::fs::read_to_string(log.path()).unwrap();
    for key in ["hero:q:unsent", "hero:q:messages", "hero:q:answers", "hero:meta:nonces"] {
        let words = format!("the key {key} of Redis has to be a sorted set and is of another type");
        let told = log.lines().filter(|line| line.contains(&words) && line.contains("delete or rename it"));
        assert_eq!(told.count(), 1, "{key}: {log}");
    }
}
