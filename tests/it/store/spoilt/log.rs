//! The log names spoilt keys, each once, with what to do about it.

use std::time::{Duration, Instant};

use hero::model::{ContextId, JobId, JobSpec};
use hero::store::Store;

use super::{create, finish, house, key, names, spoil};
use crate::support::Redis;

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
    // As the program that wrote the job has it.
    let _: i64 = redis.run(&["HDEL", &key(&id), "reply"]).await;
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
async fn repaired_keys_are_not_logged_and_the_number_of_logged_keys_is_bounded() {
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
