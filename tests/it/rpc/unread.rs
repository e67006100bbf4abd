//! Results that many callers wait for and none reads.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hero::rpc::Limits;
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

/// A connection with 300 waits for a job that has ended, whose results of 1.2 MB are far more than fits into memory.
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

/// Reads the remaining waits: the code of each error, and the attempts of the results.
async fn outcomes(socket: &mut Socket, seen: &mut Vec<Value>) {
    while seen.len() < WAITS {
        let answer = answer(socket).await;
        // A machine that does much else may make Redis too slow for one of so many large answers, which says so.
        let told = ["finished, but", "the store is unavailable and nothing was done"];
        assert!(
            answer["error"].is_null()
                || answer["error"]["message"].as_str().is_some_and(|text| told.iter().any(|told| text.contains(told))),
            "{answer}"
        );
        seen.push(answer["result"]["attempt"].clone());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_found_no_room_is_waited_for_again_when_its_job_runs_again() {
    let (house, server, client) = open(1).await;
    let mut socket = unread(&server, &client).await;
    let list = client.ok("list_jobs", json!({})).await;
    let id = list["jobs"][0]["job_id"].clone();
    client.ok("pause_queue", json!(["osis"])).await;
    client.ok("retry_job", json!([id])).await;
    let mut seen = Vec::new();
    // What was made before, and then nothing: the others wait for the second attempt.
    for _ in 0..3 {
        let first = answer(&mut socket).await;
        assert_eq!(first["result"]["attempt"], 1, "{first}");
        seen.push(first["result"]["attempt"].clone());
    }
    client.ok("resume_queue", json!(["osis"])).await;
    outcomes(&mut socket, &mut seen).await;
    assert!(seen.contains(&json!(2)), "all were made before the job ran again");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_found_no_room_and_is_deleted_is_said_to_be_gone() {
    let (house, server, client) = open(1).await;
    let mut socket = unread(&server, &client).await;
    let list = client.ok("list_jobs", json!({})).await;
    client.ok("delete_job", json!([list["jobs"][0]["job_id"]])).await;
    let mut seen = Vec::new();
    outcomes(&mut socket, &mut seen).await;
    assert!(seen.contains(&Value::Null), "all were made before the job was deleted");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_results_are_read_once_for_each_who_waits_however_little_room_there_is() {
    const CALLS: u64 = 100;
    let (house, server, client) = open(1).await;
    let id = client.ok("run_and_wait", json!({"script": "args", "args": vec!["y".repeat(400); 1500]})).await["job_id"].clone();
    let sent = || async {
        let stats: String = house.redis.run(&["INFO", "stats"]).await;
        let line = stats.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:")).expect("Redis counts");
        line.trim().parse::<u64>().unwrap()
    };
    let (mut socket, _) = tokio_tungstenite::connect_async(server.url()).await.unwrap();
    let before = sent().await;
    for number in 0..CALLS {
        let call = json!({"jsonrpc": "2.0", "id": number, "method": "wait_job", "params": [id]});
        socket.send(Message::text(call.to_string())).await.unwrap();
    }
    let mut bytes = 0;
    for _ in 0..CALLS {
        bytes += answer(&mut socket).await["result"]["output"].as_str().map_or(0, str::len) as u64;
    }
    let read = sent().await - before;
    assert!(read < bytes + bytes / 4, "{read} bytes were read for {bytes}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_batch_that_finds_no_room_for_its_result_is_refused_in_the_end() {
    let house = House::open(1).await;
    let limits = Limits { held_per_connection: 4 * 1024 * 1024, handler_timeout: Duration::from_secs(1).into(), ..Limits::default() };
    let server = Server::within(&house.dispatcher, limits).await;
    let client = server.connect().await;
    let long = client.ok("run_and_wait", json!({"script": "args", "args": vec!["y".repeat(400); 700]})).await["job_id"].clone();
    let call = |number: usize, id: &Value| json!({"jsonrpc": "2.0", "id": number, "method": "wait_job", "params": [id]});
    let (mut socket, _) = tokio_tungstenite::connect_async(server.url()).await.unwrap();
    let batch: Vec<Value> = (0..12).map(|number| call(number, &long)).collect();
    // A batch may also end as a whole, when more than three quarters of the room are taken at the moment; then it is sent again.
    let answer = loop {
        socket.send(Message::text(Value::Array(batch.clone()).to_string())).await.unwrap();
        let answer = answer(&mut socket).await;
        if answer["error"]["code"] != 1006 {
            break answer;
        }
    };
    let count = |is: fn(&Value) -> bool| answer.as_array().map_or(0, |parts| parts.iter().filter(|part| is(part)).count());
    let (made, refused) = (count(|part| part["result"].is_object()), count(|part| part["error"]["code"] == 1006));
    let told = || answer.to_string().chars().take(300).collect::<String>();
    assert!(made > 0 && refused > 0 && made + refused == 12, "{made} made, {refused} refused: {}", told());
    house.close().await;
}
