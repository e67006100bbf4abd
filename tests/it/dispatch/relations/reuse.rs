//! Reused ids: data of the former job does not affect the new one.

use std::time::Duration;

use hero::model::{JobId, JobSpec, LogLevel, Status};
use hero::store::{Created, Deleted, NewJob, Stopping, Store};

use super::{Hand, after, child_of, continuation_of, named, nobody, relatives};
use crate::support::{Redis, spec};

/// A store without the loops that release all the time, and an actor.
async fn quiet() -> (Redis, Store, Hand) {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let hand = Hand::of_crowded(&store, &redis);
    (redis, store, hand)
}

/// The same, with a hand whose ends release relatives.
pub(super) async fn quiet_hand() -> (Redis, Store, Hand) {
    let (redis, store, _) = quiet().await;
    let hand = Hand::of(&store);
    (redis, store, hand)
}

pub(super) async fn make(store: &Store, spec: JobSpec, start: bool) -> Created {
    let id = spec.job_id.clone().unwrap_or_else(JobId::random);
    store.jobs().create(NewJob { id, spec, start, waited: false, occurrence: None, flow: None }).await.unwrap()
}

/// Stores a job that starts, by an id of its own.
pub(super) async fn started(store: &Store, spec: JobSpec) -> JobId {
    let id = spec.job_id.clone().unwrap_or_else(JobId::random);
    let created = make(store, named(&id, spec), true).await;
    assert!(matches!(created, Created::Created(_)), "{created:?}");
    id
}

async fn release(store: &Store) {
    while store.jobs().release_relatives(128).await.unwrap() {}
}

async fn now(store: &Store, id: &JobId) -> Status {
    store.jobs().get(id).await.unwrap().unwrap().status
}

/// Stops a job, and has its time be over at once.
async fn stopped_and_gone(redis: &Redis, store: &Store, id: &JobId) {
    store.jobs().stop(id).await.unwrap();
    release(store).await;
    assert_eq!(redis.run::<i64>(&["PEXPIRE", &format!("hero:job:{id}"), "0"]).await, 1);
}

#[tokio::test]
async fn a_new_job_is_not_let_go_by_what_the_former_one_of_its_id_waited_for() {
    let (redis, store, hand) = quiet().await;
    for continuation in [false, true] {
        let (before, own) = (started(&store, spec("1")).await, started(&store, spec("1")).await);
        let id = started(&store, if continuation { continuation_of(&before) } else { after(&[&before]) }).await;
        stopped_and_gone(&redis, &store, &id).await;
        started(&store, named(&id, after(&[&own]))).await;
        hand.finish(&before).await;
        release(&store).await;
        assert_eq!(now(&store, &id).await, Status::WaitingForPrerequisites);
        hand.finish(&own).await;
        release(&store).await;
        hand.finish(&id).await;
    }
}

#[tokio::test]
async fn a_new_job_that_waits_for_the_same_as_the_former_one_is_let_go_once() {
    let (redis, store, hand) = quiet().await;
    let (both, own) = (started(&store, spec("1")).await, started(&store, spec("1")).await);
    let id = started(&store, after(&[&both])).await;
    stopped_and_gone(&redis, &store, &id).await;
    started(&store, named(&id, after(&[&both, &own]))).await;
    hand.finish(&both).await;
    release(&store).await;
    assert_eq!(now(&store, &id).await, Status::WaitingForPrerequisites);
    hand.finish(&own).await;
    release(&store).await;
    hand.finish(&id).await;
}

#[tokio::test]
async fn a_new_job_does_not_end_with_what_the_former_one_of_its_id_waited_for() {
    let (redis, store, hand) = quiet().await;
    let (bad, parent, own) = (started(&store, spec("1")).await, started(&store, spec("1")).await, started(&store, spec("1")).await);
    let id = started(&store, JobSpec { prerequisites: vec![bad.clone()], ..child_of(&parent) }).await;
    stopped_and_gone(&redis, &store, &id).await;
    started(&store, named(&id, after(&[&own]))).await;
    hand.fail(&bad).await;
    hand.fail(&parent).await;
    release(&store).await;
    assert_eq!(now(&store, &id).await, Status::WaitingForPrerequisites);
}

