//! Invalid data from foreign programs stops nothing, and no caller waits for ever.

use std::time::{Duration, Instant};

use hero::model::{ContextId, JobId, JobSpec, Status};
use hero::store::{Created, Deleted, Retried, Store};

use super::relations::{create, ended, fetch, job, now, release};
use crate::support::Redis;

async fn house() -> (Redis, Store) {
    let redis = Redis::start().await;
    let store = redis.store().await;
    (redis, store)
}

fn key(id: &JobId) -> String {
    format!("hero:job:{id}")
}

async fn finish(store: &Store, id: &JobId) {
    assert_eq!(fetch(store, &[], 9).await, std::slice::from_ref(id));
    fetch(store, &[ended(id)], 0).await;
    release(store).await;
}

/// The log names keys, each with what to do about it, or that it gave way.
async fn names(store: &Store, keys: &[&str]) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let writer = std::sync::Mutex::new(log.reopen().unwrap());
    let listening = tracing::subscriber::set_default(tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish());
    store.maintenance().name_spoilt().await.unwrap();
    drop(listening);
    let log = std::fs::read_to_string(log.path()).unwrap();
    for key in keys {
        let cures = ["delete or rename it", "it was deleted, so that all else goes on"];
        let told = log.lines().filter(|line| line.contains(key) && cures.iter().any(|cure| line.contains(cure)));
        assert_eq!(told.count(), 1, "{key}: {log}");
    }
}

async fn spoil(redis: &Redis, key: &str) {
    let _: u64 = redis.run(&["DEL", key]).await;
    let _: () = redis.run(&["SET", key, "x"]).await;
}

#[tokio::test]
async fn a_key_named_with_an_id_that_functions_leave_out_is_named_in_the_log() {
    let (redis, store) = house().await;
    // Those who wait for a job.
    for list in ["dependents", "children", "onComplete"] {
        let (first, _) = create(&store, JobSpec::default()).await;
        let of = |is: &str| (is == list).then(|| first.clone());
        let prerequisites = of("dependents").into_iter().collect();
        let spec = JobSpec { prerequisites, parent_id: of("children"), predecessor_id: of("onComplete"), ..JobSpec::default() };
        create(&store, spec).await;
        let key = format!("hero:rel:{first}:{list}");
        spoil(&redis, &key).await;
        finish(&store, &first).await;
        names(&store, &[&key]).await;
    }
    // Its reply, its log and itself.
    let (id, _) = create(&store, JobSpec::default()).await;
    let reply = format!("hero:q:reply:{id}");
    spoil(&redis, &reply).await;
    finish(&store, &id).await;
    names(&store, &[&reply]).await;
    for of_job in [format!("hero:log:{id}"), key(&id)] {
        spoil(&redis, &of_job).await;
        assert!(store.jobs().read_lines(&id, None, 9, 999).await.unwrap().lines.is_empty());
        store.jobs().stop(&id).await.unwrap();
        names(&store, &[&of_job]).await;
    }
    // Where a foreign actor is told of a stop.
    let id = JobId::random();
    let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "script_type", "osis", "status", "started", "worker_id", "w"]).await;
    let told = ["hero:q:ctl:type:osis", "hero:stop_queue:w"];
    for queue in told {
        spoil(&redis, queue).await;
    }
    store.jobs().stop(&id).await.unwrap();
    names(&store, &told).await;
    let _: u64 = redis.run(&["DEL", told[0]]).await;
    // What gives way is named, too.
    let keyed = JobSpec { idempotency_key: Some("k".into()), ..JobSpec::default() };
    let (first, _) = create(&store, keyed).await;
    finish(&store, &first).await;
    let keys: Vec<String> = redis.run(&["KEYS", "hero:idem:*"]).await;
    spoil(&redis, &keys[0]).await;
    let (second, _) = create(&store, JobSpec { idempotency_key: Some("k".into()), ..JobSpec::default() }).await;
    assert_eq!(redis.run::<String>(&["TYPE", &keys[0]]).await, "hash");
    names(&store, &[&keys[0]]).await;
    finish(&store, &second).await;
    // The hash of another layout.
    let id = JobId::random();
    spoil(&redis, "job:1:2").await;
    let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "dialect", "runner", "dialect_key", "job:1:2"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
    finish(&store, &id).await;
    names(&store, &["job:1:2"]).await;
}

