//! Waits never hang, and never lose their result.

use std::time::Duration;

use futures_util::future::join_all;
use hero::store::{Store, Subscriber};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::*;
use crate::support::dispatcher;

/// Nobody waits in this server any more.
async fn all_have_gone(store: &Store) {
    until("an empty inbox", || async { store.inbox().older_than(Duration::ZERO).is_empty().then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_callers_with_little_patience_all_get_their_result() {
    let (house, server, _client) = open(2).await;
    let clients = join_all((0..5).map(|_| server.connect())).await;
    let seed = crate::support::seed();
    let callers = (0..500_usize).map(|number| {
        let client = &clients[number % 5];
        async move {
            let mut random = StdRng::seed_from_u64(seed.wrapping_add(number as u64));
            let patience = random.random_range(0.0..0.2);
            let mut answer = client.call("run_and_wait", json!({"script": format!("{number} * 2"), "wait_timeout": patience})).await;
            let mut ran_out = 0;
            loop {
                match answer {
                    Ok(result) => {
                        assert_eq!((&result["value"], &result["attempt"]), (&json!(number * 2), &json!(1)));
                        return (result["job_id"].clone(), ran_out);
                    }
                    Err(fault) => {
                        assert_eq!(fault.code, 1102, "{fault:?}");
                        ran_out += 1;
                        answer = client.call("wait_job", json!([fault.data["job_id"], random.random_range(0.0..1.0)])).await;
                    }
                }
            }
        }
    });
    let ended = join_all(callers).await;
    assert!(ended.iter().any(|(_, ran_out)| *ran_out > 0), "every wait was long enough");
    let jobs: std::collections::HashSet<&str> = ended.iter().map(|(id, _)| id.as_str().unwrap()).collect();
    assert_eq!(jobs.len(), 500);
    assert_eq!(house.redis.run::<String>(&["HGET", "hero:meta:queue:stats:osis", "finished"]).await, "500");
    all_have_gone(&house.store).await;
}

/// A second server on the Redis of a house. Nobody but its subscriber tells it of an end: no sweep is there to fall back on.
async fn subscribed(house: &House) -> (DropGuard, Store, Server) {
    let store = house.redis.store().await;
    let dispatcher = dispatcher([store.clone()], house.redis.directory());
    let shutdown = CancellationToken::new();
    let channel = format!("hero:inbox:{}", store.server());
    tokio::spawn(hero::service::run(Subscriber::new(store.clone(), Vec::new()), shutdown.clone()));
    until("the subscriber", || async {
        let (_, count): (String, i64) = house.redis.run(&["PUBSUB", "NUMSUB", &channel]).await;
        (count == 1).then_some(())
    })
    .await;
    (shutdown.drop_guard(), store, Server::over(&dispatcher).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_is_told_of_the_end_without_looking() {
    let (house, _server, client) = open(1).await;
    let (_stop, store, other) = subscribed(&house).await;
    let there = other.connect().await;
    assert_eq!(there.ok("run_and_wait", json!(["40 + 2"])).await["value"], 42);
    assert_eq!(there.fault("run_and_wait", json!(["throw 1"])).await.code, 1101);
    // Both wait for the same jobs: one that ends, one that is stopped where it runs, one that is stopped in its queue.
    for (script, script_type, stops) in [("sleep(0.1); 7", "osis", false), ("loop {}", "osis", true), ("1", "sal", true)] {
        let id = start(&client, json!([script, script_type])).await;
        let waits = [&client, &there].map(|client| {
            let (client, id) = (client.clone(), id.clone());
            tokio::spawn(async move { client.call("wait_job", json!([id])).await })
        });
        let job = id.as_str().unwrap().parse().unwrap();
        until("both wait", || async { (store.inbox().awaits(&job) && house.store.inbox().awaits(&job)).then_some(()) }).await;
        if script_type == "osis" && stops {
            is(&client, &id, "started").await;
        }
        if stops {
            assert_eq!(there.ok("stop_job", json!([id])).await, "error");
        }
        for wait in waits {
            let answer = wait.await.unwrap();
            assert_eq!(answer.is_err(), stops, "{answer:?}");
        }
    }
    all_have_gone(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_only_writes_the_hash_ends_the_wait() {
    let (house, _server, client) = open(0).await;
    for (fields, reply) in [(["status", "finished", "output", "by hand"], "by hand"), (["status", "error", "error", "no luck"], "no luck")]
    {
        let caller = tokio::spawn({
            let client = client.clone();
            async move { client.call("run_and_wait", json!(["1", "sal"])).await }
        });
        let id = until("the job is queued", || async { house.redis.run::<Option<String>>(&["RPOP", "hero:q:work:type:sal"]).await }).await;
        let (key, list) = (format!("hero:job:{id}"), format!("hero:q:reply:{id}"));
        let _: i64 = house.redis.run(&["HSET", &key, "status", "started"]).await;
        let _: i64 = house.redis.run(&["HSET", &key, fields[0], fields[1], fields[2], fields[3]]).await;
        let _: i64 = house.redis.run(&["LPUSH", &list, reply]).await;
        match caller.await.unwrap() {
            Ok(result) => assert_eq!((&result["output"], &result["job_id"]), (&json!("by hand"), &json!(id))),
            Err(fault) => {
                assert_eq!((fault.code, &fault.data["error"]), (1101, &json!({"kind": "script", "message": "no luck"})));
            }
        }
        until("the reply list is gone", || async { (house.redis.run::<i64>(&["EXISTS", &list]).await == 0).then_some(()) }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_leaves_takes_nothing_with_it() {
    let (house, server, client) = open(1).await;
    let mut items = client.subscribe("subscribe_events", json!([{"status": "started"}])).await.unwrap().begun().await;
    let leaving = server.connect().await;
    leaving.send(
        json!({"jsonrpc": "2.0", "id": 1, "method": "run_and_wait", "params": ["while true { sleep(0.01); if args == 1 { return 7 } }"]})
            .to_string(),
    );
    let id = items.next().await["job_id"].clone();
    leaving.send(json!({"jsonrpc": "2.0", "id": 2, "method": "wait_job", "params": [id]}).to_string());
    let queued = create(&client, json!(["7"])).await;
    leaving.send(json!({"jsonrpc": "2.0", "id": 3, "method": "wait_job", "params": [queued]}).to_string());
    until("both wait", || async { (house.store.inbox().older_than(Duration::ZERO).len() == 2).then_some(()) }).await;
    drop(leaving);
    all_have_gone(&house.store).await;
    assert_eq!(client.ok("get_status", json!([id])).await, "started");
    client.ok("start_job", json!([queued])).await;
    client.ok("stop_job", json!([id])).await;
    assert_eq!(client.ok("wait_job", json!([queued])).await["value"], 7);
    all_have_gone(&house.store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_of_zero_looks_once() {
    let (_house, _server, client) = open(1).await;
    let id = create(&client, json!(["7"])).await;
    assert_eq!(client.fault("wait_job", json!([id, 0])).await.code, 1102);
    client.ok("start_job", json!([id])).await;
    assert_eq!(client.ok("wait_job", json!({"job_id": id, "wait_timeout": 3600})).await["value"], 7);
    assert_eq!(client.ok("wait_job", json!([id, 0])).await["value"], 7);
    let fault = client.fault("run_and_wait", json!({"script": "sleep(0.05); 8", "wait_timeout": 0})).await;
    assert_eq!(fault.code, 1102);
    assert_eq!(client.ok("wait_job", json!([fault.data["job_id"]])).await["value"], 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_wait_gives_the_result() {
    let (house, _server, _client) = open(1).await;
    let result = house.dispatcher.jobs().run_and_wait(crate::support::spec("40 + 2"), Duration::MAX).await.unwrap();
    assert_eq!(result.output, "42");
    assert_eq!(house.dispatcher.jobs().wait(crate::support::CONTEXT, &result.job_id, Duration::MAX).await.unwrap(), result);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_tells_those_who_wait() {
    let (house, _server, client) = open(0).await;
    let caller = tokio::spawn({
        let client = client.clone();
        async move { client.fault("run_and_wait", json!(["1", "sal"])).await }
    });
    until("the wait", || async { (!house.store.inbox().older_than(Duration::ZERO).is_empty()).then_some(()) }).await;
    house.dispatcher.close();
    let fault = caller.await.unwrap();
    assert!(fault.code == 1102 && fault.data["explanation"].as_str().unwrap().contains("this server ends"), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_before_the_job_is_stored_does_not_end_the_wait() {
    let (house, _server, _client) = open(1).await;
    // The script that stores the job waits, as it does while Redis comes back.
    let _: () = house.redis.run(&["CLIENT", "PAUSE", "60000", "WRITE"]).await;
    let (dispatcher, store) = (house.dispatcher.clone(), house.store.clone());
    let id = hero::model::JobId::random();
    let mut spec = crate::support::spec("40 + 2");
    spec.job_id = Some(id.clone());
    let caller = tokio::spawn(async move { dispatcher.jobs().run_and_wait(spec, crate::support::PATIENCE).await });
    until("a waiter", || async { store.inbox().awaits(&id).then_some(()) }).await;
    store.inbox().deliver(&id, &hero::store::JobView::Missing, store.inbox().audience());
    let _: () = house.redis.run(&["CLIENT", "UNPAUSE"]).await;
    assert_eq!(caller.await.unwrap().unwrap().output, "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn running_a_job_that_was_created_with_the_same_key_and_id_starts_it() {
    let (house, _server, client) = open(1).await;
    let (_stop, _, other) = subscribed(&house).await;
    for (key, client) in [("here", client.clone()), ("there", other.connect().await)] {
        let id = hero::model::JobId::random();
        let job = json!({"script": "40 + 2", "job_id": id, "idempotency_key": key});
        assert_eq!(client.ok("create_job", job.clone()).await, json!(id));
        let mut run = job;
        run["wait_timeout"] = json!(3600);
        assert_eq!(client.ok("run_and_wait", run.clone()).await["value"], 42);
        // And it has run once.
        assert_eq!(client.ok("run_and_wait", run).await["attempt"], 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_from_before_a_retry_does_not_end_a_wait_from_after_it() {
    let (house, _server, _client) = open(0).await;
    let (store, dispatcher) = (house.store.clone(), house.dispatcher.clone());
    let id = house.start(crate::support::spec("1")).await;
    let (script_type, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [hero::store::ActorRoom { actor: "osis:default:1".into(), room: 1 }];
    let take = async || {
        let fetch = hero::store::Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues };
        store.queues().fetch(&fetch).await.unwrap().taken.remove(0)
    };
    let end = async |outcome| {
        let claimed = take().await;
        let ended = hero::store::Ended::of(claimed.job, claimed.attempt, claimed.claim, claimed.started_at, outcome);
        let fetch = hero::store::Fetch { script_type: &script_type, ends: &[ended], actors: &[], queues: &[] };
        store.queues().fetch(&fetch).await.unwrap();
    };
    let error = hero::model::JobError::new(hero::model::ErrorKind::Script, "no");
    end(hero::store::AttemptEnd::Failed { error, retry_in: Duration::ZERO }).await;
    // A sweep has looked, and before it says so the job is to run again and somebody waits for that.
    let (audience, look) = (store.inbox().audience(), store.jobs().look(&id).await.unwrap());
    dispatcher.jobs().retry(crate::support::CONTEXT, &id).await.unwrap();
    let waiting = tokio::spawn({
        let (dispatcher, id) = (dispatcher.clone(), id.clone());
        async move { dispatcher.jobs().wait(crate::support::CONTEXT, &id, crate::support::PATIENCE).await }
    });
    until("the wait", || async { store.inbox().awaits(&id).then_some(()) }).await;
    assert!(store.inbox().deliver(&id, &look, audience), "it waits on");
    let output = hero::model::Output { text: "7".into(), format: hero::model::OutputFormat::Json };
    end(hero::store::AttemptEnd::Finished(output)).await;
    assert_eq!(waiting.await.unwrap().unwrap().output, "7");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_runs_out_while_its_job_ends_gives_the_result_or_says_why_it_has_not_ended() {
    let (_house, _server, client) = open(2).await;
    for number in 0..300 {
        let patience = f64::from(number % 60) / 10_000.0;
        if let Err(fault) = client.call("run_and_wait", json!({"script": "40 + 2", "wait_timeout": patience})).await {
            assert!(fault.code == 1102 && fault.data["reason"] != "ended", "{fault:?}");
        }
    }
}
