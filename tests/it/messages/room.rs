//! Remote jobs and their stops take no capacity from local jobs, and little from other runners.

use hero::model::{JobId, JobSpec, Queue, Runner, Status, Target};
use hero::store::{Settled, StopTold};

use super::*;
use crate::support::{PATIENCE, spec};

/// A remote runner that never answers.
async fn silent(house: &House) -> Runner {
    Runners::new(house.dispatcher.clone()).create(CONTEXT, &elsewhere("redis://127.0.0.1:1", CONTEXT)).await.unwrap()
}

async fn start_for(house: &House, runner: &Runner) -> JobId {
    house.start(JobSpec { group: Some(runner.runner_id.group()), ..spec("1") }).await
}

async fn send(house: &House, runner: &Runner) -> usize {
    house.store.messages().send_jobs(runner, 32, PATIENCE, PATIENCE).await.unwrap()
}

/// The message with which a job is away.
async fn message_of(house: &House, job: &JobId) -> MessageKey {
    house.store.messages().of_job(job).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_are_away_take_no_room_of_those_that_run_here() {
    let house = House::open(1).await;
    let runner = silent(&house).await;
    house.store.limits().set_running(1);
    for _ in 0..3 {
        start_for(&house, &runner).await;
    }
    assert_eq!(send(&house, &runner).await, 3);
    assert_eq!(house.run("40 + 2").await.unwrap().output, "42");
    let long = house.start(spec("loop {}")).await;
    house.is(&long, Status::Started).await;
    let next = house.start(spec("1")).await;
    let queue = Queue { script_type: "osis".parse().unwrap(), target: Target::Type, priority: hero::model::Priority::Normal };
    assert_eq!(house.store.queues().position(&next, &queue, false).await.unwrap().running, 1);
    // Nor do those that run here keep others from going away.
    let more = start_for(&house, &runner).await;
    assert_eq!(send(&house, &runner).await, 1);
    house.is(&more, Status::Started).await;
    house.dispatcher.jobs().stop(CONTEXT, &long).await.unwrap();
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
    house.store.queues().reap(128).await.unwrap();
    assert_eq!(house.store.jobs().status(&job).await.unwrap(), Some(Status::Started));
    house.store.clock().advance(Duration::from_secs(2 * 24 * 3600));
    house.is(&job, Status::Dispatched).await;
    assert_eq!(house.redis.run::<u64>(&["EXISTS", "hero:q:leases"]).await, 0);
}

#[tokio::test]
async fn a_runner_that_answers_nothing_leaves_room_for_the_jobs_of_others() {
    const MAX_MESSAGES: usize = 2500;
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
        assert!(house.store.messages().settle("me", message, &Settled::Stored(None)).await.unwrap());
    }
    // As many more as there may be.
    let later = (house.store.clock().now().as_millis() + 1_000_000).to_string();
    let more: Vec<String> = (0..MAX_MESSAGES - 2).flat_map(|number| [later.clone(), format!("message:7:{number}")]).collect();
    for key in ["hero:q:messages", &awaited] {
        let words: Vec<&str> = ["ZADD", key].into_iter().chain(more.iter().map(String::as_str)).collect();
        assert_eq!(house.redis.run::<usize>(&words).await, MAX_MESSAGES - 2);
    }
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(start_for(&house, &one).await);
        start_for(&house, &other).await;
    }
    assert_eq!((send(&house, &one).await, send(&house, &other).await), (0, 3));
    // Each end makes room for one: a stop, and what somebody put there that is no message with a job.
    house.dispatcher.jobs().stop(CONTEXT, &away[0]).await.unwrap();
    assert_eq!((send(&house, &one).await, send(&house, &one).await), (1, 0));
    let message = message_of(&house, &waiting[0]).await;
    assert!(house.store.messages().settle("me", message, &Settled::Stored(None)).await.unwrap());
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

/// Has so many messages of a runner wait that its other side is told of their stops.
async fn stopped(house: &House, runner: &Runner, many: usize) {
    let group = runner.runner_id.group();
    let code = "for n = 1, ARGV[2] do redis.call('HSET', 'message:7:' .. n, 'runner', ARGV[1]); redis.call('ZADD', KEYS[1], 1, 'message:7:' .. n) end
        redis.call('ZADD', KEYS[2], 1, ARGV[1])";
    let (stops, many) = (format!("hero:q:stops:{group}"), many.to_string());
    let _: Option<String> = house.redis.run(&["EVAL", code, "2", &stops, "hero:q:stops", group.as_str(), &many]).await;
}

/// Starts a job for a runner, has it away there, and stops it. Gives its message.
async fn stop_one(house: &House, runner: &Runner) -> MessageKey {
    let job = start_for(house, runner).await;
    assert_eq!(send(house, runner).await, 1);
    let message = message_of(house, &job).await;
    assert!(house.store.messages().settle("me", message, &Settled::Stored(None)).await.unwrap());
    house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    message
}

#[tokio::test]
async fn the_stops_of_one_runner_hold_up_those_of_no_other() {
    let house = House::empty().await;
    let (one, other) = (silent(&house).await, silent(&house).await);
    stopped(&house, &one, 300).await;
    let message = stop_one(&house, &other).await;
    let told = house.store.messages().tend("me", 0).await.unwrap().stops;
    assert!(told.contains(&message) && told.len() > 1, "{told:?}");
    // Those that rest come again, and in the end nobody is looked for any more.
    for key in told {
        let later = if key == message { StopTold::Later(Duration::ZERO) } else { StopTold::Told };
        assert!(house.store.messages().settle_stop(key, &later).await.unwrap());
    }
    let again = house.store.messages().tend("me", 0).await.unwrap().stops;
    assert!(again.contains(&message), "{again:?}");
    assert!(house.store.messages().settle_stop(message, &StopTold::Told).await.unwrap());
    let left: Vec<String> = house.redis.run(&["ZRANGE", "hero:q:stops", "0", "-1"]).await;
    assert_eq!(left, [one.runner_id.group().to_string()]);
}

#[tokio::test]
async fn a_stop_beyond_those_of_its_runner_is_not_told_and_its_message_says_so() {
    let house = House::empty().await;
    let (one, other) = (silent(&house).await, silent(&house).await);
    stopped(&house, &one, 2500).await;
    let (dropped, kept) = (stop_one(&house, &one).await, stop_one(&house, &other).await);
    let logs = house.store.messages().get(dropped).await.unwrap().unwrap().shown.logs;
    assert!(logs.last().unwrap().text.contains("2500 stops wait already that are for runner1"), "{logs:?}");
    let waits = async |runner: &Runner| house.redis.run::<i64>(&["ZCARD", &format!("hero:q:stops:{}", runner.runner_id.group())]).await;
    assert_eq!((waits(&one).await, waits(&other).await), (2500, 1));
    assert!(house.store.messages().get(kept).await.unwrap().unwrap().stopped_at.is_some());
}
