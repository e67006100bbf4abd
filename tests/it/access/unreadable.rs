//! A token that cannot be read is not reported as invalid.

use super::*;

#[tokio::test]
async fn a_good_token_is_not_called_unknown_while_redis_does_not_give_it() {
    let guarded = Guarded::open().await;
    let redis = &guarded.house.redis;
    let identity = guarded.identity(&[Role::Caller]).await;
    let made = guarded.authority.create_token(identity, None, None, None).await.unwrap();
    let secret = made.secret.reveal().to_owned();
    let log_in = async || guarded.authority.log_in(&secret).await.map(|login| login.identity());
    for commands in [&["-hgetall"][..], &["-hget", "-hmget"]] {
        // One that was not shown before.
        let secret = guarded.secret(identity).await;
        let _: String = redis.run(&[&["ACL", "SETUSER", "default"][..], commands].concat()).await;
        let error = log_in().await.unwrap_err();
        assert!(matches!(&error, hero::access::Error::Store(source) if source.barred().is_some()), "{error}");
        let refused = Client::connect(&guarded.server.url(), Some(&secret)).await.err().unwrap();
        assert!(!matches!(refused, Error::Refused { status: 401, .. }), "{refused}");
        let _: String = redis.run(&["ACL", "SETUSER", "default", "allcommands"]).await;
        assert_eq!(log_in().await.unwrap(), identity);
    }
    // Nor while another program has spoilt what stands of it: that is said, with the key and what to do.
    let actor = format!("actor:{identity}");
    for (key, spoil) in [
        (actor.as_str(), vec!["SET", &actor, "x"]),
        ("hero:access:tokens", vec!["HSET", "hero:access:tokens", made.token.token_id.as_str(), "x"]),
        ("hero:access:tokens", vec!["SET", "hero:access:tokens", "x"]),
    ] {
        let before: Vec<u8> = redis.run(&["DUMP", key]).await;
        redis.run::<redis::Value>(&spoil).await;
        let error = log_in().await.unwrap_err();
        assert!(matches!(&error, hero::access::Error::Store(source) if source.is_spoilt()), "{error}");
        assert!(error.to_string().contains(key) && error.to_string().contains("delete or rename"), "{error}");
        let client = redis::Client::open(redis.url()).unwrap();
        let mut connection = crate::support::connection(&client).await.unwrap();
        let mut restore = redis::cmd("RESTORE");
        let _: String = restore.arg(key).arg(0).arg(before).arg("REPLACE").query_async(&mut connection).await.unwrap();
        assert_eq!(log_in().await.unwrap(), identity);
    }
}

#[tokio::test]
async fn who_may_do_what_stays_as_it_was_while_another_program_has_spoilt_what_tells_of_changes() {
    let guarded = Guarded::open().await;
    let redis = &guarded.house.redis;
    let (reader, other) = (guarded.identity(&[Role::Reader]).await, Server::guarded(&guarded.house.dispatcher).await.1);
    guarded.authority.set_login(true).await.unwrap();
    let made = guarded.authority.create_context(hero::access::ContextSpec::default()).await.unwrap().context_id;
    other.follow().await.unwrap();
    let _: () = redis.run(&["SET", "hero:access:contexts", "x"]).await;
    let _: () = redis.run(&["SET", "hero:meta:access", "x"]).await;
    other.follow().await.unwrap();
    assert!(other.has_login(), "nobody is let in who was not");
    assert!(other.context(made).is_some() && other.has_role(reader, CONTEXT, Role::Reader));
    // Changes are still seen.
    guarded.authority.set_role(CONTEXT, reader, Role::Reader, false).await.unwrap();
    other.follow().await.unwrap();
    assert!(!other.has_role(reader, CONTEXT, Role::Reader));
}
