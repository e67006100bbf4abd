//! Who is refused, and who logs in.

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
        client.call::<Value>(method, params).await.unwrap_err();
    }
    let anonymous = recorded.server.connect().await;
    anonymous.fault("get_job", json!(["00000000-0000-4000-8000-000000000000"])).await;
    anonymous.subscribe("subscribe_events", json!({})).await.unwrap_err();
    let (_, of_reader) = recorded.token(&[Role::Reader]).await;
    let reader = Client::connect(&recorded.server.url(), Some(&of_reader)).await.unwrap();
    reader.call::<Value>("delete_job", json!(["00000000-0000-4000-8000-000000000000"])).await.unwrap_err();
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
    let own: String = client.call("create_job", json!({ "script": "1" })).await.unwrap();
    let other = recorded.house.dispatcher.create(crate::support::spec("1")).await.unwrap();
    for id in [own, other.to_string()] {
        let _ = client.call::<Value>("subscribe_job", json!([id])).await;
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
async fn logins_that_come_to_nothing_are_two_records_of_each_kind_however_many_they_are() {
    let recorded = Recorded::open(true).await;
    let client = recorded.server.connect().await;
    let key = hero::model::PrivateKey::random();
    let params = |nonce: &str| json!({ "pubkey": key.public_key(), "signature": key.sign(nonce), "nonce": nonce });
    // None of these is a refusal because of who calls.
    for number in 0..60 {
        assert_eq!(client.fault("authenticate", params(&format!("{number:0600}"))).await.code, -32602);
    }
    // These are, and those that are too many in a second are not.
    let wrong = futures_util::future::join_all((0..60).map(|_| client.fault("authenticate", params("hero:nobody:1:1")))).await;
    assert!(wrong.iter().any(|fault| fault.code == 1006), "{wrong:?}");
    recorded.audit.close().await;
    let entries: Vec<Entry> = recorded.ground.entries().into_iter().filter(|entry| entry.what == "authenticate").collect();
    let of =
        |code: i32| -> Vec<u64> { entries.iter().filter(|entry| entry.code == Some(code)).map(|entry| entry.count.unwrap_or(1)).collect() };
    assert_eq!(of(-32602), [1, 59], "{entries:?}");
    let (refused, busy) = (of(1005), of(1006));
    assert!(refused.len() <= 2 && busy.len() <= 2, "{entries:?}");
    assert_eq!(refused.iter().chain(&busy).sum::<u64>(), 60, "{entries:?}");
}
