//! Identities written by other programs: which of them count here, and which resources their numbers use up.

use hero::model::PrivateKey;

use super::*;
use crate::support::{Client as Operator, until};

/// A house, and a client that may do everything there.
async fn open() -> (Guarded, Server, Operator) {
    let guarded = Guarded::open().await;
    let server = Server::of(&guarded.house).await;
    let operator = server.connect().await;
    (guarded, server, operator)
}

impl Guarded {
    /// Writes an identity as another program would.
    async fn foreign(&self, number: u64, key: Option<&PrivateKey>) {
        let key = key.map(|key| key.public_key().to_string()).unwrap_or_default();
        let _: i64 = self.house.redis.run(&["HSET", &format!("actor:{number}"), "id", &number.to_string(), "pubkey", &key]).await;
    }
}

#[tokio::test]
async fn who_is_refused_at_login_is_refused_at_every_door_and_told_which_key_it_is_and_what_to_do() {
    let (guarded, _server, operator) = open().await;
    let redis = &guarded.house.redis;
    let ada = guarded.identity(&[Role::Admin]).await;
    let gone = guarded.identity(&[Role::Reader]).await;
    guarded.authority.delete_identity(gone).await.unwrap();
    let key = PrivateKey::random();
    guarded.foreign(gone.0.into(), Some(&key)).await;
    guarded.foreign(3_000_000_000, None).await;
    let _: i64 = redis.run(&["SADD", "actor:8", "x"]).await;
    // Its rights are left, as where a context could not be reached when it was deleted.
    let _: i64 = redis.run(&["HSET", "context:0", "readers", &format!("[{gone}]")]).await;
    let nonce: String = guarded.nobody().await.call_named("fetch_nonce", json!([key.public_key()])).await.unwrap();
    let login = json!([key.public_key(), key.sign(&nonce), nonce]);
    assert_eq!(code(&guarded.nobody().await, "authenticate", login).await, 1005);
    let doors = |id: u64| {
        [
            ("get_identity", json!([id])),
            ("update_identity", json!({ "identity_id": id, "address": ["a"] })),
            ("update_identity", json!({ "identity_id": id, "pubkey": key.public_key() })),
            ("create_token", json!([id])),
            ("list_tokens", json!([id])),
            ("grant", json!({ "identity_id": id, "role": "admin" })),
            ("create_context", json!({ "admins": [id] })),
        ]
    };
    for (id, number, told) in [
        (u64::from(gone.0), 1011, "was written by another program, and identities had its number before"),
        (3_000_000_000, 1011, "was written by another program, and its number is beyond 2,147,483,647"),
        (8, 1009, "of Redis is of another type"),
    ] {
        for (method, params) in doors(id) {
            let fault = operator.fault(method, params.clone()).await;
            let cure = if number == 1011 { "delete it and call create_identity" } else { "delete or rename it" };
            let is_told = [told, cure, &format!("actor:{id}")].iter().all(|part| fault.message.contains(part));
            assert!(fault.code == number && is_told, "{method} {params}: {fault:?}");
        }
    }
    let left: i64 = redis.run(&["EXISTS", &format!("hero:access:tokens:of:{gone}"), "hero:access:tokens:of:3000000000"]).await;
    let written: Option<String> = redis.run(&["HGET", &format!("actor:{gone}"), "address"]).await;
    assert_eq!((left, written), (0, None));
    // It does not appear among the identities that share a context.
    let seen = guarded.client(ada).await.list_identities(None, 100).await.unwrap().identities;
    assert_eq!(seen.iter().map(|identity| identity.identity_id).collect::<Vec<_>>(), [ada]);
    // Revocations are never refused for this reason, and report it if there was nothing to revoke.
    let revoke = json!({ "identity_id": gone, "role": "reader" });
    assert_eq!(operator.ok("revoke", revoke.clone()).await["readers"], json!([]));
    assert!(operator.fault("revoke", revoke).await.message.contains("was written by another program"));
    for id in [gone.0, 3_000_000_000] {
        assert_eq!(operator.ok("delete_identity", json!([id])).await, true);
    }
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 3);
}

