//! Jobs that depend on each other: prerequisites, parents, children and continuations.
//!
//! `tests/it/model` compares statuses, lists and events of random jobs with a plain model. The tests here prove what it
//! does not: the words of errors, bounds, races, real actors, groups that are staged, and what foreign programs write.
//!
//! Where the order matters, a [`hand::Hand`] plays the actor, so that the test decides when and how an attempt ends.

mod at_once;
mod bounds;
mod budget;
mod bulk;
mod defects;
mod delete;
mod families;
mod fan_out;
mod foreign;
mod hand;
mod linked;
mod prerequisites;
mod refusals;
mod repeat;
mod retry;
mod reuse;
mod staged;
mod staged_waits;
mod steps;
mod waits;

use hero::dispatch::Error;
use hero::model::{ErrorKind, JobError, JobId, JobSpec, Status};

use crate::support::{CONTEXT, House, PATIENCE, Redis, spec, until};
use hand::Hand;

/// A house whose only actor is the hand of the test.
async fn by_hand() -> (House, Hand) {
    let house = House::empty().await;
    let hand = Hand::of(&house.store);
    (house, hand)
}

/// A job that waits until these have finished.
fn after(prerequisites: &[&JobId]) -> JobSpec {
    JobSpec { prerequisites: prerequisites.iter().map(|id| (*id).clone()).collect(), ..spec("1") }
}

fn child_of(parent: &JobId) -> JobSpec {
    JobSpec { parent_id: Some(parent.clone()), ..spec("1") }
}

fn continuation_of(predecessor: &JobId) -> JobSpec {
    JobSpec { predecessor_id: Some(predecessor.clone()), ..spec("1") }
}

/// The same with an id that the test knows beforehand.
fn named(id: &JobId, spec: JobSpec) -> JobSpec {
    JobSpec { job_id: Some(id.clone()), ..spec }
}

async fn create(house: &House, spec: JobSpec) -> JobId {
    house.dispatcher.jobs().create(spec).await.unwrap()
}

async fn begin(house: &House, id: &JobId) -> Status {
    house.dispatcher.jobs().start(CONTEXT, id).await.unwrap()
}

async fn status(house: &House, id: &JobId) -> Status {
    house.dispatcher.jobs().status(CONTEXT, id).await.unwrap()
}

/// Why a job ended badly, once it has.
async fn fate(house: &House, id: &JobId) -> JobError {
    house.is(id, Status::Error).await;
    match house.dispatcher.jobs().result(CONTEXT, id).await {
        Err(Error::Failed { error, .. }) => *error,
        other => panic!("{other:?}"),
    }
}

/// The job ended because another one did, and says which.
async fn ended_by(house: &House, id: &JobId, other: &JobId) {
    let error = fate(house, id).await;
    assert_eq!(error.kind, ErrorKind::Prerequisite, "{error:?}");
    assert!(error.message.contains(other.as_str()), "{:?} does not name {other}", error.message);
}

/// Every release that was due has been done.
async fn released(redis: &Redis) {
    until("an empty list of releases", || async { (redis.run::<i64>(&["EXISTS", "hero:q:release"]).await == 0).then_some(()) }).await;
}

/// Who stands in `hero:rel:{id}:{what}`, in the order of the ids, and the type of the key.
async fn relatives(redis: &Redis, id: &JobId, what: &str) -> (String, Vec<String>) {
    let key = format!("hero:rel:{id}:{what}");
    let kind: String = redis.run(&["TYPE", &key]).await;
    let mut ids: Vec<String> = match kind.as_str() {
        "list" => redis.run(&["LRANGE", &key, "0", "-1"]).await,
        "set" => redis.run(&["SMEMBERS", &key]).await,
        _ => Vec::new(),
    };
    ids.sort_unstable();
    (kind, ids)
}

/// A list that holds exactly these, however it is ordered.
fn list_of(ids: &[&JobId]) -> (String, Vec<String>) {
    holding("list", ids)
}

fn set_of(ids: &[&JobId]) -> (String, Vec<String>) {
    holding("set", ids)
}

fn holding(kind: &str, ids: &[&JobId]) -> (String, Vec<String>) {
    let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.sort_unstable();
    (kind.to_owned(), ids)
}

fn nobody() -> (String, Vec<String>) {
    ("none".to_owned(), Vec::new())
}

/// Every change of every job so far, oldest first.
async fn history(redis: &Redis) -> Vec<(String, String)> {
    let events: Vec<(String, std::collections::BTreeMap<String, String>)> = redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    events.into_iter().filter_map(|(_, mut event)| Some((event.remove("job")?, event.remove("status")?))).collect()
}

/// When a job got a status, as a place in the history; panics if it did not get it exactly once.
fn when(history: &[(String, String)], id: &JobId, status: Status) -> usize {
    let mut found = history.iter().enumerate().filter(|(_, (job, word))| job == id.as_str() && word == status.as_str());
    let (at, _) = found.next().unwrap_or_else(|| panic!("{id} never was {status}"));
    assert!(found.next().is_none(), "{id} was {status} twice");
    at
}

/// The keys that would stay for ever although every job has ended.
async fn left_behind(redis: &Redis) -> Vec<String> {
    const SCRIPT: &str = "local left = {}
        for _, key in ipairs(redis.call('KEYS', '*')) do
          local kept = key == 'hero:events' or string.find(key, '^hero:index:') or string.find(key, '^hero:meta:')
          if not kept and redis.call('TTL', key) < 0 then left[#left + 1] = key end
        end
        return left";
    redis.run(&["EVAL", SCRIPT, "0"]).await
}

/// Nothing is left of jobs that have all ended but what has an owner or a TTL.
async fn leaves_nothing(redis: &Redis) {
    let mut left = Vec::new();
    let looking = async {
        loop {
            left = left_behind(redis).await;
            if left.is_empty() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let gone = tokio::time::timeout(PATIENCE / 4, looking).await;
    assert!(gone.is_ok(), "left behind: {left:?}");
}
