//! Damage by foreign programs does not stop a function halfway, and work left by an interrupted function is continued.

use std::time::Duration;

use futures_util::future::join_all;
use hero::model::{ErrorKind, JobError, JobId, JobSpec, Status};
use hero::store::{AttemptEnd, Created, Ended, NewJob, Retried};

use super::relations::{create, ended, fetch, job, now, release};
use crate::support::Redis;

const QUEUE: &str = "hero:q:work:type:osis";

fn key(id: &JobId) -> String {
    format!("hero:job:{id}")
}

#[tokio::test]
async fn a_spoilt_number_of_a_dependent_costs_no_other_job() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let many = format!("[{}]", vec![format!("\"{}\"", JobId::random()); 120].join(","));
    for (field, prerequisites) in [("open", "[]"), ("more_prerequisites", &*many)] {
        for all_or_none in [true, false] {
            let waits = JobId::random();
            let job_key = key(&waits);
            let fields = ["id", waits.as_str(), "status", "created", "script", "1", "prerequisites", prerequisites, field, "abc"];
            let _: i64 = redis.run(&[&["HSET", &*job_key][..], &fields].concat()).await;
            let mut jobs: Vec<NewJob> = (0..9).map(|_| job(JobSpec::default())).collect();
            jobs.push(job(JobSpec { dependents: vec![waits.clone()], ..JobSpec::default() }));
            let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
            let answers = if all_or_none {
                store.jobs().create_all_or_none(&jobs).await.unwrap()
            } else {
                join_all(jobs.into_iter().map(|job| store.jobs().create(job))).await.into_iter().map(Result::unwrap).collect()
            };
            assert_eq!(answers, vec![Created::Created(Status::Dispatched); 10]);
            assert_eq!(redis.run::<String>(&["HGET", &job_key, field]).await, "1");
            let mut taken = fetch(&store, &[], 20).await;
            taken.sort();
            let mut expected = ids;
            expected.sort();
            assert_eq!(taken, expected);
        }
    }
}

#[tokio::test]
async fn a_dispatched_job_that_never_came_into_its_queue_is_pushed_again() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (id, _) = create(&store, JobSpec::default()).await;
    // As a function leaves it that ends before its pushes.
    let _: i64 = redis.run(&["DEL", QUEUE, "hero:q:watched"]).await;
    assert_eq!(store.maintenance().discover(std::slice::from_ref(&id)).await.unwrap(), 1);
    for _ in 0..3 {
        store.queues().reap(128).await.unwrap();
        store.clock().advance(std::time::Duration::from_secs(31));
    }
    assert_eq!(fetch(&store, &[], 9).await, [id]);
}

#[tokio::test]
async fn an_ended_job_that_became_another_key_still_releases_its_relatives() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (first, _) = create(&store, JobSpec::default()).await;
    let (second, _) = create(&store, JobSpec { prerequisites: vec![first.clone()], ..JobSpec::default() }).await;
    assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(&first));
    fetch(&store, &[ended(&first)], 0).await;
    let _: () = redis.run(&["SET", &key(&first), "x"]).await;
    release(&store).await;
    assert_eq!(now(&store, &second).await, Status::Dispatched);
}

#[tokio::test]
async fn a_predecessor_that_is_no_job_is_not_waited_for() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (predecessor, _) = create(&store, JobSpec::default()).await;
    let (continuation, _) = create(&store, JobSpec { predecessor_id: Some(predecessor.clone()), ..JobSpec::default() }).await;
    for id in [&predecessor, &continuation] {
        assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(id));
        fetch(&store, &[ended(id)], 0).await;
        release(&store).await;
    }
    let _: () = redis.run(&["SET", &key(&predecessor), "x"]).await;
    assert_eq!(store.jobs().retry(&continuation).await.unwrap(), Retried::OnItsWay(Status::Dispatched));
    // The same from outside, with one of ours in the same fetch.
    let outside = JobId::random();
    let _: i64 = redis.run(&["HSET", &key(&outside), "script", "1", "predecessor_id", predecessor.as_str()]).await;
    let _: i64 = redis.run(&["LPUSH", QUEUE, outside.as_str()]).await;
    assert_eq!(fetch(&store, &[], 9).await, [continuation, outside]);
}

#[tokio::test]
async fn a_spoilt_idempotency_key_costs_no_other_job() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let keyed = JobSpec { idempotency_key: Some("k".into()), ..JobSpec::default() };
    create(&store, keyed.clone()).await;
    let known: Vec<String> = redis.run(&["KEYS", "hero:idem:*"]).await;
    let _: () = redis.run(&["SET", &known[0], "x"]).await;
    let jobs = [job(JobSpec::default()), job(JobSpec::default()), job(keyed.clone())];
    let last = jobs[2].id.clone();
    for created in join_all(jobs.into_iter().map(|job| store.jobs().create(job))).await {
        assert_eq!(created.unwrap(), Created::Created(Status::Dispatched));
    }
    assert_eq!(store.jobs().create(job(keyed)).await.unwrap(), Created::Same(last, Status::Dispatched));
    assert_eq!(fetch(&store, &[], 9).await.len(), 4);
}

