//! Memory used for some clients does not lock out others, and all of it is counted.

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::readers::{MB, masked, until_closed, upgraded};
use super::*;

/// A server whose readers may be slow for ever, unless others wait for the memory that they use.
async fn patient(held_per_connection: usize, held_per_address: usize) -> Server {
    Server::with(|settings| {
        settings.limits.held_per_connection = held_per_connection as u64;
        settings.limits.held_per_address = held_per_address as u64;
        settings.limits.write_timeout = Duration::from_secs(600).into();
    })
    .await
}

/// Asks on another connection of the same address until this one is closed.
async fn others_outlast(server: &Server, mut hog: TcpStream) {
    let mut other = server.websocket().await;
    let hog = tokio::spawn(async move { until_closed(&mut hog).await });
    // Its requests are not slight, as those need no room.
    let request = format!("{}{}", call(1, "subtract", json!([42, 23])), " ".repeat(32 * 1024));
    while !hog.is_finished() {
        assert_eq!(ask(&mut other, request.clone()).await["result"], 19);
    }
    hog.await.unwrap();
    assert_alive(&mut other).await;
}

#[tokio::test]
async fn a_reader_that_takes_nothing_makes_way_for_the_requests_of_others() {
    let server = patient(32 * MB, MB).await;
    let mut hog = upgraded(&server).await;
    // Only one, so that nothing waits but the requests of others.
    hog.write_all(&masked(&call(1, "large", json!([9 * MB])))).await.unwrap();
    until(|| server.bench.made.load(Ordering::SeqCst) == 1).await;
    others_outlast(&server, hog).await;
}

#[tokio::test]
async fn a_reader_that_takes_not_even_its_close_makes_way_too() {
    let server = patient(MB, MB).await;
    let mut hog = upgraded(&server).await;
    hog.write_all(&masked(&call(1, "large", json!([9 * MB])))).await.unwrap();
    until(|| server.bench.made.load(Ordering::SeqCst) == 1).await;
    // The frame type is invalid, so the server tells it to close.
    hog.write_all(&[0x83, 0x80, 0, 0, 0, 0]).await.unwrap();
    others_outlast(&server, hog).await;
}

#[tokio::test]
async fn refusals_that_nobody_reads_are_counted() {
    let server = patient(32 * MB, 4 * MB).await;
    let mut hog = upgraded(&server).await;
    let entry = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":7}}"#, "i".repeat(1000));
    let batch = masked(&format!("[{}]", vec![entry; 100].join(",")));
    for _ in 0..200 {
        // The server may close it while it still sends.
        let sent = tokio::time::timeout(ALIVE, hog.write_all(&batch)).await;
        if sent.expect("it is read or closed").is_err() {
            break;
        }
    }
    others_outlast(&server, hog).await;
}

#[tokio::test]
async fn an_id_that_is_too_long_is_refused_and_not_repeated() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let request = |length, method: &str| format!(r#"{{"jsonrpc":"2.0","id":"{}","method":{method},"params":[42,23]}}"#, "i".repeat(length));
    assert_eq!(ask(&mut socket, request(1024, r#""subtract""#)).await["result"], 19);
    for method in [r#""subtract""#, r#""subscribe_count""#, "7"] {
        let refused = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "Invalid Request"}});
        let long = request(1025, method);
        assert_eq!(ask(&mut socket, long.clone()).await, refused, "{method}");
        assert_eq!(ask(&mut socket, format!("[{long}]")).await, json!([refused]), "{method}");
        let posted = |body: String| async { serde_json::from_str::<Value>(&server.post(body).await.1).unwrap() };
        assert_eq!(posted(long.clone()).await, refused, "{method}");
        assert_eq!(posted(format!("[{long}]")).await, json!([refused]), "{method}");
    }
}