#[tokio::test]
async fn what_is_no_longer_of_another_type_is_not_named_and_no_more_keys_than_a_log_takes() {
    let (redis, store) = house().await;
    let (cured, others) = (JobId::random(), (0..300).map(|_| JobId::random()).collect::<Vec<_>>());
    spoil(&redis, &key(&cured)).await;
    store.jobs().stop(&cured).await.unwrap();
    let _: u64 = redis.run(&["DEL", &key(&cured)]).await;
    for id in &others {
        spoil(&redis, &key(id)).await;
        store.jobs().stop(id).await.unwrap();
    }
    for _ in 0..2 {
        store.maintenance().name_spoilt().await.unwrap();
        assert_eq!((store.health().spoilt_keys().len(), store.health().spoilt_keys().contains(&key(&cured))), (199, false));
    }
}

/// Spoils so many jobs of a context, and has a function meet them.
async fn meet_spoilt(redis: &Redis, store: &Store, many: usize) {
    let database = store.context().to_string();
    for _ in 0..many {
        let id = JobId::random();
        let script = "redis.call('SELECT', ARGV[1]) redis.call('SET', ARGV[2], 'x')";
        let _: Option<String> = redis.run(&["EVAL", script, "0", &database, &key(&id)]).await;
        store.jobs().stop(&id).await.unwrap();
    }
}

#[tokio::test]
async fn contexts_that_nobody_serves_keep_no_other_from_being_told() {
    let redis = Redis::with(&["--save", "", "--appendonly", "no", "--databases", "64"]).await;
    let store = redis.store().await;
    let others = async |context: u32| store.beside(ContextId(context)).await.unwrap();
    // One is full of them, and there are more contexts than are kept in mind.
    for (context, many) in std::iter::once((1, 300)).chain((2..40).map(|context| (context, 1))) {
        meet_spoilt(&redis, &others(context).await, many).await;
    }
    let id = JobId::random();
    spoil(&redis, &key(&id)).await;
    store.jobs().stop(&id).await.unwrap();
    names(&store, &[&key(&id)]).await;
    // Each is told of its own.
    let last = others(39).await;
    last.maintenance().name_spoilt().await.unwrap();
    assert_eq!(last.health().spoilt_keys().len(), 1);
}

#[tokio::test]
async fn a_key_that_has_been_mended_makes_room_for_others_and_is_named_once_more() {
    let (redis, store) = house().await;
    let id = JobId::random();
    let spoilt = [key(&id), "hero:q:release".to_owned()];
    for round in 1..=2 {
        for key in &spoilt {
            spoil(&redis, key).await;
        }
        store.jobs().stop(&id).await.unwrap();
        names(&store, &[&spoilt[0], &spoilt[1]]).await;
        let later = Instant::now() + Duration::from_secs(60);
        store.maintenance().forget_mended(later).await.unwrap();
        assert_eq!(store.health().spoilt_keys().len(), 2, "they are spoilt still, in round {round}");
        let _: u64 = redis.run(&["DEL", &spoilt[0], &spoilt[1]]).await;
        let _: u64 = redis.run(&["RPUSH", &spoilt[1], "of its type"]).await;
        store.maintenance().forget_mended(Instant::now()).await.unwrap();
        assert_eq!(store.health().spoilt_keys().len(), 2, "no log tells of one that is spoilt again and again, in round {round}");
        store.maintenance().forget_mended(later).await.unwrap();
        assert!(store.health().spoilt_keys().is_empty(), "{:?}", store.health().spoilt_keys());
    }
}

