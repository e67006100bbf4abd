//! Every server sees a change of rights, even if the server that made it or Redis fails.

use std::time::Duration;

use hero::model::{ContextId, Timestamp};

use super::*;

#[tokio::test]
async fn a_revocation_is_seen_whose_server_was_killed_before_it_could_tell() {
    let house = House::with_contexts(&[ContextId(1)]).await;
    let guarded = Guarded::over(house).await;
    let redis = &guarded.house.redis;
    let context = ContextId(1);
    let reader = guarded.identity(&[]).await;
    guarded.authority.set_role(context, reader, Role::Reader, true).await.unwrap();
    let (_server, other) = Server::guarded(&guarded.house.dispatcher).await;
    assert!(other.has_role(reader, context, Role::Reader));
    // Everything that a server does before it is killed.
    let store = guarded.house.dispatcher.contexts().opened(context).unwrap();
    let token = guarded.house.store.contexts().announce_change(context).await.unwrap();
    store.access().set_role(reader, Role::Reader, false).await.unwrap();
    other.follow().await.unwrap();
    guarded.house.store.clock().advance(Duration::from_secs(3));
    other.follow().await.unwrap();
    assert!(!other.has_role(reader, context, Role::Reader), "it looks again what was announced and not told");
    // Who comes much later has it told to all, and nothing is left of it.
    let field = format!("changing:{token}");
    let long_ago = Timestamp::local().as_millis() - 3_600_000;
    let _: i64 = redis.run(&["HSET", "hero:meta:access", &field, &format!("{context} {long_ago}")]).await;
    let revision = async || guarded.house.store.access().news().await.unwrap().unwrap().revision;
    let (before, (_late, late)) = (revision().await, Server::guarded(&guarded.house.dispatcher).await);
    late.follow().await.unwrap();
    assert!(revision().await > before);
    let left: bool = redis.run(&["HEXISTS", "hero:meta:access", &field]).await;
    assert!(!left);
}

#[tokio::test]
async fn changes_that_were_published_leave_no_announcement() {
    let guarded = Guarded::open().await;
    let reader = guarded.identity(&[Role::Reader]).await;
    guarded.authority.set_role(CONTEXT, reader, Role::Reader, false).await.unwrap();
    let none = guarded.authority.update_context(ContextId(7), hero::access::ContextSpec::default()).await;
    assert!(none.is_err());
    assert_eq!(guarded.house.store.access().news().await.unwrap().unwrap().changing, []);
}

#[tokio::test]
async fn a_revocation_is_seen_after_a_failover_that_lost_another_change() {
    let guarded = Guarded::open().await;
    let redis = &guarded.house.redis;
    let (one, two) = (guarded.identity(&[Role::Reader]).await, guarded.identity(&[Role::Reader]).await);
    let (_server, other) = Server::guarded(&guarded.house.dispatcher).await;
    let read = async |key: &str| redis.run::<Vec<String>>(&["HGETALL", key]).await;
    let before = (read("hero:meta:access").await, read("context:0").await);
    guarded.authority.set_role(CONTEXT, one, Role::Reader, false).await.unwrap();
    other.follow().await.unwrap();
    assert!(!other.has_role(one, CONTEXT, Role::Reader));
    // The replica that takes over has not got that change; then there is another one, which is as many changes as before.
    for (key, fields) in [("hero:meta:access", &before.0), ("context:0", &before.1)] {
        let words: Vec<&str> = ["HSET", key].into_iter().chain(fields.iter().map(String::as_str)).collect();
        let _: u64 = redis.run(&["DEL", key]).await;
        let _: u64 = redis.run(&words).await;
    }
    guarded.authority.set_role(CONTEXT, two, Role::Reader, false).await.unwrap();
    other.follow().await.unwrap();
    assert!(!other.has_role(two, CONTEXT, Role::Reader));
    assert!(other.has_role(one, CONTEXT, Role::Reader), "as Redis has it now");
}
