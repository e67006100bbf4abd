//! Results that many wait for and nobody reads.

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::*;
use crate::support::PATIENCE;

const WAITS: usize = 300;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn answer(socket: &mut Socket) -> Value {
    loop {
        let message = tokio::time::timeout(PATIENCE, socket.next()).await.expect("an answer in time").expect("an answer").unwrap();
        if let Message::Text(text) = message {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

/// A connection with 300 waits for a job that has ended, whose results of 1.2 MB are far more than may be held.
async fn unread(server: &Server, client: &Client) -> Socket {
    let text = "y".repeat(400);
    let id = client.ok("create_job", json!({"script": "args", "args": vec![text; 1500]})).await;
    let (mut socket, _) = tokio_tungstenite::connect_async(server.url()).await.unwrap();
    for number in 0..=WAITS {
        let method = if number == WAITS { "get_status" } else { "wait_job" };
        let call = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": [id]});
        socket.send(Message::text(call.to_string())).await.unwrap();
    }
    // The answer to the last: all waits were read while there was no result that could have filled the room.
    assert_eq!(answer(&mut socket).await, json!({"jsonrpc": "2.0", "id": WAITS, "result": "created"}));
    client.ok("start_job", json!([id])).await;
    // This wait is of another connection, and is answered while the others are not read.
    let result = client.ok("wait_job", json!([id])).await;
    assert_eq!(result["status"], "finished");
    socket
}

/// Reads the results: each comes once.
async fn read(socket: &mut Socket) {
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < WAITS {
        let answer = answer(socket).await;
        assert_eq!(answer["result"]["status"], "finished", "{answer}");
        assert!(seen.insert(answer["id"].as_u64().unwrap()), "answered twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_found_no_room_come_once_each_to_who_reads_after_all() {
    let (house, server, client) = open(1).await;
    let mut socket = unread(&server, &client).await;
    read(&mut socket).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_found_no_room_come_although_redis_is_silent_for_longer_than_a_call_may_take() {
    let (house, server, client) = open(1).await;
    let mut socket = unread(&server, &client).await;
    // Most results were let go, and are read again as soon as there is room.
    let _: () = house.redis.run(&["CLIENT", "PAUSE", "8000"]).await;
    read(&mut socket).await;
    house.close().await;
}
