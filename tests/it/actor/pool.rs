use std::time::Duration;

use hero::actor::PoolSettings;
use hero::dispatch::Error;
use hero::model::{ErrorKind, JobSpec, Status};

use crate::support::{CONTEXT, House, PATIENCE, pool_settings, spec, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_script_runs_and_its_caller_gets_the_result() {
    let house = House::open(2).await;
    let result = house.run("40 + 2").await.unwrap();
    assert_eq!((result.output.as_str(), result.value, result.attempt), ("42", Some(42.into()), 1));
    let results = futures_util::future::join_all((0..300).map(|number| {
        let house = &house;
        async move { house.run(&format!("{number} + 1")).await.unwrap().output }
    }))
    .await;
    let expected: Vec<String> = (1..=300).map(|number| number.to_string()).collect();
    assert_eq!(results, expected);
    let keys: Vec<String> = house.redis.run(&["KEYS", "hero:q:*"]).await;
    assert!(keys.is_empty(), "{keys:?}");
    let store = house.store.clone();
    assert_eq!(store.actors().list().await.unwrap().len(), 2);
    house.shutdown.cancel();
    tokio::time::timeout(PATIENCE, house.pool.as_ref().unwrap().ended()).await.unwrap();
    assert!(store.actors().list().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_that_have_nothing_to_do_end_but_for_one_and_start_again_for_the_next_jobs() {
    let mut house = House::empty().await;
    let settings = PoolSettings { engine_idle: Duration::from_millis(50), ..pool_settings(house.redis.directory(), 3) };
    house.hire(settings).await;
    let status = house.pool.as_ref().unwrap().status.clone();
    until("all take jobs", async || (status.live() == 3).then_some(())).await;
    for _ in 0..2 {
        until("one engine is left", async || (status.engines().len() == 1).then_some(())).await;
        assert_eq!(status.live(), 3, "all take jobs still");
        let mut long = Vec::new();
        for _ in 0..3 {
            long.push(house.start(spec("print(`begun`); loop {}")).await);
        }
        for id in &long {
            let begun = async || (!house.dispatcher.logs().page(CONTEXT, id, None, 10).await.unwrap().lines.is_empty()).then_some(());
            until("each has an engine of its own", begun).await;
        }
        assert_eq!(status.engines().len(), 3);
        for id in &long {
            assert_eq!(house.dispatcher.jobs().stop(CONTEXT, id).await.unwrap(), Status::Error);
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_script_is_stopped() {
    let house = House::open(1).await;
    let id = house.start(spec("loop {}")).await;
    house.is(&id, Status::Started).await;
    assert_eq!(house.dispatcher.jobs().stop(CONTEXT, &id).await.unwrap(), Status::Error);
    let error = house.dispatcher.jobs().result(CONTEXT, &id).await.unwrap_err();
    assert!(
        matches!(&error, Error::Failed { error, .. } if error.kind == ErrorKind::Stopped && error.message == "stopped_by_request"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_script_is_tried_again_and_then_given_up() {
    let house = House::open(1).await;
    let job = JobSpec { retries: 2, retry_backoff: hero::model::Seconds::new(0.01), ..spec("let x = 1;\n  throw \"no\";") };
    let error = house.dispatcher.jobs().run_and_wait(job, PATIENCE).await.unwrap_err();
    let Error::Failed { error, attempt, .. } = error else { panic!("{error}") };
    assert_eq!((error.kind, attempt, error.line), (ErrorKind::Script, 3, Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_of_decades_before_an_attempt_is_kept() {
    let house = House::open(1).await;
    let id = house.start(JobSpec { retries: 1, retry_backoff: hero::model::Seconds::new(1.5e9), ..spec("throw 1") }).await;
    house.is(&id, Status::Scheduled).await;
    let due: f64 = house.redis.run(&["ZSCORE", "hero:q:scheduled", id.as_str()]).await;
    let seconds = due / 1000.0 - house.store.clock().now().as_millis() as f64 / 1000.0;
    assert!((1.1e9..2e9).contains(&seconds), "{seconds}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_runs_out_leaves_the_job_alone() {
    let house = House::open(1).await;
    let id = house.dispatcher.jobs().create(spec("sleep(3); 7")).await.unwrap();
    house.dispatcher.jobs().start(CONTEXT, &id).await.unwrap();
    let started = || async { (house.dispatcher.jobs().status(CONTEXT, &id).await.unwrap() == Status::Started).then_some(()) };
    until("the job is started", started).await;
    let waited = house.dispatcher.jobs().wait(CONTEXT, &id, Duration::from_millis(50)).await;
    let Err(Error::StillRunning { job_id, explanation, .. }) = waited else { panic!("{waited:?}") };
    assert!(explanation.contains("osis:default:1"), "{explanation}");
    let result = house.dispatcher.jobs().wait(CONTEXT, &job_id, PATIENCE).await.unwrap();
    assert_eq!(result.output, "7");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_a_script_prints_are_there_when_it_has_ended() {
    let house = House::open(1).await;
    let job = JobSpec {
        log_path: Some("a/b.log".into()),
        env_vars: [("TOKEN".to_owned(), "hunter2".to_owned())].into(),
        ..spec("print(\"token \" + env.TOKEN); log_warn(\"two\")")
    };
    let id = house.dispatcher.jobs().run_and_wait(job, PATIENCE).await.unwrap().job_id;
    let page = house.dispatcher.logs().page(CONTEXT, &id, None, 10).await.unwrap();
    let texts: Vec<&str> = page.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!((texts, page.ended), (vec!["token ***", "two"], true));
    let file = std::fs::read_to_string(house.redis.directory().join("logs/a/b.log")).unwrap();
    assert!(file.contains(" info token ***\n") && file.contains(" warn two\n"), "{file}");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_jobs_of_one_actor_run_side_by_side_and_others_alone() {
    let mut house = House::empty().await;
    let settings = crate::support::pool_settings(house.redis.directory(), 1);
    house.hire(hero::actor::PoolSettings { script_type: "sal".parse().unwrap(), side_by_side: 3, ..settings }).await;
    let job = |concurrent| JobSpec { script_type: "sal".parse().unwrap(), concurrent, ..spec("loop {}") };
    let mut side_by_side = Vec::new();
    for _ in 0..3 {
        side_by_side.push(house.start(job(true)).await);
    }
    for id in &side_by_side {
        house.is(id, Status::Started).await;
    }
    let alone = house.start(job(false)).await;
    let fourth = house.start(job(true)).await;
    for id in &side_by_side {
        assert_eq!(house.dispatcher.jobs().status(CONTEXT, id).await.unwrap(), Status::Started);
        house.dispatcher.jobs().stop(CONTEXT, id).await.unwrap();
    }
    house.is(&alone, Status::Started).await;
    house.is(&fourth, Status::Dispatched).await;
    house.dispatcher.jobs().stop(CONTEXT, &alone).await.unwrap();
    house.is(&fourth, Status::Started).await;
    house.dispatcher.jobs().stop(CONTEXT, &fourth).await.unwrap();
    house.close().await;
}

/// The events of a job, oldest first.
async fn events(house: &House, id: &hero::model::JobId) -> Vec<String> {
    let events: Vec<(String, std::collections::BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    events.into_iter().filter(|(_, event)| event["job"] == id.as_str()).map(|(_, event)| event["status"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_starts_in_the_script_that_stores_it_when_an_actor_has_room() {
    let house = House::open(1).await;
    crate::support::until("a job that never was in a queue", || async {
        let before: Option<u64> = house.redis.run(&["HGET", "hero:meta:queue:stats:osis", "started"]).await;
        // Nobody waits for it, so it does not run before it is stored.
        let id = house.dispatcher.jobs().run(spec("1")).await.unwrap();
        house.is(&id, Status::Finished).await;
        assert_eq!(house.redis.run::<Option<u64>>(&["HGET", "hero:meta:queue:stats:osis", "started"]).await, Some(before.unwrap_or(0) + 1));
        let queued: Option<String> = house.redis.run(&["HGET", &format!("hero:job:{id}"), "queued_at"]).await;
        let known: bool = house.redis.run(&["SISMEMBER", "hero:meta:queues", "hero:q:work:type:osis"]).await;
        let _: i64 = house.redis.run(&["DEL", "hero:meta:queues"]).await;
        let at_once = queued.is_none() && !known;
        // Then the first of its events stands for two: it was dispatched, too.
        let expected: &[&str] = if at_once { &["started", "finished"] } else { &["dispatched", "started", "finished"] };
        assert_eq!(events(&house, &id).await, expected);
        at_once.then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_could_start_at_once_overtakes_nobody() {
    let mut house = House::empty().await;
    let queued = house.start(JobSpec { priority: 2.try_into().unwrap(), ..spec("1") }).await;
    let settings = crate::support::pool_settings(house.redis.directory(), 1);
    house.hire(settings).await;
    let later = house.run("2").await.unwrap().job_id;
    house.is(&queued, Status::Finished).await;
    assert_eq!(events(&house, &later).await, ["dispatched", "started", "finished"]);
    assert_eq!(events(&house, &queued).await, ["created", "dispatched", "started", "finished"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_into_a_running_job_counts_at_its_end_though_it_started_as_it_was_stored() {
    let house = House::open(1).await;
    let redis = &house.redis;
    until("a job that never was in a queue", || async {
        let written = async {
            let id = until("it runs", || async { redis.run::<Vec<String>>(&["ZRANGE", "hero:q:leases", "0", "-1"]).await.pop() }).await;
            let key = format!("hero:job:{id}");
            let _: i64 = redis.run(&["HSET", &key, "reply_to", "my:replies", "retention", "5000"]).await;
            key
        };
        let (ran, key) = tokio::join!(house.run("sleep(0.3); 42"), written);
        assert_eq!(ran.unwrap().output, "42");
        let reply: (String, String) = redis.run(&["BLPOP", "my:replies", "10"]).await;
        assert!(reply.1.contains("42"), "{reply:?}");
        let kept: i64 = redis.run(&["TTL", &key]).await;
        assert!((4900..=5000).contains(&kept), "{kept}");
        let queued: Option<String> = redis.run(&["HGET", &key, "queued_at"]).await;
        queued.is_none().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_job_is_given_stands_in_its_hash_in_place_of_what_every_job_has() {
    let house = House::open(1).await;
    let before = house.run("1").await.unwrap().job_id;
    let given = JobSpec {
        caller_id: Some("alice".into()),
        worker_id: Some("w1".parse().unwrap()),
        timeout: Some(Duration::from_secs(7).into()),
        retries: 3,
        concurrent: true,
        prerequisites: vec![before.clone()],
        retention: Some(Duration::from_secs(5000).into()),
        ..spec("2")
    };
    let id = house.dispatcher.jobs().run_and_wait(given, PATIENCE).await.unwrap().job_id;
    let list = format!("[\"{before}\"]");
    for (field, value) in [
        ("caller_id", "alice"),
        ("worker_id", "w1"),
        ("timeout", "7"),
        ("retries", "3"),
        ("concurrent", "true"),
        ("prerequisites", &list),
        ("dependencies", &list),
        ("dependents", "[]"),
        ("retention", "5000"),
        ("script_type", "osis"),
    ] {
        let is: Option<String> = house.redis.run(&["HGET", &format!("hero:job:{id}"), field]).await;
        assert_eq!(is.as_deref(), Some(value), "{field}");
    }
}
