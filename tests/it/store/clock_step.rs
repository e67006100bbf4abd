//! The clock of Redis is set back: timed waits do not last until it shows that time again.

use std::time::Duration;

use hero::model::{ContextId, ErrorKind, JobError, JobId, JobSpec, Status, Timestamp};
use hero::store::{AttemptEnd, Ended, NewJob, Store};

use super::fetch;
use crate::support::Redis;

const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);
/// After how long a job is tried again.
const BACKOFF: Duration = Duration::from_secs(10);

/// A store whose clock shows a time that is an hour ahead, and the time to which it is set back. Leases were looked at just now.
async fn an_hour_ahead() -> (Redis, Store, Timestamp) {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let now = store.clock().now();
    store.clock().stop_at(now.plus(HOUR));
    store.queues().reap(128).await.unwrap();
    (redis, store, now)
}

fn new(run_at: Option<Timestamp>) -> NewJob {
    let spec = JobSpec { script: "1".into(), retries: 9, run_at, ..JobSpec::default() };
    NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None }
}

/// A job whose first attempt has failed, and waits for the next.
async fn failed(store: &Store) -> JobId {
    let id = new_started(store).await;
    let outcome = AttemptEnd::Failed { error: JobError::new(ErrorKind::Script, "no"), retry_in: BACKOFF };
    let end = Ended::of(id.clone(), 1, 1, store.clock().now(), outcome);
    assert_eq!(fetch(store, &[end], 0).await.statuses, [Some(Status::Scheduled)]);
    id
}

async fn new_started(store: &Store) -> JobId {
    store.jobs().create(new(None)).await.unwrap();
    fetch(store, &[], 1).await.taken.remove(0).job
}

/// Its status after the loops have looked at this time.
async fn status_at(store: &Store, time: Timestamp, id: &JobId) -> Status {
    store.clock().stop_at(time);
    // Once for each thing that is looked through.
    for _ in 0..3 {
        store.queues().reap(128).await.unwrap();
    }
    store.jobs().promote(128).await.unwrap();
    store.jobs().get(id).await.unwrap().unwrap().status
}

#[tokio::test]
async fn a_job_is_tried_again_after_its_pause() {
    let (_redis, store, now) = an_hour_ahead().await;
    let id = failed(&store).await;
    for (after, status) in [(Duration::ZERO, Status::Scheduled), (9 * SECOND, Status::Scheduled), (10 * SECOND, Status::Dispatched)] {
        assert_eq!(status_at(&store, now.plus(after), &id).await, status, "{after:?} after that");
    }
}

#[tokio::test]
async fn a_job_is_tried_again_after_its_pause_though_the_clock_is_set_back_again_and_again() {
    let (_redis, store, now) = an_hour_ahead().await;
    let id = failed(&store).await;
    for back in 1..4 {
        assert_eq!(status_at(&store, now.minus(HOUR * back), &id).await, Status::Scheduled);
    }
    assert_eq!(status_at(&store, now.minus(HOUR * 3).plus(9 * SECOND), &id).await, Status::Scheduled);
    assert_eq!(status_at(&store, now.minus(HOUR * 3).plus(10 * SECOND), &id).await, Status::Dispatched);
}

#[tokio::test]
async fn a_job_that_is_to_run_at_a_time_runs_when_the_clock_shows_it() {
    let (_redis, store, now) = an_hour_ahead().await;
    let job = new(Some(now.plus(HOUR + BACKOFF)));
    store.jobs().create(job.clone()).await.unwrap();
    for (after, status) in [(BACKOFF, Status::Scheduled), (HOUR, Status::Scheduled), (HOUR + BACKOFF, Status::Dispatched)] {
        assert_eq!(status_at(&store, now.plus(after), &job.id).await, status, "{after:?} after that");
    }
}

#[tokio::test]
async fn a_lease_that_nobody_renews_ends_in_time_and_one_that_is_renewed_does_not() {
    let (_redis, store, now) = an_hour_ahead().await;
    let (dead, alive) = (new_started(&store).await, new_started(&store).await);
    // A step of less than a lease is like any other.
    store.clock().stop_at(now.plus(HOUR).minus(10 * SECOND));
    store.queues().reap(128).await.unwrap();
    for after in [0, 10, 20, 29] {
        store.clock().stop_at(now.plus(after * SECOND));
        store.queues().reap(128).await.unwrap();
        assert!(store.queues().renew(&[(alive.clone(), 1)]).await.unwrap().is_empty());
        assert_eq!(status_at(&store, now.plus(after * SECOND), &dead).await, Status::Started, "{after} s after that");
    }
    assert_eq!(status_at(&store, now.plus(31 * SECOND), &dead).await, Status::Dispatched);
    assert_eq!(status_at(&store, now.plus(31 * SECOND), &alive).await, Status::Started);
}