#[tokio::test]
async fn a_spoilt_key_of_ours_gives_way_to_what_a_create_and_an_end_write_there() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for spoilt in ["hero:meta:queues", "hero:q:watched", "hero:q:scheduled", "hero:q:release"] {
        let _: () = redis.run(&["SET", spoilt, "x"]).await;
        let later = NewJob { start: false, ..job(JobSpec::default()) };
        assert_eq!(store.jobs().create(later).await.unwrap(), Created::Created(Status::Created), "{spoilt}");
        let (first, status) = create(&store, JobSpec::default()).await;
        assert_eq!(status, Status::Dispatched, "{spoilt}");
        let (second, _) = create(&store, JobSpec { prerequisites: vec![first.clone()], ..JobSpec::default() }).await;
        for id in [&first, &second] {
            assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(id), "{spoilt}");
            fetch(&store, &[ended(id)], 0).await;
            release(&store).await;
            assert_eq!(now(&store, id).await, Status::Finished, "{spoilt}");
        }
    }
}

#[tokio::test]
async fn a_spoilt_set_of_ours_costs_a_fetch_none_of_the_jobs_that_it_took_out_of_a_queue() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for spoilt in ["hero:q:leases", "hero:q:watched", "hero:q:unwritten"] {
        let (first, _) = create(&store, JobSpec::default()).await;
        let (second, _) = create(&store, JobSpec::default()).await;
        // One whose hash is still to come.
        let _: i64 = redis.run(&["LPUSH", QUEUE, JobId::random().as_str()]).await;
        let _: () = redis.run(&["SET", spoilt, "x"]).await;
        assert_eq!(fetch(&store, &[], 9).await, [first, second], "{spoilt}");
    }
}

#[tokio::test]
async fn a_job_of_ours_that_is_found_in_none_of_the_sets_is_listed_once() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (id, _) = create(&store, JobSpec::default()).await;
    let _: i64 = redis.run(&["DEL", QUEUE, "hero:q:watched"]).await;
    // What a foreign program wrote is in no index, whatever its fields are.
    let copied = JobId::random();
    let _: i64 = redis.run(&["COPY", &key(&id), &key(&copied)]).await;
    assert_eq!(store.maintenance().discover(&[id.clone(), copied.clone()]).await.unwrap(), 2);
    assert_eq!(store.maintenance().discover(&[id.clone(), copied.clone()]).await.unwrap(), 0);
    let page = store.jobs().list(&Default::default(), None, 10, 1 << 20).await.unwrap().unwrap();
    assert_eq!(page.jobs.iter().map(|job| &job.job_id).collect::<Vec<_>>(), [&copied, &id]);
}

#[tokio::test]
async fn what_is_spoilt_in_the_middle_of_a_fetch_loses_no_job() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for list in ["hero:q:scheduled", "hero:q:watched", "hero:q:unwritten"] {
        let (failing, _) = create(&store, JobSpec { retries: 1, ..JobSpec::default() }).await;
        assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(&failing));
        // More than one, so that they are taken together; and one without a hash.
        let mut ids = vec![create(&store, JobSpec::default()).await.0, create(&store, JobSpec::default()).await.0];
        let late = JobId::random();
        let _: i64 = redis.run(&["LPUSH", QUEUE, late.as_str()]).await;
        let _: () = redis.run(&["SET", list, "x"]).await;
        let error = JobError::new(ErrorKind::Script, "no luck");
        let failed = Ended { end: AttemptEnd::Failed { error, retry_in: Duration::from_secs(3600) }, ..ended(&failing) };
        let mut taken = fetch(&store, &[failed], 9).await;
        ids.sort_unstable();
        taken.sort_unstable();
        assert_eq!(taken, ids, "{list}");
        assert_eq!(now(&store, &failing).await, Status::Scheduled, "{list}");
        assert!(redis.run::<Option<f64>>(&["ZSCORE", "hero:q:scheduled", failing.as_str()]).await.is_some(), "{list}");
        let late = format!("{late} {QUEUE}");
        assert!(redis.run::<Option<f64>>(&["ZSCORE", "hero:q:unwritten", &late]).await.is_some(), "{list}");
        // The end of a foreign actor is not lost either.
        let (foreign, _) = create(&store, JobSpec { retries: 1, ..JobSpec::default() }).await;
        let _: String = redis.run(&["RPOP", QUEUE]).await;
        let _: i64 = redis.run(&["HSET", &key(&foreign), "status", "error", "error", "no luck"]).await;
        let _: () = redis.run(&["SET", "hero:q:scheduled", "x"]).await;
        store.clock().advance(Duration::from_secs(10));
        store.maintenance().discover(std::slice::from_ref(&foreign)).await.unwrap();
        store.jobs().wait(&foreign).await.unwrap();
        assert_eq!(now(&store, &foreign).await, Status::Scheduled, "{list}");
        assert!(redis.run::<Option<f64>>(&["ZSCORE", "hero:q:scheduled", foreign.as_str()]).await.is_some(), "{list}");
    }
}
