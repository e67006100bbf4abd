//! Bulk operations and retries, paused queues, and explanations why a job does not run.

use super::*;

const IDS: [&str; 3] =
    ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"];

#[tokio::test(flavor = "multi_thread")]
async fn jobs_created_together_are_all_there_in_order_and_may_name_each_other() {
    let (_house, _server, client) = open(1).await;
    let jobs = json!([{"script": "1", "job_id": IDS[0], "prerequisites": [IDS[1]]}, {"script": "2", "job_id": IDS[1], "name": "b"}, {"script": "3"}]);
    let ids = client.ok("create_jobs", json!([jobs])).await;
    assert_eq!((&ids[0], &ids[1], ids.as_array().unwrap().len()), (&json!(IDS[0]), &json!(IDS[1]), 3));
    assert_eq!(client.ok("get_job", json!([IDS[1]])).await["name"], "b");
    assert_eq!(client.ok("start_job", json!([IDS[0]])).await, "waiting_for_prerequisites");
    client.ok("start_job", json!([IDS[1]])).await;
    assert_eq!(client.ok("wait_job", json!([IDS[0]])).await["output"], "1");
    assert_eq!(client.ok("create_jobs", json!([[]])).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn if_one_job_is_refused_none_is_created_and_the_error_says_which() {
    let (_house, _server, client) = open(1).await;
    create(&client, json!({"script": "1", "job_id": IDS[2]})).await;
    for (bad, code) in [
        (json!({"script": "1", "script_type": "python"}), 1003),
        (json!({"script": "1", "job_id": IDS[2]}), 1002),
        (json!({"script": "1".repeat(65_537)}), 1008),
        (json!({"script": "1", "prerequisites": [NOBODY]}), -32602),
        (json!({"script": "1", "context_id": 1}), -32602),
    ] {
        let fault = client.fault("create_jobs", json!([[{"script": "1", "job_id": IDS[0]}, bad]])).await;
        assert_eq!((fault.code, &fault.data["index"]), (code, &json!(1)), "{fault:?}");
        assert!(fault.message.starts_with("jobs[1]: "), "{fault:?}");
        assert_eq!(client.fault("get_job", json!([IDS[0]])).await.code, 1001);
    }
    let many: Vec<Value> = (0..1001).map(|_| json!({"script": "1"})).collect();
    let fault = client.fault("create_jobs", json!([many])).await;
    assert!(fault.code == -32602 && fault.message.contains("1000"), "{fault:?}");
    let fault = client.fault("create_jobs", json!([[{"script": "1", "nonsense": 1}]])).await;
    assert!(fault.code == -32602 && fault.message.contains("nonsense"), "{fault:?}");
    assert_eq!(client.ok("list_jobs", json!({})).await["jobs"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_ended_runs_again_and_no_other_does() {
    let (_house, _server, client) = open(1).await;
    let id = start(&client, json!(["throw 1"])).await;
    is(&client, &id, "error").await;
    client.ok("retry_job", json!([id])).await;
    until("the second attempt ended", || async { (client.ok("get_job", json!([id])).await["attempt"] == 2).then_some(()) }).await;
    let created = create(&client, json!(["1"])).await;
    let fault = client.fault("retry_job", json!([created])).await;
    assert_eq!((fault.code, &fault.data["status"]), (1002, &json!("created")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_paused_and_resumed_as_often_as_one_likes() {
    let (_house, _server, client) = open(1).await;
    let paused = async || {
        let queues = client.ok("list_queues", json!([])).await;
        let paused = queues.as_array().unwrap().iter().filter(|queue| queue["paused"] == true);
        paused.map(|queue| queue["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        assert_eq!(client.ok("pause_queue", json!(["osis"])).await, true);
        assert_eq!(paused().await, ["hero:q:work:type:osis"]);
    }
    let id = start(&client, json!(["1"])).await;
    let fault = client.fault("run_and_wait", json!({"script": "1", "wait_timeout": 0.1})).await;
    assert_eq!((fault.code, &fault.data["status"], &fault.data["reason"]), (1102, &json!("dispatched"), &json!("paused")));
    assert_eq!(client.ok("get_status", json!([id])).await, "dispatched");
    for _ in 0..2 {
        assert_eq!(client.ok("resume_queue", json!(["osis"])).await, true);
        assert_eq!(paused().await, Vec::<String>::new());
    }
    assert_eq!(client.ok("wait_job", json!([id])).await["output"], "1");
    client.ok("pause_queue", json!({"script_type": "osis", "instance": 2})).await;
    assert_eq!(paused().await, ["hero:q:work:type:osis:group:default:inst:2"]);
    for method in ["pause_queue", "resume_queue"] {
        assert_eq!(client.fault(method, json!(["python"])).await.code, 1003);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reason_not_to_run_is_explained() {
    let (house, _server, client) = open(1).await;
    let why = async |id: &Value, reason: &str| {
        let explanation = client.ok("explain_job", json!([id])).await;
        assert_eq!((&explanation["reason"], &explanation["job_id"]), (&json!(reason), id), "{explanation}");
        assert!(explanation["message"].as_str().is_some_and(|message| !message.is_empty()));
        explanation
    };
    let created = create(&client, json!(["1"])).await;
    why(&created, "not_started").await;
    let later = start(&client, json!({"script": "1", "run_at": "2999-01-01T00:00:00Z"})).await;
    assert_eq!(why(&later, "due_later").await["due_at"], "2999-01-01T00:00:00.000Z");
    let failed = start(&client, json!({"script": "throw 1", "retries": 1, "retry_backoff": 1000})).await;
    is(&client, &failed, "scheduled").await;
    assert!(why(&failed, "waiting_for_retry").await["due_at"].is_string());

    let running = start(&client, json!(["loop {}"])).await;
    is(&client, &running, "started").await;
    assert!(why(&running, "running").await["message"].as_str().unwrap().contains("osis:default:1"));
    let ended = start(&client, json!({"script": "1", "script_type": "sal"})).await;
    client.ok("stop_job", json!([ended])).await;
    why(&ended, "ended").await;

    let waiting = start(&client, json!({"script": "1", "prerequisites": [running, later]})).await;
    let expected = json!([{"job_id": running, "status": "started"}, {"job_id": later, "status": "scheduled"}]);
    assert_eq!(why(&waiting, "waiting_for_prerequisites").await["waiting_for"], expected);
    let child = start(&client, json!({"script": "1", "parent_id": running})).await;
    assert_eq!(why(&child, "waiting_for_parent").await["waiting_for"], json!([{"job_id": running, "status": "started"}]));
    let continuation = start(&client, json!({"script": "1", "predecessor_id": running})).await;
    assert_eq!(why(&continuation, "waiting_for_predecessor").await["waiting_for"], json!([{"job_id": running, "status": "started"}]));

    let first = start(&client, json!(["1"])).await;
    let second = start(&client, json!(["1"])).await;
    why(&first, "all_actors_busy").await;
    let explanation = why(&second, "all_actors_busy").await;
    let facts = ["queue", "position", "depth", "actors", "running"].map(|fact| explanation[fact].clone());
    assert_eq!(facts, [json!("hero:q:work:type:osis"), json!(2), json!(2), json!(1), json!(1)]);
    house.store.limits().set_running(1);
    let capped = why(&second, "at_concurrency_cap").await;
    assert_eq!(capped["max_running"], 1);
    assert!(capped["message"].as_str().unwrap().starts_with("context 0 runs as many jobs as it may: 1 (max_running)"), "{capped}");
    client.ok("pause_queue", json!(["osis"])).await;
    why(&second, "paused").await;
    let nobodys = start(&client, json!({"script": "1", "group": "nobodys"})).await;
    assert_eq!(why(&nobodys, "no_live_actor").await["actors"], 0);
    let foreign = start(&client, json!({"script": "1", "group": "default", "instance": 1})).await;
    let _: i64 = house.redis.run(&["DEL", "hero:q:work:type:osis:group:default:inst:1"]).await;
    house.store.limits().set_running(0);
    why(&foreign, "in_no_queue").await;
    assert_eq!(client.fault("explain_job", json!([NOBODY])).await.code, 1001);
    client.ok("stop_job", json!([running])).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actors_are_busy_only_if_something_runs() {
    let (house, _server, client) = open(0).await;
    let _: () = house.redis.run(&["SET", "hero:meta:actor:inst:osis:default:1", "{}", "EX", "600"]).await;
    let _: i64 = house.redis.run(&["SADD", "hero:meta:actors", "hero:meta:actor:inst:osis:default:1"]).await;
    let id = start(&client, json!(["1"])).await;
    // Nobody knows what an actor of another program runs.
    for (presence, reason, says) in [
        (r#"{"incarnation": "1"}"#, "waiting_for_actor", "1 actor of osis may take it, and none has a job: "),
        ("{}", "all_actors_busy", "all actors of osis are busy, or have ended without a word"),
    ] {
        let _: () = house.redis.run(&["SET", "hero:meta:actor:inst:osis:default:1", presence, "EX", "600"]).await;
        let explained = client.ok("explain_job", json!([id])).await;
        assert_eq!((&explained["reason"], &explained["actors"]), (&json!(reason), &json!(1)), "{explained}");
        assert!(explained["message"].as_str().unwrap().starts_with(says), "{explained}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_names_the_descendants_that_it_waits_for() {
    let (house, _server, client) = open(1).await;
    let parent = create(&client, json!(["1"])).await;
    let child = create(&client, json!({"script": "1", "parent_id": parent})).await;
    let late = json!({"script": "1", "parent_id": child, "run_at": "2999-01-01T00:00:00Z"});
    let grandchild = start(&client, late).await;
    let continuation = start(&client, json!({"script": "1", "predecessor_id": parent})).await;
    client.ok("start_job", json!([child])).await;
    client.ok("start_job", json!([parent])).await;
    let waits_for = json!([{"job_id": grandchild, "status": "scheduled"}]);
    until("the last descendant is left", || async {
        let explained = client.ok("explain_job", json!([continuation])).await;
        assert_eq!(explained["reason"], "waiting_for_predecessor", "{explained}");
        let says =
            explained["message"].as_str().unwrap().starts_with("its predecessor has ended, and descendants of that must end first: ");
        (says && explained["waiting_for"] == waits_for).then_some(())
    })
    .await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_prerequisites_is_named_in_an_explanation() {
    let (_house, _server, client) = open(0).await;
    let jobs = vec![json!({"script": "1"}); 1000];
    let ids = client.ok("create_jobs", json!({"jobs": jobs})).await;
    let id = start(&client, json!({"script": "1", "prerequisites": ids})).await;
    let explained = client.ok("explain_job", json!([id])).await;
    assert_eq!((&explained["reason"], explained["waiting_for"].as_array().unwrap().len()), (&json!("waiting_for_prerequisites"), 1000));
}

#[tokio::test(flavor = "multi_thread")]
async fn prerequisites_that_were_added_later_are_shown_and_explained() {
    let (_house, _server, client) = open(0).await;
    let waits = create(&client, json!(["1"])).await;
    let before = json!({"script": "1", "dependents": [waits]});
    let mut all = vec![create(&client, before.clone()).await];
    // More than have room in the text of the hash, and a group that is staged.
    for many in [110, 40] {
        let group = client.ok("create_jobs", json!({"jobs": vec![before.clone(); many]})).await;
        all.extend(group.as_array().unwrap().clone());
    }
    let sorted = |mut ids: Vec<Value>| {
        ids.sort_by_key(ToString::to_string);
        ids
    };
    let shown = client.ok("get_job", json!([waits])).await["prerequisites"].as_array().unwrap().clone();
    assert_eq!(sorted(shown), sorted(all.clone()));
    client.ok("start_job", json!([waits])).await;
    let explained = client.ok("explain_job", json!([waits])).await;
    let named: Vec<Value> = explained["waiting_for"].as_array().unwrap().iter().map(|other| other["job_id"].clone()).collect();
    assert_eq!((&explained["reason"], sorted(named)), (&json!("waiting_for_prerequisites"), sorted(all)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_functions_of_scripts_are_listed_by_type() {
    let (_house, _server, client) = open(1).await;
    let all = client.ok("list_functions", json!([])).await;
    let join = all.as_array().unwrap().iter().find(|function| function["name"] == "join").unwrap();
    assert_eq!((&join["group"], &join["parameters"][1]["name"]), (&json!("arrays"), &json!("separator")));
    assert_eq!(client.ok("run_and_wait", json!([join["example"]])).await["value"], join["example_result"]);
    let of = async |script_type: &str| client.ok("list_functions", json!({ "script_type": script_type })).await;
    assert_eq!(of("osis").await, all);
    // Scripts of other types have all but those for objects.
    let without: Vec<&Value> = all.as_array().unwrap().iter().filter(|function| function["capability"] != "objects").collect();
    assert_eq!(of("sal").await, json!(without));
    assert!(without.len() < all.as_array().unwrap().len());
    assert_eq!(of("python").await, json!([]));
}
