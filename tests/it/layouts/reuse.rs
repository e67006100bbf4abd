//! Ids of other layouts that are reused before a run of the former job has ended.

use std::time::Duration;

use hero::model::{Output, OutputFormat, ScriptType, Status};
use hero::store::{ActorRoom, AttemptEnd, Claimed, Deleted, Ended, Fetch, Layouts, Store};

use super::{hset, id, lpush};
use crate::support::Redis;

/// One fetch of an actor of the type queue of osis.
pub async fn fetch(store: &Store, ended: Option<&Claimed>) -> (Vec<Option<Status>>, Vec<Claimed>) {
    let outcome = || AttemptEnd::Finished(Output { text: "1".into(), format: OutputFormat::Json });
    let ends: Vec<Ended> =
        ended.into_iter().map(|run| Ended::of(run.job.clone(), run.attempt, run.claim, run.started_at, outcome())).collect();
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: usize::from(ended.is_none()) }];
    let queues = [("hero:q:work:type:osis".to_owned(), 0)];
    let fetch = Fetch { script_type: &ScriptType::osis(), ends: &ends, actors: &actors, queues: &queues };
    let fetched = store.queues().fetch(&fetch).await.unwrap();
    (fetched.statuses, fetched.taken)
}

/// A store of another server, half a minute later: leases are over.
pub async fn later(redis: &Redis) -> Store {
    let store = redis.store().await;
    store.clock().advance(Duration::from_secs(31));
    store
}

#[tokio::test]
async fn the_end_of_a_run_of_a_former_task_is_not_recorded_for_the_new_one() {
    let redis = Redis::start().await;
    let (store, later, id) = (redis.store().await, later(&redis).await, id());
    let queues = store.queues().of_layouts(&ScriptType::osis(), &Layouts::all(&ScriptType::osis()));
    let push = async || {
        hset(&redis, &format!("rhai_task_details:{id}"), &[("script", "1"), ("status", "pending")]).await;
        lpush(&redis, "rhai_tasks:osis", &id).await;
    };
    push().await;
    assert!(store.queues().import(&ScriptType::osis(), &queues, 1).await.unwrap());
    let old = fetch(&store, None).await.1.remove(0);
    // Its lease is lost and it is deleted, but its script runs on.
    assert_eq!(later.queues().reap(128).await.unwrap(), Some(1));
    assert_eq!(store.jobs().delete(&old.job).await.unwrap(), Deleted::Deleted);
    push().await;
    assert!(later.queues().import(&ScriptType::osis(), &queues, 1).await.unwrap());
    let new = fetch(&store, None).await.1.remove(0);
    assert_eq!((&new.job, new.attempt), (&old.job, 1));
    assert_eq!(fetch(&store, Some(&old)).await.0, [None]);
    assert_eq!(fetch(&store, Some(&new)).await.0, [Some(Status::Finished)]);
}
