use hero::conveyor::Consumer;
use hero::model::{JobId, Status};
use hero::service::Service as _;
use hero::store::Store;

use super::{Message, consume, consumer, conveyor_keys, elements, exists, gone, hget, hire, id, is, push, run, runs, settings};
use crate::layouts::reuse::{fetch, later};
use crate::support::{CONTEXT, House, Process, Redis, spec, until};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_in_a_queue_runs_and_leaves_nothing_behind() {
    let house = consumer().await;
    let job = Message::new("40 + 2");
    push(&house.redis, "queue:work", &job).await;
    is(&house.redis, &job.uuid, "finished").await;
    assert_eq!(hget(&house.redis, &job.uuid, "output").await.as_deref(), Some("42"));
    assert_eq!(hget(&house.redis, &job.uuid, "dialect").await.as_deref(), Some("conveyor"));
    gone(&house.redis, &format!("jobs:{}", job.uuid)).await;
    gone(&house.redis, "hero:q:conveyor").await;
    assert!(conveyor_keys(&house.redis).await.is_empty());
    let shown = house.dispatcher.jobs().job(CONTEXT, &job.uuid.parse().unwrap()).await.unwrap();
    assert_eq!((shown.status, shown.caller_id.as_deref(), &*shown.labels["conveyor_queue"]), (Status::Finished, Some("conveyor"), "work"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_runs_lies_under_its_key() {
    let house = consumer().await;
    let job = Message::new("loop {}");
    push(&house.redis, "queue:work", &job).await;
    is(&house.redis, &job.uuid, "started").await;
    let kept: Vec<u8> = house.redis.run(&["GET", &format!("jobs:{}", job.uuid)]).await;
    assert_eq!(kept, job.bytes());
    house.dispatcher.jobs().stop(CONTEXT, &job.uuid.parse().unwrap()).await.unwrap();
    gone(&house.redis, &format!("jobs:{}", job.uuid)).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_run_is_set_aside_and_holds_up_nothing() {
    let house = consumer().await;
    let _: i64 = run(&house.redis, &["LPUSH", "queue:work"], b"\xff no message").await;
    let strange = Message { uuid: "7".into(), ..Message::new("1") };
    push(&house.redis, "queue:work", &strange).await;
    let of_others = Message { kind: "mail.Send".into(), ..Message::new("1") };
    push(&house.redis, "queue:work", &of_others).await;
    let binary = Message { payload: vec![0xff, 0xfe], ..Message::new("") };
    push(&house.redis, "queue:work", &binary).await;
    let long = Message::new(&" ".repeat(64 * 1024 + 1));
    push(&house.redis, "queue:work", &long).await;
    let good = Message::new("1");
    push(&house.redis, "queue:work", &good).await;
    is(&house.redis, &good.uuid, "finished").await;
    let failed = until("five that failed", || async {
        let failed = elements(&house.redis, "failed").await;
        (failed.len() == 5).then_some(failed)
    })
    .await;
    assert!(failed.contains(&b"\xff no message".to_vec()) && failed.contains(&strange.bytes()));
    for (job, reason) in [(&of_others, "\"mail.Send\" is no script type"), (&binary, "its payload is no text"), (&long, "65537 bytes")] {
        let record = failed.iter().map(|record| text(record)).find(|record| record.contains(&job.uuid)).unwrap();
        assert!(record.contains(reason), "{reason}");
        gone(&house.redis, &format!("jobs:{}", job.uuid)).await;
    }
    let seconds: i64 = house.redis.run(&["TTL", "failed"]).await;
    assert!(seconds > 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_failed_elements_is_bounded() {
    let house = House::empty().await;
    for _ in 0..1100 / 50 {
        let mut words = vec!["LPUSH", "queue:work"];
        words.extend(["x"; 50]);
        let _: i64 = house.redis.run(&words).await;
    }
    let mut consumer = Consumer::new(house.store.clone(), settings());
    while exists(&house.redis, "queue:work").await {
        consumer.tick().await.unwrap();
    }
    assert_eq!(elements(&house.redis, "failed").await.len(), 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_throws_has_failed_and_says_why() {
    let house = consumer().await;
    let job = Message::new("throw \"broken\"");
    push(&house.redis, "queue:work", &job).await;
    is(&house.redis, &job.uuid, "error").await;
    gone(&house.redis, &format!("jobs:{}", job.uuid)).await;
    let failed = elements(&house.redis, "failed").await;
    assert_eq!(failed.len(), 1);
    assert!(text(&failed[0]).contains(&job.uuid) && text(&failed[0]).contains("broken"));
    assert!(failed[0].ends_with(&[12 << 3, 4]), "its status is FAILED");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_tried_as_often_as_it_asks_for() {
    let house = consumer().await;
    let job = Message { max_retries: 2, ..Message::new("throw 1") };
    push(&house.redis, "queue:work", &job).await;
    is(&house.redis, &job.uuid, "error").await;
    assert_eq!(hget(&house.redis, &job.uuid, "attempt").await.as_deref(), Some("2"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_added_twice_runs_once_and_one_that_ended_runs_again() {
    let mut house = House::empty().await;
    let job = Message::new("1");
    push(&house.redis, "queue:work", &job).await;
    push(&house.redis, "queue:work", &job).await;
    consume(&house, &house.store);
    gone(&house.redis, "queue:work").await;
    hire(&mut house).await;
    is(&house.redis, &job.uuid, "finished").await;
    gone(&house.redis, &format!("jobs:{}", job.uuid)).await;
    assert_eq!(runs(&house.redis, &job.uuid).await, 1);
    push(&house.redis, "queue:work", &job).await;
    until("its second run", || async { (runs(&house.redis, &job.uuid).await == 2).then_some(()) }).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_another_job_is_not_taken_over() {
    let house = consumer().await;
    let other: JobId = house.start(spec("\"mine\"")).await;
    house.is(&other, Status::Finished).await;
    let thief = Message { uuid: other.to_string(), ..Message::new("\"stolen\"") };
    push(&house.redis, "queue:work", &thief).await;
    until("it is set aside", || async { (elements(&house.redis, "failed").await == [thief.bytes()]).then_some(()) }).await;
    assert_eq!(hget(&house.redis, other.as_str(), "output").await.as_deref(), Some("mine"));
    assert!(!exists(&house.redis, &format!("jobs:{other}")).await);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_taken_than_the_pool_has_room_for() {
    let house = House::empty().await;
    for _ in 0..10 {
        push(&house.redis, "queue:work", &Message::new("1")).await;
    }
    let mut few = settings();
    few.backlog = 3;
    let mut consumer = Consumer::new(house.store.clone(), few);
    for _ in 0..3 {
        consumer.tick().await.unwrap();
    }
    assert_eq!(house.redis.run::<i64>(&["LLEN", "hero:q:work:type:osis"]).await, 3);
    assert_eq!(elements(&house.redis, "queue:work").await.len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_somebody_else_harm_nothing() {
    let house = House::empty().await;
    let mut both = settings();
    both.queues.push(("other".parse().unwrap(), hero::model::ScriptType::osis()));
    for key in ["queue:work", "scheduled", "failed"] {
        let _: String = house.redis.run(&["SET", key, "of somebody else"]).await;
    }
    let job = Message::new("1");
    push(&house.redis, "queue:other", &job).await;
    let _: i64 = run(&house.redis, &["RPUSH", "queue:other"], b"x").await;
    let mut consumer = Consumer::new(house.store.clone(), both);
    consumer.tick().await.unwrap();
    assert_eq!(hget(&house.redis, &job.uuid, "status").await.as_deref(), Some("dispatched"));
    assert_eq!(house.redis.run::<String>(&["GET", "queue:work"]).await, "of somebody else");
    // The log says why nothing is taken there.
    for key in ["queue:work", "scheduled"] {
        assert!(house.store.health().spoilt_keys().iter().any(|named| named == key), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_that_are_no_text_hold_up_no_others() {
    let house = House::empty().await;
    for end in [&b"\xff\xfe"[..], b"nonsense"] {
        let _: i64 = run(&house.redis, &["ZADD", "hero:q:conveyor", "0"], end).await;
    }
    hero::conveyor::Closer::new(house.store.clone()).tick().await.unwrap();
    gone(&house.redis, "hero:q:conveyor").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_without_memory_loses_no_job() {
    let house = House::empty().await;
    let job = Message::new("1");
    push(&house.redis, "queue:work", &job).await;
    let mut consumer = Consumer::new(house.store.clone(), settings());
    let _: String = house.redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    consumer.tick().await.unwrap_err();
    assert_eq!(elements(&house.redis, "queue:work").await, [job.bytes()]);
    let _: String = house.redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    consumer.tick().await.unwrap();
    assert_eq!(hget(&house.redis, &job.uuid, "status").await.as_deref(), Some("dispatched"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_job_goes_to_its_queue_when_it_is_due() {
    let house = House::empty().await;
    let (due, later) = (Message::new("1"), Message::new("2"));
    let _: i64 = run(&house.redis, &["ZADD", "scheduled", "1700000000.5"], &due.bytes()).await;
    let _: i64 = run(&house.redis, &["ZADD", "scheduled", "99999999999"], &later.bytes()).await;
    let _: i64 = run(&house.redis, &["ZADD", "scheduled", "1"], b"\xff no message").await;
    let mut consumer = Consumer::new(house.store.clone(), super::ConsumerSettings { queues: Vec::new(), ..settings() });
    consumer.tick().await.unwrap();
    assert_eq!(elements(&house.redis, "queue:work").await, [due.bytes()]);
    let scheduled: Vec<Vec<u8>> = house.redis.run(&["ZRANGE", "scheduled", "0", "-1"]).await;
    assert_eq!(scheduled, [later.bytes()]);
    assert_eq!(elements(&house.redis, "failed").await, [b"\xff no message"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_look_at_the_same_time_move_a_scheduled_job_once() {
    let house = House::empty().await;
    let mut consumers = Vec::new();
    for _ in 0..2 {
        consumers.push(Consumer::new(house.redis.store().await, super::ConsumerSettings { queues: Vec::new(), ..settings() }));
    }
    let (mut one, mut two) = (consumers.remove(0), consumers.remove(0));
    for round in 0..25 {
        for _ in 0..8 {
            let _: i64 = run(&house.redis, &["ZADD", "scheduled", "1"], &Message::new("1").bytes()).await;
        }
        let (one, two) = tokio::join!(one.tick(), two.tick());
        one.and(two).unwrap();
        assert!(!exists(&house.redis, "scheduled").await);
        let mut moved = elements(&house.redis, "queue:work").await;
        assert_eq!(moved.len(), 8 * (round + 1));
        moved.sort();
        moved.dedup();
        assert_eq!(moved.len(), 8 * (round + 1), "each once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_run_a_scheduled_job_once() {
    let house = consumer().await;
    let second = house.redis.store().await;
    consume(&house, &second);
    let jobs: Vec<Message> = (0..40).map(|_| Message::new("1")).collect();
    for job in &jobs {
        let _: i64 = run(&house.redis, &["ZADD", "scheduled", "1"], &job.bytes()).await;
    }
    for job in &jobs {
        is(&house.redis, &job.uuid, "finished").await;
    }
    for job in &jobs {
        gone(&house.redis, &format!("jobs:{}", job.uuid)).await;
        assert_eq!(runs(&house.redis, &job.uuid).await, 1);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_consumes_the_queues_that_its_pools_name() {
    let home = tempfile::tempdir().unwrap();
    let redis = Redis::start().await;
    let config = home.path().join("hero.toml");
    let pools = "conveyor_namespace = \"conv\"\n[[pools]]\ntype = \"osis\"\ninstances = 1\nconveyor_queues = [\"mail\", \"work\"]\n";
    std::fs::write(&config, pools).unwrap();
    let server = Process::serve(&home.path().join("data"), &["--redis", &redis.url(), "--config", config.to_str().unwrap()]).await;
    let (job, continuation) = (Message { kind: String::new(), ..Message::new("1") }, Message { queue: "mail".into(), ..Message::new("2") });
    push(&redis, &format!("conv:jobs:{}:onComplete", job.uuid), &continuation).await;
    let _: i64 = run(&redis, &["ZADD", "conv:scheduled", "1"], &job.bytes()).await;
    is(&redis, &continuation.uuid, "finished").await;
    is(&redis, &job.uuid, "finished").await;
    gone(&redis, &format!("conv:jobs:{}", continuation.uuid)).await;
    let unknown = id();
    assert!(!exists(&redis, &format!("conv:jobs:{unknown}")).await);
    server.stop().await;
}

#[tokio::test]
async fn the_end_of_a_lost_run_is_not_recorded_for_a_job_that_was_added_again() {
    let redis = Redis::start().await;
    let (store, later, job) = (redis.store().await, later(&redis).await, Message::new("1"));
    let add = async |store: &Store| {
        push(&redis, "queue:work", &job).await;
        Consumer::new(store.clone(), settings()).tick().await.unwrap();
    };
    add(&store).await;
    let lost = fetch(&store, None).await.1.remove(0);
    assert_eq!(later.queues().reap(128).await.unwrap(), Some(1));
    let second = fetch(&store, None).await.1.remove(0);
    assert_eq!(fetch(&store, Some(&second)).await.0, [Some(Status::Finished)]);
    add(&later).await;
    let again = fetch(&store, None).await.1.remove(0);
    assert_eq!((&again.job, again.attempt), (&lost.job, 1));
    assert_eq!(fetch(&store, Some(&lost)).await.0, [None]);
    assert_eq!(fetch(&store, Some(&again)).await.0, [Some(Status::Finished)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_errors_has_jobs_of_conveyor_at_their_time() {
    let house = consumer().await;
    let before = house.store.clock().now();
    let job = Message::new("throw 1");
    push(&house.redis, "queue:work", &job).await;
    is(&house.redis, &job.uuid, "error").await;
    let at: f64 = house.redis.run(&["ZSCORE", "hero:index:error", &job.uuid]).await;
    assert!(at >= before.as_millis() as f64 - 1000.0, "{at}");
    house.close().await;
}
