//! Records of the attempts of a job: the actor, the time, the error and the resources used.

use std::time::Duration;

use hero::model::{Attempt, ErrorKind, JobId, JobSpec, Output, OutputFormat, Reason, ScriptType, Seconds, Status, Timestamp};
use hero::store::{ActorRoom, AttemptEnd, Ended, Fetch, NewJob, Store};

use crate::support::{CONTEXT, House, Redis, spec};

fn tried(script: &str, retries: u32) -> JobSpec {
    JobSpec { retries, retry_backoff: Seconds::new(0.001), ..spec(script) }
}

async fn log(house: &House, id: &JobId) -> Vec<String> {
    let page = house.dispatcher.logs().page(CONTEXT, id, None, 100).await.unwrap();
    page.lines.into_iter().map(|line| format!("{}: {}", line.level.as_str(), line.text)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_earlier_attempts_are_kept_with_their_places_once_a_later_one_succeeds() {
    let house = House::open(1).await;
    let id = house.start(tried("print(`at ${ATTEMPT}`);\nif ATTEMPT < 3 { throw `no ${ATTEMPT}` }\nATTEMPT", 5)).await;
    house.is(&id, Status::Finished).await;
    let job = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
    assert_eq!((job.attempt, job.error, job.attempts.len()), (3, None, 3));
    for (at, attempt) in job.attempts.iter().enumerate() {
        assert_eq!((attempt.attempt, attempt.actor.as_deref()), (at as u32 + 1, Some("osis:default:1")));
        assert!(attempt.started_at <= attempt.ended_at && attempt.usage.is_some(), "{attempt:?}");
        let error = attempt.error.as_ref().map(|error| (error.kind, error.message.clone(), error.line));
        assert_eq!(error, (at < 2).then(|| (ErrorKind::Script, format!("no {}", at + 1), Some(2))));
    }
    assert!(job.attempts[0].error.as_ref().unwrap().column.is_some());
    assert_eq!((job.attempts[2].started_at, job.attempts[2].ended_at), (job.started_at, job.finished_at));
    let lines = log(&house, &id).await;
    let of_error = |at: usize| format!("error: attempt {at} failed: no {at} (line 2, column ");
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(
        lines[1].starts_with(&of_error(1)) && lines[3].starts_with(&of_error(2)) && lines[3].ends_with("; it is tried again"),
        "{lines:?}"
    );
    let explained = house.dispatcher.jobs().explain(CONTEXT, &id).await.unwrap();
    assert_eq!((explained.reason, &explained.attempts[..]), (Reason::Ended, &job.attempts[..]));

    let lost = house.start(tried("throw ATTEMPT", 1)).await;
    house.is(&lost, Status::Error).await;
    let last = log(&house, &lost).await.pop().unwrap();
    assert!(last.starts_with("error: attempt 2 failed: 2 (line 1") && !last.contains("again"), "{last}");
    assert_eq!(house.dispatcher.jobs().job(CONTEXT, &lost).await.unwrap().attempts.len(), 2);
    let explained = house.dispatcher.jobs().explain(CONTEXT, &lost).await.unwrap();
    assert_eq!((explained.message.as_str(), explained.attempts.len()), ("failed: script:1:1: 2", 2));
    // Of one that is tried once everything stands in its own fields.
    let once = house.start(spec("throw 1")).await;
    house.is(&once, Status::Error).await;
    let once = house.dispatcher.jobs().job(CONTEXT, &once).await.unwrap();
    assert_eq!((once.attempts.len(), &once.attempts[0].error), (1, &once.error));
    assert!(log(&house, &once.job_id).await.is_empty());
    house.close().await;
}

/// Takes the one job that waits.
async fn take(store: &Store, ends: &[Ended]) -> Option<(u32, u32)> {
    let (script_type, queues) = (ScriptType::osis(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [ActorRoom { actor: "osis:default:7".into(), room: 1 }];
    let fetched = store.queues().fetch(&Fetch { script_type: &script_type, ends, actors: &actors, queues: &queues }).await.unwrap();
    fetched.taken.first().map(|job| (job.attempt, job.claim))
}

async fn put(store: &Store, spec: JobSpec) -> JobId {
    let job = NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None };
    let id = job.id.clone();
    store.jobs().create(job).await.unwrap();
    id
}

async fn attempts(store: &Store, id: &JobId) -> Vec<Attempt> {
    store.jobs().get(id).await.unwrap().unwrap().attempts
}

fn failure(message: &str) -> AttemptEnd {
    AttemptEnd::Failed { error: hero::model::JobError::new(ErrorKind::Script, message), retry_in: Duration::ZERO }
}

#[tokio::test]
async fn the_history_of_a_job_that_is_tried_again_and_again_is_bounded() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = put(&store, JobSpec { retries: 40, ..spec("1") }).await;
    let long = "ü".repeat(20_000);
    let mut ends = Vec::new();
    for attempt in 1..=41 {
        let (number, claim) = take(&store, &ends).await.unwrap();
        assert_eq!(number, attempt);
        let message = if attempt == 41 { "the last" } else { &long };
        ends = vec![Ended::of(id.clone(), number, claim, Timestamp::local(), failure(message))];
        if attempt < 41 {
            assert_eq!(take(&store, &ends).await, None);
            ends.clear();
            store.jobs().promote(8).await.unwrap();
        }
    }
    assert_eq!(take(&store, &ends).await, None);
    let attempts = attempts(&store, &id).await;
    assert_eq!(attempts.iter().map(|attempt| attempt.attempt).collect::<Vec<_>>(), (25..=41).collect::<Vec<_>>());
    assert!(attempts[..16].iter().all(|attempt| (1_000..1_100).contains(&attempt.error.as_ref().unwrap().message.len())));
    assert_eq!(attempts[16].error.as_ref().unwrap().message, "the last");
    let bytes: usize = redis.run(&["HSTRLEN", &format!("hero:job:{id}"), "attempts"]).await;
    assert!(bytes < 32 * 1024, "{bytes}");
}

#[tokio::test]
async fn the_history_of_a_job_whose_errors_are_long_as_json_is_kept() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = put(&store, JobSpec { retries: 14, ..spec("1") }).await;
    let message = "\u{1}".repeat(1_024);
    let mut ends = Vec::new();
    for attempt in 1..=15 {
        let (number, claim) = take(&store, &ends).await.unwrap();
        assert_eq!(number, attempt);
        ends = vec![Ended::of(id.clone(), number, claim, Timestamp::local(), failure(&message))];
        if attempt < 15 {
            assert_eq!(take(&store, &ends).await, None);
            ends.clear();
            store.jobs().promote(8).await.unwrap();
        }
    }
    assert_eq!(take(&store, &ends).await, None);
    let attempts = attempts(&store, &id).await;
    assert_eq!(attempts.iter().map(|attempt| attempt.attempt).collect::<Vec<_>>(), (1..=15).collect::<Vec<_>>());
    for attempt in &attempts[..14] {
        let error = attempt.error.as_ref().unwrap();
        assert!(error.message.starts_with("\u{1}\u{1}") && error.message.ends_with('…'), "{error:?}");
        assert!(attempt.actor.is_some() && attempt.started_at.is_some() && error.kind == ErrorKind::Script, "{attempt:?}");
    }
    assert_eq!(attempts[14].error.as_ref().unwrap().message, message);
    let bytes: usize = redis.run(&["HSTRLEN", &format!("hero:job:{id}"), "attempts"]).await;
    assert!(bytes < 64 * 1024, "{bytes}");
}

#[tokio::test]
async fn deaths_of_actors_and_runs_before_a_retry_are_attempts_and_requeued_runs_are_not() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = put(&store, spec("1")).await;
    assert_eq!(take(&store, &[]).await, Some((1, 1)));
    store.clock().advance(Duration::from_secs(31));
    store.queues().reap(8).await.unwrap();
    let (number, claim) = take(&store, &[]).await.unwrap();
    let back = Ended::of(id.clone(), number, claim, Timestamp::local(), AttemptEnd::Requeued);
    let (number, claim) = take(&store, &[back]).await.unwrap();
    assert_eq!(number, 2);
    let output = Output { text: "1".into(), format: OutputFormat::Json };
    let finished = Ended::of(id.clone(), number, claim, Timestamp::local(), AttemptEnd::Finished(output));
    assert_eq!(take(&store, &[finished]).await, None);
    store.jobs().retry(&id).await.unwrap();
    assert_eq!(attempts(&store, &id).await.len(), 2, "it has not begun again");
    assert_eq!(take(&store, &[]).await.unwrap().0, 3);
    let kept = attempts(&store, &id).await;
    let kinds: Vec<(u32, Option<ErrorKind>, bool)> =
        kept.iter().map(|attempt| (attempt.attempt, attempt.error.as_ref().map(|error| error.kind), attempt.ended_at.is_some())).collect();
    assert_eq!(kinds, [(1, Some(ErrorKind::Crashed), true), (2, None, true), (3, None, false)]);
    // What others made of it is left out.
    let _: () = redis.run(&["HSET", &format!("hero:job:{id}"), "attempts", "x\n{\"attempt\":1}\n[]\n"]).await;
    assert_eq!(attempts(&store, &id).await.iter().map(|attempt| attempt.attempt).collect::<Vec<_>>(), [1, 3]);
}
