//! *rhailib-architecture*: `rhai_tasks:{circle}`, `rhai_task_details:{id}`, and a reply queue named by the client.

use std::time::Duration;

use hero::rhailib::{Client, Error, Status, Task};
use hero::store::Layouts;
use serde_json::{Value, json};

use super::{becomes, blpop, empties, hget, hset, id, llen, lpush, ttl};
use crate::support::{CONTEXT, House, PATIENCE, Redis, pool_settings};

/// A script that ends only when it is stopped.
const ENDLESS: &str = "loop { }";

fn details(id: &str) -> String {
    format!("rhai_task_details:{id}")
}

fn reply_queue(id: &str) -> String {
    format!("rhai_reply:of-{id}")
}

/// Step 1b: the details of a task.
async fn describe(redis: &Redis, id: &str, script: &str) {
    let now = "2026-01-01T00:00:00Z";
    let queue = reply_queue(id);
    let fields = [
        ("script", script),
        ("status", "pending"),
        ("client_rpc_id", "rpc-7"),
        ("created_at", now),
        ("updated_at", now),
        ("reply_to_queue", &queue),
    ];
    hset(redis, &details(id), &fields).await;
}

/// Steps 1d and 4: the message on the reply queue.
async fn answer(redis: &Redis, id: &str) -> Value {
    serde_json::from_str(&blpop(redis, &reply_queue(id)).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_through_the_words_of_its_layout_and_is_answered() {
    let house = House::open(1).await;
    let (redis, id) = (&house.redis, id());
    describe(redis, &id, "40 + 2").await;
    lpush(redis, "rhai_tasks:osis", &id).await;
    assert_eq!(answer(redis, &id).await, json!({ "task_id": id, "status": "completed", "output": "42" }));
    let key = details(&id);
    assert_eq!(hget(redis, &key, "status").await.as_deref(), Some("completed"));
    assert_eq!(hget(redis, &key, "output").await.as_deref(), Some("42"));
    assert_eq!(hget(redis, &key, "client_rpc_id").await.as_deref(), Some("rpc-7"));
    assert!(hget(redis, &key, "updated_at").await.as_deref() > Some("2026-01-01T00:00:00Z"));
    assert!(ttl(redis, &key).await > 0);
    // It is a job like others, under the id that its client knows.
    let job = house.dispatcher.jobs().job(CONTEXT, &id.parse().unwrap()).await.unwrap();
    assert_eq!((job.output.as_deref(), job.client_rpc_id.as_deref()), (Some("42"), Some("rpc-7")));
    assert_eq!(house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs.len(), 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_may_be_pushed_before_it_is_described() {
    let house = House::open(1).await;
    let redis = &house.redis;
    // As the diagram has it, and however long the client takes between its steps.
    let id = id();
    lpush(redis, "rhai_tasks:osis", &id).await;
    empties(redis, "rhai_tasks:osis").await;
    describe(redis, &id, "40 + 2").await;
    assert_eq!(answer(redis, &id).await["output"], "42");
    // An id that is no UUID is the client's business.
    lpush(redis, "rhai_tasks:osis", "task_7").await;
    describe(redis, "task_7", "7").await;
    assert_eq!(answer(redis, "task_7").await, json!({ "task_id": "task_7", "status": "completed", "output": "7" }));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_fails_says_error_in_hash_and_reply() {
    let house = House::open(1).await;
    let (redis, id) = (&house.redis, id());
    describe(redis, &id, "throw \"broken\"").await;
    lpush(redis, "rhai_tasks:osis", &id).await;
    let reply = answer(redis, &id).await;
    assert_eq!((&reply["task_id"], &reply["status"]), (&json!(id), &json!("error")));
    assert!(reply["error"].as_str().unwrap().contains("broken"), "{reply}");
    assert_eq!(hget(redis, &details(&id), "status").await.as_deref(), Some("error"));
    assert_eq!(hget(redis, &details(&id), "error").await.as_deref(), reply["error"].as_str());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_task_is_processing_and_its_client_may_delete_its_queue_at_any_time() {
    let house = House::open(1).await;
    let (redis, id) = (&house.redis, id());
    describe(redis, &id, ENDLESS).await;
    lpush(redis, "rhai_tasks:osis", &id).await;
    becomes(redis, &details(&id), "status", "processing").await;
    let _: i64 = redis.run(&["DEL", &reply_queue(&id)]).await;
    lpush(redis, "hero:q:ctl:type:osis", &id).await;
    becomes(redis, &details(&id), "status", "error").await;
    assert_eq!(hget(redis, &details(&id), "error").await.as_deref(), Some("stopped_by_request"));
    // The reply that nobody takes goes by itself.
    assert!((1..=300).contains(&ttl(redis, &reply_queue(&id)).await));
    let _: i64 = redis.run(&["DEL", &reply_queue(&id)]).await;
    let next = super::id();
    describe(redis, &next, "\"next\"").await;
    lpush(redis, "rhai_tasks:osis", &next).await;
    assert_eq!(answer(redis, &next).await["output"], "next");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_pool_serves_several_circles_in_turn() {
    let mut house = House::empty().await;
    let circles = ["osis", "circle_1", "my.other-circle"];
    let mut tasks = Vec::new();
    for circle in circles {
        for _ in 0..40 {
            let id = id();
            describe(&house.redis, &id, &format!("\"{circle}\"")).await;
            lpush(&house.redis, &format!("rhai_tasks:{circle}"), &id).await;
            tasks.push((id, circle));
        }
    }
    let mut settings = pool_settings(house.redis.directory(), 2);
    settings.layouts = Layouts { circles: circles.map(|circle| circle.parse().unwrap()).to_vec(), ..Layouts::none() };
    house.hire(settings).await;
    for (id, circle) in &tasks {
        assert_eq!(answer(&house.redis, id).await["output"], *circle);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_others_run_or_that_are_none_are_left_alone() {
    let house = House::open(1).await;
    let (redis, taken, done, good) = (&house.redis, id(), id(), id());
    let now = house.store.clock().now().to_string();
    describe(redis, &taken, "\"ran twice\"").await;
    hset(redis, &details(&taken), &[("status", "processing"), ("updated_at", &now)]).await;
    describe(redis, &done, "\"ran twice\"").await;
    hset(redis, &details(&done), &[("status", "completed"), ("output", "before")]).await;
    let _: String = redis.run(&["SET", &details("text"), "no hash"]).await;
    for element in [&taken, &done, "text", "", "a b", "*"] {
        lpush(redis, "rhai_tasks:osis", element).await;
    }
    describe(redis, &good, "40 + 2").await;
    lpush(redis, "rhai_tasks:osis", &good).await;
    assert_eq!(answer(redis, &good).await["output"], "42");
    assert_eq!(llen(redis, "rhai_tasks:osis").await, 0);
    assert_eq!(hget(redis, &details(&taken), "status").await.as_deref(), Some("processing"));
    assert_eq!(hget(redis, &details(&done), "output").await.as_deref(), Some("before"));
    // A task whose id is that of a job is another one.
    let job = house.run("1").await.unwrap().job_id.to_string();
    describe(redis, &job, "\"task\"").await;
    lpush(redis, "rhai_tasks:osis", &job).await;
    assert_eq!(answer(redis, &job).await, json!({ "task_id": job, "status": "completed", "output": "task" }));
    assert_eq!(house.dispatcher.jobs().result(CONTEXT, &job.parse().unwrap()).await.unwrap().output, "1");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_is_served_by_a_pool() {
    let house = House::open(1).await;
    let client = Client::connect(&house.redis.endpoint()).await.unwrap();
    let osis = |script: &str| Task::new("osis".parse().unwrap(), script);
    assert_eq!(client.submit_and_wait(&osis("40 + 2"), PATIENCE).await.unwrap(), "42");
    let failed = client.submit_and_wait(&osis("throw \"broken\""), PATIENCE).await;
    assert!(matches!(&failed, Err(Error::Script { message, .. }) if message.contains("broken")), "{failed:?}");
    let id = client.submit(&Task { client_rpc_id: Some("rpc-7".into()), ..osis("1") }).await.unwrap();
    becomes(&house.redis, &details(&id), "status", "completed").await;
    let task = client.task(&id).await.unwrap();
    assert_eq!((task.status, task.output.as_deref(), task.client_rpc_id.as_deref()), (Status::Completed, Some("1"), Some("rpc-7")));
    assert!(matches!(client.status("nobody").await, Err(Error::NotFound(id)) if id == "nobody"));
    let left: Vec<String> = house.redis.run(&["KEYS", "rhai_reply:*"]).await;
    assert!(left.is_empty(), "{left:?}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_is_served_by_a_worker_of_rhailib() {
    let redis = Redis::start().await;
    let client = Client::connect(&redis.endpoint()).await.unwrap();
    let task = Task::new("circle_1".parse().unwrap(), "the script");
    // Steps 2 and 3 of the document, by hand.
    let worker = async {
        let id = blpop(&redis, "rhai_tasks:circle_1").await;
        assert_eq!(client.status(&id).await.unwrap(), Status::Pending);
        assert_eq!(hget(&redis, &details(&id), "script").await.as_deref(), Some("the script"));
        let reply_to = hget(&redis, &details(&id), "reply_to_queue").await.unwrap();
        assert!(reply_to.starts_with("rhai_reply:"), "{reply_to}");
        hset(&redis, &details(&id), &[("status", "processing")]).await;
        assert_eq!(client.status(&id).await.unwrap(), Status::Processing);
        hset(&redis, &details(&id), &[("status", "completed"), ("output", "the output")]).await;
        lpush(&redis, &reply_to, &json!({ "task_id": id, "status": "completed", "output": "the output" }).to_string()).await;
    };
    let (output, ()) = tokio::join!(client.submit_and_wait(&task, PATIENCE), worker);
    assert_eq!(output.unwrap(), "the output");

    // Nobody takes the next one, and it asks for no reply any more.
    let waited = client.submit_and_wait(&task, Duration::from_millis(50)).await;
    let Err(Error::TimedOut { task_id, .. }) = waited else { panic!("{waited:?}") };
    assert_eq!(blpop(&redis, "rhai_tasks:circle_1").await, task_id);
    assert_eq!(client.status(&task_id).await.unwrap(), Status::Pending);
    assert_eq!(hget(&redis, &details(&task_id), "reply_to_queue").await, None);
}

#[tokio::test]
async fn what_other_programs_made_of_its_keys_is_told_and_takes_nothing_with_it() {
    let redis = Redis::start().await;
    let client = Client::connect(&redis.endpoint()).await.unwrap();
    let task = Task::new("circle_1".parse().unwrap(), "the script");
    let id = client.submit(&task).await.unwrap();
    // A field that is no text is none of the layout.
    let script = format!("redis.call('HSET', '{}', '\\255\\254', '\\255')", details(&id));
    redis.run::<redis::Value>(&["EVAL", &script, "0"]).await;
    assert_eq!(client.status(&id).await.unwrap(), Status::Pending);
    for key in ["rhai_tasks:circle_1", &details(&id)] {
        let _: () = redis.run(&["SET", key, "of somebody else"]).await;
    }
    let told = client.status(&id).await.unwrap_err();
    assert!(matches!(&told, Error::Store(error) if error.is_spoilt() && error.to_string().contains(&details(&id))), "{told}");
    let refused = client.submit(&task).await.unwrap_err();
    assert!(matches!(&refused, Error::Store(error) if error.is_spoilt() && error.to_string().contains("rhai_tasks:circle_1")), "{refused}");
    // What nobody can take is not left there for ever.
    let left: Vec<String> = redis.run(&["KEYS", "rhai_task_details:*"]).await;
    assert_eq!(left, [details(&id)]);
}