#[tokio::test]
async fn a_parent_closes_without_a_stranger_who_has_the_id_of_its_child() {
    let (redis, store, hand) = quiet().await;
    let parent = started(&store, spec("1")).await;
    let continuation = started(&store, continuation_of(&parent)).await;
    let child = started(&store, child_of(&parent)).await;
    stopped_and_gone(&redis, &store, &child).await;
    assert!(matches!(make(&store, named(&child, spec("1")), false).await, Created::Created(Status::Created)));
    hand.finish(&parent).await;
    release(&store).await;
    assert_eq!((relatives(&redis, &parent, "active").await, now(&store, &child).await), (nobody(), Status::Created));
    hand.finish(&continuation).await;
}

/// The end of the former job is still to be worked off when the new one is stored.
#[tokio::test]
async fn a_parent_closes_when_a_child_was_deleted_and_its_id_used_again_before_its_release() {
    let (redis, store, hand) = quiet().await;
    let parent = started(&store, spec("1")).await;
    let continuation = started(&store, continuation_of(&parent)).await;
    let child = started(&store, child_of(&parent)).await;
    hand.finish(&parent).await;
    release(&store).await;
    hand.finish(&child).await;
    assert_eq!(store.jobs().delete(&child).await.unwrap(), Deleted::Deleted);
    assert!(matches!(make(&store, named(&child, spec("1")), false).await, Created::Created(Status::Created)));
    release(&store).await;
    assert_eq!(relatives(&redis, &parent, "active").await, nobody());
    hand.finish(&continuation).await;
}

#[tokio::test]
async fn an_id_is_free_again_once_those_have_been_let_go_who_waited_for_the_former_job() {
    let (_redis, store, hand) = quiet().await;
    let first = started(&store, spec("1")).await;
    let dependent = started(&store, after(&[&first])).await;
    hand.finish(&first).await;
    assert_eq!(store.jobs().delete(&first).await.unwrap(), Deleted::Deleted);
    assert_eq!(make(&store, named(&first, spec("1")), false).await, Created::Unreleased);
    release(&store).await;
    assert_eq!(now(&store, &dependent).await, Status::Dispatched);
    assert!(matches!(make(&store, named(&first, spec("1")), false).await, Created::Created(Status::Created)));
    hand.finish(&dependent).await;
}

#[tokio::test]
async fn who_waits_for_a_job_whose_hash_a_foreign_program_deleted_ends_when_its_id_is_wanted_again() {
    let (redis, store, _) = quiet().await;
    let first = started(&store, spec("1")).await;
    let dependent = started(&store, after(&[&first])).await;
    let _: i64 = redis.run(&["DEL", &format!("hero:job:{first}")]).await;
    assert_eq!(make(&store, named(&first, spec("1")), false).await, Created::Unreleased);
    release(&store).await;
    assert_eq!(now(&store, &dependent).await, Status::Error);
    assert!(matches!(make(&store, named(&first, spec("1")), false).await, Created::Created(Status::Created)));
}

/// A store of another server, half a minute later: leases are over.
async fn later(redis: &Redis) -> Store {
    let store = redis.store().await;
    store.clock().advance(Duration::from_secs(31));
    store
}

#[tokio::test]
async fn the_end_of_a_run_of_the_former_job_is_not_recorded_for_the_new_one() {
    let (redis, store, hand) = quiet().await;
    let id = started(&store, named(&JobId::random(), spec("1"))).await;
    hand.take(&id).await;
    // Its lease is lost and it is deleted, but its script runs on.
    let later = later(&redis).await;
    assert_eq!(later.queues().reap(128).await.unwrap(), Some(1));
    assert_eq!(store.jobs().delete(&id).await.unwrap(), Deleted::Deleted);
    started(&later, named(&id, spec("2"))).await;
    assert_eq!(hand.take_all().await, 1);
    assert_eq!((hand.try_finish(&id).await, now(&store, &id).await), (None, Status::Started));
    assert_eq!(hand.try_finish(&id).await, Some(Status::Finished));
}

