//! Redis does not grow: the data of jobs is deleted with them.

use std::collections::BTreeMap;
use std::time::Duration;

use hero::model::{JobId, JobSpec, Output, OutputFormat};
use hero::store::{ActorRoom, AttemptEnd, Ended, Fetch, NewJob, Periods, Store};

use crate::support::{Redis, until};

/// This number of jobs causes more events than the stream keeps.
const WARM_UP: usize = 70_000;
const JOBS: usize = 200_000;
/// The number of jobs that one call creates, fetches and ends.
const BATCH: usize = 128;

/// Runs short jobs. Every second caller waits for its result.
async fn run(store: &Store, jobs: usize) {
    let (script_type, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: BATCH }];
    let mut ends: Vec<Ended> = Vec::new();
    for _ in 0..jobs.div_ceil(BATCH) {
        let new = |number| {
            let spec = JobSpec { script: "40 + 2".into(), ..JobSpec::default() };
            NewJob { id: JobId::random(), spec, start: true, waited: number % 2 == 0, occurrence: None, flow: None }
        };
        let new: Vec<NewJob> = (0..BATCH).map(new).collect();
        store.jobs().create_all_or_none(&new).await.unwrap();
        let fetched =
            store.queues().fetch(&Fetch { script_type: &script_type, ends: &ends, actors: &actors, queues: &queues }).await.unwrap();
        assert_eq!((fetched.taken.len(), fetched.statuses.len()), (BATCH, ends.len()));
        let outcome = AttemptEnd::Finished(Output { text: "42".into(), format: OutputFormat::Json });
        let end = |job: hero::store::Claimed| Ended::of(job.job, job.attempt, job.claim, job.started_at, outcome.clone());
        ends = fetched.taken.into_iter().map(end).collect();
    }
    store.queues().fetch(&Fetch { script_type: &script_type, ends: &ends, actors: &[], queues: &[] }).await.unwrap();
}

/// Waits until every job is gone, and takes them out of the index.
async fn forget(redis: &Redis, store: &Store) -> u64 {
    until("the end of every job", || async {
        // What stays: the stream, the index, the counters, the names of these and of queues.
        (redis.run::<u64>(&["DBSIZE"]).await <= 8).then_some(())
    })
    .await;
    for hour in store.maintenance().index_hours().await.unwrap() {
        let mut at = hero::store::Pruning::default();
        while let Some(next) = store.maintenance().prune(&hour, at).await.unwrap() {
            at = next;
        }
    }
    let _: String = redis.run(&["MEMORY", "PURGE"]).await;
    // Redis makes its tables smaller a moment after they got empty.
    until("small tables", || async { (tables(redis).await < 10_000).then_some(()) }).await;
    redis.memory("used_memory").await
}

/// The bytes of the tables that lead to the keys.
async fn tables(redis: &Redis) -> u64 {
    let stats: BTreeMap<String, redis::Value> = redis.run(&["MEMORY", "STATS"]).await;
    let of_database: BTreeMap<String, u64> = redis::from_redis_value(stats["db.0"].clone()).unwrap();
    of_database.values().sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_200_000_jobs_and_their_retention_redis_is_as_large_as_before() {
    let redis = Redis::start().await;
    let second = Duration::from_secs(1);
    let store = redis.plan().lasting(Periods { keep_finished: second, keep_waited: second, ..Periods::default() }).store().await;
    run(&store, WARM_UP).await;
    let before = forget(&redis, &store).await;
    assert!(redis.run::<u64>(&["XLEN", "hero:events"]).await >= 200_000, "the warm-up fills the stream");
    run(&store, JOBS).await;
    let after = forget(&redis, &store).await;
    let keys: Vec<String> = redis.run(&["KEYS", "*"]).await;
    assert!(after <= before + before / 50, "{before} bytes before, {after} after; left are {keys:?}");
}
