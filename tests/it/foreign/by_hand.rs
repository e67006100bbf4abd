//! A foreign program that only has redis-cli and the description of the keys, and none of our code.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hero::model::{JobId, Status};

use crate::support::{House, Redis, pool_settings, until};

/// HSET of a job of a client whose clock is slow.
async fn hset(redis: &Redis, id: &str, script: &str, more: &[(&str, &str)]) {
    super::hset_at(redis, id, "2026-01-01T00:00:00Z", script, more).await;
}

async fn lpush(redis: &Redis, queue: &str, id: &str) {
    let _: i64 = redis.run(&["LPUSH", queue, id]).await;
}

async fn blpop(redis: &Redis, id: &str) -> String {
    let reply: Option<(String, String)> = redis.run(&["BLPOP", &format!("hero:q:reply:{id}"), "60"]).await;
    reply.expect("a reply within a minute").1
}

async fn hget(redis: &Redis, id: &str, field: &str) -> Option<String> {
    redis.run(&["HGET", &format!("hero:job:{id}"), field]).await
}

async fn ended(redis: &Redis, id: &str) -> (String, String) {
    until(&format!("the end of {id}"), || async {
        let status = hget(redis, id, "status").await?;
        let text = hget(redis, id, if status == "finished" { "output" } else { "error" }).await.unwrap_or_default();
        matches!(status.as_str(), "finished" | "error").then_some((status, text))
    })
    .await
}

