//! What holds for jobs that are created here holds for whatever else stores something new: messages, imports of other
//! layouts, schedules, runners.

use hero::coordinator::NodeKey;
use hero::model::{
    ContextId, FlowSpec, IdentityId, JobId, Priority, Queue, Role, RunnerChange, ScheduleId, ScheduleSpec, ScriptType, Seconds, Target,
    Timestamp,
};
use hero::store::{
    ContextChange, Error, FlowAction, FlowCreated, Import, Imported, Lack, Layouts, NewFlow, NewMessage, Received, RunnerJob, Store,
};

use super::relations::create;
use crate::support::{PATIENCE, Redis, spec};

/// A queue of the legacy layout, and one of rhailib.
const LEGACY: &str = "hero:work_queue:osis";

/// Imports what the queues of other layouts hold. Says whether there was something.
async fn import(store: &Store) -> Result<bool, Error> {
    let osis = ScriptType::default();
    let queues = store.queues().of_layouts(&osis, &Layouts::all(&osis));
    store.queues().import(&osis, &queues, 10).await
}

/// A message with a job.
fn message() -> NewMessage {
    let job = RunnerJob { caller: 12, number: 1, script_type: ScriptType::default(), fields: vec![("script", "1".to_owned())] };
    NewMessage {
        nonce: "a".into(),
        signer: NodeKey::random().public(),
        again: Timestamp::local().plus(PATIENCE),
        caller: 12,
        number: 1,
        fields: vec![("message_type", "job".to_owned())],
        jobs: vec![job],
    }
}

fn conveyor_job() -> Import {
    Import::Job { bytes: b"job".to_vec(), id: JobId::random(), parent: String::new(), spec: Box::new(spec("1")) }
}

/// A job of a legacy client, in its queue.
async fn legacy_job(redis: &Redis) -> JobId {
    let id = JobId::random();
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "id", id.as_str(), "script", "1", "status", "dispatched"]).await;
    let _: i64 = redis.run(&["LPUSH", LEGACY, id.as_str()]).await;
    id
}

async fn length(redis: &Redis, key: &str) -> u64 {
    redis.run(&["LLEN", key]).await
}

/// Expects that something is refused because the context is being deleted.
#[track_caller]
fn is_deleting<T: std::fmt::Debug>(answer: &Result<T, Error>) {
    assert!(matches!(answer, Err(Error::Deleting(ContextId(0)))), "{answer:?}");
}

#[tokio::test]
async fn nothing_new_is_stored_in_a_context_that_is_being_deleted() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let keys = store.conveyor().keys(None);
    legacy_job(&redis).await;
    let _: i64 = redis.run(&["LPUSH", &keys.queue("work"), "job"]).await;
    let created = create(&store, spec("1")).await.0;
    let empty = FlowSpec::default();
    let empty = NewFlow { spec: &empty, caller: 0, caller_id: "ann", retention: Seconds::from(PATIENCE), jobs: &[] };
    let FlowCreated::Created(made, _) = store.flows().create(&empty).await.unwrap() else { panic!("no flow") };
    store.flows().advance(made, FlowAction::Stored).await.unwrap();
    let _: () = redis.run(&["SET", "hero:meta:closed", "1"]).await;
    let before: u64 = redis.run(&["DBSIZE"]).await;

    let spec = ScheduleSpec { job: spec("1"), every: Seconds::new(1.0), ..ScheduleSpec::default() };
    let now = Timestamp::local();
    let scheduled = store.schedules().schedule(&ScheduleId::random(), (&spec, &spec), now, now).await;
    is_deleting(&scheduled);
    let sent = store.messages().send(1, &[("message_type", "text".to_owned())]).await;
    is_deleting(&sent);
    let runner = store.runners().set(None, &RunnerChange::default()).await;
    is_deleting(&runner);
    let declared = store.objects().declare_indexes(&"orders".parse().unwrap(), &["price".to_owned()]).await;
    is_deleting(&declared);
    let granted = store.access().set_role(IdentityId(7), Role::Reader, true).await;
    is_deleting(&granted);
    let paused =
        store.queues().pause(&Queue { script_type: ScriptType::default(), target: Target::Type, priority: Priority::Normal }).await;
    is_deleting(&paused);
    let flow = FlowSpec { idempotency_key: Some("k".into()), ..FlowSpec::default() };
    let flow = NewFlow { spec: &flow, caller: 0, caller_id: "ann", retention: Seconds::from(PATIENCE), jobs: &[] };
    let flow = store.flows().create(&flow).await;
    is_deleting(&flow);
    for action in [FlowAction::Start, FlowAction::Retry] {
        let advanced = store.flows().advance(made, action).await;
        is_deleting(&advanced);
    }
    let started = store.jobs().start(&created).await;
    is_deleting(&started);
    let retried = store.jobs().retry(&created).await;
    is_deleting(&retried);
    let numbered = store.jobs().number(&created).await;
    is_deleting(&numbered);
    assert!(!import(&store).await.unwrap());
    assert_eq!(store.conveyor().import(&keys, "work", 10, &[conveyor_job()]).await.unwrap(), [Imported::Full]);
    let received = store.messages().receive(&message()).await;
    is_deleting(&received);
    assert_eq!((redis.run::<u64>(&["DBSIZE"]).await, length(&redis, LEGACY).await), (before, 1));
    let deleting = Error::Deleting(ContextId(0));
    assert!(deleting.not_done() && !deleting.may_pass());
}

