use super::*;
use crate::support::until;

/// The generator of secp256k1.
const KEY: &str =
    "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";

#[tokio::test]
async fn an_identity_stands_in_redis_as_the_coordinator_says() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    let made = client.ok("create_identity", json!({ "pubkey": KEY.to_uppercase(), "address": ["3bb:2f3e::1", "wss://a.example"] })).await;
    assert_eq!((&made["identity_id"], &made["pubkey"]), (&json!(1), &json!(KEY)));
    let fields: Vec<String> = house.redis.run(&["HGETALL", "actor:1"]).await;
    let mut fields: Vec<(&str, &str)> = fields.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    fields.sort_unstable();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["address", "created_at", "id", "pubkey", "updated_at"]);
    assert_eq!((fields[0].1, fields[2].1, fields[3].1), (r#"["3bb:2f3e::1","wss://a.example"]"#, "1", KEY));
    assert!(fields[1].1.parse::<u32>().is_ok() && fields[4].1.parse::<u32>().is_ok(), "{fields:?}");

    assert_eq!(client.ok("get_identity", json!([1])).await, made);
    let moved = client.ok("update_identity", json!({ "identity_id": 1, "address": ["b"] })).await;
    assert_eq!((&moved["address"], &moved["pubkey"]), (&json!(["b"]), &json!(KEY)));
    // One that another program wrote is read, too, and its number is not given again.
    let _: i64 =
        house.redis.run(&["HSET", "actor:2", "id", "2", "pubkey", "", "address", "[\"x\"]", "created_at", "5", "updated_at", "6"]).await;
    assert_eq!(client.ok("get_identity", json!([2])).await["created_at"], "1970-01-01T00:00:05.000Z");
    assert_eq!(client.ok("create_identity", json!({})).await["identity_id"], 3);
    let page = client.ok("list_identities", json!({ "limit": 1 })).await;
    assert_eq!((&page["identities"][0]["identity_id"], &page["next_cursor"]), (&json!(1), &json!("1")));
    let rest = client.ok("list_identities", json!({ "cursor": "1" })).await;
    let numbers: Vec<&Value> = rest["identities"].as_array().unwrap().iter().map(|identity| &identity["identity_id"]).collect();
    assert_eq!((numbers, &rest["next_cursor"]), (vec![&json!(2), &json!(3)], &Value::Null));

    assert_eq!(client.ok("delete_identity", json!([1])).await, true);
    let gone: i64 = house.redis.run(&["EXISTS", "actor:1"]).await;
    assert_eq!(gone, 0);
    // Its key is free, its number is not.
    assert_eq!(client.ok("create_identity", json!({ "pubkey": KEY })).await["identity_id"], 4);
}

#[tokio::test]
async fn invalid_parameters_are_refused_with_the_remedy() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    client.ok("create_identity", json!({ "pubkey": KEY })).await;
    for (method, params, number, told) in [
        ("create_identity", json!({ "pubkey": KEY }), 1002, "identity 1 has this public key"),
        ("create_identity", json!({ "pubkey": "0x04" }), -32602, "130 hexadecimal digits"),
        ("create_identity", json!({ "pubkey": KEY.replace("d4b8", "d4b9") }), -32602, "no point of secp256k1"),
        ("create_identity", json!({ "address": [""] }), -32602, "1 to 256 bytes"),
        ("create_identity", json!({ "address": vec!["a"; 17] }), -32602, "the limit is 16"),
        ("get_identity", json!([9]), 1011, "identity 9 does not exist"),
        ("update_identity", json!([9]), 1011, "identity 9 does not exist"),
        ("delete_identity", json!([9]), 1011, "list_identities"),
        ("list_identities", json!({ "cursor": "x" }), -32602, "is not a cursor"),
        ("create_token", json!([9]), 1011, "identity 9 does not exist"),
        ("create_token", json!({ "identity_id": 1, "name": "x".repeat(257) }), -32602, "the limit is 256"),
        ("revoke_token", json!(["0123456789abcdef"]), 1011, "list_tokens"),
        ("revoke_token", json!(["x"]), -32602, "16 hexadecimal digits"),
        ("grant", json!({ "identity_id": 9, "role": "caller" }), 1011, "identity 9 does not exist"),
        ("grant", json!({ "identity_id": 1, "role": "king" }), -32602, "admin, caller, reader, executor"),
        ("grant", json!({ "identity_id": 1, "role": "caller", "context_id": 7 }), 1011, "context 7"),
        ("get_context", json!({ "context_id": 7 }), 1011, "context 7"),
    ] {
        let fault = client.fault(method, params.clone()).await;
        assert!(fault.code == number && fault.message.contains(told), "{method} {params}: {fault:?}");
    }
}

