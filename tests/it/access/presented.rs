//! A connection continues with another token.

use super::*;
use crate::support::{Stream, until};

#[tokio::test]
async fn a_websocket_goes_on_with_a_new_token_and_so_does_what_it_follows() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Caller]).await;
    let client = guarded.client(identity).await;
    let mut events = client.follow_job(CONTEXT, &job(&client).await.parse().unwrap()).await.unwrap();
    let first = events.next().await.unwrap().item().unwrap();
    let old = guarded.authority.tokens(identity).await.unwrap().remove(0);
    let new = guarded.authority.create_token(identity, None, None, None).await.unwrap();
    let presented: Value = client.call_named("present_token", json!([new.secret.reveal()])).await.unwrap();
    assert_eq!(presented, json!({ "identity_id": identity }));
    guarded.authority.revoke_token(&old.token_id).await.unwrap();
    // It is the same connection, on which the same subscription continues.
    let stopped: Value = client.call_named("stop_job", json!([first.job_id])).await.unwrap();
    assert_eq!(stopped, "error");
    assert_eq!(events.next().await.unwrap().item().unwrap().status.to_string(), "error");
    assert!(client.is_connected());
    guarded.authority.revoke_token(&new.token.token_id).await.unwrap();
    until("it ends with the new one", || async { (!client.is_connected()).then_some(()) }).await;
}

#[tokio::test]
async fn subscriptions_that_a_new_token_does_not_allow_end() {
    let guarded = Guarded::open().await;
    let (reader, other) = (guarded.identity(&[Role::Reader]).await, guarded.identity(&[Role::Caller]).await);
    let client = guarded.server.connect().await;
    client.ok("present_token", json!([guarded.secret(reader).await])).await;
    let mut events = client.subscribe("subscribe_events", json!({})).await.unwrap();
    assert_eq!(events.next().await["type"], "began");
    let mut own = client.subscribe("subscribe_events", json!({ "filter": { "caller_id": other.to_string() } })).await.unwrap();
    assert_eq!(own.next().await["type"], "began");
    client.ok("present_token", json!([guarded.secret(other).await])).await;
    assert_eq!(events.next().await["error"]["code"], 1004);
    // It may have these.
    let id = client.ok("create_job", json!(["40 + 2"])).await;
    client.ok("start_job", json!([id])).await;
    assert_eq!(own.next().await["job_id"], id);
}

#[tokio::test]
async fn a_token_that_is_none_changes_nothing() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[]).await;
    let client = guarded.client(identity).await;
    for wrong in ["", "hero_wrong", &format!("hero_{}", "x".repeat(43))] {
        assert_eq!(code(&client, "present_token", json!([wrong])).await, 1005, "{wrong}");
    }
    assert_eq!(client.whoami().await.unwrap().identity_id, Some(identity));
    let nobody = guarded.nobody().await;
    assert_eq!(code(&nobody, "present_token", json!(["hero_wrong"])).await, 1005);
    assert_eq!(code(&nobody, "list_jobs", json!({})).await, 1005);
    // Over HTTP it only tells whose it is.
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "present_token", "params": [guarded.secret(identity).await] });
    let (status, answer) = guarded.server.post(&call.to_string()).await;
    assert!(status == 200 && answer.contains(&format!(r#""identity_id":{identity}"#)), "{status} {answer}");
}

#[tokio::test]
async fn a_stream_over_http_is_its_callers_and_ends_with_the_token_or_the_role() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Reader]).await;
    let address = guarded.server.address.to_string();
    let nobody = Stream::open(&address, "/subscribe_events", "").await;
    assert!(nobody.status == 401 && nobody.head.contains("www-authenticate: bearer"), "{}", nobody.head);
    let with = |secret: &str| format!("authorization: Bearer {secret}\r\n");
    assert_eq!(Stream::open(&address, "/subscribe_events", &with("hero_wrong")).await.status, 401);
    let follow = async || {
        let mut stream = Stream::open(&address, "/subscribe_events", &with(&guarded.secret(identity).await)).await;
        assert_eq!((stream.status, stream.event().await.unwrap().name.as_deref()), (200, Some("began")));
        stream
    };
    let (mut one, mut other) = (follow().await, follow().await);
    let token = guarded.authority.tokens(identity).await.unwrap().remove(0);
    guarded.authority.revoke_token(&token.token_id).await.unwrap();
    let ended = |event: &crate::support::Event| (event.name.clone().unwrap_or_default(), event.data["code"].clone());
    assert_eq!(one.events().await.iter().map(ended).collect::<Vec<_>>(), [("failed".to_owned(), json!(1005))]);
    guarded.authority.set_role(CONTEXT, identity, Role::Reader, false).await.unwrap();
    assert_eq!(other.events().await.iter().map(ended).collect::<Vec<_>>(), [("failed".to_owned(), json!(1004))]);
    let refused = Stream::open(&address, "/subscribe_events", &with(&guarded.secret(identity).await)).await;
    assert_eq!(refused.status, 403, "{}", refused.head);
}