#[tokio::test]
async fn requests_that_wait_do_not_make_a_slow_reader() {
    let server = Server::with(|settings| {
        settings.limits.held_per_connection = MB as u64;
        settings.limits.send_timeout = Duration::from_millis(200).into();
    })
    .await;
    let mut socket = server.websocket().await;
    send(&mut socket, format!("{}{}", call(1, "hold_long", json!([])), " ".repeat(MB / 2))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    send(&mut socket, call(2, "subscribe_count", json!([3, 10]))).await;
    assert!(receive(&mut socket).await["result"].is_string());
    for number in 1..=3 {
        let item = receive(&mut socket).await;
        assert_eq!(item["params"]["result"]["number"], number, "{item}");
    }
}

#[tokio::test]
async fn a_body_is_held_no_longer_than_its_call_needs() {
    let server = Server::with(|settings| {
        settings.limits.held_per_address = 4 * MB as u64;
        settings.limits.handler_timeout = Duration::from_millis(500).into();
    })
    .await;
    let padded = |method: &str, params| format!("{}{}", call(1, method, params), " ".repeat(MB));
    let waiting = futures_util::future::join_all((0..3).map(|_| server.post(padded("hold_long", json!([])))));
    let others = async {
        until(|| server.bench.held.load(Ordering::SeqCst) == 3).await;
        let answered = async { while !server.post(padded("subtract", json!([42, 23]))).await.1.contains("19") {} };
        tokio::time::timeout(ALIVE, answered).await.expect("there is room again");
        server.bench.release.notify_waiters();
    };
    let (waited, ()) = tokio::join!(waiting, others);
    assert!(waited.iter().all(|(status, answer)| *status == 200 && answer.contains("held")), "{waited:?}");
}

/// The head of a request with this body length.
fn head(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n")
}

#[tokio::test]
async fn requests_that_stall_make_way_for_others() {
    let server = Server::with(|settings| {
        settings.limits.held = 2 * MB as u64;
        settings.limits.handler_timeout = Duration::from_secs(600).into();
    })
    .await;
    let (mut body, mut message) = (server.tcp().await, upgraded(&server).await);
    body.write_all([head(MB), " ".repeat(MB - 1)].concat().as_bytes()).await.unwrap();
    message.write_all(&masked(&" ".repeat(MB))[..MB - 100_000]).await.unwrap();
    let large = format!("{}{}", call(1, "subtract", json!([42, 23])), " ".repeat(MB / 2));
    for _ in 0..3 {
        let (status, answer) = tokio::time::timeout(ALIVE, server.post(&large)).await.expect("there is room");
        assert!(status == 200 && answer.contains("19"), "{status} {answer}");
    }
}

#[tokio::test]
async fn a_request_that_comes_too_slowly_is_given_up_though_nobody_waits_for_room() {
    let server = Server::with(|settings| {
        settings.limits.handler_timeout = Duration::from_secs(600).into();
        settings.limits.ping_interval = Duration::from_secs(600).into();
    })
    .await;
    let (mut body, mut message) = (server.tcp().await, upgraded(&server).await);
    body.write_all([head(1000), " ".repeat(500)].concat().as_bytes()).await.unwrap();
    message.write_all(&masked(&" ".repeat(1000))[..500]).await.unwrap();
    let mut answer = [0; 12];
    tokio::time::timeout(ALIVE, body.read_exact(&mut answer)).await.expect("it is told").unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    let closed = async {
        let mut all = Vec::new();
        message.read_to_end(&mut all).await.map(|_| all)
    };
    let all = tokio::time::timeout(ALIVE, closed).await.expect("it is closed").unwrap();
    assert!(all.windows(4).any(|frame| frame == [0x88, 2, 0x03, 0xf0]), "closed with 1008: {all:?}");
}

#[tokio::test]
async fn an_answer_that_was_compressed_leaves_nothing_counted_behind() {
    let server = patient(MB, 64 * MB).await;
    let mut tcp = BufReader::new(server.tcp().await);
    let body = call(1, "large", json!([300 * 1024]));
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept-encoding: gzip";
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // As they were before, they are together more than the connection may hold.
    let asking = async {
        for _ in 0..10 {
            tcp.write_all(request.as_bytes()).await.unwrap();
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                tcp.read_line(&mut head).await.unwrap();
            }
            assert!(head.contains("content-encoding: gzip"), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
            tcp.read_exact(&mut vec![0; length]).await.unwrap();
        }
    };
    tokio::time::timeout(ALIVE, asking).await.expect("there is room for each");
}