#[tokio::test]
async fn a_key_that_is_no_hash_is_no_relative() {
    let (redis, store) = house().await;
    let list = JobId::random();
    let _: i64 = redis.run(&["LPUSH", &key(&list), "x"]).await;
    for spec in [
        JobSpec { prerequisites: vec![list.clone()], ..JobSpec::default() },
        JobSpec { parent_id: Some(list.clone()), ..JobSpec::default() },
        JobSpec { predecessor_id: Some(list.clone()), ..JobSpec::default() },
        JobSpec { dependents: vec![list.clone()], ..JobSpec::default() },
    ] {
        assert!(matches!(store.jobs().create(job(spec)).await.unwrap(), Created::NoRelative(_, ids) if ids == [list.clone()]));
    }
    // The same from outside: the job ends, and the one taken with it runs.
    let (bad, good) = (JobId::random(), JobId::random());
    let _: i64 = redis.run(&["HSET", &key(&bad), "script", "1", "prerequisites", "[\"somebody\"]"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:job:somebody", "x"]).await;
    let _: i64 = redis.run(&["HSET", &key(&good), "script", "1"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", bad.as_str(), good.as_str()]).await;
    assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(&good));
    assert_eq!(now(&store, &bad).await, Status::Error);
}

#[tokio::test]
async fn a_spoilt_list_of_relatives_gives_way() {
    let (redis, store) = house().await;
    let (parent, _) = create(&store, JobSpec::default()).await;
    for list in ["dependents", "children", "active", "onComplete"] {
        let _: () = redis.run(&["SET", &format!("hero:rel:{parent}:{list}"), "x"]).await;
    }
    let (child, _) = create(&store, JobSpec { parent_id: Some(parent.clone()), ..JobSpec::default() }).await;
    let (dependent, _) = create(&store, JobSpec { prerequisites: vec![child.clone()], ..JobSpec::default() }).await;
    for id in [&parent, &child, &dependent] {
        finish(&store, id).await;
    }
}

#[tokio::test]
async fn a_job_that_was_ended_past_its_actor_and_deleted_lets_its_dependents_go() {
    let (redis, store) = house().await;
    let (first, _) = create(&store, JobSpec::default()).await;
    let (second, _) = create(&store, JobSpec { prerequisites: vec![first.clone()], ..JobSpec::default() }).await;
    assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(&first));
    let _: i64 = redis.run(&["HSET", &key(&first), "status", "finished", "output", "1"]).await;
    assert_eq!(store.jobs().delete(&first).await.unwrap(), Deleted::Deleted);
    release(&store).await;
    assert_eq!(now(&store, &second).await, Status::Dispatched);
}

#[tokio::test]
async fn a_parent_that_runs_again_is_kept_for_its_children() {
    let (_redis, store) = house().await;
    let (grandparent, _) = create(&store, JobSpec::default()).await;
    let (parent, _) = create(&store, JobSpec { parent_id: Some(grandparent.clone()), ..JobSpec::default() }).await;
    let (child, _) = create(&store, JobSpec { parent_id: Some(parent.clone()), ..JobSpec::default() }).await;
    let (continuation, _) = create(&store, JobSpec { predecessor_id: Some(grandparent.clone()), ..JobSpec::default() }).await;
    finish(&store, &grandparent).await;
    finish(&store, &parent).await;
    assert!(matches!(store.jobs().retry(&parent).await.unwrap(), Retried::OnItsWay(_)));
    assert!(matches!(store.jobs().delete(&parent).await.unwrap(), Deleted::Open(_)));
    store.jobs().stop(&parent).await.unwrap();
    finish(&store, &child).await;
    assert_eq!(now(&store, &continuation).await, Status::Dispatched);
}

#[tokio::test]
async fn a_retry_that_would_wait_for_itself_is_refused() {
    let (_redis, store) = house().await;
    let (root, _) = create(&store, JobSpec::default()).await;
    let (continuation, _) = create(&store, JobSpec { predecessor_id: Some(root.clone()), ..JobSpec::default() }).await;
    finish(&store, &root).await;
    finish(&store, &continuation).await;
    let of_root = JobSpec { parent_id: Some(root.clone()), ..JobSpec::default() };
    let (child, _) = create(&store, JobSpec { prerequisites: vec![continuation.clone()], ..of_root.clone() }).await;
    finish(&store, &child).await;
    let (_running, _) = create(&store, of_root).await;
    assert_eq!(store.jobs().retry(&continuation).await.unwrap(), Retried::OnItsWay(Status::WaitingForPrerequisites));
    assert_eq!(store.jobs().retry(&child).await.unwrap(), Retried::Cycle(Status::Finished));
}

#[tokio::test]
async fn a_status_that_nobody_knows_is_taken_for_that_of_an_actor_that_may_die() {
    let (redis, store) = house().await;
    let (id, _) = create(&store, JobSpec::default()).await;
    let _: String = redis.run(&["RPOP", "hero:q:work:type:osis"]).await;
    let _: i64 = redis.run(&["HSET", &key(&id), "status", "running"]).await;
    for _ in 0..2 {
        store.clock().advance(Duration::from_secs(100));
        store.queues().reap(128).await.unwrap();
    }
    assert_eq!(fetch(&store, &[], 9).await, [id]);
}

#[tokio::test]
async fn numbers_that_are_none_stop_no_round() {
    let (redis, store) = house().await;
    let (odd, _) = create(&store, JobSpec { retries: 1, ..JobSpec::default() }).await;
    let (other, _) = create(&store, JobSpec::default()).await;
    for id in [&odd, &other] {
        let _: String = redis.run(&["RPOP", "hero:q:work:type:osis"]).await;
        let _: i64 = redis.run(&["HSET", &key(id), "status", "error", "error", "no", "retry_backoff", "nan"]).await;
    }
    store.clock().advance(Duration::from_secs(10));
    store.queues().reap(128).await.unwrap();
    assert_eq!(now(&store, &odd).await, Status::Scheduled);
    let due: Option<f64> = redis.run(&["ZSCORE", "hero:q:scheduled", odd.as_str()]).await;
    assert!(due.is_some());
    assert!(redis.run::<i64>(&["TTL", &key(&other)]).await > 0);
}

#[tokio::test]
async fn a_job_that_is_held_back_keeps_the_type_of_its_queue() {
    let (redis, store) = house().await;
    let (first, _) = create(&store, JobSpec::default()).await;
    let id = JobId::random();
    let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "prerequisites", &format!("[\"{first}\"]")]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:sal", id.as_str()]).await;
    let (sal, queues) = ("sal".parse().unwrap(), [("hero:q:work:type:sal".to_owned(), 0)]);
    let actors = [hero::store::ActorRoom { actor: "sal:default:1".into(), room: 1 }];
    let fetched =
        store.queues().fetch(&hero::store::Fetch { script_type: &sal, ends: &[], actors: &actors, queues: &queues }).await.unwrap();
    assert!(fetched.taken.is_empty());
    finish(&store, &first).await;
    assert_eq!(redis.run::<Vec<String>>(&["LRANGE", "hero:q:work:type:sal", "0", "-1"]).await, [id.to_string()]);
}

#[tokio::test]
async fn a_spoilt_list_of_a_caller_does_not_hold_up_the_others() {
    let (redis, store) = house().await;
    let (first, _) = create(&store, JobSpec { caller_id: Some("a".into()), ..JobSpec::default() }).await;
    let (second, _) = create(&store, JobSpec { caller_id: Some("b".into()), ..JobSpec::default() }).await;
    let (osis, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [hero::store::ActorRoom { actor: "osis:default:1".into(), room: 1 }];
    let one = hero::store::Fetch { script_type: &osis, ends: &[], actors: &actors, queues: &queues };
    let taken = store.queues().fair_fetch(&one).await.unwrap().taken;
    let left = if taken[0].job == first { second } else { first };
    let lists: Vec<String> = redis.run(&["KEYS", "hero:q:fair:*:of:*"]).await;
    let _: () = redis.run(&["SET", &lists[0], "x"]).await;
    assert!(store.queues().fair_fetch(&one).await.unwrap().taken.is_empty());
    names(&store, &[&lists[0]]).await;
    // What was in it is pushed again in time.
    for _ in 0..3 {
        store.clock().advance(Duration::from_secs(40));
        store.queues().reap(128).await.unwrap();
    }
    assert_eq!(store.queues().fair_fetch(&one).await.unwrap().taken[0].job, left);
}

#[tokio::test]
async fn one_idempotency_key_is_one_entry_of_a_group() {
    let (redis, _store) = house().await;
    let house = crate::support::House::on(redis).await;
    let entry = JobSpec { idempotency_key: Some("k".into()), ..crate::support::spec("1") };
    let refused = house.dispatcher.create_many(vec![entry.clone(), entry]).await.unwrap_err();
    assert!(refused.to_string().starts_with("jobs[1]: idempotency_key"), "{refused}");
    house.close().await;
}

#[tokio::test]
async fn a_job_that_names_a_key_of_ours_as_its_mirror_changes_nothing_there() {
    let (redis, store) = house().await;
    let (_first, _) = create(&store, JobSpec::default()).await;
    fetch(&store, &[], 9).await;
    let _: i64 = redis.run(&["HSET", "hero:meta:queue:stats:x", "created", "1"]).await;
    let _: i64 = redis.run(&["HSET", "rhai_task_details:", "a", "1"]).await;
    let keys =
        ["hero:meta:queues", "hero:events", "hero:meta:queue:stats:x", "hero:index:*", "rhai_task_details:", "job:1:x", "queue:osis"];
    for (layout, named) in ["rhailib", "runner"].into_iter().flat_map(|layout| keys.map(|named| (layout, named))) {
        let id = JobId::random();
        let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "dialect", layout, "dialect_key", named]).await;
        let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
        finish(&store, &id).await;
    }
    for key in ["hero:meta:queues", "hero:events", "hero:meta:queue:stats:x", "rhai_task_details:"] {
        assert_eq!(redis.run::<i64>(&["TTL", key]).await, -1, "{key}");
    }
    for key in ["hero:meta:queue:stats:x", "rhai_task_details:"] {
        assert_eq!(redis.run::<Vec<String>>(&["HGETALL", key]).await.len(), 2, "{key}");
    }
    assert_eq!(redis.run::<i64>(&["EXISTS", "hero:index:*", "job:1:x", "queue:osis"]).await, 0);
    // A hash of the layout that is there is written as ever.
    let id = JobId::random();
    let _: i64 = redis.run(&["HSET", "job:1:2", "script", "1"]).await;
    let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "dialect", "runner", "dialect_key", "job:1:2"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
    finish(&store, &id).await;
    assert_eq!(redis.run::<String>(&["HGET", "job:1:2", "status"]).await, "finished");
}

