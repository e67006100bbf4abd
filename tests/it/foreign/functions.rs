//! Actors in other languages that claim, renew, log and finish by functions: the actor of `examples/actors`, next to
//! ours.

use std::process::Stdio;

use hero::model::{JobId, JobSpec, Json, Status};
use redis::FromRedisValue;
use tokio::process::{Child, Command};

use crate::support::{CONTEXT, House, spec, until};

const ACTOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/actors/actor.py");

/// Starts the actor of the example; it ends with the test.
fn hire(house: &House, instance: u32) -> Child {
    let mut command = Command::new("python3");
    command.arg(ACTOR).arg(house.redis.socket()).env("INSTANCE", instance.to_string());
    command.stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap()
}

fn words(text: &str, seconds: u32) -> JobSpec {
    let args = Some(Json::from(seconds));
    JobSpec { script_type: "words".parse().unwrap(), args, ..spec(text) }
}

async fn field<T: FromRedisValue>(house: &House, id: &JobId, field: &str) -> T {
    house.redis.run(&["HGET", &format!("hero:job:{id}"), field]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_in_python_works_beside_ours_and_what_it_dies_with_runs_again() {
    let house = House::open(1).await;
    let (mut first, _second) = (hire(&house, 1), hire(&house, 2));
    until("a type that somebody takes", || async {
        let actors = house.dispatcher.actors().list(hero::model::ContextId(0)).await.unwrap();
        (actors.iter().filter(|actor| actor.script_type.as_str() == "words").count() == 2).then_some(())
    })
    .await;
    // Until one of them has the instance that is killed.
    let long = until("a long job of the first", || async {
        let id = house.start(words("a b c", 600)).await;
        house.is(&id, Status::Started).await;
        if field::<String>(&house, &id, "actor").await.ends_with(":1") {
            return Some(id);
        }
        house.dispatcher.jobs().stop(hero::model::ContextId(0), &id).await.unwrap();
        house.is(&id, Status::Error).await;
        assert_eq!(field::<String>(&house, &id, "error").await, "stopped_by_request");
        None
    })
    .await;
    let mut short = Vec::new();
    for number in 1..=20 {
        short.push((number, house.start(words(&"word ".repeat(number), 0)).await));
    }
    assert_eq!(house.run("40 + 2").await.unwrap().output, "42", "ours go on");
    first.start_kill().unwrap();
    first.wait().await.unwrap();
    for (number, id) in short {
        house.is(&id, Status::Finished).await;
        assert_eq!(field::<String>(&house, &id, "output").await, number.to_string());
        assert_eq!(field::<u32>(&house, &id, "attempt").await, 1);
    }
    // Its lease runs out, and the other one takes it.
    until("the second attempt", || async { (field::<u32>(&house, &long, "attempt").await == 2).then_some(()) }).await;
    assert_eq!(
        (field::<u32>(&house, &long, "crashes").await, field::<String>(&house, &long, "actor").await),
        (1, "words:default:2".to_owned())
    );
    // Each attempt writes a line after it was claimed, and the death of the first one is told between them.
    let lines = async || house.redis.run::<usize>(&["XLEN", &format!("hero:log:{long}")]).await;
    until("a line of each attempt", || async { (lines().await == 3).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_a_fencing_token_and_wrong_calls_are_told_what_is_right() {
    let house = House::empty().await;
    let id = house.start(spec("1")).await;
    let (key, queue) = (format!("hero:job:{id}"), "hero:q:work:type:osis");
    let claimed: Vec<String> = house.redis.run(&["FCALL", "hero_claim", "1", queue, "alice:1", "0", "osis:default:1", "30000"]).await;
    let of = |name: &str| claimed[claimed.iter().position(|word| word == name).unwrap() + 1].clone();
    assert_eq!((of("id"), of("attempt"), of("script")), (id.to_string(), "1".into(), "1".into()));
    let call = async |function: &str, owner: &str, claim: &str, rest: &[&str]| -> String {
        let words = [&["FCALL", function, "1", &key, owner, "0", claim][..], rest].concat();
        house.redis.run(&words).await
    };
    let claim = of("claim");
    assert_eq!(call("hero_renew", "alice:1", &claim, &["30000"]).await, "renewed");
    assert_eq!(call("hero_progress", "alice:1", &claim, &["40.5", "half \"way\""]).await, "noted");
    let progress: serde_json::Value = serde_json::from_str(&field::<String>(&house, &id, "progress").await).unwrap();
    assert_eq!(progress, serde_json::json!({"value": 40.5, "text": "half \"way\""}));
    for (owner, number) in [("mallory", &*claim), ("alice:1", "77")] {
        assert_eq!(call("hero_renew", owner, number, &["30000"]).await, "lost");
        assert_eq!(call("hero_log", owner, number, &["info", "x"]).await, "lost");
        assert_eq!(call("hero_progress", owner, number, &["40"]).await, "lost");
        assert_eq!(call("hero_finish", owner, number, &["2"]).await, "lost");
    }
    assert_eq!(call("hero_release", "alice:1", &claim, &[]).await, "dispatched");
    assert_eq!(call("hero_finish", "alice:1", &claim, &["2"]).await, "lost");
    let again: Vec<String> = house.redis.run(&["FCALL", "hero_claim", "1", queue, "alice:1", "0", "osis:default:1", "30000"]).await;
    let second = again[again.iter().position(|word| word == "claim").unwrap() + 1].clone();
    assert_ne!(second, claim);
    assert_eq!(call("hero_fail", "alice:1", &second, &["no luck"]).await, "error");
    assert_eq!((field::<String>(&house, &id, "error").await, field::<u32>(&house, &id, "attempt").await), ("no luck".into(), 1));
    let of_three = ["FCALL", "hero_claim", "1", "{ctx:3}:hero:q:work:type:osis", "alice:1", "3", "osis:default:1", "30000"];
    assert!(house.redis.run::<Vec<String>>(&of_three).await.is_empty());
    let nothing: Vec<String> = house.redis.run(&["FCALL", "hero_claim", "1", queue, "alice:1", "0", "osis:default:1", "30000"]).await;
    assert!(nothing.is_empty());
    for wrong in [
        &["FCALL", "hero_claim", "0", "alice:1", "0", "osis:default:1", "30000"][..],
        &["FCALL", "hero_claim", "1", queue, "alice 1", "0", "osis:default:1", "30000"],
        &["FCALL", "hero_claim", "1", queue, "alice:1", "0", "osis", "30000"],
        &["FCALL", "hero_renew", "1", queue, "alice:1", "0", "1", "30000"],
        &["FCALL", "hero_finish", "1", &key, "alice:1", "0"],
        &["FCALL", "hero_progress", "1", &key, "alice:1", "0", "1", "much"],
        &["FCALL", "hero_progress", "1", &key, "alice:1", "0", "1", "nan"],
        &["FCALL", "hero_progress", "1", &key, "alice:1", "0", "1", "0x10"],
        &["FCALL", "hero_present", "1", "hero:meta:actor:inst:osis:default:1", "alice:1", "0", "[1]"],
        &["FCALL", "hero_present", "1", "hero:meta:actor:inst:osis:default:1", "alice:1", "0", "{\"pid\":1e999}"],
        &["FCALL", "hero_present", "1", "hero:meta:actor:inst:osis:default:1234567890", "alice:1", "0", "{}"],
        &["FCALL", "hero_present", "1", &format!("hero:meta:actor:inst:{}:default:1", "t".repeat(129)), "alice:1", "0", "{}"],
        // Another context than that of the key, or none.
        &["FCALL", "hero_claim", "1", "{ctx:3}:hero:q:work:type:osis", "alice:1", "0", "osis:default:1", "30000"],
        &["FCALL", "hero_claim", "1", "mine:hero:q:work:type:osis", "alice:1", "0", "osis:default:1", "30000"],
        &["FCALL", "hero_claim", "1", queue, "alice:1", "0x0", "osis:default:1", "30000"],
    ] {
        let client = redis::Client::open(house.redis.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let error = redis::cmd(wrong[0]).arg(&wrong[1..]).query_async::<redis::Value>(&mut connection).await.unwrap_err();
        assert!(["key", "third argument"].iter().any(|word| error.to_string().contains(word)), "{wrong:?}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_job_takes_the_actor_in_python_along_and_none_outlasts_its_time_with_it() {
    let house = House::empty().await;
    let _actor = hire(&house, 1);
    until("a type that somebody takes", || async {
        let actors = house.dispatcher.actors().list(hero::model::ContextId(0)).await.unwrap();
        actors.iter().any(|actor| actor.script_type.as_str() == "words").then_some(())
    })
    .await;
    for args in ["{\"a\":1}", "\"\\ud800\"", "[[1]]"] {
        let id = JobId::random();
        let _: i64 = house.redis.run(&["HSET", &format!("hero:job:{id}"), "script", "a", "args", args]).await;
        let _: i64 = house.redis.run(&["LPUSH", "hero:q:work:type:words", id.as_str()]).await;
        house.is(&id, Status::Error).await;
        assert!(field::<String>(&house, &id, "error").await.contains("Error("), "{args}");
    }
    let timeout = hero::model::Seconds::new(0.5);
    let long = house.start(JobSpec { timeout, ..words("a b c", 600) }).await;
    house.is(&long, Status::Error).await;
    assert_eq!(field::<String>(&house, &long, "error_kind").await, "timeout");
    let last = house.start(words("a b c", 0)).await;
    house.is(&last, Status::Finished).await;
    assert_eq!((field::<String>(&house, &last, "output").await, field::<u32>(&house, &last, "attempt").await), ("3".to_owned(), 1));
    house.close().await;
}

/// A job of the type `words`, in its queue.
async fn queued(house: &House) -> JobId {
    queued_with(house, "words", "null").await
}

/// A job of a type with these arguments, in its queue.
async fn queued_with(house: &House, script_type: &str, args: &str) -> JobId {
    let id = JobId::random();
    let key = format!("hero:job:{id}");
    let fields = ["script", "a b", "args", args, "timeout", "3600", "script_type", script_type, "status", "dispatched"];
    let _: i64 = house.redis.run(&[&["HSET", &key][..], &fields].concat()).await;
    let _: i64 = house.redis.run(&["LPUSH", &format!("hero:q:work:type:{script_type}"), id.as_str()]).await;
    id
}

const WORDS: &str = "hero:q:work:type:words";

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_a_control_queue_reaches_jobs_of_a_type_that_no_pool_takes() {
    let house = House::empty().await;
    let redis = &house.redis;
    let (of_type, of_instance) = ("hero:q:ctl:type:words", "hero:q:ctl:type:words:group:default:inst:1");
    let _: () = redis.run(&["SET", "hero:meta:actor:inst:words:default:1", "{}"]).await;
    for control in [of_type, of_instance] {
        let running = queued(&house).await;
        let claimed: Vec<String> = redis.run(&["FCALL", "hero_claim", "1", WORDS, "o:1", "0", "words:default:1", "600000"]).await;
        assert_eq!(claimed[1], running.as_str());
        let waiting = queued(&house).await;
        let _: i64 = redis.run(&["LPUSH", control, running.as_str(), waiting.as_str()]).await;
        house.is(&waiting, Status::Error).await;
        assert_eq!(field::<String>(&house, &waiting, "error").await, "stopped");
        let key = format!("hero:job:{running}");
        until("the renewal that tells of it", || async {
            let renewed: String = redis.run(&["FCALL", "hero_renew", "1", &key, "o:1", "0", &claimed[3], "600000"]).await;
            (renewed == "stop").then_some(())
        })
        .await;
        assert!((1..=60).contains(&redis.run::<i64>(&["TTL", control]).await));
        let failed = ["FCALL", "hero_fail", "1", &key, "o:1", "0", &claimed[3], "stopped_by_request", "stopped"];
        assert_eq!(redis.run::<String>(&failed).await, "error");
        until("the request of a job that has ended is gone", || async {
            (redis.run::<u64>(&["EXISTS", control]).await == 0).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_memory_is_full_actors_in_other_languages_keep_their_jobs_and_take_one_a_second() {
    let house = House::empty().await;
    let redis = &house.redis;
    let limit = async |bytes: &str| redis.run::<String>(&["CONFIG", "SET", "maxmemory", bytes]).await;
    let _actor = hire(&house, 1);
    let long = queued_with(&house, "words", "600").await;
    house.is(&long, Status::Started).await;
    let mut own = Vec::new();
    for _ in 0..3 {
        own.push(queued_with(&house, "rare", "null").await);
    }
    let lease = async || -> f64 { redis.run(&["ZSCORE", "hero:q:leases", long.as_str()]).await };
    let rare = async || -> Vec<String> {
        redis.run(&["FCALL", "hero_claim", "1", "hero:q:work:type:rare", "o:1", "0", "rare:default:7", "600000"]).await
    };
    let first = rare().await;
    let of_job = |function: &'static str| ["FCALL".to_owned(), function.to_owned(), "1".to_owned(), format!("hero:job:{}", first[1])];
    let call = async |function: &'static str, rest: &[&str]| -> String {
        let words = of_job(function);
        redis.run(&[&words.each_ref().map(String::as_str)[..], &["o:1", "0", &first[3]], rest].concat()).await
    };
    assert_eq!(call("hero_log", &["info", "x"]).await, "logged");
    limit("1").await;
    until("a line that is dropped", || async { (call("hero_log", &["info", "x"]).await == "dropped").then_some(()) }).await;
    // The one in Python goes on, too.
    for _ in 0..3 {
        let seen = lease().await;
        until("a renewal", || async { (lease().await > seen).then_some(()) }).await;
    }
    assert_eq!(call("hero_renew", &["600000"]).await, "renewed");
    let mut times = Vec::new();
    for _ in 0..2 {
        let taken = until("the next job", || async { Some(rare().await).filter(|taken| !taken.is_empty()) }).await;
        let id = own.iter().find(|id| id.as_str() == taken[1]).unwrap();
        let started: hero::model::Timestamp = field::<String>(&house, id, "started_at").await.parse().unwrap();
        times.push(started.as_millis());
    }
    assert!(times[1] - times[0] >= 1000, "{times:?}");
    assert_eq!(call("hero_finish", &["1"]).await, "finished");
    limit("0").await;
    assert_eq!(
        (field::<u32>(&house, &long, "attempt").await, house.dispatcher.jobs().status(CONTEXT, &long).await.unwrap()),
        (1, Status::Started)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_another_language_logs_a_megabyte_and_is_told_that_its_log_is_cut() {
    let house = House::empty().await;
    let (redis, id) = (&house.redis, queued(&house).await);
    let (key, log, line) = (format!("hero:job:{id}"), format!("hero:log:{id}"), "x".repeat(65_536));
    let claim = async || -> Vec<String> { redis.run(&["FCALL", "hero_claim", "1", WORDS, "o:1", "0", "words:default:1", "600000"]).await };
    let say =
        async |claim: &str, text: &str| -> String { redis.run(&["FCALL", "hero_log", "1", &key, "o:1", "0", claim, "info", text]).await };
    for (run, length) in [(1, 16), (2, 32)] {
        let claimed = claim().await;
        for _ in 0..15 {
            assert_eq!(say(&claimed[3], &line).await, "logged", "{run}");
        }
        for _ in 0..3 {
            assert_eq!(say(&claimed[3], &line).await, "dropped", "{run}");
            assert_eq!(say(&claimed[3], "").await, "dropped", "{run}");
        }
        let lines: Vec<(String, Vec<String>)> = redis.run(&["XRANGE", &log, "-", "+"]).await;
        assert_eq!(lines.len(), length);
        assert_eq!(lines[length - 1].1[..2], ["level", "warn"]);
        assert!(lines[length - 1].1[3].starts_with("the log is cut here"));
        // The next run has a log of its own.
        let _: String = redis.run(&["FCALL", "hero_release", "1", &key, "o:1", "0", &claimed[3]]).await;
    }
}
