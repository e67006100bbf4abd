//! Limits of the functions for actors in other languages: fetches, time limits, sizes, secrets.

use std::collections::BTreeMap;

use hero::model::{JobId, JobSpec, ScriptType, Status};
use hero::store::{ActorRoom, Created, Fetch, NewJob, Store};

use crate::support::{Redis, connection, spec, until};

const QUEUE: &str = "hero:q:work:type:osis";

fn new(spec: JobSpec) -> NewJob {
    NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None }
}

async fn put(store: &Store, caller: &str) -> JobId {
    let job = new(JobSpec { caller_id: Some(caller.into()), ..spec("1") });
    let id = job.id.clone();
    assert_eq!(store.jobs().create(job).await.unwrap(), Created::Created(Status::Dispatched));
    id
}

/// The fields of a claim by name; empty if there is no job.
async fn claim(redis: &Redis, lease: &str) -> BTreeMap<String, String> {
    redis.run(&["FCALL", "hero_claim", "1", QUEUE, "alice:1", "0", "osis:default:1", lease]).await
}

#[tokio::test]
async fn an_actor_in_any_language_takes_turns_while_jobs_are_sorted_by_caller() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut order = Vec::new();
    for caller in ["ann", "ann", "ann", "bob"] {
        order.push(put(&store, caller).await);
    }
    let (script_type, queues) = (ScriptType::default(), [(QUEUE.to_owned(), 0)]);
    let rooms = [ActorRoom { actor: "osis:default:9".into(), room: 1 }];
    let fetch = Fetch { script_type: &script_type, ends: &[], actors: &rooms, queues: &queues };
    assert_eq!(store.queues().fair_fetch(&fetch).await.unwrap().taken[0].job, order[0]);
    order.push(put(&store, "carl").await);
    for next in [3, 1, 2, 4] {
        assert_eq!(claim(&redis, "30000").await.get("id"), Some(&order[next].to_string()), "{next}");
    }
    assert!(claim(&redis, "30000").await.is_empty());
}

/// Calls a function about the job of a claim, as the owner of the lease.
async fn call(redis: &Redis, function: &str, claimed: &BTreeMap<String, String>, rest: &[&str]) -> Result<String, redis::RedisError> {
    let mut call = redis::cmd("FCALL");
    call.arg(function).arg(1).arg(format!("hero:job:{}", claimed["id"])).arg("alice:1").arg(0).arg(&claimed["claim"]).arg(rest);
    let client = redis::Client::open(redis.url()).unwrap();
    call.query_async(&mut connection(&client).await.unwrap()).await
}

async fn lease_of(redis: &Redis, claimed: &BTreeMap<String, String>) -> f64 {
    redis.run(&["ZSCORE", "hero:q:leases", &claimed["id"]]).await
}

#[tokio::test]
async fn a_lease_is_not_renewed_beyond_the_time_limit_of_its_job() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let timeout = hero::model::Seconds::new(0.1);
    store.jobs().create(new(JobSpec { timeout, ..spec("1") })).await.unwrap();
    let claimed = claim(&redis, "60000").await;
    let renew = async || call(&redis, "hero_renew", &claimed, &["80000"]).await.unwrap();
    until("the end of its time", || async {
        let said = renew().await;
        assert!(["renewed", "timeout"].contains(&&*said), "{said}");
        (said == "timeout").then_some(())
    })
    .await;
    let before = lease_of(&redis, &claimed).await;
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{}", claimed["id"]), "stop_requested_at", "now"]).await;
    assert_eq!((renew().await.as_str(), lease_of(&redis, &claimed).await), ("stop", before));
    assert_eq!(call(&redis, "hero_fail", &claimed, &["timeout", "timeout"]).await.unwrap(), "error");
    assert_eq!(redis.run::<String>(&["HGET", &format!("hero:job:{}", claimed["id"]), "error_kind"]).await, "timeout");
    assert_eq!(renew().await, "lost");
}

