//! Local runners: pools that start and stop with their objects.

use hero::model::{ScriptType, Target};
use serde_json::{Value, json};

use crate::support::{Process, Redis, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_local_runner_gets_a_pool_that_comes_and_goes_with_it() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "sal=1"]).await;
    let client = server.client().await;
    let call = async |method: &str, params: Value| client.call_named::<Value>(method, params).await.unwrap();
    let made = call("create_runner", json!({"script_type": "sal", "local": true})).await;
    let group = format!("runner{}", made["runner_id"]);
    // By its group, and from the queue of its layout.
    let result = call("run_and_wait", json!({"script": "40 + 2", "script_type": "sal", "group": group, "wait_timeout": 50})).await;
    assert_eq!(result["value"], 42);
    let actors = call("list_actors", json!({})).await;
    assert!(actors.as_array().unwrap().iter().any(|actor| actor["group"] == group.as_str()), "{actors}");
    // A flow may name it.
    let flow = json!({"jobs": {"a": {"script": "7", "runner": made["runner_id"]}}, "wait_timeout": 50});
    assert_eq!(call("run_flow_and_wait", flow).await["result"], json!({"a": "7"}));
    call("delete_runner", json!([made["runner_id"]])).await;
    until("its actor has gone", || async {
        let actors = call("list_actors", json!({})).await;
        actors.as_array().unwrap().iter().all(|actor| actor["group"] != group.as_str()).then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_of_a_context_that_was_made_at_run_time_gets_a_pool_too_and_one_of_a_type_that_is_not_here_gets_none() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "sal=1"]).await;
    let client = server.client().await;
    let call = async |method: &str, params: Value| client.call_named::<Value>(method, params).await.unwrap();
    let context = call("create_context", json!({"name": "a"})).await["context_id"].clone();
    let made = call("create_runner", json!({"script_type": "sal", "local": true, "context_id": context})).await;
    let other = call("create_runner", json!({"script_type": "osis", "local": true, "context_id": context})).await;
    let group = format!("runner{}", made["runner_id"]);
    let spec = json!({"script": "40 + 2", "script_type": "sal", "group": group, "context_id": context, "wait_timeout": 50});
    assert_eq!(call("run_and_wait", spec).await["value"], 42);
    until("the log says what is missing", || async { server.log().contains("no pool for the script type of a runner").then_some(()) })
        .await;
    assert_eq!(call("get_runner", json!({"runner_id": other["runner_id"], "context_id": context})).await["script_type"], "osis");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_of_local_runners_start_for_jobs_and_take_turns_where_places_are_few() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server =
        Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "sal=1", "--contexts-running", "1", "--grace", "1s"]).await;
    let client = server.client().await;
    let call = async |method: &str, params: Value| client.call_named::<Value>(method, params).await.unwrap();
    let mut runners = Vec::new();
    for _ in 0..4 {
        runners.push(call("create_runner", json!({"script_type": "sal", "local": true})).await["runner_id"].clone());
    }
    // None of them has anything to do, however long the server has been at work.
    assert_eq!(call("run_and_wait", json!({"script": "40 + 2", "script_type": "sal", "wait_timeout": 50})).await["value"], 42);
    assert_eq!(server.engines().len(), 1, "the engine of the pool of the settings");
    let spec = |runner: &Value, script: &str| json!({"script": script, "script_type": "sal", "group": format!("runner{runner}"), "wait_timeout": 55});
    // The first has its place for longer than a turn and the grace period, and keeps it until its job has ended.
    let long = spec(&runners[0], "print(`began`); sleep(13); 1");
    let id = call("create_job", json!({"script": long["script"], "script_type": "sal", "group": long["group"]})).await;
    call("start_job", json!([id])).await;
    until("it runs", || async { (call("get_status", json!([id])).await == "started").then_some(()) }).await;
    let others = runners[1..].iter().map(|runner| call("run_and_wait", spec(runner, "40 + 2")));
    let most = async {
        let mut most = 0;
        loop {
            most = most.max(server.engines().len());
            tokio::select! {
                () = tokio::time::sleep(std::time::Duration::from_millis(100)) => {}
                result = client.call_named::<Value>("wait_job", json!({"job_id": id, "wait_timeout": 50})) => {
                    return (most.max(server.engines().len()), result.unwrap());
                }
            }
        }
    };
    let (results, (most, result)) = tokio::join!(futures_util::future::join_all(others), most);
    assert!(results.iter().all(|result| result["value"] == 42), "{results:?}");
    assert!(result["value"] == 1 && most <= 2, "{most} engines, {result}");
    assert_eq!(call("get_logs", json!([id])).await["lines"].as_array().unwrap().len(), 1, "it began once");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_of_a_runner_that_did_not_start_is_tried_again() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "sal=1"]).await;
    let client = server.client().await;
    let made: Value = client.call_named("create_runner", json!({"script_type": "sal", "local": true})).await.unwrap();
    // No actor can claim a post but those of the settings.
    let keys = ["~hero:[^m]*", "~hero:meta:[^a]*", "~hero:meta:ac[^t]*", "~hero:meta:actor[^:]*", "~*:default:*", "~[^h]*"];
    let _: String = redis.run(&[&["ACL", "SETUSER", "default", "resetkeys"][..], &keys].concat()).await;
    let spec = json!({"script": "40 + 2", "script_type": "sal", "group": format!("runner{}", made["runner_id"]), "wait_timeout": 55});
    let waiting = tokio::spawn(async move { client.call_named::<Value>("run_and_wait", spec).await.unwrap() });
    let said = |what: &'static str| {
        let server = &server;
        async move { until(what, || async { server.log().contains(what).then_some(()) }).await }
    };
    said("does not start, and is tried again in 1s").await;
    said("does not start, and is tried again in 2s").await;
    let _: String = redis.run(&["ACL", "SETUSER", "default", "allkeys"]).await;
    assert_eq!(waiting.await.unwrap()["value"], 42);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_very_many_runners_each_gets_its_pool() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "sal=1"]).await;
    let client = server.client().await;
    let call = async |method: &str, params: Value| client.call_named::<Value>(method, params).await.unwrap();
    let mut last = Value::Null;
    for _ in 0..600 {
        last = call("create_runner", json!({"script_type": "sal", "local": true})).await["runner_id"].clone();
    }
    for runner in [last, json!(1), json!(300)] {
        let spec = json!({"script": "40 + 2", "script_type": "sal", "group": format!("runner{runner}"), "wait_timeout": 55});
        assert_eq!(call("run_and_wait", spec).await["value"], 42);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_long_job_of_a_runner_is_not_all_that_another_waits_for() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server =
        Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "sal=1", "--contexts-running", "2", "--grace", "1s"]).await;
    let client = server.client().await;
    let call = async |method: &str, params: Value| client.call_named::<Value>(method, params).await.unwrap();
    let mut groups = Vec::new();
    for _ in 0..3 {
        groups.push(format!("runner{}", call("create_runner", json!({"script_type": "sal", "local": true})).await["runner_id"]));
    }
    let start = async |group: &str, script: &str| {
        let id = call("create_job", json!({"script": script, "script_type": "sal", "group": group, "timeout": 60})).await;
        call("start_job", json!([id])).await;
        id
    };
    let long = start(&groups[0], "sleep(50); 1").await;
    until("it runs", || async { (call("get_status", json!([long])).await == "started").then_some(()) }).await;
    futures_util::future::join_all((0..120).map(|_| start(&groups[1], "sleep(0.4); 1"))).await;
    // Who waits for its turn is told so.
    let waiting = start(&groups[2], "1").await;
    let why = until("it is known that it waits", || async {
        let why = call("explain_job", json!([waiting])).await;
        (why["reason"] == "waiting_for_turn").then_some(why)
    })
    .await;
    let told = "runner 3 of context 0 waits for its turn: 2 local runners have actors at once (contexts_running), and 0 wait before it";
    assert_eq!(why["message"], told);
    let spec = json!({"script": "40 + 2", "script_type": "sal", "group": groups[2], "wait_timeout": 55});
    assert_eq!(call("run_and_wait", spec).await["value"], 42);
    assert_eq!(call("get_status", json!([long])).await, "started", "it was not waited for");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_a_paused_queue_needs_no_pool() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let script_type: ScriptType = "sal".parse().unwrap();
    let of = |target: Target| (script_type.clone(), target);
    let targets = [of(Target::Group("runner1".parse().unwrap())), of(Target::Group("runner2".parse().unwrap())), of(Target::Type)];
    for queue in ["type:sal:group:runner1:prio:0", "type:sal:group:runner2", "type:sal"] {
        let _: i64 = redis.run(&["LPUSH", &format!("hero:q:work:{queue}"), "x"]).await;
    }
    assert_eq!(store.runners().have_jobs(&targets).await.unwrap(), [true, true, true]);
    for queue in ["type:sal:group:runner1", "type:sal"] {
        let _: i64 = redis.run(&["SADD", "hero:meta:paused", &format!("hero:q:work:{queue}")]).await;
    }
    assert_eq!(store.runners().have_jobs(&targets).await.unwrap(), [false, true, false]);
    // What other programs push for runners is fetched from there all the same.
    let _: i64 = redis.run(&["LPUSH", "queue:sal", "job:3:5"]).await;
    assert_eq!(store.runners().have_jobs(&targets).await.unwrap(), [false, true, true]);
}
