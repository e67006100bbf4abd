//! One JSON-RPC client library of each language calls, is refused, follows a log, and notifies while a call waits.

use super::*;

#[tokio::test]
async fn rpc_websockets_of_node_calls_follows_and_notifies() {
    let (house, server) = open().await;
    assert_eq!(runs(node("rpc_websockets.js").arg(server.url())).await.trim(), "well");
    house.close().await;
}

#[tokio::test]
async fn aiorpcx_of_python_calls_follows_and_notifies() {
    let (house, server) = open().await;
    assert_eq!(runs(python("aiorpcx_client.py").arg(server.url())).await.trim(), "well");
    house.close().await;
}