#[tokio::test]
async fn a_number_of_another_program_uses_up_none_of_those_that_are_given_here_nor_of_its_own() {
    const LAST_NUMBER: u64 = 2_147_483_647;
    let (guarded, _server, operator) = open().await;
    let redis = &guarded.house.redis;
    // The first identity there is.
    guarded.foreign(LAST_NUMBER, None).await;
    let is_listed = async |number: u64| redis.run::<Option<String>>(&["ZSCORE", "hero:access:identities", &number.to_string()]).await;
    until("it is listed", async || is_listed(LAST_NUMBER).await).await;
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 1);
    operator.ok("create_token", json!([LAST_NUMBER])).await;
    operator.ok("grant", json!({ "identity_id": LAST_NUMBER, "role": "caller" })).await;
    operator.ok("update_identity", json!({ "identity_id": LAST_NUMBER, "address": ["a"] })).await;
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 2);
    // Which numbers were given is lost.
    let _: i64 = redis.run(&["HDEL", "hero:meta:access", "last"]).await;
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 3);
    let is_deleted = async |number: u64| guarded.authority.is_deleted(&number.to_string()).await.unwrap();
    assert!(!is_deleted(LAST_NUMBER).await);
    operator.ok("delete_identity", json!([LAST_NUMBER])).await;
    assert!(is_deleted(LAST_NUMBER).await, "its schedules end");
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 4);
    // That number is never assigned, and others are free.
    guarded.foreign(LAST_NUMBER, None).await;
    let fault = operator.fault("get_identity", json!([LAST_NUMBER])).await;
    assert!(fault.message.contains("identities had its number before"), "{fault:?}");
    for number in [LAST_NUMBER - 1, 9] {
        guarded.foreign(number, None).await;
        operator.ok("create_token", json!([number])).await;
    }
    // One that no other program may have is deleted without a trace.
    guarded.foreign(4_294_967_295, None).await;
    operator.ok("delete_identity", json!([4_294_967_295_u32])).await;
    let fault = operator.fault("revoke", json!({ "identity_id": 4_294_967_295_u32, "role": "caller" })).await;
    assert_eq!(fault.code, 1011);
    let mut given = Vec::new();
    for _ in 0..5 {
        given.push(operator.ok("create_identity", json!({})).await["identity_id"].as_u64().unwrap());
    }
    assert_eq!(given, [5, 6, 7, 8, 10]);
    let left: Vec<String> = redis.run(&["ZRANGE", "hero:access:numbers", "0", "-1"]).await;
    assert_eq!(left, [(LAST_NUMBER - 1).to_string(), LAST_NUMBER.to_string()]);
}

#[tokio::test]
async fn numbers_that_others_have_taken_in_a_row_are_passed_over_however_many_and_the_last_number_is_given_once() {
    let (guarded, _server, operator) = open().await;
    let redis = &guarded.house.redis;
    let write = "for number = 1, 3500 do redis.call('HSET', 'actor:' .. number, 'id', number) end";
    let _: Option<String> = redis.run(&["EVAL", write, "0"]).await;
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 3501);
    let _: i64 = redis.run(&["HSET", "hero:meta:access", "last", "4294967294"]).await;
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 4_294_967_295_u32);
    for _ in 0..2 {
        let fault = operator.fault("create_identity", json!({})).await;
        assert!(fault.code == 1007 && fault.message.contains("4,294,967,295 is the last number, and was given"), "{fault:?}");
    }
    // Those that there are go on.
    operator.ok("create_token", json!([4_294_967_295_u32])).await;
    operator.ok("update_identity", json!({ "identity_id": 3501, "address": ["a"] })).await;
}

#[tokio::test]
async fn programs_that_use_up_their_numbers_have_no_more_and_those_that_follow_one_another_are_forgotten() {
    let (guarded, _server, operator) = open().await;
    let redis = &guarded.house.redis;
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 1);
    let take = async |from: u32, step: u32| {
        let script = "for at = 1, 50000 do
                local number = string.format('%d', ARGV[1] + at * ARGV[2])
                redis.call('ZADD', 'hero:access:numbers', number, number)
            end";
        let _: Option<String> = redis.run(&["EVAL", script, "0", &from.to_string(), &step.to_string()]).await;
    };
    take(1, 1).await;
    guarded.foreign(70_000, None).await;
    operator.ok("get_identity", json!([70_000])).await;
    // A thousand were passed over for that.
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 50_002);
    take(100_000, 2).await;
    guarded.foreign(90_000, None).await;
    let fault = operator.fault("create_token", json!([90_000])).await;
    assert!(
        fault.message.contains("actor:90000") && fault.message.contains("50,000 identities, or numbers of other programs"),
        "{fault:?}"
    );
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 50_003);
}