#[tokio::test]
async fn while_redis_is_nearly_full_no_door_takes_new_jobs_and_rights_and_limits_change() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let keys = store.conveyor().keys(None);
    let id = legacy_job(&redis).await;
    let _: i64 = redis.run(&["LPUSH", &keys.queue("work"), "job"]).await;
    let limit = async |bytes: u64| {
        let _: () = redis.run(&["CONFIG", "SET", "maxmemory", &bytes.to_string()]).await;
        store.health().look_at_memory().await.unwrap();
    };
    // The functions are loaded by the first call of one.
    store.jobs().promote(1).await.unwrap();
    limit(redis.memory("used_memory").await * 107 / 100).await;
    assert!(!import(&store).await.unwrap());
    assert_eq!(store.conveyor().import(&keys, "work", 10, &[conveyor_job()]).await.unwrap(), [Imported::Full]);
    assert_eq!(store.messages().receive(&message()).await.unwrap().0, Received::Full(Lack::Memory));
    let sent = store.messages().send(1, &[("message_type", "text".to_owned())]).await;
    assert!(matches!(&sent, Err(error) if error.out_of_memory()), "{sent:?}");
    assert_eq!((length(&redis, LEGACY).await, length(&redis, &keys.queue("work")).await), (1, 1));
    // Full, and not only nearly.
    limit(1 << 20).await;
    store.contexts().set(&ContextChange { name: Some("small".into()), ..ContextChange::default() }).await.unwrap();
    assert!(store.access().admit_identities(&[(hero::model::IdentityId(7), None)]).await.unwrap().is_empty());
    limit(0).await;
    assert!(import(&store).await.unwrap());
    assert_eq!(store.conveyor().import(&keys, "work", 10, &[conveyor_job()]).await.unwrap(), [Imported::Taken]);
    assert_eq!(store.messages().receive(&message()).await.unwrap().0, Received::Stored);
    assert_eq!(redis.run::<Option<i64>>(&["LPOS", "hero:q:work:type:osis", id.as_str()]).await.map(|_| ()), Some(()));
}

#[tokio::test]
async fn an_element_that_another_server_took_from_a_long_queue_is_not_searched_in_all_of_it() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let keys = store.conveyor().keys(None);
    let queue = keys.queue("work");
    let _: i64 = redis.run(&["LPUSH", &queue, "job"]).await;
    assert_eq!(store.conveyor().import(&keys, "work", 10, &[conveyor_job()]).await.unwrap(), [Imported::Taken]);
    // It is there again, but behind more than are looked at.
    let many = "for at = 1, 2000 do redis.call('RPUSH', KEYS[1], at) end";
    let _: i64 = redis.run(&["LPUSH", &queue, "job"]).await;
    let _: () = redis.run(&["EVAL", many, "1", &queue]).await;
    assert_eq!(store.conveyor().import(&keys, "work", 10, &[conveyor_job()]).await.unwrap(), [Imported::Gone]);
    assert_eq!(length(&redis, &queue).await, 2001);
}

#[tokio::test]
async fn a_hash_that_may_not_be_read_loses_no_element_and_holds_up_no_other() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let _: i64 = redis.run(&["LPUSH", "rhai_tasks:osis", "first"]).await;
    let id = legacy_job(&redis).await;
    let _: String = redis.run(&["ACL", "SETUSER", "default", "resetkeys", "~hero:*", "~rhai_tasks:*"]).await;
    let refused = import(&store).await;
    assert!(matches!(&refused, Err(error) if error.to_string().contains("can't access")), "{refused:?}");
    assert!(redis.run::<Option<i64>>(&["LPOS", "hero:q:work:type:osis", id.as_str()]).await.is_some(), "the other is imported");
    // A foreign program names keys of others, too.
    let _: i64 = redis.run(&["ZADD", "hero:q:unwritten", "0", "task queue:x hash:x osis"]).await;
    store.clock().advance(PATIENCE);
    store.jobs().promote(10).await.unwrap();
    assert_eq!(redis.run::<u64>(&["ZCARD", "hero:q:unwritten"]).await, 0);
    assert_eq!(length(&redis, "rhai_tasks:osis").await, 1, "it is back in its queue");
    let _: String = redis.run(&["ACL", "SETUSER", "default", "allkeys"]).await;
    assert_eq!(redis.run::<String>(&["LINDEX", "rhai_tasks:osis", "0"]).await, "first");
}

#[tokio::test]
async fn an_import_that_meets_a_spoilt_key_loses_no_job_that_it_took_before() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let without_hash = JobId::random();
    let mut ids = Vec::new();
    for at in 0..2 {
        ids.push(legacy_job(&redis).await);
        if at == 0 {
            let _: i64 = redis.run(&["LPUSH", LEGACY, without_hash.as_str()]).await;
        }
    }
    let _: () = redis.run(&["SET", "hero:q:unwritten", "x"]).await;
    assert!(import(&store).await.unwrap());
    for id in ids {
        assert!(redis.run::<Option<i64>>(&["LPOS", "hero:q:work:type:osis", id.as_str()]).await.is_some(), "{id}");
    }
    assert_eq!(redis.run::<u64>(&["ZCARD", "hero:q:unwritten"]).await, 1);
    // What puts jobs on goes on, too.
    for key in ["hero:q:unwritten", "hero:q:scheduled"] {
        let _: i64 = redis.run(&["DEL", key]).await;
        let _: () = redis.run(&["SET", key, "x"]).await;
        store.jobs().promote(10).await.unwrap();
    }
}