#[tokio::test]
async fn a_job_that_names_a_key_of_ours_as_its_shadow_gets_nothing_pushed_there() {
    let (redis, store) = house().await;
    let (other, nobody) = (JobId::random(), JobId::random());
    let _: i64 = redis.run(&["HSET", &key(&other), "script", "1"]).await;
    for shadow in ["hero:q:release", "hero:q:work:type:sal", "hero:q:reply:x", "hero:job:actor_queue:a b", &key(&other), &key(&nobody)] {
        let (id, _) = create(&store, JobSpec::default()).await;
        finish(&store, &id).await;
        let _: i64 = redis.run(&["HSET", &key(&id), "dialect", "legacy", "twin", shadow, "twin_only", "1"]).await;
        assert!(matches!(store.jobs().retry(&id).await.unwrap(), Retried::OnItsWay(Status::Dispatched)), "{shadow}");
        assert_eq!(redis.run::<String>(&["TYPE", shadow]).await, if shadow == key(&other) { "hash" } else { "none" }, "{shadow}");
        // It is in our queue, and nobody is said to have taken it from the other one.
        finish(&store, &id).await;
    }
}

#[tokio::test]
async fn a_job_that_names_a_key_of_ours_for_its_reply_gets_nothing_pushed_there() {
    let (redis, store) = house().await;
    let answered = ["my:replies", "hero:q:reply:mine", "hero:reply:mine"];
    for reply_to in ["hero:q:work:type:sal", "hero:q:conveyor", "hero:rel:x:children"].into_iter().chain(answered) {
        let (id, _) = create(&store, JobSpec::default()).await;
        let _: i64 = redis.run(&["HSET", &key(&id), "reply_to", reply_to]).await;
        finish(&store, &id).await;
        assert_eq!(redis.run::<i64>(&["LLEN", reply_to]).await, i64::from(answered.contains(&reply_to)), "{reply_to}");
    }
}