#[tokio::test]
async fn roles_that_another_program_gave_to_a_number_that_nobody_had_are_got_by_nobody() {
    let (guarded, _server, operator) = open().await;
    let _: i64 = guarded.house.redis.run(&["HSET", "context:0", "admins", "[1,2]", "readers", "[4]"]).await;
    let _: i64 = guarded.house.redis.run(&["HSET", "hero:meta:access", "revision", "7"]).await;
    guarded.authority.follow().await.unwrap();
    assert_eq!(guarded.identity(&[]).await, IdentityId(3));
    assert_eq!(guarded.identity(&[]).await, IdentityId(5));
    let rights = operator.ok("get_context", json!({})).await;
    assert_eq!((&rights["admins"], &rights["readers"]), (&json!([1, 2]), &json!([4])), "they stay with those for whom they are");
}

#[tokio::test]
async fn nothing_is_stored_under_a_number_that_has_roles_nor_by_a_call_that_is_refused() {
    let (guarded, _server, operator) = open().await;
    let redis = &guarded.house.redis;
    let key = PrivateKey::random();
    // More than are looked at by a call.
    let held: Vec<u32> = (1..=1500).collect();
    let _: i64 = redis.run(&["HSET", "context:0", "readers", &json!(held).to_string(), "admins", "[1501]"]).await;
    let _: i64 = redis.run(&["HSET", "hero:meta:access", "revision", "7"]).await;
    let _: String = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let made = operator.ok("create_identity", json!({ "pubkey": key.public_key() })).await;
    assert_eq!(made["identity_id"], 1502);
    assert!(redis.calls("del").await < 100, "no identity is made first and deleted then");
    let all = async || {
        let (hashes, keys): (Vec<String>, _) =
            (redis.run(&["KEYS", "actor:*"]).await, redis.run::<u64>(&["HLEN", "hero:access:pubkeys"]).await);
        (hashes, keys, redis.run::<Vec<String>>(&["ZRANGE", "hero:access:identities", "0", "-1"]).await)
    };
    let before = all().await;
    assert_eq!(before, (vec!["actor:1502".to_owned()], 2, vec!["1502".to_owned()]));
    // Refusals: another one has the key, and the last number was given, or has roles.
    assert!(
        operator
            .fault("create_identity", json!({ "pubkey": key.public_key() }))
            .await
            .message
            .contains("identity 1502 has this public key")
    );
    let _: i64 = redis.run(&["HSET", "context:0", "admins", "[4294967295]"]).await;
    let _: i64 = redis.run(&["HSET", "hero:meta:access", "revision", "8", "last", "4294967294"]).await;
    for _ in 0..2 {
        let fault = operator.fault("create_identity", json!({ "pubkey": PrivateKey::random().public_key() })).await;
        assert!(fault.message.contains("4,294,967,295 is the last number"), "{fault:?}");
    }
    assert_eq!(all().await, before);
    // In whatever form another program has written the last number.
    let _: i64 = redis.run(&["HSET", "hero:meta:access", "last", "5e3"]).await;
    assert_eq!(operator.ok("create_identity", json!({})).await["identity_id"], 5001);
}

#[tokio::test]
async fn a_message_for_a_script_type_goes_only_where_its_sender_may_submit_and_is_refused_when_it_is_sent() {
    let other = hero::model::ContextId(1);
    let guarded = Guarded::over(House::with_contexts(&[other]).await).await;
    let server = Server::of(&guarded.house).await;
    let operator = server.connect().await;
    let caller = guarded.identity(&[Role::Caller]).await;
    let client = guarded.client(caller).await;
    let runner = json!({ "script_type": "osis", "local": false, "address": "here", "target_context": 1 });
    operator.ok("create_runner", json!({ "script_type": "osis" })).await;
    operator.ok("create_runner", runner).await;
    let send = async || client.call_named::<Value>("send_message", json!({ "topic": "osis", "message": "x" })).await;
    let refused = send().await.unwrap_err().to_string();
    assert!(refused.contains(&format!("identity {caller} needs to be admin or caller in context 1")), "{refused}");
    let stored: i64 = guarded.house.redis.run(&["EXISTS", "msg_out"]).await;
    assert_eq!(stored, 0);
    guarded.authority.set_role(other, caller, Role::Caller, true).await.unwrap();
    assert_eq!(send().await.unwrap()["status"], "dispatched");
}