#[tokio::test]
async fn what_redis_itself_says_of_its_clock_takes_no_job_from_who_renews_it() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let now = store.clock().now();
    // Its clock showed a time an hour ahead, by mistake.
    let ahead = redis.store().await;
    ahead.clock().stop_at(now.plus(HOUR));
    ahead.queues().reap(128).await.unwrap();
    let id = new_started(&store).await;
    let ends: f64 = redis.run(&["ZSCORE", "hero:q:leases", id.as_str()]).await;
    let _: i64 = redis.run(&["ZADD", "hero:q:leases", &(ends + HOUR.as_millis() as f64).to_string(), id.as_str()]).await;
    // This one was entered after the step, before anybody saw that.
    let late = new_started(&store).await;
    store.queues().reap(128).await.unwrap();
    for id in [&id, &late] {
        assert_eq!(store.jobs().get(id).await.unwrap().unwrap().status, Status::Started);
    }
    assert!(store.queues().renew(&[(late.clone(), 1)]).await.unwrap().is_empty());
    let ends_now: f64 = redis.run(&["ZSCORE", "hero:q:leases", id.as_str()]).await;
    assert!((ends_now - ends).abs() < 10_000.0, "{ends} {ends_now}");
}

#[tokio::test]
async fn a_job_that_was_lost_from_its_queue_is_found_in_time() {
    let (redis, store, now) = an_hour_ahead().await;
    let job = new(None);
    store.jobs().create(job.clone()).await.unwrap();
    // A foreign actor popped it, and died.
    let _: i64 = redis.run(&["DEL", "hero:q:work:type:osis"]).await;
    for after in [0, 61, 62, 93, 94] {
        assert_eq!(status_at(&store, now.plus(after * SECOND), &job.id).await, Status::Dispatched);
    }
    assert_eq!(redis.run::<Vec<String>>(&["LRANGE", "hero:q:work:type:osis", "0", "-1"]).await, [job.id.to_string()]);
}

#[tokio::test]
async fn many_are_looked_through_some_with_each_call() {
    const MANY: usize = 1000;
    let (redis, store, now) = an_hour_ahead().await;
    let ahead = now.plus(HOUR);
    for _ in 0..MANY {
        let (id, due) = (JobId::random(), ahead.plus(BACKOFF).as_millis().to_string());
        let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "status", "scheduled", "updated_at", &ahead.to_string()]).await;
        let _: i64 = redis.run(&["ZADD", "hero:q:scheduled", &due, id.as_str()]).await;
    }
    store.clock().stop_at(now);
    let soon = now.plus(BACKOFF).as_millis().to_string();
    let mut last = 0;
    while last < MANY {
        store.queues().reap(128).await.unwrap();
        let entered = redis.run(&["ZCOUNT", "hero:q:scheduled", "-inf", &soon]).await;
        // What a hash table gives at once is more by chance, and not by much.
        assert!(entered > last && entered - last < 200, "{last} {entered}");
        last = entered;
    }
    let before = redis.calls("zadd").await;
    for _ in 0..5 {
        store.queues().reap(128).await.unwrap();
    }
    assert_eq!(redis.calls("zadd").await, before, "it goes on");
}

#[tokio::test]
async fn what_other_programs_wrote_is_late_by_the_step_at_most_and_never_early() {
    let (redis, store, now) = an_hour_ahead().await;
    let far = now.plus(HOUR * 1000);
    let due = |time: Timestamp| time.as_millis().to_string();
    let (odd, plain) = (JobId::random(), JobId::random());
    for (id, updated_at, at) in [(&odd, far.to_string(), now.plus(HOUR * 2)), (&plain, "soon".to_owned(), now.plus(HOUR * 2))] {
        let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "status", "scheduled", "updated_at", &updated_at]).await;
        let _: i64 = redis.run(&["ZADD", "hero:q:scheduled", &due(at), id.as_str()]).await;
    }
    let _: i64 = redis.run(&["ZADD", "hero:q:scheduled", &due(far), "no id"]).await;
    let _: i64 = redis.run(&["ZADD", "hero:q:messages", &due(far), "no message"]).await;
    assert_eq!(status_at(&store, now, &odd).await, Status::Scheduled);
    let at = async |id: &JobId| redis.run::<f64>(&["ZSCORE", "hero:q:scheduled", id.as_str()]).await as i64;
    assert_eq!((at(&odd).await, at(&plain).await), (now.plus(HOUR).as_millis(), now.plus(HOUR * 2).as_millis()));
}

#[tokio::test]
async fn a_context_that_sleeps_is_opened_to_be_looked_through() {
    let (_redis, store, now) = an_hour_ahead().await;
    failed(&store).await;
    let databases = store.contexts().databases().unwrap().unwrap();
    let due = async || {
        let pending = databases.pending(&[ContextId(0)], &[]).await.unwrap().remove(0).1.unwrap();
        pending.due.unwrap()
    };
    assert_eq!(due().await, now.plus(HOUR + BACKOFF));
    store.clock().stop_at(now);
    assert!(due().await <= now);
    for _ in 0..3 {
        store.queues().reap(128).await.unwrap();
    }
    assert_eq!(due().await, now.plus(BACKOFF));
}

#[tokio::test]
async fn room_in_a_context_does_not_wait_for_who_stood_in_line_before() {
    let (redis, store, now) = an_hour_ahead().await;
    let ahead = now.plus(HOUR).as_millis().to_string();
    let _: i64 = redis.run(&["ZADD", "hero:q:capped", &ahead, "sal"]).await;
    store.clock().stop_at(now);
    store.limits().set_running(1);
    store.jobs().create(new(None)).await.unwrap();
    assert_eq!(fetch(&store, &[], 1).await.taken.len(), 1);
}
