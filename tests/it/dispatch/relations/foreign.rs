//! Clients and actors that only use Redis and the layout of its keys: their jobs wait like ours, and their ends count.

use hero::model::{JobId, JobSpec, Status};

use super::{Hand, after, begin, by_hand, continuation_of, create, ended_by, fate, leaves_nothing};
use crate::support::{House, PATIENCE, Redis, spec, until};

/// HSET and LPUSH of a job of the legacy layout.
async fn written(redis: &Redis, more: &[(&str, &str)]) -> JobId {
    let id = JobId::random();
    written_as(redis, &id, more).await;
    lpush(redis, &id).await;
    id
}

async fn written_as(redis: &Redis, id: &JobId, more: &[(&str, &str)]) {
    let (key, now) = (format!("hero:job:{id}"), "2026-01-01T00:00:00Z");
    let mut words = vec!["HSET", &key, "id", id.as_str(), "caller_id", "foreign", "context_id", "0", "script", "1", "timeout", "10"];
    words.extend(["retries", "0", "concurrent", "false", "created_at", now, "updated_at", now, "status", "dispatched"]);
    words.extend(more.iter().flat_map(|(field, value)| [*field, *value]));
    let _: i64 = redis.run(&words).await;
}

async fn lpush(redis: &Redis, id: &JobId) {
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
}

/// An actor of the legacy layout: takes this job from the queue and says that it runs.
async fn foreign_take(redis: &Redis, id: &JobId) {
    until(&format!("{id} in the queue"), || async {
        (redis.run::<i64>(&["LREM", "hero:q:work:type:osis", "1", id.as_str()]).await == 1).then_some(())
    })
    .await;
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "status", "started", "updated_at", "2026-01-01T00:00:01Z"]).await;
}

/// What it writes at the end; it need not push a reply.
async fn foreign_end(redis: &Redis, id: &JobId, fields: &[&str]) {
    let key = format!("hero:job:{id}");
    let mut words = vec!["HSET", &key, "updated_at", "2026-01-01T00:00:02Z"];
    words.extend(fields);
    let _: i64 = redis.run(&words).await;
}

async fn foreign_finish(redis: &Redis, id: &JobId) {
    foreign_take(redis, id).await;
    foreign_end(redis, id, &["status", "finished", "output", "1"]).await;
}

/// The word in the hash, which may be that of a foreign program.
async fn word(redis: &Redis, id: &JobId) -> String {
    redis.run(&["HGET", &format!("hero:job:{id}"), "status"]).await
}

async fn is(redis: &Redis, id: &JobId, expected: Status) {
    until(&format!("{id} is {expected}"), || async { (word(redis, id).await == expected.as_str()).then_some(()) }).await;
}

