//! JSON-RPC client libraries make calls, get errors, send notifications during a wait, and, if their WebSocket supports
//! it, follow a log.

use super::*;

#[tokio::test]
async fn rpc_websockets_of_node_calls_follows_and_notifies() {
    let (house, server) = open().await;
    assert_eq!(runs(node("rpc_websockets.js").arg(server.url())).await.trim(), "well");
    house.close().await;
}

#[tokio::test]
async fn json_rpc_2_of_node_calls_follows_notifies_and_batches() {
    let (house, server) = open().await;
    assert_eq!(runs(node("json_rpc_2.js").arg(server.url())).await.trim(), "well");
    house.close().await;
}

#[tokio::test]
async fn jayson_of_node_calls_notifies_and_batches_over_http_and_on_a_websocket() {
    let (house, server) = open().await;
    assert_eq!(runs(node("jayson.js").arg(server.url())).await.trim(), "well");
    house.close().await;
}

#[tokio::test]
async fn aiorpcx_of_python_calls_follows_and_notifies() {
    let (house, server) = open().await;
    assert_eq!(runs(python("aiorpcx_client.py").arg(server.url())).await.trim(), "well");
    house.close().await;
}
