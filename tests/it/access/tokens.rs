use std::time::Duration;

use super::*;
use crate::support::until;

#[tokio::test]
async fn a_token_stands_for_its_identity_over_websocket_and_http() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Caller]).await;
    let secret = guarded.secret(identity).await;
    assert!(secret.starts_with("hero_") && secret.len() == 48, "{secret}");
    let client = Client::connect(&guarded.server.url(), Some(&secret)).await.unwrap();
    let who = client.whoami().await.unwrap();
    assert_eq!((who.identity_id, who.operator, who.caller_id.as_str()), (Some(identity), false, "1"));
    assert_eq!(who.roles[&CONTEXT], [Role::Caller]);
    let job = job(&client).await;
    let made: Value = client.call_named("get_job", json!([job])).await.unwrap();
    assert_eq!(made["caller_id"], "1");

    let call = r#"{"jsonrpc":"2.0","id":1,"method":"whoami"}"#;
    let (status, answer) = guarded.server.post_with(&format!("Bearer {secret}"), call).await;
    assert!(status == 200 && answer.contains(r#""identity_id":1"#), "{status} {answer}");
    let (status, answer) = guarded.server.post(call).await;
    assert!(status == 200 && answer.contains(r#""caller_id":"anonymous""#), "{status} {answer}");
    let (status, answer) = guarded.server.post_with("Bearer hero_wrong", call).await;
    assert!(status == 401 && answer.contains("1005") && answer.contains("unknown, has expired or was revoked"), "{status} {answer}");
    assert!(matches!(Client::connect(&guarded.server.url(), Some("hero_wrong")).await, Err(Error::Refused { status: 401, .. })));
}

#[tokio::test]
async fn nobody_may_only_do_what_is_public() {
    let guarded = Guarded::open().await;
    let nobody = guarded.nobody().await;
    assert_eq!(code(&nobody, "ping", json!({})).await, 0);
    for method in ["server_info", "list_jobs", "create_identity", "list_identities", "list_functions"] {
        assert_eq!(code(&nobody, method, json!({})).await, 1005, "{method}");
    }
    let fault = guarded.server.connect().await.fault("list_jobs", json!({})).await;
    assert!(fault.message.contains("Authorization: Bearer"), "{fault:?}");
}

#[tokio::test]
async fn a_token_that_is_revoked_ends_at_once_on_connections_that_are_open() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Caller]).await;
    let (one, other) = (guarded.client(identity).await, guarded.client(identity).await);
    let tokens = one.list_tokens(identity).await.unwrap();
    assert_eq!(tokens.len(), 2);
    // It waits for a job that no actor runs.
    let id = job(&one).await;
    let waiting = tokio::spawn({
        let one = one.clone();
        async move { one.call_named_within::<Value>(Duration::from_secs(60), "wait_job", json!({ "job_id": id, "wait_timeout": 50 })).await }
    });
    other.revoke_token(&tokens[0].token_id).await.unwrap();
    let ended = waiting.await.unwrap().unwrap_err();
    assert!(matches!(&ended, Error::LoggedOut { why, .. } if why == "the token was revoked or has expired"), "{ended}");
    until("the connection is closed", || async { (!one.is_connected()).then_some(()) }).await;
    assert_eq!(other.list_tokens(identity).await.unwrap().len(), 1);
    guarded.authority.delete_identity(identity).await.unwrap();
    until("the other one, too", || async { (!other.is_connected()).then_some(()) }).await;
}

#[tokio::test]
async fn a_token_that_is_revoked_elsewhere_ends_here_and_so_does_a_role() {
    let guarded = Guarded::open().await;
    let watch = tokio_util::sync::CancellationToken::new();
    tokio::spawn(hero::service::run(hero::access::RightsWatch::new(guarded.authority.clone()), watch.clone()));
    let identity = guarded.identity(&[Role::Reader]).await;
    let client = guarded.client(identity).await;
    assert_eq!(code(&client, "list_jobs", json!({})).await, 0);
    let (_other, elsewhere) = Server::guarded(&guarded.house.dispatcher).await;
    elsewhere.set_role(CONTEXT, identity, Role::Reader, false).await.unwrap();
    until("the role is gone", || async { (code(&client, "list_jobs", json!({})).await == 1004).then_some(()) }).await;
    let token = elsewhere.tokens(identity).await.unwrap().remove(0);
    elsewhere.revoke_token(&token.token_id).await.unwrap();
    until("the connection is closed", || async { (!client.is_connected()).then_some(()) }).await;
    watch.cancel();
}