#[tokio::test]
async fn a_claim_or_a_renewal_that_is_out_of_bounds_is_refused_before_anything_is_done() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    put(&store, "ann").await;
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = connection(&client).await.unwrap();
    let bad_leases = ["nan", "-nan", "inf", "1e308", "0", "0.5", "-1", "86400001", "soon", ""];
    let long = "x".repeat(129);
    let bad_actors = ["osis:a b:1", "osis:default:1234567890", &format!("{long}:default:1"), &format!("osis:{long}:1"), "a:b:c:1"];
    let calls = bad_leases.map(|lease| ("osis:default:1", lease)).into_iter().chain(bad_actors.map(|actor| (actor, "30000")));
    for (actor, lease) in calls {
        let words = ["hero_claim", "1", QUEUE, "alice:1", "0", actor, lease];
        let error = redis::cmd("FCALL").arg(&words).query_async::<redis::Value>(&mut connection).await.unwrap_err();
        assert!(error.to_string().contains("from 1 ms to a day"), "{actor} {lease}: {error}");
    }
    assert_eq!(redis.run::<usize>(&["LLEN", QUEUE]).await, 1);
    let claimed = claim(&redis, "86400000").await;
    let before = lease_of(&redis, &claimed).await;
    for lease in bad_leases {
        let error = call(&redis, "hero_renew", &claimed, &[lease]).await.unwrap_err();
        assert!(error.to_string().contains("from 1 ms to a day"), "{lease}: {error}");
    }
    assert_eq!(lease_of(&redis, &claimed).await, before);
}

#[tokio::test]
async fn what_an_actor_in_any_language_says_of_a_job_has_no_values_of_its_environment() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let env_vars = [("A", "hunter"), ("B", "hunter22"), ("C", "a\"b/c"), ("D", "ab")].map(|(name, value)| (name.into(), value.into()));
    store.jobs().create(new(JobSpec { env_vars: env_vars.into(), ..spec("1") })).await.unwrap();
    let claimed = claim(&redis, "60000").await;
    let (text, masked) = ("hunter22 hunter ab a\"b/c {\"k\":\"a\\\"b/c\"} %s", "*** *** ab *** {\"k\":\"***\"} %s");
    assert_eq!(call(&redis, "hero_log", &claimed, &["info", text]).await.unwrap(), "logged");
    let key = format!("hero:job:{}", claimed["id"]);
    let lines: Vec<(String, Vec<String>)> = redis.run(&["XRANGE", &format!("hero:log:{}", claimed["id"]), "-", "+"]).await;
    assert_eq!(lines[0].1, ["level", "info", "text", masked]);
    assert_eq!(call(&redis, "hero_fail", &claimed, &[text]).await.unwrap(), "error");
    assert_eq!(redis.run::<String>(&["HGET", &key, "error"]).await, masked);
    // A foreign program wrote more of them than anybody looks for.
    store.jobs().create(new(spec("1"))).await.unwrap();
    let claimed = claim(&redis, "60000").await;
    let many: BTreeMap<String, String> = (0..300).map(|number| (format!("v{number}"), format!("value-{number}"))).collect();
    let key = format!("hero:job:{}", claimed["id"]);
    let _: i64 = redis.run(&["HSET", &key, "env_vars", &serde_json::to_string(&many).unwrap()]).await;
    assert_eq!(call(&redis, "hero_fail", &claimed, &["no value-7"]).await.unwrap(), "error");
    assert_eq!(redis.run::<String>(&["HGET", &key, "error"]).await, "***");
}

#[tokio::test]
async fn an_end_that_is_too_long_is_refused_and_the_job_stays_with_its_actor() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    put(&store, "ann").await;
    let claimed = claim(&redis, "60000").await;
    let longest = 16 << 20;
    for (function, length, says) in [("hero_finish", longest + 1, "16 MB"), ("hero_fail", 65537, "64 KB")] {
        let error = call(&redis, function, &claimed, &[&"x".repeat(length)]).await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(call(&redis, "hero_finish", &claimed, &[&"x".repeat(longest)]).await.unwrap(), "finished");
}
