//! Limits of a context. Changes take effect without a restart.

use super::*;

impl Town {
    async fn limit(&self, context: u32, limits: Value) {
        self.client.ok("update_context", json!({ "context_id": context, "limits": limits })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_jobs_in_a_second_than_may_be_are_told_when_to_come_again() {
    let town = Town::open().await;
    let context = town.context(json!({ "limits": { "jobs_per_second": 5 } })).await;
    let create = || town.client.call("create_job", json!({ "script": "1", "context_id": context }));
    let answers = futures_util::future::join_all((0..40).map(|_| create())).await;
    let made = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!((5..=15).contains(&made), "{made} were made");
    let refused = answers.into_iter().find_map(Result::err).unwrap();
    assert_eq!(refused.code, 1006, "{refused:?}");
    let wait = refused.data["retry_after_ms"].as_u64().unwrap();
    assert!((1..=1000).contains(&wait), "{refused:?}");
    until("there is room again", || async { create().await.ok() }).await;
    // Other contexts know nothing of it, and without a limit there is none.
    for _ in 0..20 {
        town.client.ok("create_job", json!({ "script": "1" })).await;
    }
    town.limit(context, json!({ "jobs_per_second": 0 })).await;
    until("the limit is gone", || async { create().await.ok() }).await;
    for _ in 0..20 {
        create().await.unwrap();
    }
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_are_created_together_count_each() {
    let town = Town::open().await;
    let context = town.context(json!({ "limits": { "jobs_per_second": 2 } })).await;
    let bulk =
        |many: usize| town.client.call("create_jobs", json!({ "jobs": vec![json!({ "script": "1", "context_id": context }); many] }));
    let one = || town.client.call("create_job", json!({ "script": "1", "context_id": context }));
    // They use up 100 s, whoever comes next.
    bulk(200).await.unwrap();
    for answer in [one().await.map(drop), bulk(1).await.map(drop), bulk(200).await.map(drop)] {
        let refused = answer.unwrap_err();
        assert_eq!(refused.code, 1006, "{refused:?}");
        let wait = refused.data["retry_after_ms"].as_u64().unwrap();
        assert!((30_000..=100_000).contains(&wait), "{refused:?}");
    }
    let jobs = town.client.ok("list_jobs", json!({ "context_id": context, "limit": 1000 })).await;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 200);
    // A clock that was set back keeps nobody waiting.
    let ahead = hero::model::Timestamp::local().plus(std::time::Duration::from_secs(3600)).as_millis();
    let _: String = town.redis.run_in(context, &["SET", "hero:meta:rate", &format!("{}.000 {ahead}", ahead + 1000)]).await;
    one().await.unwrap();
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_jobs_of_a_flow_count_when_it_is_made_however_many_they_are() {
    let town = Town::open().await;
    let context = town.context(json!({ "limits": { "jobs_per_second": 50 } })).await;
    let jobs: serde_json::Map<String, Value> = (0..600).map(|number| (format!("j{number}"), json!({ "script": "1" }))).collect();
    let flow = json!({ "jobs": jobs, "context_id": context });
    town.client.ok("create_flow", flow.clone()).await;
    let refused = town.client.fault("create_flow", flow).await;
    let wait = refused.data["retry_after_ms"].as_u64().unwrap();
    assert!(refused.code == 1006 && (2000..=12_000).contains(&wait), "{refused:?}");
    assert_eq!(town.client.fault("create_job", json!({ "script": "1", "context_id": context })).await.code, 1006);
    assert_eq!(town.client.ok("list_flows", json!({ "context_id": context })).await["flows"].as_array().unwrap().len(), 1);
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_and_running_jobs_are_limited_over_all_servers_and_a_change_holds_at_once() {
    let town = Town::with(&["--pool", "osis=3"]).await;
    let home = tempfile::tempdir().unwrap();
    let other = serve(&town.redis, &home, &["--pool", "osis=3"]).await;
    let elsewhere = Client::connect(&other.url()).await;
    let context = town.context(json!({ "limits": { "max_running": 1, "queue_length": 2 } })).await;
    let spec = json!({ "script": "loop {}" });
    let first = start(&town.client, context, spec.clone()).await;
    is(&town.client, context, &first, "started").await;
    for _ in 0..2 {
        start(&elsewhere, context, spec.clone()).await;
    }
    let third = elsewhere.ok("create_job", json!({ "script": "1", "context_id": context })).await;
    let full = elsewhere.fault("start_job", json!({ "job_id": third, "context_id": context })).await;
    assert!(full.code == 1007 && full.message.contains("queue_length"), "{full:?}");
    let running = || async { town.redis.run_in::<u64>(context, &["ZCARD", "hero:q:leases"]).await };
    assert_eq!(running().await, 1);
    town.limit(context, json!({ "max_running": 3, "queue_length": 0 })).await;
    until("the others run", || async { (running().await == 3).then_some(()) }).await;
    elsewhere.ok("start_job", json!({ "job_id": third, "context_id": context })).await;
    other.stop().await;
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_limited_from_the_next_job_on_and_in_that_context_alone() {
    let town = Town::open().await;
    let context = town.context(json!({})).await;
    let script = "for i in 0..20000 {} 1";
    assert_eq!(town.output(context, script).await, "1");
    town.limit(context, json!({ "script_operations": 10_000 })).await;
    let limited = || async {
        let fault = town.client.call("run_and_wait", json!({ "script": script, "context_id": context })).await.err()?;
        assert_eq!(fault.data["error"]["limit"], "operations", "{fault:?}");
        Some(())
    };
    until("the limit holds", limited).await;
    assert_eq!(town.output(0, script).await, "1");
    // That of a context of the settings holds, too.
    town.limit(0, json!({ "script_operations": 10_000 })).await;
    until("the limit holds in context 0", || async {
        town.client.call("run_and_wait", json!({ "script": script })).await.is_err().then_some(())
    })
    .await;
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_have_room_for_as_many_bytes_as_may_be_and_deleting_makes_some() {
    let town = Town::open().await;
    let context = town.context(json!({ "limits": { "objects_quota": 1000 } })).await;
    let set = |id: &str, bytes: usize| {
        let object = json!({ "id": id, "text": "x".repeat(bytes) });
        town.client.call("set_object", json!({ "collection": "texts", "object": object, "context_id": context }))
    };
    set("a", 600).await.unwrap();
    let full = set("b", 600).await.unwrap_err();
    assert!(full.code == 1007 && full.message.contains("1000 bytes (objects_quota)"), "{full:?}");
    set("a", 100).await.unwrap();
    set("b", 600).await.unwrap();
    town.client.ok("drop_collection", json!({ "collection": "texts", "context_id": context })).await;
    assert_eq!(town.redis.run_in::<i64>(context, &["GET", "hero:meta:stored"]).await, 0);
    set("c", 900).await.unwrap();
    set("d", 900).await.unwrap_err();
    town.client.ok("delete_object", json!({ "collection": "texts", "id": "c", "context_id": context })).await;
    set("d", 900).await.unwrap();
    town.limit(context, json!({ "objects_quota": 0 })).await;
    until("the limit is gone", || async { set("e", 900).await.ok() }).await;
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_uses_a_processor_for_too_long_is_ended_and_one_that_waits_is_not() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "[script_types.shell]\ncommand = [\"sh\", \"{script}\"]\n").unwrap();
    let config = file.path().to_str().unwrap();
    let town = Town::with(&["--config", config, "--pool", "osis=1", "--pool", "shell=1"]).await;
    let context = town.context(json!({ "limits": { "cpu_time": 0.3 } })).await;
    for (script_type, script) in [("osis", "loop {}"), ("shell", "while :; do :; done"), ("shell", "sh -c 'while :; do :; done' & wait")] {
        let spec = json!({ "script": script, "script_type": script_type, "context_id": context });
        let fault = town.client.fault("run_and_wait", spec).await;
        let error = &fault.data["error"];
        assert_eq!((&error["kind"], &error["limit"]), (&json!("limit"), &json!("cpu_time")), "{script}: {fault:?}");
        assert!(error["message"].as_str().unwrap().contains("300ms (cpu_time"), "{fault:?}");
    }
    assert_eq!(town.output(context, "sleep(1); 7").await, "7");
    town.server.stop().await;
}
