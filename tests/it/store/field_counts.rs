//! Notes that a function keeps about a job save reads, and hide nothing.

use std::time::Duration;

use hero::model::{JobId, JobSpec, Output, OutputFormat, Status, Timestamp};
use hero::store::{AttemptEnd, Claimed, Created, Ended, NewJob, Store, script_behind_the_modules};

use super::fetch;
use crate::support::Redis;

/// A new job that lies in its queue: its id, and the key of its hash.
async fn queued(store: &Store) -> (JobId, String) {
    let id = JobId::random();
    let spec = JobSpec { script: "40 + 2".into(), timeout: Some(Duration::from_secs(7).into()), ..JobSpec::default() };
    let new = NewJob { id: id.clone(), spec, start: true, waited: false, occurrence: None, flow: None };
    assert_eq!(store.jobs().create(new).await.unwrap(), Created::Created(Status::Dispatched));
    let key = format!("hero:job:{id}");
    (id, key)
}

async fn taken(store: &Store) -> Claimed {
    fetch(store, &[], 1).await.taken.remove(0)
}

fn finished(claimed: &Claimed) -> Ended {
    let outcome = AttemptEnd::Finished(Output { text: "42".into(), format: OutputFormat::Json });
    Ended::of(claimed.job.clone(), claimed.attempt, claimed.claim, Timestamp::local(), outcome)
}

#[tokio::test]
async fn a_job_is_given_the_same_whether_it_was_noted_or_is_read_as_a_whole() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    queued(&store).await;
    let mut noted = taken(&store).await;
    assert_eq!((redis.calls("hlen").await, redis.calls("hmget").await), (1, 1));
    let (id, key) = queued(&store).await;
    let _: i64 = redis.run(&["HSET", &key, "unknown", "1"]).await;
    let read = taken(&store).await;
    assert_eq!(read.job, id);
    assert_eq!((redis.calls("hlen").await, redis.calls("hmget").await), (2, 2));
    assert!(noted.queued_at.is_some() && read.queued_at.is_some());
    (noted.job, noted.started_at, noted.queued_at) = (read.job.clone(), read.started_at, read.queued_at);
    assert_eq!(noted, read);
}

#[tokio::test]
async fn what_is_written_into_a_waiting_job_counts_when_it_is_taken() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (_, key) = queued(&store).await;
    let _: i64 = redis.run(&["HSET", &key, "retry_backoff", "5", "failures", "2", "attempt", "2"]).await;
    let claimed = taken(&store).await;
    assert_eq!(claimed.retry_backoff.map(|wait| wait.to_string()), Some("5".into()));
    assert_eq!((claimed.failures, claimed.attempt), (2, 3));
    assert_eq!(fetch(&store, &[finished(&claimed)], 0).await.statuses, [Some(Status::Finished)]);
}

#[tokio::test]
async fn what_is_written_into_a_job_between_its_start_and_its_end_counts_though_it_was_noted_twice() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (_, key) = queued(&store).await;
    let claimed = taken(&store).await;
    let _: i64 = redis.run(&["HSET", &key, "reply_to", "my:replies", "retention", "5000"]).await;
    assert_eq!(fetch(&store, &[finished(&claimed)], 0).await.statuses, [Some(Status::Finished)]);
    assert_eq!(redis.run::<i64>(&["LLEN", "my:replies"]).await, 1);
    assert!((4900..=5000).contains(&redis.run::<i64>(&["TTL", &key]).await));
}

#[tokio::test]
async fn a_hash_with_as_many_fields_in_the_place_of_a_noted_one_is_read_as_a_whole() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (_, key) = queued(&store).await;
    let fields: i64 = redis.run(&["HLEN", &key]).await;
    let _: i64 = redis.run(&["DEL", &key]).await;
    let other = ["status", "dispatched", "script", "41", "failures", "3", "created_at", "2020-01-01T00:00:00.000Z"];
    let _: i64 = redis.run(&[&["HSET", &key][..], &other].concat()).await;
    for number in 4..fields {
        let _: i64 = redis.run(&["HSET", &key, &format!("field{number}"), "x"]).await;
    }
    let claimed = taken(&store).await;
    assert_eq!((claimed.script.as_deref(), claimed.failures), (Some("41"), 3));
}

#[tokio::test]
async fn a_job_that_ran_and_is_pushed_again_gets_another_claim_though_it_started_when_it_was_created() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (id, key) = queued(&store).await;
    let lost = taken(&store).await;
    let started: String = redis.run(&["HGET", &key, "started_at"]).await;
    let _: i64 = redis.run(&["HSET", &key, "created_at", &started]).await;
    // Its lease is over, no reaper has come, and whoever waits for it pushes it again.
    let _: i64 = redis.run(&["ZADD", "hero:q:leases", "1", id.as_str()]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
    let claimed = taken(&store).await;
    assert_eq!((lost.attempt, lost.claim, claimed.attempt, claimed.claim), (1, 1, 2, 2));
    assert_eq!(fetch(&store, &[finished(&lost)], 0).await.statuses, [None]);
    assert_eq!(fetch(&store, &[finished(&claimed)], 0).await.statuses, [Some(Status::Finished)]);
}

#[tokio::test]
async fn a_stop_that_is_written_into_a_waiting_job_stops_it_before_it_starts() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (id, key) = queued(&store).await;
    let _: i64 = redis.run(&["HSET", &key, "stop_requested_at", "2020-01-01T00:00:00.000Z"]).await;
    assert_eq!(fetch(&store, &[], 1).await.taken, []);
    assert_eq!(store.jobs().get(&id).await.unwrap().unwrap().status, Status::Error);
}

#[tokio::test]
async fn notes_are_kept_of_a_bounded_number_of_jobs_and_of_the_newest() {
    let redis = Redis::start().await;
    // A hash that is not there has no fields.
    let code = "for id = 1, 50000 do field_counts.keep(tostring(id), 0, 'then') end
        local known = 0
        for id = 1, 50000 do known = known + (field_counts.take(tostring(id)) and 1 or 0) end
        field_counts.keep('new', 0, 'then')
        return { known, field_counts.take('new') and 1 or 0, field_counts.take('new') and 1 or 0 }";
    let script = script_behind_the_modules(code);
    let (known, new, again): (u64, u64, u64) = redis.run(&["EVAL", &script, "0", "0 server 1 1 1", "=1000", ""]).await;
    assert!((8192..=16384).contains(&known), "{known}");
    assert_eq!((new, again), (1, 0));
}