#[tokio::test]
async fn a_token_ends_with_its_time_and_makes_room() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[]).await;
    let short = guarded.authority.create_token(identity, Some("short".into()), Some(Duration::from_millis(300)), None).await.unwrap();
    let client = Client::connect(&guarded.server.url(), Some(short.secret.reveal())).await.unwrap();
    until("it is over", || async { guarded.authority.tokens(identity).await.unwrap().is_empty().then_some(()) }).await;
    guarded.authority.follow().await.unwrap();
    until("the connection is closed", || async { (!client.is_connected()).then_some(()) }).await;
    assert!(matches!(Client::connect(&guarded.server.url(), Some(short.secret.reveal())).await, Err(Error::Refused { status: 401, .. })));
    for _ in 0..100 {
        guarded.secret(identity).await;
    }
    let full = guarded.authority.create_token(identity, None, None, None).await.unwrap_err();
    assert!(full.to_string().contains("100 tokens"), "{full}");
}

#[tokio::test]
async fn a_token_ends_with_the_one_by_which_it_was_made() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Caller]).await;
    let (first, other) = (guarded.client(identity).await, guarded.client(identity).await);
    let made_by = async |client: &Client| {
        let made: Value = client.call_named("create_token", json!([identity])).await.unwrap();
        let secret = made["secret"].as_str().unwrap().to_owned();
        (made["token_id"].clone(), Client::connect(&guarded.server.url(), Some(&secret)).await.unwrap(), secret)
    };
    let (_, child, secret) = made_by(&first).await;
    let (_, grandchild, _) = made_by(&child).await;
    let (kept, of_other, _) = made_by(&other).await;
    let shown = guarded.authority.tokens(identity).await.unwrap().remove(0).token_id;
    guarded.authority.revoke_token(&shown).await.unwrap();
    for client in [&first, &child, &grandchild] {
        until("the connection is closed", || async { (!client.is_connected()).then_some(()) }).await;
    }
    assert!(matches!(Client::connect(&guarded.server.url(), Some(&secret)).await, Err(Error::Refused { status: 401, .. })));
    let left = guarded.authority.tokens(identity).await.unwrap();
    assert!(left.len() == 2 && left.iter().any(|token| token.token_id.to_string() == kept), "{left:?}");
    assert_eq!(code(&of_other, "whoami", json!({})).await, 0);
}

#[tokio::test]
async fn a_token_that_would_end_at_once_is_not_made() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Admin]).await;
    let client = guarded.client(identity).await;
    let refused = client.create_token(identity, None, Some(Duration::ZERO)).await.unwrap_err();
    assert!(refused.has_code(-32602) && refused.to_string().contains("lifetime: "), "{refused}");
}

#[tokio::test]
async fn redis_has_no_secret_and_another_key_opens_nothing() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[]).await;
    let secret = guarded.secret(identity).await;
    let records: Vec<String> = guarded.house.redis.run(&["HVALS", "hero:access:tokens"]).await;
    assert!(records.len() == 1 && !records[0].contains(&secret[5..]), "{records:?}");
    let (other, _) = Server::guarded(&guarded.house.dispatcher).await;
    assert!(matches!(Client::connect(&other.url(), Some(&secret)).await, Err(Error::Refused { status: 401, .. })));
}

#[tokio::test]
async fn whoever_tries_tokens_is_slowed_down() {
    let guarded = Guarded::open().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut slowed = None;
    for number in 0..60 {
        let (status, answer) = guarded.server.post_with(&format!("Bearer hero_{number}"), call).await;
        match status {
            401 => {}
            429 => slowed = Some(answer),
            status => panic!("{status} {answer}"),
        }
    }
    // A busy machine may be too slow for the rate to refuse all of them, but not this many.
    assert!(slowed.is_none_or(|answer| answer.contains("wrong tokens or logins a second")));
}

