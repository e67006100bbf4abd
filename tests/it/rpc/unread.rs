//! Results that many wait for and nobody reads.

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;

use super::*;
use crate::support::PATIENCE;

#[tokio::test(flavor = "multi_thread")]
async fn results_that_found_no_room_come_once_each_to_who_reads_after_all() {
    const WAITS: usize = 300;
    let (house, server, client) = open(1).await;
    let text = "y".repeat(400);
    let create = json!({"script": "args", "args": vec![text; 1500]});
    let id = client.ok("create_job", create).await;
    let (mut socket, _) = tokio_tungstenite::connect_async(server.url()).await.unwrap();
    for number in 0..WAITS {
        let call = json!({"jsonrpc": "2.0", "id": number, "method": "wait_job", "params": [id]});
        socket.send(Message::text(call.to_string())).await.unwrap();
    }
    // An answer to what was sent last: every wait has been read, and finds room before there is any result.
    let call = json!({"jsonrpc": "2.0", "id": WAITS, "method": "get_status", "params": [id]});
    socket.send(Message::text(call.to_string())).await.unwrap();
    let answer = loop {
        let message = tokio::time::timeout(PATIENCE, socket.next()).await.expect("an answer in time").expect("an answer").unwrap();
        if let Message::Text(text) = message {
            break serde_json::from_str::<Value>(&text).unwrap();
        }
    };
    assert_eq!((&answer["id"], &answer["result"]), (&json!(WAITS), &json!("created")));
    client.ok("start_job", json!([id])).await;
    // This wait is of another connection, and is answered while the others are not read.
    let result = client.ok("wait_job", json!([id])).await;
    assert_eq!(result["status"], "finished");
    // 300 answers of 1.2 MB each are far more than may be held; all of them come to a reader.
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < WAITS {
        let message = tokio::time::timeout(PATIENCE, socket.next()).await.expect("an answer in time").expect("an answer").unwrap();
        let Message::Text(text) = message else { continue };
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["result"]["status"], "finished", "{answer}");
        assert!(seen.insert(answer["id"].as_u64().unwrap()), "answered twice");
    }
    house.close().await;
}
