//! Keys that other programs damaged, and the resulting losses.

use super::*;
use crate::support::until;

#[tokio::test]
async fn spoilt_keys_of_access_grant_nothing_and_block_nobody() {
    let guarded = Guarded::open().await;
    let redis = &guarded.house.redis;
    let (admin, other) = (guarded.identity(&[Role::Admin]).await, guarded.identity(&[Role::Reader]).await);
    let client = guarded.client(admin).await;
    let _: i64 = redis.run(&["HSET", "context:0", "readers", r#"["5",null,6,-1,1.5,{}]"#]).await;
    client.set_role(other, Role::Reader, CONTEXT, true).await.unwrap();
    let readers = client.get_context(CONTEXT).await.unwrap().readers;
    assert_eq!(readers.iter().map(|id| id.0).collect::<Vec<_>>(), [other.0, 6]);
    // A key of another type has no rights in it, and gives way to the next grant.
    let _: String = redis.run(&["SET", "context:0", "x"]).await;
    assert_eq!(guarded.authority.read_context(CONTEXT).await.unwrap().admins.len(), 0);
    guarded.authority.set_role(CONTEXT, admin, Role::Admin, true).await.unwrap();
    assert_eq!(code(&client, "list_jobs", json!({})).await, 0);
    let _: String = redis.run(&["SET", "actor:9", "x"]).await;
    let _: i64 = redis.run(&["ZADD", "hero:access:identities", "9", "9"]).await;
    assert_eq!(client.list_identities(None, 100).await.unwrap().identities.len(), 1);
    let open = Server::of(&guarded.house).await;
    let operator = open.connect().await;
    assert_eq!(operator.ok("list_identities", json!({})).await["identities"].as_array().unwrap().len(), 2);
    let fault = operator.fault("get_identity", json!([9])).await;
    assert_eq!((fault.code, &fault.data), (1009, &json!({ "outcome": "not_done", "key": "actor:9" })));
    assert!(fault.message.contains("the key actor:9 of Redis") && fault.message.contains("delete or rename it"), "{fault:?}");
    // An identity that another program deletes has no rights any more.
    let secret = guarded.secret(other).await;
    let _: i64 = redis.run(&["DEL", &format!("actor:{other}")]).await;
    assert!(matches!(Client::connect(&guarded.server.url(), Some(&secret)).await, Err(Error::Refused { status: 401, .. })));
}

#[tokio::test]
async fn no_number_is_given_twice_whoever_gave_it() {
    let guarded = Guarded::open().await;
    let redis = &guarded.house.redis;
    let made = guarded.identity(&[]).await;
    let _: i64 = redis.run(&["HSET", "actor:5", "id", "5"]).await;
    guarded.authority.set_role(CONTEXT, IdentityId(5), Role::Admin, true).await.unwrap();
    guarded.authority.delete_identity(IdentityId(5)).await.unwrap();
    assert!(guarded.authority.read_context(CONTEXT).await.unwrap().admins.is_empty(), "a deleted identity is in no list");
    for number in [2, 3, 4, 6] {
        assert_eq!(guarded.identity(&[]).await, IdentityId(number));
    }
    // Nor is one used up that somebody names who never was.
    let nobody = guarded.authority.set_role(CONTEXT, IdentityId(4_000_000_000), Role::Caller, false).await.unwrap_err();
    assert!(nobody.to_string().starts_with("identity 4000000000 does not exist"), "{nobody}");
    // The last number is lost; the identities are not.
    let _: i64 = redis.run(&["DEL", "hero:meta:access"]).await;
    assert_eq!((made, guarded.identity(&[]).await), (IdentityId(1), IdentityId(7)));
    let _: i64 = redis.run(&["HSET", "hero:meta:access", "last", "4294967295"]).await;
    let full = guarded.authority.create_identity(&IdentityChange::default()).await.unwrap_err();
    assert!(full.to_string().contains("4,294,967,295 is the last number"), "{full}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_names_no_job_of_another_caller() {
    let house = House::open(2).await;
    let (server, authority) = Server::guarded(&house.dispatcher).await;
    let guarded = Guarded { house, server, authority };
    let (ada, bob) = (guarded.with_roles(&[Role::Caller]).await, guarded.with_roles(&[Role::Caller]).await);
    let of_ada: String = ada.call_named("create_job", json!({ "script": "`the secret`" })).await.unwrap();
    for spec in [
        format!("job::spawn(#{{ script: `inputs`, prerequisites: [`{of_ada}`] }})"),
        format!("job::spawn(#{{ script: `throw 1`, dependents: [`{}`] }})", of_ada.to_uppercase()),
        format!("job::spawn(#{{ script: `1`, predecessor_id: `{of_ada}` }})"),
        format!("job::then(#{{ script: `inputs`, prerequisites: [`{of_ada}`] }})"),
    ] {
        let fault = bob.call_named::<Value>("run_and_wait", json!([spec])).await.unwrap_err().to_string();
        assert!(fault.contains("names a job of another caller"), "{spec}: {fault}");
    }
    let own: String = bob.call_named("create_job", json!({ "script": "7" })).await.unwrap();
    let spawned = format!("job::spawn(#{{ script: `inputs.len()`, prerequisites: [`{own}`] }})");
    assert_eq!(code(&bob, "run_and_wait", json!([spawned])).await, 0);
    // More than may be named are not even looked at.
    let many: Vec<String> = (0..2001).map(|_| hero::model::JobId::random().to_string()).collect();
    assert_eq!(code(&bob, "create_job", json!({ "script": "1", "prerequisites": many })).await, -32602);
}

#[tokio::test]
async fn a_wait_over_http_ends_with_the_token() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Caller]).await;
    let secret = guarded.secret(identity).await;
    let id = job(&guarded.client(identity).await).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "wait_job", "params": {"job_id": id, "wait_timeout": 600}}).to_string();
    let (server, bearer) = (&guarded.server, format!("Bearer {secret}"));
    let revoked = async {
        // Time enough for the wait to begin; if it has not, the answer is the same.
        until("it waits", || async { (guarded.house.redis.calls("hgetall").await > 0).then_some(()) }).await;
        guarded.authority.delete_identity(identity).await.unwrap();
    };
    let ((status, answer), ()) = tokio::join!(server.post_with(&bearer, &body), revoked);
    assert!(status == 401 && answer.contains("1005"), "{status} {answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_cannot_be_read_is_not_one_without_rights_and_the_others_are_read() {
    let guarded = Guarded::open().await;
    let redis = &guarded.house.redis;
    let reader = guarded.identity(&[Role::Reader]).await;
    let (one, two) = {
        let make = async || guarded.authority.create_context(hero::access::ContextSpec::default()).await.unwrap().context_id;
        (make().await, make().await)
    };
    let (_server, other) = Server::guarded(&guarded.house.dispatcher).await;
    for context in [one, two] {
        guarded.authority.set_role(context, reader, Role::Reader, true).await.unwrap();
    }
    other.follow().await.unwrap();
    assert!(other.has_role(reader, one, Role::Reader) && other.has_role(reader, two, Role::Reader));
    // They change, and one of them may not be read.
    guarded.authority.set_role(two, reader, Role::Caller, true).await.unwrap();
    guarded.authority.set_role(one, reader, Role::Caller, true).await.unwrap();
    let keys = ["~hero:*", "~actor:*", "~context:0", &format!("~context:{two}")];
    let _: String = redis.run(&[&["ACL", "SETUSER", "default", "resetkeys"][..], &keys].concat()).await;
    other.follow().await.unwrap();
    assert!(other.has_role(reader, two, Role::Caller), "the other one was read");
    assert!(other.has_role(reader, one, Role::Reader) && !other.has_role(reader, one, Role::Caller), "it is as it was");
    // What is to be done there is not known either.
    let databases = guarded.house.store.contexts().databases().unwrap().unwrap();
    let _: String = redis.run(&["ACL", "SETUSER", "default", "-fcall", "-fcall_ro"]).await;
    let pending = databases.pending(&[one], &[]).await;
    assert!(pending.is_err() || pending.is_ok_and(|of| of.len() == 1 && of[0].1.is_err()));
    let _: String = redis.run(&["ACL", "SETUSER", "default", "allkeys", "allcommands"]).await;
    other.read_missing().await;
    assert!(other.has_role(reader, one, Role::Caller));
    assert!(databases.pending(&[one], &[]).await.unwrap()[0].1.is_ok());
}