#[tokio::test]
async fn an_idempotency_key_of_the_former_job_does_not_stand_for_the_new_one() {
    let (_redis, store, _) = quiet().await;
    let of = |caller: &str, key: Option<&str>, script: &str| JobSpec {
        caller_id: Some(caller.into()),
        idempotency_key: key.map(ToOwned::to_owned),
        ..spec(script)
    };
    for (first_key, caller, key) in [("1", "a", None), ("2", "a", Some("other")), ("3", "b", Some("3"))] {
        let id = JobId::random();
        let first = || named(&id, of("a", Some(first_key), "1"));
        assert!(matches!(make(&store, first(), false).await, Created::Created(_)));
        assert!(matches!(make(&store, first(), false).await, Created::Same(..)));
        assert_eq!(store.jobs().delete(&id).await.unwrap(), Deleted::Deleted);
        assert!(matches!(make(&store, named(&id, of(caller, key, "2")), false).await, Created::Created(_)));
        assert_eq!(make(&store, first(), false).await, Created::Exists(Status::Created), "{caller} {key:?}");
        // Without that id a job of its own is made.
        let other = || of("a", Some(first_key), "1");
        assert!(matches!(make(&store, other(), false).await, Created::Created(_)));
        assert!(matches!(make(&store, other(), false).await, Created::Same(..)));
    }
}

#[tokio::test]
async fn a_new_job_has_neither_the_reply_nor_the_log_of_the_former_one() {
    let (redis, store, hand) = quiet().await;
    for related in [false, true] {
        let id = started(&store, named(&JobId::random(), spec("1"))).await;
        hand.take(&id).await;
        store.jobs().append_log(&id, &[(LogLevel::Info, "secret".into())]).await.unwrap();
        hand.finish(&id).await;
        assert_eq!(redis.run::<i64>(&["PEXPIRE", &format!("hero:job:{id}"), "0"]).await, 1);
        let reply = format!("hero:q:reply:{id}");
        assert_eq!(redis.run::<i64>(&["LPUSH", &reply, "of a foreign actor"]).await, 1);
        let before = started(&store, spec("1")).await;
        started(&store, named(&id, if related { after(&[&before]) } else { spec("1") })).await;
        assert_eq!(redis.run::<i64>(&["EXISTS", &reply]).await, 0);
        assert!(store.jobs().read_lines(&id, None, 9, 99).await.unwrap().lines.is_empty());
    }
}

#[tokio::test]
async fn a_log_of_an_attempt_that_failed_is_kept_no_longer_than_the_job() {
    let (redis, store, hand) = quiet().await;
    let id = started(&store, spec("1")).await;
    hand.take(&id).await;
    store.jobs().append_log(&id, &[(LogLevel::Info, "of the first attempt".into())]).await.unwrap();
    assert_eq!(hand.crash(&id).await, Status::Dispatched);
    // The second one logs nothing.
    hand.finish(&id).await;
    let until = async |key: String| redis.run::<i64>(&["EXPIRETIME", &key]).await;
    assert_eq!(until(format!("hero:log:{id}")).await, until(format!("hero:job:{id}")).await);
}

#[tokio::test]
async fn a_stop_of_the_former_job_does_not_stop_the_new_one() {
    let (redis, store, hand) = quiet().await;
    let later = later(&redis).await;
    for dies in [true, false] {
        let id = started(&store, named(&JobId::random(), spec("1"))).await;
        hand.take(&id).await;
        assert_eq!(store.jobs().stop(&id).await.unwrap(), Stopping::Asked);
        if dies {
            // Nobody looks at the request, and the hash may go before it does.
            assert_eq!(later.queues().reap(128).await.unwrap(), Some(1));
            hand.forget().await;
            assert_eq!(redis.run::<i64>(&["PEXPIRE", &format!("hero:job:{id}"), "0"]).await, 1);
        } else {
            // It ends before anybody has looked.
            hand.finish(&id).await;
            assert_eq!(store.jobs().delete(&id).await.unwrap(), Deleted::Deleted);
        }
        started(&store, named(&id, spec("2"))).await;
        assert_eq!(hand.take_all().await, 1, "the actor's server died: {dies}");
        hand.finish(&id).await;
    }
}