#[tokio::test]
async fn what_should_be_one_of_our_lists_gives_way_within_a_round() {
    let (redis, store) = house().await;
    for key in [
        "hero:q:leases",
        "hero:q:watched",
        "hero:q:scheduled",
        "hero:q:unwritten",
        "hero:q:release",
        "hero:meta:queues",
        "hero:meta:paused",
        "hero:meta:fair",
        "hero:meta:calm",
        "hero:meta:foreign",
        "hero:q:capped",
        "hero:meta:schedules",
        "hero:q:conveyor",
        "hero:meta:reaped",
        "hero:events",
        "hero:meta:queue:stats:osis",
        "hero:meta:fair",
        "hero:q:capped",
        "hero:meta:revisions",
    ] {
        let _: u64 = redis.run(&["DEL", key]).await;
        let _: u64 = redis.run(&["LPUSH", key, "x"]).await;
        let _: String = redis.run(&["SET", "x", "1"]).await;
        let _: () = redis.run(&["RENAME", "x", key]).await;
        store.queues().reap(128).await.unwrap();
        let (id, _) = create(&store, JobSpec::default()).await;
        assert_eq!(fetch(&store, &[], 9).await, [id], "{key}");
        // The last is a text.
        assert_eq!(redis.run::<String>(&["TYPE", key]).await == "string", key == "hero:meta:reaped", "{key}");
    }
}

#[tokio::test]
async fn a_spoilt_number_of_sorted_jobs_keeps_no_job_out_of_its_queue() {
    let (redis, store) = house().await;
    let held = "hero:q:fair:type:osis:held";
    for words in [["RPUSH", held, "x"], ["SET", held, "1e300"], ["SET", held, "nan"]] {
        redis.run::<redis::Value>(&words).await;
        let (id, status) = create(&store, JobSpec::default()).await;
        assert_eq!((status, fetch(&store, &[], 9).await), (Status::Dispatched, vec![id]), "{words:?}");
        let _: u64 = redis.run(&["DEL", held]).await;
    }
}

