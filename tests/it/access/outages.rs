//! A remote context that does not answer, and the work that continues without it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hero::access::{ContextSpec, RightsWatch, TokenKey};
use hero::dispatch::Scheduler;
use hero::model::{ContextId, ContextStatus, JobSpec, Missed, Overlap, Schedule, ScheduleSpec, Seconds, Standing};
use hero::service::Service as _;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::support::{Redis, dispatcher, spec, until};

const ELSEWHERE: ContextId = ContextId(7);

/// Context 0, and another one in a Redis of its own.
struct Towns {
    home: Redis,
    other: Redis,
    authority: Authority,
}

impl Towns {
    async fn open() -> Self {
        let (home, other) = (Redis::start().await, Redis::start().await);
        let stores = [home.store().await, other.plan().of(ELSEWHERE).store().await];
        let authority = Authority::new(stores, TokenKey::random());
        authority.follow().await.unwrap();
        Self { home, other, authority }
    }

    /// A new identity that has a role in both contexts.
    async fn identity(&self) -> IdentityId {
        let id = self.authority.create_identity(&IdentityChange::default()).await.unwrap().identity_id;
        for context in [CONTEXT, ELSEWHERE] {
            self.authority.set_role(context, id, Role::Caller, true).await.unwrap();
        }
        id
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_does_not_answer_stops_nothing_that_concerns_others() {
    let towns = Towns::open().await;
    let authority = &towns.authority;
    let (one, other) = (towns.identity().await, towns.identity().await);
    let token = authority.create_token(one, None, None, None).await.unwrap();
    let (login, gone) = (
        authority.log_in(token.secret.reveal()).await.unwrap(),
        authority.log_in(authority.create_token(other, None, None, None).await.unwrap().secret.reveal()).await.unwrap(),
    );
    towns.other.halt(true);
    authority.set_role(CONTEXT, one, Role::Reader, true).await.unwrap();
    assert!(authority.has_role(one, CONTEXT, Role::Reader) && authority.has_role(one, ELSEWHERE, Role::Caller));
    authority.set_role(CONTEXT, one, Role::Caller, false).await.unwrap();
    assert!(!authority.has_role(one, CONTEXT, Role::Caller));
    let made = authority.create_context(ContextSpec::default()).await.unwrap();
    assert_eq!((made.context_id, made.status), (ContextId(1), ContextStatus::Active));
    assert_eq!(authority.contexts().len(), 3);
    authority.revoke_token(&token.token.token_id).await.unwrap();
    assert!(login.has_ended());
    authority.delete_identity(other).await.unwrap();
    assert!(gone.has_ended() && !authority.has_role(other, CONTEXT, Role::Caller));
    assert!(authority.identity(other).await.is_err());
    // When it answers again, its roles change and the change is seen.
    towns.other.halt(false);
    authority.set_role(ELSEWHERE, one, Role::Admin, true).await.unwrap();
    assert!(authority.has_role(one, ELSEWHERE, Role::Admin));
    let ids: Vec<IdentityId> = authority.read_context(CONTEXT).await.unwrap().callers.into_iter().collect();
    assert!(ids.is_empty(), "{ids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_did_not_answer_is_asked_again_and_tokens_end_meanwhile() {
    let towns = Towns::open().await;
    let authority = &towns.authority;
    let id = towns.identity().await;
    let token = authority.create_token(id, None, None, None).await.unwrap();
    let login = authority.log_in(token.secret.reveal()).await.unwrap();
    let shutdown = CancellationToken::new();
    tokio::spawn(hero::service::run(RightsWatch::new(authority.clone()), shutdown.clone()));
    towns.other.halt(true);
    // Another server changes something, and this one cannot read one of its contexts.
    let elsewhere = Authority::new([towns.home.store().await], TokenKey::random());
    elsewhere.follow().await.unwrap();
    elsewhere.set_role(CONTEXT, id, Role::Reader, true).await.unwrap();
    until("the role is seen", || async { authority.has_role(id, CONTEXT, Role::Reader).then_some(()) }).await;
    elsewhere.revoke_token(&token.token.token_id).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), login.ended()).await.unwrap();
    assert!(authority.has_role(id, ELSEWHERE, Role::Caller));
    towns.other.halt(false);
    // Nobody tells of this: it is read because it was not before.
    let _: i64 = towns.other.run_in(ELSEWHERE.0, &["HSET", "context:7", "callers", "[]", "readers", &format!("[{id}]")]).await;
    until("it is read again", || async { authority.has_role(id, ELSEWHERE, Role::Reader).then_some(()) }).await;
    assert!(!authority.has_role(id, ELSEWHERE, Role::Caller));
    shutdown.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_run_of_a_schedule_is_lost_while_it_cannot_be_read_who_has_which_rights() {
    let towns = Towns::open().await;
    let caller = towns.identity().await.to_string();
    // A server that begins while the context does not say who has which rights in it.
    let stores = [towns.home.store().await, towns.other.plan().of(ELSEWHERE).store().await];
    let authority = Authority::new(stores, TokenKey::random());
    authority.set_login(true).await.unwrap();
    towns.other.halt(true);
    authority.follow().await.unwrap();
    // Its schedules can be read all the same.
    let store = towns.home.plan().of(ELSEWHERE).store().await;
    let dispatcher = dispatcher([store.clone()], towns.home.directory());
    dispatcher.set_callers(authority.clone());
    let asked = Arc::new(OnceLock::from(authority.clone()));
    let mut scheduler = Scheduler::new(store.clone()).with_callers(asked);
    let job = JobSpec { context_id: ELSEWHERE, caller_id: Some(caller.clone()), ..spec("1") };
    let end_at = Some(store.clock().now().plus(Duration::from_secs(150)));
    let (every, missed, overlap) = (Seconds::new(60.0), Missed::All, Overlap::Allow);
    dispatcher.schedules().create(ScheduleSpec { job, every, end_at, missed, overlap, ..ScheduleSpec::default() }).await.unwrap();
    let schedule = async || -> Schedule { dispatcher.schedules().list(ELSEWHERE, None, 10).await.unwrap().schedules.remove(0) };
    // The first run is due, and then the last one, too.
    for seconds in [70, 70] {
        store.clock().advance(Duration::from_secs(seconds));
        scheduler.tick().await.unwrap();
        let now = schedule().await;
        assert_eq!((now.runs, now.missed_runs, now.next_runs.is_empty(), now.suspended), (0, 0, false, None));
    }
    towns.other.halt(false);
    until("the context is read", || async {
        authority.read_missing().await;
        (authority.standing(ELSEWHERE, &caller, true).await.unwrap() == Standing::May).then_some(())
    })
    .await;
    scheduler.tick().await.unwrap();
    let now = schedule().await;
    assert_eq!((now.runs, now.missed_runs, now.next_runs.is_empty()), (2, 0, true));
}