fn list(ids: &[&JobId]) -> String {
    serde_json::to_string(ids).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_jobs_wait_for_what_they_name() {
    let (house, hand) = by_hand().await;
    let redis = &house.redis;
    let (first, parent) = (create(&house, spec("1")).await, create(&house, spec("1")).await);
    let by_prerequisites = written(redis, &[("prerequisites", &list(&[&first]))]).await;
    let by_dependencies = written(redis, &[("dependencies", &list(&[&first, &first]))]).await;
    let by_both = written(redis, &[("prerequisites", "[]"), ("dependencies", &list(&[&first])), ("dependents", "[]")]).await;
    let child = written(redis, &[("parent_id", parent.as_str())]).await;
    let continuation = written(redis, &[("predecessor_id", parent.as_str())]).await;
    let waiting = [&by_prerequisites, &by_dependencies, &by_both, &child, &continuation];
    assert_eq!(hand.take_all().await, 0);
    for job in waiting {
        assert_eq!(word(redis, job).await, "waiting_for_prerequisites");
        // Whoever grows impatient pushes it again.
        lpush(redis, job).await;
    }
    assert_eq!(hand.take_all().await, 0);
    begin(&house, &first).await;
    begin(&house, &parent).await;
    for job in [&first, &by_prerequisites, &by_dependencies, &by_both, &parent, &child, &continuation] {
        hand.finish(job).await;
        assert_eq!(hand.times(job).await, 1);
    }
    leaves_nothing(redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_foreign_program_ends_with_what_it_names() {
    let (house, hand) = by_hand().await;
    let redis = &house.redis;
    let (bad, missing) = (house.start(spec("1")).await, JobId::random());
    hand.take(&bad).await;
    let before = written(redis, &[("prerequisites", &list(&[&bad]))]).await;
    assert_eq!(hand.take_all().await, 0);
    hand.fail(&bad).await;
    let after = written(redis, &[("dependencies", &list(&[&bad]))]).await;
    let lost = written(redis, &[("prerequisites", &list(&[&missing]))]).await;
    assert_eq!(hand.take_all().await, 0);
    ended_by(&house, &before, &bad).await;
    ended_by(&house, &after, &bad).await;
    ended_by(&house, &lost, &missing).await;
    // Whoever wrote it blocks on its reply.
    for job in [&before, &after, &lost] {
        let reply: Option<String> = redis.run(&["LINDEX", &format!("hero:q:reply:{job}"), "0"]).await;
        assert_eq!(reply, redis.run(&["HGET", &format!("hero:job:{job}"), "error"]).await);
    }
    leaves_nothing(redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_jobs_that_wait_for_each_other_run_in_order() {
    let house = House::open(2).await;
    let redis = &house.redis;
    let ids: Vec<JobId> = (0..20).map(|_| JobId::random()).collect();
    for (at, id) in ids.iter().enumerate().rev() {
        let before = if at > 0 { list(&[&ids[at - 1]]) } else { "[]".to_owned() };
        written_as(redis, id, &[("prerequisites", &before)]).await;
    }
    for id in ids.iter().rev() {
        lpush(redis, id).await;
    }
    is(redis, &ids[19], Status::Finished).await;
    let history = super::history(redis).await;
    for pair in ids.windows(2) {
        assert!(super::when(&history, &pair[0], Status::Finished) < super::when(&history, &pair[1], Status::Started));
    }
    leaves_nothing(redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_in_the_relations_of_a_foreign_program_loses_nobody_else() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let own = JobId::random();
    let nonsense = [
        [("prerequisites", "nonsense")],
        [("prerequisites", "{\"a\":1}")],
        [("prerequisites", "[1,null]")],
        [("parent_id", "")],
        [("predecessor_id", "nonsense")],
        [("parent_id", own.as_str())],
    ];
    let mut jobs = Vec::new();
    for more in &nonsense {
        jobs.push(written(redis, more).await);
    }
    written_as(redis, &own, &[("prerequisites", &list(&[&own]))]).await;
    lpush(redis, &own).await;
    jobs.push(own);
    house.run("1").await.unwrap();
    for job in &jobs {
        until(&format!("the end of {job}"), || async { matches!(word(redis, job).await.as_str(), "finished" | "error").then_some(()) })
            .await;
    }
    leaves_nothing(redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_job_that_a_foreign_actor_releases_gets_its_result() {
    let (house, _) = by_hand().await;
    let first = house.start(spec("1")).await;
    let waiting = house.dispatcher.jobs().run_and_wait(JobSpec { script: "2".into(), ..after(&[&first]) }, PATIENCE);
    let playing = async {
        foreign_finish(&house.redis, &first).await;
        let next = until("the dependent", || async {
            let queue: Vec<String> = house.redis.run(&["LRANGE", "hero:q:work:type:osis", "0", "-1"]).await;
            queue.first()?.parse::<JobId>().ok()
        })
        .await;
        foreign_take(&house.redis, &next).await;
        foreign_end(&house.redis, &next, &["status", "finished", "output", "2"]).await;
    };
    let (result, ()) = tokio::join!(waiting, playing);
    assert_eq!(result.unwrap().output, "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_a_foreign_program_writes_for_a_job_in_a_queue_counts() {
    let (house, hand) = by_hand().await;
    let job = house.start(spec("1")).await;
    let (dependent, continuation) = (house.start(after(&[&job])).await, house.start(continuation_of(&job)).await);
    // The legacy way to stop a job that has not begun: nobody takes it out of its queue.
    foreign_end(&house.redis, &job, &["status", "error", "error", "stopped"]).await;
    ended_by(&house, &dependent, &job).await;
    assert_eq!(fate(&house, &job).await.message, "stopped");
    hand.finish(&continuation).await;
    assert_eq!(hand.times(&job).await, 0);
    leaves_nothing(&house.redis).await;
}

/// A hand is only asked where a test says so; the pool of a house would take what a foreign actor is to take.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_job_that_is_pushed_before_it_is_written_waits_for_its_prerequisites() {
    let (house, hand) = by_hand().await;
    let hand: &Hand = &hand;
    let (redis, id) = (&house.redis, JobId::random());
    let first = house.start(spec("1")).await;
    hand.take(&first).await;
    lpush(redis, &id).await;
    assert_eq!(hand.take_all().await, 0);
    written_as(redis, &id, &[("prerequisites", &list(&[&first]))]).await;
    until("the job waits", || async {
        assert_eq!(hand.take_all().await, 0);
        (word(redis, &id).await == "waiting_for_prerequisites").then_some(())
    })
    .await;
    hand.finish(&first).await;
    hand.finish(&id).await;
    assert_eq!(hand.times(&id).await, 1);
    leaves_nothing(redis).await;
}