#[tokio::test]
async fn names_that_are_no_text_leave_the_sets_and_hide_nothing() {
    let (redis, store) = house().await;
    for set in ["hero:meta:actors", "hero:meta:queues", "hero:meta:hours", "hero:meta:types"] {
        let add = format!("return redis.call('SADD', '{set}', '\\255\\254')");
        let _: u64 = redis.run(&["EVAL", &add, "0"]).await;
    }
    assert!(store.actors().list().await.unwrap().is_empty());
    store.queues().list().await.unwrap();
    store.queues().counters().await.unwrap();
    store.maintenance().index_hours().await.unwrap();
    store.maintenance().tidy().await.unwrap();
    for set in ["hero:meta:actors", "hero:meta:queues", "hero:meta:hours", "hero:meta:types"] {
        assert_eq!(redis.run::<u64>(&["SCARD", set]).await, 0, "{set}");
    }
}

#[tokio::test]
async fn an_index_that_is_no_list_gives_way_and_its_pruning_ends() {
    let (redis, store) = house().await;
    for key in ["hero:index:1999010101", "hero:index:1999010101:front"] {
        let _: String = redis.run(&["SET", key, "x"]).await;
    }
    assert_eq!(store.maintenance().prune("1999010101", Default::default()).await.unwrap(), None);
    let hour: String = format!("hero:index:{}", store.clock().now().hour());
    let _: String = redis.run(&["SET", &hour, "x"]).await;
    let (id, _) = create(&store, JobSpec::default()).await;
    let page = store.jobs().list(&Default::default(), None, 10, 1 << 20).await.unwrap().unwrap();
    assert_eq!(page.jobs.iter().map(|job| job.job_id.clone()).collect::<Vec<_>>(), [id]);
}

#[tokio::test]
async fn what_should_say_whose_turn_it_is_gives_way_and_no_job_is_lost() {
    let (redis, store) = house().await;
    let (osis, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = |room| [hero::store::ActorRoom { actor: "osis:default:1".into(), room }];
    for key in ["hero:meta:fair", "hero:q:fair:type:osis:ring", "hero:q:fair:type:osis:held"] {
        let take = async |room| {
            let fetch = hero::store::Fetch { script_type: &osis, ends: &[], actors: &actors(room), queues: &queues };
            let taken = store.queues().fair_fetch(&fetch).await.unwrap().taken;
            taken.into_iter().map(|job| job.job).collect::<Vec<JobId>>()
        };
        let of = |caller: &str| JobSpec { caller_id: Some(caller.into()), ..JobSpec::default() };
        // Before anything is sorted, and while jobs are.
        for before in [0, 1] {
            let mut ids = vec![create(&store, of("a")).await.0, create(&store, of("b")).await.0, create(&store, of("b")).await.0];
            let mut taken = take(before).await;
            let _: () = redis.run(&["SET", key, "x"]).await;
            ids.push(create(&store, of("a")).await.0);
            ids.push(create(&store, of("b")).await.0);
            taken.extend(take(9).await);
            // Another fetch finds nothing, or what lay behind.
            taken.extend(take(9).await);
            ids.sort_unstable();
            taken.sort_unstable();
            assert_eq!(taken, ids, "{key} after {before}");
            assert_eq!(redis.run::<u64>(&["EXISTS", key]).await, 0, "{key}");
        }
    }
}

#[tokio::test]
async fn a_line_for_room_in_a_context_that_is_none_gives_way() {
    let (redis, store) = house().await;
    store.limits().set_running(2);
    let _: () = redis.run(&["SET", "hero:q:capped", "x"]).await;
    let (id, _) = create(&store, JobSpec::default()).await;
    assert_eq!(fetch(&store, &[], 9).await, [id]);
}

#[tokio::test]
async fn a_foreign_actor_is_told_once_of_a_stop_that_is_asked_for_often() {
    let (redis, store) = house().await;
    let id = JobId::random();
    let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "script_type", "osis", "status", "started", "worker_id", "w"]).await;
    for _ in 0..5 {
        store.jobs().stop(&id).await.unwrap();
    }
    for queue in ["hero:q:ctl:type:osis", "hero:stop_queue:w"] {
        assert_eq!(redis.run::<Vec<String>>(&["LRANGE", queue, "0", "-1"]).await, [id.to_string()], "{queue}");
    }
}
