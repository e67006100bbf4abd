//! Schedules over RPC.

use std::sync::Arc;

use hero::actor::ScriptChecker;
use hero::process::Spawner;
use serde_json::{Value, json};

use crate::support::{Client, House, Server, pool_settings, until};

async fn open(actors: u32) -> (House, Server, Client) {
    let house = if actors == 0 { House::empty().await } else { House::open(actors).await };
    let server = Server::of(&house).await;
    let client = server.connect().await;
    (house, server, client)
}

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_runs_again_and_again_until_it_is_deleted() {
    let (house, _server, client) = open(1).await;
    let schedule = client.ok("create_schedule", json!([{"script": "40 + 2", "env_vars": {"A": "secret"}}, "* * * * * *"])).await;
    assert_eq!((&schedule["job"]["env_vars"], &schedule["job"]["caller_id"]), (&json!({"A": "***"}), &json!("anonymous")));
    let id = &schedule["schedule_id"];
    let finished = async || {
        let page = client.ok("list_jobs", json!({"filter": {"status": "finished", "labels": {"schedule": id}}})).await;
        page["jobs"].as_array().unwrap().clone()
    };
    until("three runs", || async { (finished().await.len() >= 3).then_some(()) }).await;
    assert!(finished().await.iter().all(|job| job["output"] == "42" && job["labels"]["slot"].is_string()));
    let listed = client.ok("list_schedules", json!([])).await;
    let listed = &listed["schedules"][0];
    assert!(listed["schedule_id"] == *id && listed["runs"].as_u64().unwrap() >= 3 && listed["last_job"].is_string(), "{listed}");
    assert_eq!(listed["next_runs"].as_array().unwrap().len(), 5);
    assert_eq!(listed["job"]["env_vars"], json!({"A": "***"}));
    assert_eq!(client.ok("delete_schedule", json!([id])).await, true);
    assert_eq!(client.ok("list_schedules", json!([])).await, json!({"schedules": []}));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_hold_every_schedule_in_the_order_of_the_next_runs() {
    let (_house, _server, client) = open(0).await;
    let mut ids = Vec::new();
    // Several are due at the very same time.
    for every in [500, 100, 300, 100, 400, 200, 100] {
        let spec = json!({"job": {"script": "1"}, "every": every, "start_at": "2100-01-01T00:00:00Z"});
        ids.push(client.ok("create_schedule", spec).await["schedule_id"].clone());
    }
    let early = client.ok("create_schedule", json!({"job": {"script": "1"}, "every": 3600})).await["schedule_id"].clone();
    for limit in [1, 3, 7, 8, 100] {
        let (mut found, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = if cursor.is_null() { json!({"limit": limit}) } else { json!({"limit": limit, "cursor": cursor}) };
            let mut page = client.ok("list_schedules", params).await;
            let schedules = page["schedules"].as_array().unwrap();
            assert!(schedules.len() <= limit);
            found.extend(schedules.iter().map(|schedule| schedule["schedule_id"].clone()));
            cursor = page["next_cursor"].take();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!((found.len(), &found[0]), (8, &early), "by {limit}");
        assert!(ids.iter().all(|id| found.contains(id)));
    }
    for cursor in ["", "x", "1-", "1-x", "x-00000000-0000-4000-8000-000000000000"] {
        let fault = client.fault("list_schedules", json!({"cursor": cursor})).await;
        assert!(fault.code == -32602 && fault.message.contains("next_cursor"), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_schedules_are_refused_with_the_reason() {
    let (house, _server, client) = open(0).await;
    let job = json!({"script": "1"});
    for (params, words) in [
        (json!({"job": job}), ["cron", "every", "one of them"]),
        (json!({"job": job, "cron": "* * * * *", "every": 5}), ["cron", "every", "one of them"]),
        (json!({"job": job, "cron": "61 * * * *"}), ["cron: ", "\"61\" is no minute", "0 to 59"]),
        (json!({"job": job, "cron": "1 2 3"}), ["cron: ", "3 fields", "such as \"0 9 * * MON-FRI\""]),
        (json!({"job": job, "cron": "0 0 30 2 *"}), ["cron: ", "no run", "no such date"]),
        (json!({"job": job, "cron": "0 0 1 1 *", "end_at": "1999-01-01T00:00:00Z"}), ["cron: ", "no run", "end_at"]),
        (json!({"job": job, "cron": "0 0 * * *", "time_zone": "Europe/Berlyn"}), ["time_zone: ", "Europe/Berlyn", "Europe/Berlin"]),
        (json!({"job": job, "every": 0.1}), ["every: ", "0.1", "once a second"]),
        (json!({"job": job, "every": 5, "overlap": "maybe"}), ["maybe", "skip", "queue"]),
        (json!({"job": job, "every": 5, "missed": "some"}), ["some", "once", "all"]),
        (json!({"job": job, "every": 5, "missed_limit": 5000}), ["missed_limit: ", "5000", "1000"]),
        (json!({"job": job, "every": 5, "name": "x".repeat(2000)}), ["name: ", "longer", "1024"]),
        (json!({"every": 5}), ["job", "missing", ""]),
        (json!({"job": {"script": "1", "run_at": "2100-01-01T00:00:00Z"}, "every": 5}), ["job: ", "run_at", "single jobs"]),
        (json!({"job": {"script": "1", "job_id": NOBODY}, "every": 5}), ["job: ", "job_id", "single jobs"]),
        (json!({"job": {"script": "1", "idempotency_key": "k"}, "every": 5}), ["job: ", "idempotency_key", "single jobs"]),
        (json!({"job": {"script": "1", "prerequisites": [NOBODY]}, "every": 5}), ["job: ", "prerequisites", "single jobs"]),
        (json!({"job": {"script": "1", "parent_id": NOBODY}, "every": 5}), ["job: ", "parent_id", "single jobs"]),
        (json!({"job": {"script": "1", "timeout": 0}, "every": 5}), ["timeout", "0", "never run"]),
    ] {
        let fault = client.fault("create_schedule", params.clone()).await;
        assert_eq!(fault.code, -32602, "{params}: {fault:?}");
        assert!(words.iter().all(|word| fault.message.contains(word)), "{params}: {fault:?}");
    }
    let other = json!({"script": "1", "context_id": 7});
    assert_eq!(client.fault("create_schedule", json!({"job": other, "every": 5})).await.code, 1011);
    let unknown = json!({"script": "1", "script_type": "cobol"});
    assert_eq!(client.fault("create_schedule", json!({"job": unknown, "every": 5})).await.code, 1003);
    let large = json!({"script": "1".repeat(100_000)});
    assert_eq!(client.fault("create_schedule", json!({"job": large, "every": 5})).await.code, 1008);
    let fault = client.fault("delete_schedule", json!([NOBODY])).await;
    assert_eq!((fault.code, &fault.data), (1011, &json!({"schedule_id": NOBODY})));
    let chosen = json!({"job": job, "every": 3600, "schedule_id": NOBODY});
    assert_eq!(client.ok("create_schedule", chosen.clone()).await["schedule_id"], NOBODY);
    let fault = client.fault("create_schedule", chosen).await;
    assert_eq!((fault.code, &fault.data), (1002, &json!({"schedule_id": NOBODY})), "{fault:?}");
    assert_eq!(client.ok("list_schedules", json!([])).await["schedules"].as_array().unwrap().len(), 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_does_not_compile_is_refused_before_it_is_stored() {
    let (house, _server, client) = open(0).await;
    let checker = Arc::new(ScriptChecker::new(Spawner::start().unwrap(), pool_settings(house.redis.directory(), 1).engine));
    house.dispatcher.compile_with(Arc::new(move |script_type, script, names| {
        let (known, checker, script) = (script_type.as_str() == "osis", checker.clone(), script.to_owned());
        Box::pin(async move { if known { checker.check(&script, names).await } else { None } })
    }));
    let wrong = json!({"job": {"script": "let y = 1;\nlet x = ;"}, "every": 3600});
    // On a machine that is too busy for an engine to answer in time it is accepted; then another try.
    let mut fault = None;
    for _ in 0..20 {
        match client.call("create_schedule", wrong.clone()).await {
            Err(refused) => fault = Some(refused),
            Ok(stored) => assert_eq!(client.ok("delete_schedule", json!([stored["schedule_id"]])).await, true),
        }
        if fault.is_some() {
            break;
        }
    }
    let fault = fault.unwrap();
    assert_eq!(fault.code, -32602);
    assert!(fault.message.starts_with("script: Syntax error: ") && fault.message.ends_with("(line 2, column 9)"), "{fault:?}");
    assert_eq!(
        (&fault.data["error"]["kind"], &fault.data["error"]["line"], &fault.data["error"]["column"]),
        (&json!("script"), &json!(2), &json!(9))
    );
    // What is right, and what nobody here can tell, is stored.
    client.ok("create_schedule", json!({"job": {"script": "40 + 2"}, "every": 3600})).await;
    client.ok("create_schedule", json!({"job": {"script": "let x = ;", "script_type": "sal"}, "every": 3600})).await;
    assert_eq!(client.ok("list_schedules", json!([])).await["schedules"].as_array().unwrap().len(), 2);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_stands_for_one_schedule() {
    let (house, server, client) = open(0).await;
    let spec = json!({"job": {"script": "1"}, "every": 3600, "idempotency_key": "k"});
    let made = client.ok("create_schedule", spec.clone()).await;
    // At once, and after a while on another connection: that of somebody who heard no answer.
    let others: Vec<Client> = vec![server.connect().await, server.connect().await];
    for other in &others {
        assert_eq!(other.ok("create_schedule", spec.clone()).await, made);
    }
    let mut at_once = Vec::new();
    for each in 0..20 {
        let (client, spec) = (others[each % 2].clone(), json!({"job": {"script": "1"}, "every": 60, "idempotency_key": "many"}));
        at_once.push(tokio::spawn(async move { client.ok("create_schedule", spec).await["schedule_id"].clone() }));
    }
    let ids: Vec<Value> = futures_util::future::join_all(at_once).await.into_iter().map(Result::unwrap).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(client.ok("list_schedules", json!({})).await["schedules"].as_array().unwrap().len(), 2);
    // Another spec, or another caller, is another request.
    let fault = client.fault("create_schedule", json!({"job": {"script": "2"}, "every": 3600, "idempotency_key": "k"})).await;
    assert_eq!((fault.code, &fault.data["schedule_id"]), (1010, &made["schedule_id"]), "{fault:?}");
    let of_other = json!({"job": {"script": "1", "caller_id": "7"}, "every": 3600, "idempotency_key": "k"});
    assert_ne!(client.ok("create_schedule", of_other).await["schedule_id"], made["schedule_id"]);
    // Neither a job nor a flow is it that has the same key.
    client.ok("create_job", json!({"script": "1", "idempotency_key": "k"})).await;
    assert_eq!(client.ok("create_schedule", spec.clone()).await, made);
    // One that was deleted stands for nothing.
    client.ok("delete_schedule", json!([made["schedule_id"]])).await;
    assert_ne!(client.ok("create_schedule", spec).await["schedule_id"], made["schedule_id"]);
    assert_eq!(client.fault("create_schedule", json!({"job": {"script": "1"}, "every": 9, "idempotency_key": ""})).await.code, -32602);
    house.close().await;
}
