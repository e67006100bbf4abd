//! Records of refused calls and of logins.

use super::*;
use hero::access::IdentityChange;
use hero::client::Client;
use hero::model::Role;

impl Recorded {
    /// A token of a new identity with these roles, and its number.
    async fn token(&self, roles: &[Role]) -> (u32, String) {
        let id = self.authority.create_identity(&IdentityChange::default()).await.unwrap().identity_id;
        for role in roles {
            self.authority.set_role(CONTEXT, id, *role, true).await.unwrap();
        }
        (id.0, self.authority.create_token(id, None, None, None).await.unwrap().secret.reveal().to_owned())
    }
}

const CREATE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"create_job","params":{"script":"1"}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_a_record_whatever_was_asked() {
    let recorded = Recorded::open(true).await;
    let (id, secret) = recorded.token(&[]).await;
    let client = Client::connect(&recorded.server.url(), Some(&secret)).await.unwrap();
    for (method, params) in [("create_job", json!({ "script": "1" })), ("list_jobs", json!({})), ("create_identity", json!({}))] {
        client.call_named::<Value>(method, params).await.unwrap_err();
    }
    let anonymous = recorded.server.connect().await;
    anonymous.fault("get_job", json!(["00000000-0000-4000-8000-000000000000"])).await;
    anonymous.subscribe("subscribe_events", json!({})).await.unwrap_err();
    let (_, of_reader) = recorded.token(&[Role::Reader]).await;
    let reader = Client::connect(&recorded.server.url(), Some(&of_reader)).await.unwrap();
    reader.call_named::<Value>("delete_job", json!(["00000000-0000-4000-8000-000000000000"])).await.unwrap_err();
    let entries = recorded.entries().await;
    let refused: Vec<(String, String, Option<i32>)> = entries
        .iter()
        .filter(|entry| entry.outcome == "refused")
        .map(|entry| (entry.who.clone(), entry.what.clone(), entry.code))
        .collect();
    let who = format!("identity:{id}");
    let expected = [
        (&*who, "create_job", 1004),
        (&*who, "list_jobs", 1004),
        (&*who, "create_identity", 1004),
        ("anonymous", "get_job", 1005),
        ("anonymous", "subscribe_events", 1005),
        (&*format!("identity:{}", id + 1), "delete_job", 1004),
    ];
    assert_eq!(refused, expected.map(|(who, what, code)| (who.to_owned(), what.to_owned(), Some(code))));
    let last = entries.last().unwrap();
    assert_eq!((last.object.as_deref(), last.context), (Some("job:00000000-0000-4000-8000-000000000000"), Some(CONTEXT)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_a_role_does_not_allow_is_a_record() {
    let recorded = Recorded::open(true).await;
    let (_, secret) = recorded.token(&[Role::Caller]).await;
    let client = Client::connect(&recorded.server.url(), Some(&secret)).await.unwrap();
    let own: String = client.call_named("create_job", json!({ "script": "1" })).await.unwrap();
    let other = recorded.house.dispatcher.jobs().create(crate::support::spec("1")).await.unwrap();
    for id in [own, other.to_string()] {
        let _ = client.call_named::<Value>("subscribe_job", json!([id])).await;
    }
    let refused = until("its record", || async { recorded.of("subscribe_job").await.pop() }).await;
    assert_eq!((&*refused.outcome, refused.object.as_deref()), ("refused", Some(&*format!("job:{other}"))));
    assert_eq!(recorded.of("subscribe_job").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_a_record_and_the_same_one_again_is_none() {
    let recorded = Recorded::open(true).await;
    let (id, secret) = recorded.token(&[Role::Caller]).await;
    for _ in 0..3 {
        assert_eq!(recorded.server.post_with(&format!("Bearer {secret}"), CREATE).await.0, 200);
        Client::connect(&recorded.server.url(), Some(&secret)).await.unwrap();
    }
    let entries = recorded.entries().await;
    let login: Vec<&Entry> = entries.iter().filter(|entry| entry.what == "login").collect();
    let [login] = login[..] else { panic!("{entries:?}") };
    assert_eq!((&*login.who, &*login.outcome), (&*format!("identity:{id}"), "ok"));
    assert_eq!(entries.iter().filter(|entry| entry.what == "create_job").count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_of_one_address_are_two_records_however_many_they_are() {
    let recorded = Recorded::open(true).await;
    let tries = 60;
    for number in 0..tries {
        let wrong = format!("Bearer hero_{number:043}");
        let code = recorded.server.post_with(&wrong, CREATE).await.0;
        assert!(code == 401 || code == 429, "{code}");
        if number == 19 {
            assert_eq!(recorded.of("login").await.len(), 1, "the first at once, and no more");
        }
    }
    // What is counted is written when the minute is over, or at the end.
    recorded.audit.close().await;
    let logins: Vec<Entry> = recorded.ground.entries().into_iter().filter(|entry| entry.what == "login").collect();
    let counts: Vec<Option<u64>> = logins.iter().map(|entry| entry.count).collect();
    assert_eq!(counts, [None, Some(tries - 1)], "{logins:?}");
    assert!(logins.iter().all(|entry| entry.outcome == "refused" && entry.code == Some(1005) && entry.peer.is_some()));
    assert!(!std::fs::read_to_string(&recorded.ground.files()[0]).unwrap().contains("hero_0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_revoked_is_a_refusal() {
    let recorded = Recorded::open(true).await;
    let (_, secret) = recorded.token(&[Role::Caller]).await;
    assert_eq!(recorded.server.post_with(&format!("Bearer {secret}"), CREATE).await.0, 200);
    let token = recorded.of("login").await.remove(0);
    let id = recorded.authority.tokens(hero::model::IdentityId(1)).await.unwrap()[0].token_id.clone();
    assert_eq!(token.who, "identity:1");
    recorded.authority.revoke_token(&id).await.unwrap();
    assert_eq!(recorded.server.post_with(&format!("Bearer {secret}"), CREATE).await.0, 401);
    let logins = recorded.of("login").await;
    assert_eq!(logins.iter().map(|entry| &*entry.outcome).collect::<Vec<_>>(), ["ok", "refused"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_that_fail_are_two_records_however_many_they_are_and_whatever_is_wrong_with_them() {
    let recorded = Recorded::open(true).await;
    let key = hero::model::PrivateKey::random();
    let nobody = recorded.server.connect().await;
    let params = json!({ "pubkey": key.public_key(), "signature": key.sign("x"), "nonce": "x".repeat(600) });
    for _ in 0..100 {
        assert_eq!(nobody.fault("authenticate", params.clone()).await.code, -32602);
    }
    recorded.audit.close().await;
    let told: Vec<(Option<i32>, Option<u64>)> =
        recorded.ground.entries().iter().filter(|entry| entry.what == "authenticate").map(|entry| (entry.code, entry.count)).collect();
    assert_eq!(told, [(Some(-32602), None), (Some(-32602), Some(99))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_presented_over_and_over_is_two_records_and_so_is_one_that_is_none() {
    let recorded = Recorded::open(true).await;
    let (id, secret) = recorded.token(&[]).await;
    let other = recorded.authority.create_token(hero::model::IdentityId(id), None, None, None).await.unwrap();
    let client = recorded.server.connect().await;
    for _ in 0..50 {
        // Two that take turns are no way out.
        for token in [&*secret, other.secret.reveal()] {
            client.ok("present_token", json!([token])).await;
        }
        // Nor are connections or requests of their own.
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "present_token", "params": [secret] });
        assert_eq!(recorded.server.post(&call.to_string()).await.0, 200);
    }
    for _ in 0..15 {
        assert_eq!(client.fault("present_token", json!(["hero_wrong"])).await.code, 1005);
    }
    recorded.audit.close().await;
    let entries = recorded.ground.entries();
    let presented = entries.iter().filter(|entry| entry.what == "present_token");
    let mut told: Vec<(&str, &str, Option<u64>)> = presented.map(|entry| (&*entry.who, &*entry.outcome, entry.count)).collect();
    told.sort_unstable();
    let who = format!("identity:{id}");
    // The wrong ones are shown on a connection of that identity.
    let expected = [(&*who, "ok", None), (&who, "ok", None), (&who, "ok", Some(49)), (&who, "ok", Some(99))];
    let refused = [(&*who, "refused", None), (&who, "refused", Some(14))];
    assert_eq!(told, [&expected[..], &refused].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_without_roles_makes_few_records() {
    let recorded = Recorded::open(true).await;
    let (id, secret) = recorded.token(&[]).await;
    let client = Client::connect(&recorded.server.url(), Some(&secret)).await.unwrap();
    let began = std::time::Instant::now();
    for _ in 0..100 {
        client.call_named::<Value>("create_token", json!({ "identity_id": id, "name": "x".repeat(300) })).await.unwrap_err();
    }
    let (mut made, mut slowed) = (0, 0);
    for _ in 0..150 {
        match client.call_named::<Value>("create_token", json!([id])).await {
            Ok(token) => {
                made += 1;
                client.call_named::<Value>("revoke_token", json!([token["token_id"]])).await.unwrap();
            }
            Err(hero::client::Error::Rpc(error)) => {
                assert!(error.code == 1006 && error.message.contains("one a second"), "{error:?}");
                slowed += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(made + slowed == 150 && made <= 101 + began.elapsed().as_secs(), "{made} {slowed}");
    let entries = recorded.of("create_token").await;
    assert_eq!(entries.iter().filter(|entry| entry.outcome == "ok").count() as u64, made);
    // One of names that are too long, and one of too many, if there were too many.
    assert!(entries.iter().filter(|entry| entry.outcome != "ok").count() <= 2, "{entries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contexts_that_do_not_exist_are_one_kind_of_refusal() {
    let recorded = Recorded::open(true).await;
    let (_, secret) = recorded.token(&[]).await;
    let client = Client::connect(&recorded.server.url(), Some(&secret)).await.unwrap();
    for context in 100..300 {
        let asked = json!({ "job_id": "00000000-0000-4000-8000-000000000000", "context_id": context });
        client.call_named::<Value>("get_job", asked).await.unwrap_err();
    }
    let refused = recorded.of("get_job").await;
    let told: Vec<(Option<u32>, Option<&str>)> =
        refused.iter().map(|entry| (entry.context.map(|context| context.0), entry.object.as_deref())).collect();
    assert_eq!(told, [(None, Some("context:100"))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_by_a_signature_says_who_it_was_and_which_token_it_got() {
    let recorded = Recorded::open(true).await;
    let key = hero::model::PrivateKey::random();
    let change = IdentityChange { pubkey: Some(key.public_key()), address: None };
    let id = recorded.authority.create_identity(&change).await.unwrap().identity_id;
    let post = async |method: &str, params: Value| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        serde_json::from_str::<Value>(&recorded.server.post(&call).await.1).unwrap()["result"].clone()
    };
    let nonce = post("fetch_nonce", json!([key.public_key()])).await.as_str().unwrap().to_owned();
    let made = post("authenticate", json!({ "pubkey": key.public_key(), "signature": key.sign(&nonce), "nonce": nonce })).await;
    assert_eq!(made["identity_id"], id.0);
    let token = recorded.authority.tokens(id).await.unwrap().remove(0).token_id;
    let entry = recorded.of("authenticate").await.remove(0);
    assert_eq!((entry.who, &*entry.outcome), (format!("identity:{id}"), "ok"));
    recorded.audit.written().await;
    assert!(std::fs::read_to_string(&recorded.ground.files()[0]).unwrap().contains(&format!("\"token\":\"{token}\"")));
}