#[tokio::test]
async fn rights_stand_in_redis_as_the_coordinator_says_and_hold_what_others_wrote() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    for _ in 0..3 {
        client.ok("create_identity", json!({})).await;
    }
    client.ok("grant", json!({ "identity_id": 3, "role": "admin" })).await;
    let rights = client.ok("grant", json!({ "identity_id": 1, "role": "admin" })).await;
    assert_eq!((&rights["admins"], &rights["callers"]), (&json!([1, 3]), &json!([])));
    let field = async |name: &str| house.redis.run::<String>(&["HGET", "context:0", name]).await;
    let lists = [field("id").await, field("admins").await, field("callers").await, field("readers").await, field("executors").await];
    assert_eq!(lists, ["0", "[1,3]", "[]", "[]", "[]"]);
    assert!(field("created_at").await.parse::<u32>().is_ok() && field("updated_at").await.parse::<u32>().is_ok());
    let _: i64 = house.redis.run(&["HSET", "context:0", "readers", "[2]", "callers", "no list"]).await;
    let rights = client.ok("grant", json!({ "identity_id": 2, "role": "caller" })).await;
    assert_eq!((&rights["readers"], &rights["callers"]), (&json!([2]), &json!([2])));
    // Given twice, it is there once; taken away twice, it is gone.
    client.ok("grant", json!({ "identity_id": 2, "role": "caller" })).await;
    assert_eq!(field("callers").await, "[2]");
    for _ in 0..2 {
        assert_eq!(client.ok("revoke", json!({ "identity_id": 2, "role": "caller" })).await["callers"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_of_a_deleted_identity_end_and_those_of_others_go_on() {
    let (redis, home) = (crate::support::Redis::start().await, tempfile::tempdir().unwrap());
    let server = crate::support::Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "osis=1"]).await;
    let client = crate::support::Client::connect(&server.url()).await;
    let context = client.ok("create_context", json!({})).await["context_id"].clone();
    for _ in 0..2 {
        client.ok("create_identity", json!({})).await;
    }
    let mut schedules = Vec::new();
    // The third was never an identity, and the last is a name.
    for caller in ["1", "2", "3", "ada"] {
        let job = json!({ "script": "1", "context_id": context, "caller_id": caller });
        schedules.push(client.ok("create_schedule", json!({ "job": job, "every": 1 })).await["schedule_id"].clone());
    }
    let shown = async || client.ok("list_schedules", json!({ "context_id": context })).await["schedules"].as_array().unwrap().clone();
    let of = |all: &[Value], id: &Value| all.iter().find(|schedule| schedule["schedule_id"] == *id).unwrap().clone();
    until("all have run", || async { shown().await.iter().all(|schedule| schedule["runs"].as_u64() > Some(0)).then_some(()) }).await;
    client.ok("delete_identity", json!([1])).await;
    let ended = || async {
        let all = shown().await;
        of(&all, &schedules[0])["next_runs"].as_array().is_none_or(Vec::is_empty).then_some(all)
    };
    let then = until("the schedule has ended", ended).await;
    let runs = |all: &[Value], id: &Value| of(all, id)["runs"].as_u64().unwrap();
    let others_go_on = || async {
        let now = shown().await;
        schedules[1..].iter().all(|id| runs(&now, id) > runs(&then, id) + 1).then_some(now)
    };
    let now = until("the others go on", others_go_on).await;
    assert_eq!(runs(&now, &schedules[0]), runs(&then, &schedules[0]));
    assert!(server.log().contains("a schedule ends because its identity was deleted"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_of_who_may_create_no_jobs_any_more_are_suspended_until_that_has_changed() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data").display().to_string();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--pool", "osis=1", "--login"];
    let server = crate::support::Process::start_with(&arguments, |_| {}).until_ready().await;
    let operator = Client::connect(&format!("unix://{data}/hero.sock"), None).await.unwrap();
    let identity = operator.create_identity(None, &[]).await.unwrap().identity_id;
    operator.set_role(identity, Role::Caller, CONTEXT, true).await.unwrap();
    let token = operator.create_token(identity, None, None).await.unwrap().secret;
    let client = Client::connect(&server.url(), Some(&token)).await.unwrap();
    let _: Value = client.call_named("create_schedule", json!({ "job": { "script": "1" }, "every": 1 })).await.unwrap();
    // A schedule of the operator belongs to no identity.
    let _: Value = operator.call_named("create_schedule", json!({ "job": { "script": "2" }, "every": 1, "name": "other" })).await.unwrap();
    let listed = async |own: bool| {
        let all: Value = operator.call_named("list_schedules", json!({})).await.unwrap();
        let is_meant = |schedule: &&Value| schedule.get("name").is_none() == own;
        all["schedules"].as_array().unwrap().iter().find(is_meant).unwrap().clone()
    };
    let number = |schedule: &Value, field: &str| schedule[field].as_u64().unwrap();
    until("it has run", || async { (number(&listed(true).await, "runs") > 0).then_some(()) }).await;
    assert!(listed(true).await.get("suspended").is_none());
    operator.set_role(identity, Role::Caller, CONTEXT, false).await.unwrap();
    let missed = async |more_than: u64| {
        until("runs are left out", || async {
            let schedule = listed(true).await;
            (number(&schedule, "missed_runs") > more_than).then_some(schedule)
        })
        .await
    };
    let then = missed(0).await;
    let why = then["suspended"].as_str().unwrap();
    assert!(why.contains(&format!("identity {identity} needs to be admin or caller in context 0")), "{why}");
    assert!(!then["next_runs"].as_array().unwrap().is_empty(), "it has not ended");
    let others = number(&listed(false).await, "runs");
    let now = missed(number(&then, "missed_runs") + 1).await;
    assert_eq!(number(&now, "runs"), number(&then, "runs"), "it makes no jobs");
    until("the other one goes on", || async { (number(&listed(false).await, "runs") > others).then_some(()) }).await;
    assert!(listed(false).await.get("suspended").is_none());
    assert!(server.log().contains("a schedule is suspended; its runs are skipped"));
    operator.set_role(identity, Role::Caller, CONTEXT, true).await.unwrap();
    let again = until("it goes on", || async {
        let schedule = listed(true).await;
        (number(&schedule, "runs") > number(&now, "runs")).then_some(schedule)
    })
    .await;
    assert!(again.get("suspended").is_none());
    server.stop().await;
}

#[tokio::test]
async fn a_list_of_identities_goes_on_behind_those_that_were_deleted() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    for _ in 0..9 {
        client.ok("create_identity", json!({})).await;
    }
    // Other programs delete the hash alone, so that the number still stands in the list.
    let _: i64 = house.redis.run(&["DEL", "actor:2", "actor:3", "actor:4", "actor:8"]).await;
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = client.ok("list_identities", json!({ "limit": 2, "cursor": cursor })).await;
        found.extend(page["identities"].as_array().unwrap().iter().map(|identity| identity["identity_id"].as_u64().unwrap()));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(found, [1, 5, 6, 7, 9]);
}

#[tokio::test]
async fn identities_are_seen_by_those_who_share_a_context_with_them() {
    let house = House::with_contexts(&[hero::model::ContextId(1)]).await;
    let guarded = Guarded::over(house).await;
    let other = hero::model::ContextId(1);
    let (ada, bob, eve, mallory) = (
        guarded.identity(&[Role::Admin]).await,
        guarded.identity(&[Role::Reader]).await,
        guarded.identity(&[]).await,
        guarded.identity(&[]).await,
    );
    guarded.authority.set_role(other, eve, Role::Admin, true).await.unwrap();
    for (who, sees) in [(ada, vec![ada, bob]), (bob, vec![ada, bob]), (eve, vec![eve]), (mallory, vec![mallory])] {
        let client = guarded.client(who).await;
        let listed = client.list_identities(None, 100).await.unwrap().identities;
        assert_eq!(listed.iter().map(|identity| identity.identity_id).collect::<Vec<_>>(), sees, "{who}");
        for id in [ada, bob, eve, mallory, IdentityId(9999)] {
            let expected = if sees.contains(&id) { 0 } else { 1004 };
            assert_eq!(code(&client, "get_identity", json!([id])).await, expected, "{id} by {who}");
        }
        let (mut paged, mut cursor) = (0, None);
        loop {
            let page = client.list_identities(cursor.as_deref(), 1).await.unwrap();
            paged += page.identities.len();
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(paged, sees.len(), "{who}");
    }
    // An identity that gets a role there is visible from then on.
    let client = guarded.client(mallory).await;
    guarded.authority.set_role(other, mallory, Role::Caller, true).await.unwrap();
    assert_eq!(client.list_identities(None, 100).await.unwrap().identities.len(), 2);
}

#[tokio::test]
async fn identities_that_another_program_wrote_are_listed_and_no_number_is_given_twice_by_that() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    for _ in 0..3 {
        client.ok("create_identity", json!({})).await;
    }
    client.ok("delete_identity", json!([2])).await;
    // The value there need not be an identity.
    let _: i64 = house.redis.run(&["SADD", "actor:8", "x"]).await;
    for number in ["2", "7", "20", "2147483648", "x", "07"] {
        let _: i64 = house.redis.run(&["HSET", &format!("actor:{number}"), "id", number, "created_at", "5"]).await;
    }
    let listed = async || {
        let page = client.ok("list_identities", json!({})).await;
        page["identities"].as_array().unwrap().iter().map(|identity| identity["identity_id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    until("both are listed", async || (listed().await == [1, 3, 7, 20]).then_some(())).await;
    // A whole walk after that nothing else is.
    let _: i64 = house.redis.run(&["HSET", "actor:30", "id", "30"]).await;
    until("the next one is listed", async || (listed().await.last() == Some(&30)).then_some(())).await;
    assert_eq!(listed().await, [1, 3, 7, 20, 30]);
    // Their numbers use up none of those that are given here.
    assert_eq!(client.ok("create_identity", json!({})).await["identity_id"], 4);
}

#[tokio::test]
async fn an_identity_that_another_program_deletes_is_deleted_fully_and_nobody_gets_its_number() {
    let guarded = Guarded::open().await;
    let redis = &guarded.house.redis;
    for _ in 0..6 {
        guarded.authority.create_identity(&IdentityChange::default()).await.unwrap();
    }
    let key = hero::model::PrivateKey::random();
    let _: i64 = redis.run(&["HSET", "actor:7", "id", "7", "pubkey", key.public_key().as_str()]).await;
    let _: i64 = redis.run(&["HSET", "actor:8", "id", "8"]).await;
    let is_listed = async |number: &str| redis.run::<Option<String>>(&["ZSCORE", "hero:access:identities", number]).await.is_some();
    until("both are listed", async || (is_listed("7").await && is_listed("8").await).then_some(())).await;
    let client = guarded.nobody().await;
    let nonce: String = client.call_named("fetch_nonce", json!([key.public_key()])).await.unwrap();
    let login: Value = client.call_named("authenticate", json!([key.public_key(), key.sign(&nonce), nonce])).await.unwrap();
    assert_eq!(login["identity_id"], 7);
    let made = guarded.secret(IdentityId(7)).await;
    let tokens = [login["token"].as_str().unwrap().to_owned(), made];
    let status = async |token: &str| {
        // As servers do repeatedly.
        guarded.authority.follow().await.unwrap();
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        guarded.server.post_with(&format!("Bearer {token}"), ping).await.0
    };
    assert_eq!((status(&tokens[0]).await, status(&tokens[1]).await), (200, 200));
    let _: i64 = redis.run(&["DEL", "actor:7", "actor:8"]).await;
    // Nobody has seen yet that they are gone, or somebody has: it is the same.
    assert_eq!(guarded.identity(&[]).await, IdentityId(9));
    until("nothing is left in the list", async || (!is_listed("7").await && !is_listed("8").await).then_some(())).await;
    for token in &tokens {
        until("its tokens end", async || (status(token).await == 401).then_some(())).await;
    }
    let left: i64 = redis.run(&["EXISTS", "hero:access:tokens:of:7", "hero:access:pubkeys"]).await;
    assert_eq!(left, 0);
    assert_eq!(guarded.identity(&[]).await, IdentityId(10));
}
