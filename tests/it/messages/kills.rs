//! Two servers, each with its own Redis. Either is killed at any time.

use hero::client::Client;
use serde_json::{Value, json};

use super::*;
use crate::support::{PATIENCE, Process};

/// A `hero serve` that can be killed and started again.
pub(super) struct Node {
    pub(super) redis: Redis,
    data: tempfile::TempDir,
    arguments: Vec<String>,
    process: Process,
}

impl Node {
    pub(super) async fn start(pool: &str, more: &[String]) -> Self {
        let (redis, data) = (Redis::start().await, tempfile::tempdir().unwrap());
        let mut arguments = vec!["--redis".to_owned(), redis.url(), "--pool".to_owned(), pool.to_owned()];
        arguments.extend_from_slice(more);
        let process = Self::process(&data, &arguments).await;
        Self { redis, data, arguments, process }
    }

    async fn process(data: &tempfile::TempDir, arguments: &[String]) -> Process {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Process::serve(&data.path().join("data"), &arguments).await
    }

    pub(super) async fn restart(&mut self) {
        self.process.kill().await;
        self.process = Self::process(&self.data, &self.arguments).await;
    }

    pub(super) async fn client(&self) -> Client {
        self.process.client().await
    }

    pub(super) async fn key(&self) -> String {
        let info: Value = self.client().await.call_named("server_info", json!({})).await.unwrap();
        info["node_key"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_job_ends_once_although_either_side_is_killed_again_and_again() {
    const JOBS: usize = 60;
    let mut a = Node::start("sal=1", &[]).await;
    let mut b = Node::start("osis=2", &["--nodes".to_owned(), format!("a={}", a.key().await)]).await;
    let runner = json!({"script_type": "osis", "local": false, "address": b.redis.url(), "pubkey": b.key().await});
    let made: Value = a.client().await.call_named("create_runner", runner).await.unwrap();
    let group = format!("runner{}", made["runner_id"]);
    let spec = |n: usize| json!({"script": format!("sleep(0.02); {n} * 2"), "group": group, "timeout": 30, "retries": 0});
    let ids: Vec<String> =
        a.client().await.call_named("create_jobs", json!({"jobs": (0..JOBS).map(spec).collect::<Vec<_>>()})).await.unwrap();
    for id in &ids {
        let _: Value = a.client().await.call_named("start_job", json!([id])).await.unwrap();
    }
    let ended = |id: &str| ["HGET".to_owned(), format!("hero:job:{id}"), "status".to_owned()];
    let finished = async |redis: &Redis| {
        let mut count = 0;
        for id in &ids {
            let words = ended(id);
            let status: Option<String> = redis.run(&words.each_ref().map(String::as_str)).await;
            count += usize::from(matches!(status.as_deref(), Some("finished" | "error")));
        }
        count
    };
    // Killed when so many have ended: each side several times.
    for (round, share) in [1, 8, 16, 24, 32, 40].into_iter().enumerate() {
        until("some more ends", || async { (finished(&a.redis).await >= share).then_some(()) }).await;
        if round % 2 == 0 { a.restart().await } else { b.restart().await }
    }
    let client = a.client().await;
    for (n, id) in ids.iter().enumerate() {
        let result: Value = client.call_named("wait_job", json!([id, PATIENCE.as_secs()])).await.unwrap();
        assert_eq!((&result["value"], &result["attempt"]), (&json!(n * 2), &json!(1)), "{id}");
    }
    // Each was recorded once here.
    let events: Vec<(String, Vec<String>)> = a.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    for id in &ids {
        let of = |fields: &Vec<String>| fields.iter().any(|field| field == id) && fields.iter().any(|field| field == "finished");
        assert_eq!(events.iter().filter(|(_, fields)| of(fields)).count(), 1, "{id}");
    }
    // And came once there.
    let came: Vec<String> = b.redis.run(&["KEYS", "job:*"]).await;
    assert_eq!(came.len(), JOBS);
    let crashes: Option<String> = a.redis.run(&["HGET", "hero:meta:queue:stats:osis", "crashed"]).await;
    assert_eq!(crashes, None, "a server that dies while jobs are away is no death of theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_server_has_a_key_that_others_cannot_read_and_that_stays() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut node = Node::start("sal=1", &[]).await;
    let key = node.key().await;
    let file = node.data.path().join("data/node.key");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    node.restart().await;
    assert_eq!(node.key().await, key);
}
