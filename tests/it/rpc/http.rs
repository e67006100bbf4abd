//! Plain HTTP on the same port.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};

use super::*;
use crate::support::{PATIENCE, Redis, get, hero};

#[tokio::test(flavor = "multi_thread")]
async fn readyz_says_what_is_missing() {
    let mut redis = Redis::start().await;
    let mut program = tokio::process::Command::new(hero());
    program.args(["serve", "--listen", "127.0.0.1:0", "--pool", "osis=1", "--redis", &redis.url(), "--data"]).arg(redis.directory());
    let mut serving = program.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("the ready line").unwrap().unwrap();
    let address = line.split("ws://").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let (status, said) = get(&address, "/readyz").await;
    assert!(status == 200 && said.starts_with("ready\n"), "{status} {said}");
    redis.kill();
    let (status, reasons) = get(&address, "/readyz").await;
    assert!(status == 503 && reasons.starts_with("Redis cannot be reached: nobody listens on "), "{status} {reasons}");
    assert_eq!(get(&address, "/healthz").await, (200, "ok\n".into()));
    redis.restart().await;
    until("ready again", || async { (get(&address, "/readyz").await.0 == 200).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_run_by_post() {
    let (_house, server, _client) = open(1).await;
    let post = async |id: u64, method: &str, params: Value| -> Value {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let (status, answer) = server.post(&request.to_string()).await;
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)));
        answer
    };
    assert_eq!(post(1, "run_and_wait", json!(["40 + 2"])).await["result"]["value"], 42);
    let id = post(2, "create_job", json!({"script": "print(1); throw 2"})).await["result"].clone();
    assert_eq!(post(3, "start_job", json!([id])).await["result"], "dispatched");
    assert_eq!(post(4, "wait_job", json!([id])).await["error"]["code"], 1101);
    assert_eq!(post(5, "get_logs", json!([id])).await["result"]["lines"][0]["text"], "1");
    let refused = post(6, "subscribe_job", json!([id])).await["error"].clone();
    assert!(refused["message"].as_str().unwrap().contains("subscriptions need a WebSocket"), "{refused}");
    assert_eq!(server.post("{").await.0, 200);
    assert_eq!(server.get("/healthz").await, (200, "ok\n".into()));
    assert_eq!(server.get("/readyz").await, (200, "ready\n".into()));
    assert_eq!(server.get("/nothing").await.0, 404);
}
