//! The first program in Rust, and jsonrpsee's own client: an unexpected answer makes that client close the connection,
//! with all calls in flight.

use futures_util::future;
use jsonrpsee::core::client::{ClientT as _, Error, Subscription, SubscriptionClientT as _};
use jsonrpsee::rpc_params;
use jsonrpsee::ws_client::{WsClient, WsClientBuilder};
use serde_json::{Value, json};

use super::*;

/// Here it is compiled.
#[path = "../../../examples/rust/first.rs"]
#[expect(dead_code, clippy::disallowed_macros, reason = "it calls a server at a fixed place, and prints as programs of others do")]
mod first;

#[test]
fn the_first_program_of_the_document_is_the_one_that_is_compiled() {
    let block = format!("```rust\n{}```\n", include_str!("../../../examples/rust/first.rs"));
    assert!(include_str!("../../../docs/clients.md").contains(&block), "print it there as it stands:\n{block}");
}

async fn connect(server: &Server) -> WsClient {
    WsClientBuilder::default().request_timeout(PROGRAM_TIMEOUT).build(server.url()).await.unwrap()
}

async fn call(client: &WsClient, method: &str, parameter: &Value) -> Result<Value, Error> {
    client.request(method, rpc_params![parameter]).await
}

#[tokio::test]
async fn jsonrpsees_client_calls_and_tells_errors() {
    let (house, server) = open().await;
    let client = connect(&server).await;
    assert_eq!(call(&client, "run_and_wait", &json!("40 + 2")).await.unwrap()["value"], 42);
    let mut fields = jsonrpsee::core::params::ObjectParams::new();
    fields.insert("script", "args.a + args.b").unwrap();
    fields.insert("args", json!({"a": 40, "b": 2})).unwrap();
    let result: Value = client.request("run_and_wait", fields).await.unwrap();
    assert_eq!(result["value"], 42);

    match call(&client, "run_and_wait", &json!("throw \"no\"")).await {
        Err(Error::Call(error)) => assert_eq!(error.code(), 1101, "{error}"),
        other => panic!("{other:?}"),
    }
    let mut batch = jsonrpsee::core::params::BatchRequestBuilder::new();
    batch.insert("ping", rpc_params![]).unwrap();
    batch.insert("no_such_method", rpc_params![]).unwrap();
    let answers = client.batch_request::<Value>(batch).await.unwrap();
    assert_eq!((answers.num_successful_calls(), answers.num_failed_calls()), (1, 1), "{answers:?}");
    house.close().await;
}

#[tokio::test]
async fn a_notification_of_jsonrpsees_client_is_carried_out_and_leaves_the_calls_in_flight_alone() {
    let (house, server) = open().await;
    let client = connect(&server).await;
    let id = call(&client, "create_job", &json!("40 + 2")).await.unwrap();
    let waits = future::join_all((0..8).map(|_| call(&client, "wait_job", &id)));
    let notify = async {
        // The server refuses these, but does not answer notifications.
        client.notification("no_such_method", rpc_params![]).await.unwrap();
        client.notification("start_job", rpc_params!["not an id"]).await.unwrap();
        client.notification("start_job", rpc_params![&id]).await.unwrap();
    };
    for result in tokio::time::timeout(PROGRAM_TIMEOUT, future::join(waits, notify)).await.expect("the job is started").0 {
        assert_eq!(result.unwrap()["value"], 42);
    }
    assert!(client.is_connected());
    house.close().await;
}

#[tokio::test]
async fn jsonrpsees_client_follows_a_log_and_lets_go_of_it() {
    let (house, server) = open().await;
    let client = connect(&server).await;
    let id = call(&client, "create_job", &json!("print(\"hello\")")).await.unwrap();
    let mut lines: Subscription<Value> = client.subscribe("subscribe_logs", rpc_params![&id], "unsubscribe_logs").await.unwrap();
    call(&client, "start_job", &id).await.unwrap();
    let line = tokio::time::timeout(PROGRAM_TIMEOUT, lines.next()).await.expect("a line").unwrap().unwrap();
    assert_eq!(line["text"], "hello", "{line}");
    lines.unsubscribe().await.unwrap();
    assert_eq!(client.request::<Value, _>("ping", rpc_params![]).await.unwrap(), "pong");
    house.close().await;
}
