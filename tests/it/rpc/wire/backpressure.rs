//! A client that sends calls or reads answers at the wrong speed is slowed down, and loses nothing.

use futures_util::stream::SplitStream;
use hero::rpc::Limits;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::readers::{MB, close_code};
use super::*;

const KB: usize = 1024;

/// A call whose message has this number of bytes.
fn padded(id: u32, method: &str, bytes: usize) -> String {
    let call = call(id, method, json!([]));
    format!("{call}{}", " ".repeat(bytes - call.len()))
}

/// Waits until a server gives up calls that have just begun, so often.
async fn outlast_handlers(server: &Server, times: u32) {
    let mut other = server.websocket().await;
    for _ in 0..times {
        assert_eq!(ask(&mut other, call(1, "hold", json!([]))).await["error"]["code"], 1009);
    }
}

/// The ids of this number of calls, which must all have a result.
async fn results(reader: &mut SplitStream<Socket>, number: usize) -> std::collections::BTreeSet<u64> {
    let mut ids = std::collections::BTreeSet::new();
    while ids.len() < number {
        let message = tokio::time::timeout(ALIVE, reader.next()).await.expect("an answer in time").expect("an answer").unwrap();
        let Message::Text(text) = message else {
            assert!(!message.is_close(), "closed after {} answers: {message}", ids.len());
            continue;
        };
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer.get("result").is_some(), "{answer}");
        assert!(ids.insert(answer["id"].as_u64().unwrap()), "answered twice");
    }
    ids
}

#[tokio::test]
async fn calls_that_are_more_than_their_connection_may_hold_are_all_answered() {
    const CALLS: u32 = 100;
    const ANSWER_BYTES: usize = 60 * KB;
    let server = Server::with(|settings| settings.limits.held_per_connection = 4 * MB as u64).await;
    let fit = u32::try_from(4 * MB / ANSWER_BYTES).unwrap();
    assert!(fit < CALLS);
    let (mut writer, mut reader) = server.websocket().await.split();
    let write = async {
        for id in 0..CALLS {
            writer.send(Message::text(padded(id, "hold_long", ANSWER_BYTES))).await.expect("nobody closes");
        }
    };
    let release = async {
        until(|| server.bench.held.load(Ordering::SeqCst) >= fit).await;
        loop {
            server.bench.release.notify_waiters();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let read = async { tokio::join!(write, results(&mut reader, CALLS as usize)) };
    tokio::select! {
        _ = read => {}
        () = release => {}
    }
}

#[tokio::test]
async fn requests_that_find_no_room_wait_for_it() {
    let server = Server::with(|settings| settings.limits.held_per_connection = 4 * MB as u64).await;
    let mut socket = server.websocket().await;
    for id in 1..=3 {
        send(&mut socket, padded(id, "hold_long", MB + KB)).await;
    }
    until(|| server.bench.held.load(Ordering::SeqCst) == 3).await;
    send(&mut socket, padded(4, "hold_long", MB + KB)).await;
    for _ in 0..50 {
        assert_alive(&mut server.websocket().await).await;
    }
    assert_eq!(server.bench.held.load(Ordering::SeqCst), 3, "there is room for three");
    server.bench.release.notify_waiters();
    until(|| server.bench.held.load(Ordering::SeqCst) == 4).await;
    server.bench.release.notify_waiters();
    for _ in 1..=4 {
        assert_eq!(receive(&mut socket).await["result"], "held");
    }
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn a_message_that_never_fits_ends_its_connection() {
    let server = Server::with(|settings| settings.limits.held_per_connection = MB as u64).await;
    let mut socket = server.websocket().await;
    send(&mut socket, padded(1, "get_data", MB)).await;
    assert_eq!(close_code(&mut socket).await, CloseCode::Again);
    assert_alive(&mut server.websocket().await).await;
}

/// A server that ends handlers long before it closes slow connections, and keeps a megabyte for each connection.
async fn server_for_slow_readers() -> Server {
    Server::with(|settings| {
        let (handler_timeout, write_timeout) = (Duration::from_millis(300).into(), Duration::from_secs(600).into());
        settings.limits = Limits { held_per_connection: MB as u64, handler_timeout, write_timeout, ..settings.limits.clone() };
    })
    .await
}

#[tokio::test]
async fn a_reader_that_is_slower_than_handlers_may_be_gets_every_result() {
    const CALLS: u32 = 120;
    let server = server_for_slow_readers().await;
    let (mut writer, mut reader) = server.websocket().await.split();
    for id in 0..CALLS {
        let (method, params) = if id % 4 == 3 { ("get_data", json!([])) } else { ("large", json!([MB / 4])) };
        writer.send(Message::text(call(id, method, params))).await.unwrap();
    }
    outlast_handlers(&server, 3).await;
    assert!(server.bench.made.load(Ordering::SeqCst) < CALLS * 3 / 4, "some had to wait");
    results(&mut reader, CALLS as usize).await;
}

#[tokio::test]
async fn bodies_in_a_row_are_all_answered_however_late_they_are_read() {
    const CALLS: u32 = 60;
    let server = server_for_slow_readers().await;
    let mut tcp = server.tcp().await;
    for id in 0..CALLS {
        let body = call(id, "large", json!([MB / 4]));
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
        tcp.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    }
    outlast_handlers(&server, 3).await;
    assert!(server.bench.made.load(Ordering::SeqCst) < CALLS, "some had to wait");
    let (mut all, mut buffer) = (Vec::new(), vec![0; 64 * KB]);
    while all.len() < CALLS as usize * MB / 4 {
        let read = tokio::time::timeout(ALIVE, tcp.read(&mut buffer)).await.expect("the next bytes").unwrap();
        assert!(read > 0, "the connection was closed after {} bytes", all.len());
        all.extend_from_slice(&buffer[..read]);
    }
    assert_eq!(String::from_utf8(all).unwrap().matches(r#""result":"x"#).count(), CALLS as usize);
}

#[tokio::test]
async fn a_connection_that_waits_for_room_ends_with_its_server() {
    let server = Server::with(|settings| settings.limits.held_per_connection = MB as u64).await;
    let mut socket = server.websocket().await;
    for id in 1..=2 {
        send(&mut socket, padded(id, "hold_long", 500 * KB)).await;
    }
    until(|| server.bench.held.load(Ordering::SeqCst) == 2).await;
    send(&mut socket, padded(3, "hold_long", 500 * KB)).await;
    assert_alive(&mut server.websocket().await).await;
    server.shutdown.cancel();
    until(|| std::net::TcpStream::connect(server.serving.local_addr()).is_err()).await;
    server.bench.release.notify_waiters();
    for _ in 1..=2 {
        assert_eq!(receive(&mut socket).await["result"], "held");
    }
    assert_eq!(close_code(&mut socket).await, CloseCode::Away);
    drop(socket);
    assert_eq!(server.serving.drained(ALIVE).await, 0);
}
