use std::time::{Duration, Instant};

use hero::conveyor::{self, AddError, Context, Conveyor, Job, MarshalError, Step, Time};
use tokio_util::sync::CancellationToken;

use super::{Message, conveyor_keys, elements, id, members};
use crate::support::{PATIENCE, Redis};

async fn client(redis: &Redis) -> Context {
    Context::new(Conveyor::connect(&redis.endpoint(), None).await.unwrap())
}

fn job() -> Job {
    Job { uuid: id(), r#type: "osis".into(), queue: "work".into(), payload: b"1".to_vec(), max_retries: 1, ..Job::default() }
}

/// The same job as a client in another language writes it.
fn bytes(job: &Job) -> Vec<u8> {
    let message = Message {
        uuid: job.uuid.clone(),
        kind: job.r#type.clone(),
        queue: job.queue.clone(),
        payload: job.payload.clone(),
        run_at: job.run_at.map(|time| time.seconds.try_into().unwrap()),
        parent: job.parent_uuid.clone(),
        predecessor: job.predecessor_uuid.clone(),
        max_retries: job.max_retries.try_into().unwrap(),
    };
    message.bytes()
}

fn in_seconds(seconds: i64) -> Option<Time> {
    Some(Time { seconds: chrono::Utc::now().timestamp() + seconds, nanos: 0 })
}

#[tokio::test]
async fn no_job_is_an_error_and_writes_nothing() {
    let redis = Redis::start().await;
    let error = conveyor::add(&client(&redis).await, None, false).await.unwrap_err();
    assert!(matches!(error, AddError::NilJob) && error.is_critical() && !error.is_recoverable());
    assert!(conveyor_keys(&redis).await.is_empty());
}

#[tokio::test]
async fn a_job_without_uuid_gets_one_and_keeps_it() {
    let redis = Redis::start().await;
    let context = client(&redis).await;
    let mut given = Job { uuid: String::new(), ..job() };
    conveyor::add(&context, Some(&mut given), false).await.unwrap();
    assert!(given.uuid.parse::<hero::model::JobId>().is_ok(), "{}", given.uuid);
    assert_eq!(elements(&redis, "queue:work").await, [bytes(&given)]);
    let mut named = job();
    let uuid = named.uuid.clone();
    conveyor::add(&context, Some(&mut named), false).await.unwrap();
    assert_eq!(named.uuid, uuid);
    assert_eq!(elements(&redis, "queue:work").await, [bytes(&named), bytes(&given)], "LPUSH");
}

#[tokio::test]
async fn the_first_relation_that_applies_is_the_only_one() {
    let redis = Redis::start().await;
    let context = client(&redis).await;
    let all = || Job { parent_uuid: "p".into(), predecessor_uuid: "q".into(), run_at: in_seconds(3600), ..job() };
    let flush = async || redis.run::<String>(&["FLUSHALL"]).await;

    let mut child = all();
    conveyor::add(&context, Some(&mut child), false).await.unwrap();
    assert_eq!(conveyor_keys(&redis).await, ["jobs:p:children"]);
    assert_eq!(elements(&redis, "jobs:p:children").await, [bytes(&child)]);

    flush().await;
    let mut continuation = Job { parent_uuid: String::new(), ..all() };
    conveyor::add(&context, Some(&mut continuation), false).await.unwrap();
    assert_eq!(conveyor_keys(&redis).await, ["jobs:q:onComplete"]);
    assert_eq!(elements(&redis, "jobs:q:onComplete").await, [bytes(&continuation)]);

    for dead_parent in [false, true] {
        flush().await;
        let mut later = if dead_parent { all() } else { Job { run_at: in_seconds(3600), ..job() } };
        conveyor::add(&context, Some(&mut later), dead_parent).await.unwrap();
        assert_eq!(conveyor_keys(&redis).await, ["scheduled"]);
        let scheduled: Vec<(Vec<u8>, f64)> = redis.run(&["ZRANGE", "scheduled", "0", "-1", "WITHSCORES"]).await;
        assert_eq!(scheduled, [(bytes(&later), later.run_at.unwrap().seconds as f64)], "epoch seconds");
    }

    flush().await;
    let mut orphan = Job { run_at: in_seconds(-3600), ..all() };
    conveyor::add(&context, Some(&mut orphan), true).await.unwrap();
    assert_eq!(conveyor_keys(&redis).await, ["jobs:p:active", "queue:work"]);
    assert_eq!(members(&redis, "jobs:p:active").await, [orphan.uuid.clone()]);
    assert_eq!(elements(&redis, "queue:work").await, [bytes(&orphan)]);
}

#[tokio::test]
async fn a_namespace_stands_before_every_key() {
    let redis = Redis::start().await;
    let namespace = "conv".parse().unwrap();
    let context = Context::new(Conveyor::connect(&redis.endpoint(), Some(&namespace)).await.unwrap());
    conveyor::add(&context, Some(&mut Job { parent_uuid: "p".into(), ..job() }), true).await.unwrap();
    conveyor::add(&context, Some(&mut Job { run_at: in_seconds(60), ..job() }), false).await.unwrap();
    assert_eq!(conveyor_keys(&redis).await, ["conv:jobs:p:active", "conv:queue:work", "conv:scheduled"]);
}

#[tokio::test]
async fn what_is_no_message_is_refused_before_anything_is_written() {
    let redis = Redis::start().await;
    let context = Context::new(Conveyor::connect(&redis.endpoint(), None).await.unwrap().with_longest(1000));
    let refuse = async |mut job: Job| conveyor::add(&context, Some(&mut job), false).await.unwrap_err();
    assert!(matches!(refuse(Job { queue: String::new(), ..job() }).await, AddError::NoQueue { .. }));
    assert!(matches!(refuse(Job { r#type: String::new(), ..job() }).await, AddError::NoType { .. }));
    let long = refuse(Job { payload: vec![b' '; 1000], ..job() }).await;
    assert!(matches!(&long, AddError::Marshal { source: MarshalError::TooLong { limit: 1000, .. }, .. }), "{long}");
    for time in [Time { seconds: 0, nanos: -1 }, Time { seconds: 0, nanos: 1_000_000_000 }, Time { seconds: i64::MAX, nanos: 0 }] {
        let odd = refuse(Job { run_at: Some(time), ..job() }).await;
        assert!(matches!(&odd, AddError::Marshal { source: MarshalError::Time { field: "run_at", .. }, .. }), "{odd}");
        assert!(odd.is_critical());
    }
    assert!(conveyor_keys(&redis).await.is_empty());
}

#[tokio::test]
async fn every_failure_of_redis_names_its_step_and_key() {
    let redis = Redis::start().await;
    let context = client(&redis).await;
    let keys = ["jobs:p:children", "jobs:q:onComplete", "scheduled", "jobs:p:active", "queue:work"];
    for key in keys {
        let _: String = redis.run(&["SET", key, "of somebody else"]).await;
    }
    let child = || Job { parent_uuid: "p".into(), ..job() };
    let jobs = [
        (child(), false),
        (Job { predecessor_uuid: "q".into(), ..job() }, false),
        (Job { run_at: in_seconds(60), ..job() }, false),
        (child(), true),
        (job(), false),
    ];
    for (at, (mut job, dead_parent)) in jobs.into_iter().enumerate() {
        let error = conveyor::add(&context, Some(&mut job), dead_parent).await.unwrap_err();
        let (step, uuid, key) = match &error {
            AddError::Children { uuid, key, .. } => (0, uuid, key),
            AddError::OnComplete { uuid, key, .. } => (1, uuid, key),
            AddError::Scheduled { uuid, key, .. } => (2, uuid, key),
            AddError::Active { uuid, key, .. } => (3, uuid, key),
            AddError::Queue { uuid, key, .. } => (4, uuid, key),
            error => panic!("{error}"),
        };
        assert_eq!((step, uuid, key.as_str()), (at, &job.uuid, keys[at]));
        assert!(error.is_critical(), "the key has to be put right first: {error}");
        assert!(error.to_string().contains(keys[at]) && error.to_string().contains("WRONGTYPE"), "{error}");
    }
}

#[tokio::test]
async fn a_redis_that_is_away_is_recoverable() {
    let mut redis = Redis::start().await;
    let context = client(&redis).await;
    let mut job = job();
    redis.kill();
    let error = conveyor::add(&context, Some(&mut job), false).await.unwrap_err();
    assert!(matches!(&error, AddError::Queue { key, .. } if key == "queue:work"), "{error}");
    assert!(error.is_recoverable(), "{error}");
    redis.restart().await;
    conveyor::add(&context, Some(&mut job), false).await.unwrap();
    assert!(elements(&redis, "queue:work").await.contains(&bytes(&job)));
}

#[tokio::test]
async fn a_redis_without_memory_is_recoverable() {
    let redis = Redis::start().await;
    let context = client(&redis).await;
    let _: String = redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let error = conveyor::add(&context, Some(&mut job()), false).await.unwrap_err();
    assert!(matches!(&error, AddError::Queue { .. }) && error.is_recoverable(), "{error}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_late_writes_nothing() {
    let redis = Redis::start().await;
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let context = client(&redis).await.with_cancellation(cancelled);
    let error = conveyor::add(&context, Some(&mut job()), false).await.unwrap_err();
    assert!(matches!(&error, AddError::Cancelled { step: Step::Queue, key, .. } if key == "queue:work"), "{error}");
    assert!(error.is_recoverable());
    let context = client(&redis).await.with_deadline(Instant::now());
    let error = conveyor::add(&context, Some(&mut Job { parent_uuid: "p".into(), ..job() }), false).await.unwrap_err();
    assert!(matches!(&error, AddError::Deadline { step: Step::Children, key, .. } if key == "jobs:p:children"), "{error}");
    assert!(error.is_recoverable());
    assert!(conveyor_keys(&redis).await.is_empty());
}

#[tokio::test]
async fn a_call_that_waits_for_redis_ends_at_its_deadline_or_when_it_is_cancelled() {
    let redis = Redis::start().await;
    let context = client(&redis).await;
    let _: String = redis.run(&["CLIENT", "PAUSE", "60000", "WRITE"]).await;
    let late = context.clone().with_deadline(Instant::now() + Duration::from_millis(100));
    let error = conveyor::add(&late, Some(&mut job()), false).await.unwrap_err();
    assert!(matches!(error, AddError::Deadline { step: Step::Queue, .. }), "{error}");
    let token = CancellationToken::new();
    let cancelled = context.with_cancellation(token.clone());
    let adding = tokio::spawn(async move { conveyor::add(&cancelled, Some(&mut job()), false).await });
    tokio::task::yield_now().await;
    token.cancel();
    let error = tokio::time::timeout(PATIENCE, adding).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(error, AddError::Cancelled { step: Step::Queue, .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_serves_many_tasks() {
    let redis = Redis::start().await;
    let context = client(&redis).await;
    let adding = (0..100).map(|_| {
        let context = context.clone();
        tokio::spawn(async move { conveyor::add(&context, Some(&mut job()), false).await })
    });
    for one in adding.collect::<Vec<_>>() {
        one.await.unwrap().unwrap();
    }
    let mut all = elements(&redis, "queue:work").await;
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 100);
}
