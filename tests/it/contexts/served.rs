//! Every server that shares the Redis serves a new context at once.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_is_made_runs_jobs_at_once_here_and_within_a_second_elsewhere() {
    let town = Town::open().await;
    let home = tempfile::tempdir().unwrap();
    let other = serve(&town.redis, &home, &POOL).await;
    let elsewhere = Client::connect(&other.url()).await;
    let context = town.context(json!({ "name": "shop" })).await;
    assert_eq!(town.output(context, "CONTEXT_ID").await, context.to_string());
    assert_eq!(run(&elsewhere, context, "CONTEXT_ID + 0").await, context.to_string());
    // What one makes the other one reads.
    let id = start(&elsewhere, context, json!({ "script": "print(`hello`); 7" })).await;
    let job = json!({ "job_id": id, "context_id": context });
    assert_eq!(town.client.ok("wait_job", job.clone()).await["output"], "7");
    assert_eq!(town.client.ok("get_logs", job).await["lines"][0]["text"], "hello");
    // One that is made there is served here, and it is the same for a server that starts later.
    let second = elsewhere.ok("create_context", json!({})).await["context_id"].as_u64().unwrap();
    let second = u32::try_from(second).unwrap();
    assert_eq!(town.output(second, "CONTEXT_ID").await, second.to_string());
    other.stop().await;
    let later = serve(&town.redis, &home, &POOL).await;
    assert_eq!(run(&Client::connect(&later.url()).await, second, "40 + 2").await, "42");
    later.stop().await;
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_context_is_seen_in_another() {
    let town = Town::open().await;
    let (one, two) = (town.context(json!({})).await, town.context(json!({})).await);
    let spec = json!({ "script": "osis::set(`people`, #{ id: `ada` }); print(`said`); 1", "log_path": "a.log" });
    let id = start(&town.client, one, spec).await;
    is(&town.client, one, &id, "finished").await;
    let scheduled = json!({ "job": { "script": "1", "context_id": one }, "every": 3600 });
    let schedule = town.client.ok("create_schedule", scheduled).await["schedule_id"].clone();
    let of = |context: u32, params: Value| {
        let mut params = params;
        params["context_id"] = json!(context);
        params
    };
    for (context, there) in [(one, true), (two, false), (0, false)] {
        for method in ["get_job", "get_logs", "get_result"] {
            let answer = town.client.call(method, of(context, json!({ "job_id": id }))).await;
            assert_eq!(answer.is_ok(), there, "{method} in {context}: {answer:?}");
        }
        let object = town.client.call("get_object", of(context, json!({ "collection": "people", "id": "ada" }))).await;
        assert_eq!(object.is_ok(), there, "{context}: {object:?}");
        let jobs = town.client.ok("list_jobs", of(context, json!({}))).await;
        assert_eq!(jobs["jobs"].as_array().unwrap().len(), usize::from(there));
        let schedules = town.client.ok("list_schedules", of(context, json!({}))).await;
        assert_eq!(schedules["schedules"].as_array().unwrap().len(), usize::from(there));
    }
    assert_eq!(town.client.fault("delete_schedule", of(two, json!({ "schedule_id": schedule }))).await.code, 1011);
    assert!(town.home.path().join(format!("logs/.contexts/{one}/a.log")).exists());
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_names_contexts_serves_no_others() {
    let town = Town::open().await;
    let file = town.home.path().join("hero.toml");
    let pools = "[[pools]]\ntype = \"osis\"\ninstances = 1\n[[pools]]\ntype = \"sal\"\ninstances = 1\ncontexts = [0]\n";
    std::fs::write(&file, pools).unwrap();
    let home = tempfile::tempdir().unwrap();
    town.server.stop().await;
    let server = serve(&town.redis, &home, &["--config", file.to_str().unwrap()]).await;
    let client = Client::connect(&server.url()).await;
    let context = u32::try_from(client.ok("create_context", json!({})).await["context_id"].as_u64().unwrap()).unwrap();
    assert_eq!(run(&client, context, "1").await, "1");
    assert_eq!(client.ok("run_and_wait", json!({ "script": "2", "script_type": "sal" })).await["output"], "2");
    let id = start(&client, context, json!({ "script": "2", "script_type": "sal" })).await;
    let waiting = client.fault("wait_job", json!({ "job_id": id, "context_id": context, "wait_timeout": 1 })).await;
    assert_eq!((waiting.code, &waiting.data["reason"]), (1102, &json!("no_live_actor")));
    server.stop().await;
}