#[tokio::test]
async fn an_identity_has_no_say_over_the_tokens_of_others() {
    let guarded = Guarded::open().await;
    let (ada, bob) = (guarded.identity(&[Role::Admin]).await, guarded.identity(&[]).await);
    let client = guarded.client(ada).await;
    guarded.secret(bob).await;
    let of_bob = guarded.authority.tokens(bob).await.unwrap().remove(0);
    assert_eq!(code(&client, "create_token", json!([bob])).await, 1004);
    assert_eq!(code(&client, "list_tokens", json!([bob])).await, 1004);
    assert_eq!(code(&client, "revoke_token", json!([of_bob.token_id])).await, 1004);
    assert_eq!(code(&client, "delete_identity", json!([bob])).await, 1004);
    assert_eq!(code(&client, "create_token", json!([ada])).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_ends_with_the_role_that_it_needs() {
    let guarded = Guarded::open().await;
    let (reader, other) = (guarded.identity(&[Role::Reader]).await, guarded.identity(&[Role::Reader]).await);
    let secret = guarded.secret(reader).await;
    let request = |secret: &str| {
        use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
        let mut request = guarded.server.url().into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {secret}").parse().unwrap());
        request
    };
    let (mut socket, _) = tokio_tungstenite::connect_async(request(&secret)).await.unwrap();
    use futures_util::{SinkExt as _, StreamExt as _};
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscribe_events", "params": {} });
    socket.send(call.to_string().into()).await.unwrap();
    let mut next = async || {
        loop {
            let message = tokio::time::timeout(crate::support::PATIENCE, socket.next()).await.expect("a message").unwrap().unwrap();
            if let tokio_tungstenite::tungstenite::Message::Text(text) = message {
                return serde_json::from_str::<Value>(&text).unwrap();
            }
        }
    };
    let opened = next().await;
    assert!(opened["result"].is_string(), "{opened}");
    assert_eq!(next().await["params"]["result"]["type"], "began");
    guarded.house.dispatcher.jobs().create(crate::support::spec("1")).await.unwrap();
    assert_eq!(next().await["params"]["result"]["type"], "event");
    // The token of another identity changes nothing.
    guarded.authority.set_role(CONTEXT, other, Role::Reader, false).await.unwrap();
    guarded.house.dispatcher.jobs().create(crate::support::spec("1")).await.unwrap();
    assert_eq!(next().await["params"]["result"]["type"], "event");
    guarded.authority.set_role(CONTEXT, reader, Role::Reader, false).await.unwrap();
    assert_eq!(next().await["params"]["error"]["code"], 1004);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_ends_with_the_role_or_the_token_that_it_needs_and_its_job_goes_on() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Caller]).await;
    let client = guarded.client(identity).await;
    let (id, _) = (job(&client).await, job(&client).await);
    let flow: Value = client.call_named("create_flow", json!({ "jobs": { "a": { "script": "1" } } })).await.unwrap();
    let waits = [
        ("wait_job", json!({ "job_id": id, "wait_timeout": 600 })),
        ("wait_flow", json!({ "flow_id": flow, "wait_timeout": 600 })),
        ("run_and_wait", json!({ "script": "40 + 2", "wait_timeout": 600 })),
        ("run_flow_and_wait", json!({ "jobs": { "a": { "script": "1" } }, "wait_timeout": 600 })),
    ];
    let waiting: Vec<_> = waits
        .into_iter()
        .map(|(method, params)| {
            let client = client.clone();
            tokio::spawn(async move { (method, client.call_named_within::<Value>(crate::support::PATIENCE, method, params).await) })
        })
        .collect();
    let secret = guarded.secret(identity).await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "run_and_wait", "params": { "script": "1", "wait_timeout": 600 } }).to_string();
    let stored = async |many: usize| {
        let jobs = client.call_named::<Value>("list_jobs", json!({ "filter": { "caller_id": identity.to_string() } })).await.unwrap();
        (jobs["jobs"].as_array().unwrap().len() == many).then_some(())
    };
    // Two that were created, those of the flows, and the one that is waited for.
    until("all wait", || stored(5)).await;
    // Of a right that another one loses nothing is felt.
    let reader = guarded.identity(&[Role::Reader]).await;
    guarded.authority.set_role(CONTEXT, reader, Role::Reader, false).await.unwrap();
    let newest = guarded.authority.tokens(identity).await.unwrap().pop().unwrap();
    let posting = async {
        let (status, answer) = guarded.server.post_with(&format!("Bearer {secret}"), &body).await;
        assert!(answer.contains("1005"), "{status} {answer}");
    };
    let revoking = async {
        until("the call over HTTP waits, too", || stored(6)).await;
        guarded.authority.revoke_token(&newest.token_id).await.unwrap();
    };
    tokio::join!(posting, revoking);
    assert!(waiting.iter().all(|call| !call.is_finished()), "the other token holds");
    guarded.authority.set_role(CONTEXT, identity, Role::Caller, false).await.unwrap();
    for call in waiting {
        match call.await.unwrap() {
            (_, Err(Error::Rpc(error))) if error.code == 1004 => {}
            (method, answer) => panic!("{method}: {answer:?}"),
        }
    }
    let dispatched = guarded.house.redis.run::<u32>(&["LLEN", "hero:q:work:type:osis"]).await;
    assert!(dispatched >= 1, "the job of run_and_wait is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_revokes_the_token_that_it_shows_hears_that_it_was_done() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Caller]).await;
    for _ in 0..5 {
        for is_socket in [true, false] {
            let secret = guarded.secret(identity).await;
            let client = Client::connect(&guarded.server.url(), Some(&secret)).await.unwrap();
            let token = guarded.authority.tokens(identity).await.unwrap().pop().unwrap().token_id;
            if is_socket {
                assert_eq!(code(&client, "revoke_token", json!([token])).await, 0);
            } else {
                let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "revoke_token", "params": [token] });
                let (status, answer) = guarded.server.post_with(&format!("Bearer {secret}"), &call.to_string()).await;
                assert!(status == 200 && answer.contains("\"result\":true"), "{status} {answer}");
            }
            let (status, _) = guarded.server.post_with(&format!("Bearer {secret}"), r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
            assert_eq!(status, 401);
            assert!(client.call_named::<Value>("ping", json!([])).await.is_err(), "it is closed");
        }
    }
}