fn id() -> String {
    JobId::random().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_written_by_hand_runs_and_replies() {
    let house = House::open(1).await;
    let (redis, id) = (&house.redis, id());
    hset(redis, &id, "40 + 2", &[]).await;
    lpush(redis, "hero:q:work:type:osis", &id).await;
    assert_eq!(blpop(redis, &id).await, "42");
    let job: HashMap<String, String> = redis.run(&["HGETALL", &format!("hero:job:{id}")]).await;
    assert_eq!((job["status"].as_str(), job["output"].as_str(), job["caller_id"].as_str()), ("finished", "42", "foreign"));
    assert!(job["updated_at"].as_str() > "2026-01-01T00:00:00Z" && job["started_at"] <= job["finished_at"]);
    let ttl: i64 = redis.run(&["TTL", &format!("hero:job:{id}")]).await;
    assert!(ttl > 0, "{ttl}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integer_in_args_written_by_hand_is_refused_where_scripts_would_see_another() {
    let house = House::open(1).await;
    let redis = &house.redis;
    for (number, whole) in [("99999999999999999999", false), ("-9223372036854775809", false), ("9223372036854775807", true)] {
        let id = id();
        hset(redis, &id, "args.list[1].id", &[("args", &format!("{{\"list\": [1, {{\"id\": {number}}}]}}"))]).await;
        lpush(redis, "hero:q:work:type:osis", &id).await;
        let (status, text) = ended(redis, &id).await;
        let refusal = format!("args.list[1].id is {number}, beyond the integers of scripts");
        assert!(if whole { status == "finished" && text == number } else { status == "error" && text.starts_with(&refusal) }, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_replied_as_its_bare_text_after_the_hash_says_so() {
    let house = House::open(1).await;
    let (redis, id) = (&house.redis, id());
    hset(redis, &id, "throw \"broken\"", &[]).await;
    lpush(redis, "hero:q:work:type:osis", &id).await;
    let reply = blpop(redis, &id).await;
    assert!(reply.contains("broken"), "{reply}");
    assert_eq!(hget(redis, &id, "status").await.as_deref(), Some("error"));
    assert_eq!(hget(redis, &id, "error").await, Some(reply));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_queue_of_the_naming_proposal_is_served() {
    let house = House::open(2).await;
    let redis = &house.redis;
    let mut jobs = Vec::new();
    for target in ["", ":group:default", ":group:default:inst:1", ":group:default:inst:2"] {
        for priority in ["", ":prio:0", ":prio:1", ":prio:2"] {
            let id = id();
            hset(redis, &id, "\"ok\"", &[]).await;
            lpush(redis, &format!("hero:q:work:type:osis{target}{priority}"), &id).await;
            jobs.push((id, target));
        }
    }
    for (id, target) in jobs {
        assert_eq!(blpop(redis, &id).await, "ok");
        if let Some(instance) = target.strip_prefix(":group:default:inst:") {
            assert_eq!(hget(redis, &id, "actor").await, Some(format!("osis:default:{instance}")));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_one_queue_start_in_the_order_they_came() {
    let mut house = House::empty().await;
    let mut pushed = Vec::new();
    for _ in 0..50 {
        let id = id();
        hset(&house.redis, &id, "1", &[]).await;
        lpush(&house.redis, "hero:q:work:type:osis", &id).await;
        pushed.push(id);
    }
    let settings = pool_settings(house.redis.directory(), 1);
    house.hire(settings).await;
    assert_eq!(blpop(&house.redis, &pushed[49]).await, "1");
    let events: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let started = events.into_iter().filter(|(_, event)| event["status"] == "started").map(|(_, event)| event["job"].clone());
    let mut started: Vec<String> = started.collect();
    // What was taken ahead, and requeued because the one before took long, starts again where it was: some in a row, perhaps. The last start counts.
    let mut seen = BTreeSet::new();
    started.reverse();
    started.retain(|job| seen.insert(job.clone()));
    started.reverse();
    assert_eq!(started, pushed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_request_ends_a_running_job_and_leaves_other_ids() {
    let house = House::open(1).await;
    let redis = &house.redis;
    for control in ["hero:q:ctl:type:osis", "hero:q:ctl:type:osis:group:default:inst:1"] {
        let (running, stranger) = (id(), id());
        hset(redis, &running, "loop {}", &[]).await;
        lpush(redis, "hero:q:work:type:osis", &running).await;
        until("start", || async { (hget(redis, &running, "status").await? == "started").then_some(()) }).await;
        lpush(redis, control, &stranger).await;
        lpush(redis, control, &running).await;
        assert_eq!(ended(redis, &running).await, ("error".into(), "stopped_by_request".into()));
        let left: Vec<String> = redis.run(&["LRANGE", control, "0", "-1"]).await;
        assert_eq!(left, [stranger]);
        let ttl: i64 = redis.run(&["TTL", control]).await;
        assert!((1..=60).contains(&ttl), "{ttl}");
        let _: i64 = redis.run(&["DEL", control]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_request_ends_a_queued_job() {
    let house = House::open(1).await;
    let (redis, busy, queued) = (&house.redis, id(), id());
    hset(redis, &busy, "loop {}", &[]).await;
    lpush(redis, "hero:q:work:type:osis", &busy).await;
    until("start", || async { (hget(redis, &busy, "status").await? == "started").then_some(()) }).await;
    hset(redis, &queued, "1", &[]).await;
    lpush(redis, "hero:q:work:type:osis", &queued).await;
    lpush(redis, "hero:q:ctl:type:osis", &queued).await;
    assert_eq!(ended(redis, &queued).await, ("error".into(), "stopped".into()));
    lpush(redis, "hero:q:ctl:type:osis", &busy).await;
    assert_eq!(ended(redis, &busy).await.1, "stopped_by_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_reply_list_gets_json() {
    let house = House::open(1).await;
    let redis = &house.redis;
    for (script, status, field, text) in [("[1, 2]", "finished", "output", "[1,2]"), ("throw \"x\"", "error", "error", "x")] {
        let id = id();
        hset(redis, &id, script, &[("reply_to", "my:replies")]).await;
        lpush(redis, "hero:q:work:type:osis", &id).await;
        let reply: Option<(String, String)> = redis.run(&["BLPOP", "my:replies", "60"]).await;
        let reply: serde_json::Value = serde_json::from_str(&reply.unwrap().1).unwrap();
        assert_eq!((&reply["job_id"], &reply["status"]), (&id.as_str().into(), &status.into()));
        assert!(reply[field].as_str().unwrap().contains(text), "{reply}");
    }
    // A list that is no list harms nobody.
    let id = id();
    let _: () = redis.run(&["SET", "taken", "x"]).await;
    hset(redis, &id, "1", &[("reply_to", "taken")]).await;
    lpush(redis, "hero:q:work:type:osis", &id).await;
    assert_eq!(blpop(redis, &id).await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_counters_count() {
    let house = House::open(1).await;
    let redis = &house.redis;
    for script in ["1", "2", "throw 3"] {
        let id = id();
        hset(redis, &id, script, &[]).await;
        lpush(redis, "hero:q:work:type:osis", &id).await;
        blpop(redis, &id).await;
    }
    house.run("4").await.unwrap();
    let stats: HashMap<String, u64> = redis.run(&["HGETALL", "hero:meta:queue:stats:osis"]).await;
    assert_eq!((stats["started"], stats["finished"], stats["error"], stats["created"]), (4, 3, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_should_not_be_in_a_queue_harms_nothing() {
    let house = House::open(1).await;
    let (redis, queue) = (&house.redis, "hero:q:work:type:osis");
    let (list, vanished, early) = (id(), id(), id());
    lpush(redis, &format!("hero:job:{list}"), "a legacy queue").await;
    for odd in [list.as_str(), "not a uuid", "", "*", "hero:job:x", &vanished, "\u{0}\u{1}"] {
        lpush(redis, queue, odd).await;
    }
    // As in rhailib's diagram: first the id, then the hash.
    lpush(redis, queue, &early).await;
    until("the early id is taken", || async { (redis.run::<i64>(&["LLEN", queue]).await == 0).then_some(()) }).await;
    hset(redis, &early, "\"late\"", &[]).await;
    assert_eq!(blpop(redis, &early).await, "late");
    assert_eq!(house.run("40 + 2").await.unwrap().output, "42");
    let kept: Vec<String> = redis.run(&["LRANGE", &format!("hero:job:{list}"), "0", "-1"]).await;
    assert_eq!(kept, ["a legacy queue"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_no_list_harms_nothing() {
    let house = House::open(1).await;
    let _: () = house.redis.run(&["SET", "hero:q:work:type:osis:prio:0", "x"]).await;
    let _: () = house.redis.run(&["SET", "hero:q:ctl:type:osis", "x"]).await;
    assert_eq!(house.run("40 + 2").await.unwrap().output, "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_dead_worker_is_requeued_by_pushing_its_id() {
    let house = House::open(1).await;
    let (redis, stale, fresh) = (&house.redis, id(), id());
    hset(redis, &stale, "1", &[("status", "started"), ("started_at", "2026-01-01T00:00:00+01:00")]).await;
    lpush(redis, "hero:q:work:type:osis", &stale).await;
    assert_eq!(blpop(redis, &stale).await, "1");
    // One that may still run is left alone.
    let now = hero::model::Timestamp::local().to_string();
    hset(redis, &fresh, "1", &[("status", "started"), ("started_at", &now)]).await;
    lpush(redis, "hero:q:work:type:osis", &fresh).await;
    house.run("2").await.unwrap();
    assert_eq!(hget(redis, &fresh, "status").await.as_deref(), Some("started"));
    // Neither is one that has ended run again.
    lpush(redis, "hero:q:work:type:osis", &stale).await;
    house.run("2").await.unwrap();
    assert_eq!(hget(redis, &stale, "attempt").await.as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_with_bad_fields_gets_an_error_that_names_them() {
    let house = House::open(1).await;
    let redis = &house.redis;
    for (field, value) in
        [("log_path", "../../etc/x"), ("log_path", "/etc/x"), ("env_vars", "[1]"), ("args", "{"), ("timeout", "soon"), ("timeout", "-1")]
    {
        let id = id();
        hset(redis, &id, "1", &[(field, value)]).await;
        lpush(redis, "hero:q:work:type:osis", &id).await;
        let error = blpop(redis, &id).await;
        assert!(error.contains(field), "{field}: {error}");
        assert_eq!(hget(redis, &id, "error_kind").await.as_deref(), Some("unavailable"));
    }
    let id = id();
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "id", &id]).await;
    lpush(redis, "hero:q:work:type:osis", &id).await;
    assert!(blpop(redis, &id).await.contains("script"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_file_of_a_foreign_worker_is_read() {
    let house = House::empty().await;
    let (redis, job) = (&house.redis, JobId::random());
    let logs = redis.directory().join("logs");
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::write(logs.join("w1.log"), "first\nsecond\n").unwrap();
    hset(redis, job.as_str(), "1", &[("status", "finished"), ("output", "1"), ("log_path", "w1.log")]).await;
    let page = house.dispatcher.logs().page(crate::support::CONTEXT, &job, None, 1).await.unwrap();
    assert_eq!((page.lines[0].text.as_str(), page.ended), ("first", false));
    let page = house.dispatcher.logs().page(crate::support::CONTEXT, &job, page.next_cursor.as_deref(), 10).await.unwrap();
    assert_eq!((page.lines[0].text.as_str(), page.ended), ("second", true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_made_here_has_every_field_of_the_protocol() {
    let house = House::open(1).await;
    let spec = hero::model::JobSpec {
        log_path: Some("x.log".into()),
        env_vars: [("A".to_owned(), "b".to_owned())].into(),
        ..crate::support::spec("1")
    };
    let id = house.dispatcher.jobs().run_and_wait(spec, crate::support::PATIENCE).await.unwrap().job_id;
    let job: HashMap<String, String> = house.redis.run(&["HGETALL", &format!("hero:job:{id}")]).await;
    for field in [
        "id",
        "caller_id",
        "worker_id",
        "context_id",
        "script",
        "timeout",
        "retries",
        "concurrent",
        "log_path",
        "created_at",
        "updated_at",
        "status",
        "env_vars",
        "prerequisites",
        "dependents",
        "output",
        "dependencies",
    ] {
        assert!(job.contains_key(field), "{field} is missing");
    }
    let failed = house.start(crate::support::spec("throw 1")).await;
    house.is(&failed, Status::Error).await;
    assert!(hget(&house.redis, failed.as_str(), "error").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_numbers_in_one_hash_harm_no_other_job() {
    let mut house = House::empty().await;
    let redis = &house.redis;
    let (before, after) = (id(), id());
    hset(redis, &before, "\"before\"", &[]).await;
    lpush(redis, "hero:q:work:type:osis", &before).await;
    let mut odd = Vec::new();
    for retention in ["inf", "nan", "1e300", "-1", "soon"] {
        for (field, value) in [("stop_requested_at", "x"), ("attempt", "nan"), ("failures", "4294967295"), ("crashes", "2")] {
            let id = id();
            hset(redis, &id, "throw 1", &[("retention", retention), ("retries", "5e9"), ("retry_backoff", "0"), (field, value)]).await;
            lpush(redis, "hero:q:work:type:osis", &id).await;
            odd.push((id, field));
        }
    }
    hset(redis, &after, "\"after\"", &[]).await;
    lpush(redis, "hero:q:work:type:osis", &after).await;
    let settings = pool_settings(house.redis.directory(), 2);
    house.hire(settings).await;
    let redis = &house.redis;
    assert_eq!((blpop(redis, &before).await, blpop(redis, &after).await), ("before".into(), "after".into()));
    for (id, field) in odd {
        if field == "stop_requested_at" {
            assert_eq!(ended(redis, &id).await.1, "stopped");
            assert!(redis.run::<i64>(&["TTL", &format!("hero:job:{id}")]).await > 0);
        }
    }
}

#[tokio::test]
async fn a_requeued_job_returns_to_its_original_queue() {
    use hero::store::{ActorRoom, AttemptEnd, Ended, Fetch};
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (id, queue) = (id(), "hero:q:work:type:osis:group:io:inst:3");
    hset(&redis, &id, "1", &[]).await;
    lpush(&redis, queue, &id).await;
    let (script_type, actors) = ("osis".parse().unwrap(), [ActorRoom { actor: "osis:io:3".into(), room: 1 }]);
    let fetch = Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &[(queue.to_owned(), 1)] };
    let taken = store.queues().fetch(&fetch).await.unwrap().taken.remove(0);
    let given_back = [Ended::of(taken.job, taken.attempt, taken.claim, taken.started_at, AttemptEnd::Requeued)];
    store.queues().fetch(&Fetch { ends: &given_back, actors: &[], queues: &[], ..fetch }).await.unwrap();
    let back: Vec<String> = redis.run(&["LRANGE", queue, "0", "-1"]).await;
    assert_eq!(back, [id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_id_or_dependencies_cannot_be_read_ends_and_says_why() {
    let house = House::open(1).await;
    let first: String = hero::model::JobId::random().to_string();
    let put = async |id: &str, more: &[&str]| {
        let key = format!("hero:job:{id}");
        let fields = [&["HSET", &key, "id", id, "script", "1", "status", "dispatched"][..], more].concat();
        let _: i64 = house.redis.run(&fields).await;
        let _: i64 = house.redis.run(&["LPUSH", "hero:q:work:type:osis", id]).await;
    };
    let ended = async |id: &str| -> String {
        until("an end", || async {
            let key = format!("hero:job:{id}");
            let status: String = house.redis.run(&["HGET", &key, "status"]).await;
            assert_ne!(status, "finished");
            if status == "error" { Some(house.redis.run(&["HGET", &key, "error"]).await) } else { None }
        })
        .await
    };
    put("my-job-1", &[]).await;
    assert!(ended("my-job-1").await.contains("is a UUID"));
    let reply: Option<(String, String)> = house.redis.run(&["BLPOP", "hero:reply:my-job-1", "10"]).await;
    assert!(reply.unwrap().1.contains("is a UUID"));
    let seconds: i64 = house.redis.run(&["TTL", "hero:job:my-job-1"]).await;
    assert!(seconds > 0, "it is not kept for ever");
    for unreadable in [first.clone(), format!("{first},{first}"), format!("[{first}]"), "not-json".to_owned()] {
        for field in ["dependencies", "prerequisites"] {
            let id = hero::model::JobId::random().to_string();
            put(&id, &[field, &unreadable]).await;
            assert!(ended(&id).await.contains("cannot be read"), "{field} {unreadable}");
        }
    }
}
