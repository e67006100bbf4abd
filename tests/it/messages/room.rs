//! What jobs that are away take of the room of others: none of those that run here, and little of those of other runners.

use hero::model::{JobId, JobSpec, Queue, Runner, Status, Target};
use hero::store::Settled;

use super::*;
use crate::support::{PATIENCE, spec};

/// A runner that is elsewhere, where nobody answers.
async fn silent(house: &House) -> Runner {
    Runners::new(house.dispatcher.clone()).create(CONTEXT, &elsewhere("redis://127.0.0.1:1", CONTEXT)).await.unwrap()
}

async fn start_for(house: &House, runner: &Runner) -> JobId {
    house.start(JobSpec { group: Some(runner.runner_id.group()), ..spec("1") }).await
}

async fn send(house: &House, runner: &Runner) -> usize {
    house.store.send_jobs(runner, 32, PATIENCE, PATIENCE).await.unwrap()
}

/// The message with which a job is away.
async fn message_of(house: &House, job: &JobId) -> MessageKey {
    house.store.message_of_job(job).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_are_away_take_no_room_of_those_that_run_here() {
    let house = House::open(1).await;
    let runner = silent(&house).await;
    house.store.limit_running(1);
    for _ in 0..3 {
        start_for(&house, &runner).await;
    }
    assert_eq!(send(&house, &runner).await, 3);
    assert_eq!(house.run("40 + 2").await.unwrap().output, "42");
    let long = house.start(spec("loop {}")).await;
    house.is(&long, Status::Started).await;
    let next = house.start(spec("1")).await;
    let queue = Queue { script_type: "osis".parse().unwrap(), target: Target::Type, priority: hero::model::Priority::Normal };
    assert_eq!(house.store.queue_position(&next, &queue, false).await.unwrap().running, 1);
    // Nor do those that run here keep others from going away.
    let more = start_for(&house, &runner).await;
    assert_eq!(send(&house, &runner).await, 1);
    house.is(&more, Status::Started).await;
    house.dispatcher.stop(CONTEXT, &long).await.unwrap();
    house.is(&next, Status::Finished).await;
    house.close().await;
}

#[tokio::test]
async fn a_job_that_is_away_for_longer_than_its_message_lasts_runs_again() {
    let house = House::empty().await;
    let runner = silent(&house).await;
    let job = start_for(&house, &runner).await;
    assert_eq!(send(&house, &runner).await, 1);
    house.store.clock().advance(Duration::from_secs(6 * 24 * 3600));
    house.store.reap(128).await.unwrap();
    assert_eq!(house.store.status(&job).await.unwrap(), Some(Status::Started));
    house.store.clock().advance(Duration::from_secs(2 * 24 * 3600));
    house.is(&job, Status::Dispatched).await;
    assert_eq!(house.redis.run::<u64>(&["EXISTS", "hero:q:leases"]).await, 0);
}

#[tokio::test]
async fn a_runner_that_answers_nothing_leaves_room_for_the_jobs_of_others() {
    const MOST: usize = 2500;
    let house = House::empty().await;
    let (one, other) = (silent(&house).await, silent(&house).await);
    let awaited = format!("hero:q:awaited:runner{}", one.runner_id);
    let mut away = Vec::new();
    for _ in 0..2 {
        away.push(start_for(&house, &one).await);
    }
    assert_eq!(send(&house, &one).await, 2);
    for job in &away {
        let message = message_of(&house, job).await;
        assert!(house.store.settle_message("me", message, &Settled::Stored(None)).await.unwrap());
    }
    // As many more as there may be.
    let later = (house.store.clock().now().as_millis() + 1_000_000).to_string();
    let more: Vec<String> = (0..MOST - 2).flat_map(|number| [later.clone(), format!("message:7:{number}")]).collect();
    for key in ["hero:q:messages", &awaited] {
        let words: Vec<&str> = ["ZADD", key].into_iter().chain(more.iter().map(String::as_str)).collect();
        assert_eq!(house.redis.run::<usize>(&words).await, MOST - 2);
    }
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(start_for(&house, &one).await);
        start_for(&house, &other).await;
    }
    assert_eq!((send(&house, &one).await, send(&house, &other).await), (0, 3));
    // Each end makes room for one: a stop, and what somebody put there that is no message with a job.
    house.dispatcher.stop(CONTEXT, &away[0]).await.unwrap();
    assert_eq!((send(&house, &one).await, send(&house, &one).await), (1, 0));
    let message = message_of(&house, &waiting[0]).await;
    assert!(house.store.settle_message("me", message, &Settled::Stored(None)).await.unwrap());
    let _: i64 = house.redis.run(&["ZREM", "hero:q:messages", "message:7:9"]).await;
    let _: i64 = house.redis.run(&["ZADD", &awaited, "1e300", "message:7:9"]).await;
    let sent = until("room", || async { Some(send(&house, &one).await).filter(|sent| *sent > 0) }).await;
    assert_eq!((sent, send(&house, &one).await), (1, 0));
    let life: i64 = house.redis.run(&["TTL", &awaited]).await;
    assert!(life > 0, "{life}");
    // What another program made of the key gives way.
    let _: () = house.redis.run(&["SET", &awaited, "x"]).await;
    assert_eq!(send(&house, &one).await, 1);
}
