//! A foreign actor that runs jobs made here.

use std::time::Duration;

use hero::dispatch::{Error, JobFilter};
use hero::model::{ErrorKind, JobId, JobSpec, Seconds, Status};
use serde_json::json;

use super::{LegacyWorker, Manner, OSIS, hget, hset, lpush};
use crate::support::{CONTEXT, House, PATIENCE, Server, spec, until};

async fn house_with(manner: Manner) -> (House, LegacyWorker) {
    let house = House::empty().await;
    let worker = LegacyWorker::hire(&house.redis, manner).await;
    (house, worker)
}

/// The error of a job.
async fn failure(house: &House, id: &JobId) -> (ErrorKind, String, u32) {
    match house.dispatcher.jobs().wait(CONTEXT, id, PATIENCE).await {
        Err(Error::Failed { error, attempt, .. }) => (error.kind, error.message, attempt),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_made_here_run_with_a_foreign_actor_and_end_as_others_do() {
    for replies in [true, false] {
        let (house, worker) = house_with(Manner { replies, ..Manner::of(&[OSIS]) }).await;
        let result = house.run("echo forty-two").await.unwrap();
        assert_eq!((result.output.as_str(), result.attempt, result.status), ("forty-two", 1, Status::Finished));
        let id = house.start(spec("echo 7")).await;
        assert_eq!(house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE).await.unwrap().output, "7");
        assert_eq!(house.dispatcher.jobs().status(CONTEXT, &id).await.unwrap(), Status::Finished);
        let listed = house.dispatcher.jobs().list(CONTEXT, &JobFilter::default(), None, 10).await.unwrap().jobs;
        assert_eq!(listed.iter().map(|job| job.status).collect::<Vec<_>>(), [Status::Finished; 2]);
        let failed = house.run("fail broken").await.unwrap_err();
        assert!(matches!(&failed, Error::Failed { error, .. } if error.message == "broken" && error.kind == ErrorKind::Script), "{failed}");
        assert_eq!(worker.ran().len(), 3);
        // Nothing is kept for ever, and nothing is watched any more.
        until("no watch", || async { (house.redis.run::<i64>(&["ZCARD", "hero:q:watched"]).await == 0).then_some(()) }).await;
        for key in house.redis.run::<Vec<String>>(&["KEYS", "hero:job:*"]).await {
            assert!(house.redis.run::<i64>(&["TTL", &key]).await > 0, "{key}");
        }
        // Its caller has the result of run_and_wait, so that no reply stays.
        assert_eq!(house.redis.run::<i64>(&["EXISTS", &format!("hero:q:reply:{}", result.job_id)]).await, 0);
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_methods_of_the_wire_serve_jobs_of_a_foreign_actor() {
    let (house, _worker) = house_with(Manner::of(&[OSIS])).await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    let result = client.ok("run_and_wait", json!({"script": "echo 1"})).await;
    assert_eq!(result["output"], "1");
    let id = client.ok("create_job", json!({"script": "echo 2"})).await;
    client.ok("start_job", json!({"job_id": id})).await;
    assert_eq!(client.ok("wait_job", json!({"job_id": id})).await["output"], "2");
    assert_eq!(client.ok("get_status", json!({"job_id": id})).await, "finished");
    let listed = client.ok("list_jobs", json!({"filter": {"status": "finished"}})).await;
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 2, "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_of_a_foreign_actor_that_died_runs_again() {
    let (house, first) = house_with(Manner::of(&[OSIS])).await;
    let id = house.start(JobSpec { timeout: Seconds::new(1.0), ..spec("die again") }).await;
    until("its death", || async { first.is_dead().then_some(()) }).await;
    // Somebody saw that it runs, and waits for its timeout and thirty seconds.
    until("a look", || async { hget(&house.redis, &id, "seen_at").await }).await;
    let second = LegacyWorker::hire(&house.redis, Manner::of(&[OSIS])).await;
    house.is(&id, Status::Started).await;
    house.store.clock().advance(Duration::from_secs(32));
    let result = house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE).await.unwrap();
    assert_eq!((result.output.as_str(), result.attempt, second.ran().len()), ("again", 2, 1));
    assert_eq!(house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap().crashes, 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_apply_to_what_a_foreign_actor_ends_in_error() {
    let (house, worker) = house_with(Manner::of(&[OSIS])).await;
    let retried = |script: &str| JobSpec { retries: 1, retry_backoff: Seconds::new(0.01), ..spec(script) };
    let result = house.dispatcher.jobs().run_and_wait(retried("once bitten"), PATIENCE).await.unwrap();
    assert_eq!((result.output.as_str(), result.attempt), ("bitten", 2));
    let id = house.start(retried("fail twice")).await;
    until("its last end", || async { (house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap().finished_at.is_some()).then_some(()) })
        .await;
    assert_eq!(failure(&house, &id).await, (ErrorKind::Script, "twice".into(), 2));
    assert_eq!(worker.ran().len(), 4);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn relatives_are_released_by_the_ends_that_a_foreign_actor_writes() {
    let (house, worker) = house_with(Manner::of(&[OSIS])).await;
    let dispatcher = &house.dispatcher;
    let parent = dispatcher.jobs().create(spec("echo parent")).await.unwrap();
    let to_parent = Some(parent.clone());
    let dependent = house.start(JobSpec { prerequisites: vec![parent.clone()], ..spec("echo dependent") }).await;
    let child = house.start(JobSpec { parent_id: to_parent.clone(), ..spec("echo child") }).await;
    let continuation = house.start(JobSpec { predecessor_id: to_parent, ..spec("echo continuation") }).await;
    dispatcher.jobs().start(CONTEXT, &parent).await.unwrap();
    for id in [&dependent, &child, &continuation] {
        house.is(id, Status::Finished).await;
    }
    let ran = worker.ran();
    let place = |id: &JobId| ran.iter().position(|ran| ran == id.as_str()).unwrap();
    assert!(place(&parent) == 0 && place(&continuation) > place(&child), "{ran:?}");

    // What was to follow an error does not.
    let failing = dispatcher.jobs().create(spec("fail")).await.unwrap();
    let never = house.start(JobSpec { prerequisites: vec![failing.clone()], ..spec("echo never") }).await;
    dispatcher.jobs().start(CONTEXT, &failing).await.unwrap();
    let (kind, text, _) = failure(&house, &never).await;
    assert!(kind == ErrorKind::Prerequisite && text.contains(failing.as_str()), "{text}");
    assert_eq!(worker.ran().len(), 5);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn relatives_are_released_by_jobs_that_foreign_programs_wrote_and_ran() {
    let (house, worker) = house_with(Manner::of(&["hero:work_queue:w1"])).await;
    let (redis, first) = (&house.redis, JobId::random());
    hset(redis, &first, "echo first", &[]).await;
    let second = house.start(JobSpec { prerequisites: vec![first.clone()], ..spec("echo second") }).await;
    // Whoever is waited for is looked after from that moment on.
    assert!(redis.run::<Option<f64>>(&["ZSCORE", "hero:q:watched", first.as_str()]).await.is_some());
    let child = house.start(JobSpec { parent_id: Some(first.clone()), ..spec("echo child") }).await;
    lpush(redis, "hero:work_queue:w1", &first).await;
    for id in [&second, &child] {
        house.is(id, Status::Dispatched).await;
    }
    // Theirs was never put anywhere else.
    assert_eq!((worker.ran(), redis.run::<i64>(&["LLEN", OSIS]).await), (vec![first.to_string()], 2));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_actor_is_asked_to_stop_through_its_stop_queue() {
    let stops = Some("hero:stop_queue:w7".to_owned());
    let (house, _worker) = house_with(Manner { stops, ..Manner::of(&[OSIS]) }).await;
    let id = house.start(JobSpec { worker_id: Some("w7".parse().unwrap()), ..spec("hang") }).await;
    house.is(&id, Status::Started).await;
    assert_eq!(house.dispatcher.jobs().stop(CONTEXT, &id).await.unwrap(), Status::Error);
    let (kind, text, _) = failure(&house, &id).await;
    // The worker looks once between its first write and the script, and has another word for it then.
    assert!(kind == ErrorKind::Stopped && matches!(text.as_str(), "stopped" | "stopped_by_request"), "{kind:?} {text}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_a_word_of_its_actors_own_runs_and_is_asked_to_stop_and_not_deleted() {
    let house = House::empty().await;
    let id = house.start(spec("1")).await;
    let popped: String = house.redis.run(&["RPOP", OSIS]).await;
    assert_eq!(popped, id.as_str());
    let _: i64 = house.redis.run(&["HSET", &format!("hero:job:{id}"), "status", "running"]).await;
    let refused = house.dispatcher.jobs().delete(CONTEXT, &id).await.unwrap_err();
    assert!(matches!(refused, Error::State { status: Status::Started, .. }), "{refused}");
    let refused = house.dispatcher.jobs().start(CONTEXT, &id).await.unwrap_err();
    assert!(matches!(refused, Error::State { status: Status::Started, .. }), "{refused}");
    assert!(matches!(house.store.jobs().stop(&id).await.unwrap(), hero::store::Stopping::Asked));
    assert_eq!(hget(&house.redis, &id, "status").await.as_deref(), Some("running"), "only its actor ends it");
    let asked: Vec<String> = house.redis.run(&["LRANGE", "hero:q:ctl:type:osis", "0", "-1"]).await;
    assert_eq!(asked, [id.as_str()]);
    house.store.queues().control(&["hero:q:ctl:type:osis".to_owned()]).await.unwrap();
    assert_eq!(hget(&house.redis, &id, "status").await.as_deref(), Some("running"));
    house.close().await;
}
