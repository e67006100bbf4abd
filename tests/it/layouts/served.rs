//! The whole program, as an operator starts it.

use super::{becomes, blpop, hget, hset, id, llen, lpush};
use crate::support::{CONTEXT, PATIENCE, Process, Redis, spec};

async fn push_legacy(redis: &Redis, queue: &str) -> String {
    let id = id();
    hset(redis, &format!("hero:job:{id}"), &[("id", &id), ("script", "40 + 2"), ("status", "dispatched")]).await;
    lpush(redis, queue, &id).await;
    id
}

async fn push_task(redis: &Redis, circle: &str) -> String {
    let id = id();
    let fields = [("script", "40 + 2"), ("status", "pending"), ("reply_to", id.as_str())];
    hset(redis, &format!("rhai_task_details:{id}"), &fields).await;
    lpush(redis, &format!("rhai_tasks:{circle}"), &id).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_any_flag_serves_every_layout() {
    let (redis, data) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server = Process::serve(data.path(), &["--redis", &redis.url()]).await;
    for script_type in ["osis", "sal"] {
        let job = push_legacy(&redis, &format!("hero:work_queue:{script_type}")).await;
        assert_eq!(blpop(&redis, &format!("hero:reply:{job}")).await, "42");
        let task = push_task(&redis, script_type).await;
        assert!(blpop(&redis, &task).await.contains("completed"));
        hset(&redis, "job:1:1", &[("script", "40 + 2"), ("status", "dispatched")]).await;
        lpush(&redis, &format!("queue:{script_type}"), "job:1:1").await;
        becomes(&redis, "job:1:1", "status", "finished").await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_serves_the_layouts_it_is_told_under_the_names_it_is_told() {
    let (redis, data) = (Redis::start().await, tempfile::tempdir().unwrap());
    let config = data.path().join("hero.toml");
    let pool = "compat = [\"legacy\", \"rhailib\"]\npush = \"both\"\n[[pools]]\ntype = \"osis\"\nworker_ids = [\"w1\", \"w2\"]\ncircles = [\"c1\"]\n";
    std::fs::write(&config, pool).unwrap();
    let server = Process::serve(data.path(), &["--redis", &redis.url(), "--config", config.to_str().unwrap()]).await;
    let unserved = push_legacy(&redis, "hero:work_queue:osis").await;
    lpush(&redis, "queue:osis", "job:1:1").await;
    for worker in ["w1", "w2"] {
        let job = push_legacy(&redis, &format!("hero:work_queue:{worker}")).await;
        assert_eq!(blpop(&redis, &format!("hero:reply:{job}")).await, "42");
    }
    let task = push_task(&redis, "c1").await;
    assert!(blpop(&redis, &task).await.contains("completed"));
    assert_eq!((llen(&redis, "hero:work_queue:osis").await, llen(&redis, "queue:osis").await), (1, 1));
    assert_eq!(hget(&redis, &format!("hero:job:{unserved}"), "status").await.as_deref(), Some("dispatched"));
    // A worker of another kind finds its jobs where it looks.
    let client = server.client().await;
    let job = client
        .create_job(&hero::model::JobSpec { worker_id: Some("old".parse().unwrap()), script_type: "sal".parse().unwrap(), ..spec("1") })
        .await
        .unwrap();
    client.start_job(CONTEXT, &job).await.unwrap();
    assert_eq!(blpop(&redis, "hero:work_queue:old").await, job.as_str());
    hset(&redis, &format!("hero:job:{job}"), &[("status", "started")]).await;
    hset(&redis, &format!("hero:job:{job}"), &[("status", "finished"), ("output", "old")]).await;
    assert_eq!(client.wait_job(CONTEXT, &job, PATIENCE).await.unwrap().output, "old");
    server.stop().await;
}
