//! Clients that send requests and do not read the answers, over every transport.

use super::*;
use hero::rpc::Limits;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

pub(super) const MB: usize = 1024 * 1024;
const UPGRADE: &str = "GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
                       sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A server whose readers have little time.
async fn hasty() -> Server {
    Server::with(|settings| settings.limits.write_timeout = Duration::from_millis(300).into()).await
}

/// Waits until the server has dropped a connection, without reading from it.
pub(super) async fn until_closed(tcp: &mut TcpStream) {
    let closed = async {
        while tcp.write_all(&[0x89, 0x80, 0, 0, 0, 0]).await.is_ok() {
            // As `until` does it: pings without a pause would take the time that the server needs.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(ALIVE, closed).await.expect("the connection is closed");
}

/// Frames as a client sends them, masked with zeros.
pub(super) fn masked(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0xff];
    frame.extend_from_slice(&(text.len() as u64).to_be_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}

pub(super) async fn upgraded(server: &Server) -> TcpStream {
    let mut tcp = server.tcp().await;
    tcp.write_all(UPGRADE.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tcp.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101"));
    tcp
}

#[tokio::test]
async fn a_websocket_that_never_reads_is_closed_and_its_calls_end() {
    let server = hasty().await;
    let mut tcp = upgraded(&server).await;
    for _ in 0..40 {
        tcp.write_all(&masked(&call(1, "large", json!([MB])))).await.unwrap();
    }
    tcp.write_all(&masked(&call(2, "hold_long", json!([])))).await.unwrap();
    until_closed(&mut tcp).await;
    assert_alive(&mut server.websocket().await).await;
}

#[tokio::test]
async fn calls_wait_while_their_connection_holds_too_many_answers() {
    const ANSWER_BYTES: usize = MB / 4;
    let server = Server::with(|settings| {
        // However long it takes until it reads.
        let write_timeout = Duration::from_secs(600).into();
        settings.limits = Limits { held_per_connection: MB as u64, write_timeout, ..settings.limits.clone() };
    })
    .await;
    let mut tcp = upgraded(&server).await;
    for _ in 0..200 {
        tcp.write_all(&masked(&call(1, "large", json!([ANSWER_BYTES])))).await.unwrap();
    }
    // Another connection is answered meanwhile, and again and again.
    let mut other = server.websocket().await;
    for _ in 0..50 {
        assert_alive(&mut other).await;
    }
    // What the kernel takes of the first comes on top of the megabyte, and an answer for each call that may be made at once.
    let made = server.bench.made.load(Ordering::SeqCst);
    assert!(made < 60, "{made} answers were made for somebody who reads none");
    // A client that reads after all gets everything.
    let (mut all, mut buffer) = (0, vec![0; 64 * 1024]);
    while all < 200 * ANSWER_BYTES {
        let read = tokio::time::timeout(ALIVE, tcp.read(&mut buffer)).await.expect("the next bytes").unwrap();
        assert!(read > 0, "the connection was closed after {all} bytes");
        all += read;
    }
}

#[tokio::test]
async fn an_answer_over_http_that_nobody_reads_is_given_up() {
    let server = hasty().await;
    let body = call(1, "large", json!([9 * MB]));
    let head = format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let mut tcp = server.tcp().await;
    tcp.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    until(|| server.bench.made.load(Ordering::SeqCst) == 1).await;
    until_closed(&mut tcp).await;
    let mut read = Vec::new();
    // Reset or closed: in either case not everything came.
    let _ = tokio::time::timeout(ALIVE, tcp.read_to_end(&mut read)).await.expect("the end");
    assert!(read.len() < 9 * MB, "{}", read.len());
}

#[tokio::test]
async fn a_slow_reader_over_http_gets_everything() {
    let server = Server::with(|settings| {
        settings.limits.idle_timeout = Duration::from_millis(300).into();
        settings.limits.write_timeout = ALIVE.into();
    })
    .await;
    let body = call(1, "large", json!([9 * MB]));
    let head = format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let mut tcp = server.tcp().await;
    tcp.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let (mut all, mut buffer, begun) = (0, vec![0; 256 * 1024], std::time::Instant::now());
    loop {
        match tokio::time::timeout(ALIVE, tcp.read(&mut buffer)).await.expect("the next bytes").unwrap() {
            0 => break,
            read => all += read,
        }
        // Slower than the idle timeout as a whole, faster than the write timeout for each piece.
        if begun.elapsed() < Duration::from_secs(1) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert!(all > 9 * MB, "{all}");
}

#[tokio::test]
async fn a_subscriber_that_never_reads_is_closed() {
    let server = hasty().await;
    let mut tcp = upgraded(&server).await;
    for _ in 0..16 {
        tcp.write_all(&masked(&call(1, "subscribe_count", json!([0, MB])))).await.unwrap();
    }
    until_closed(&mut tcp).await;
    assert_alive(&mut server.websocket().await).await;
}

pub(super) async fn close_code(socket: &mut Socket) -> CloseCode {
    loop {
        let message = tokio::time::timeout(ALIVE, socket.next()).await.expect("a message in time").expect("a message").unwrap();
        match message {
            Message::Close(Some(frame)) => return frame.code,
            Message::Ping(_) => {}
            message => panic!("{message}"),
        }
    }
}

#[tokio::test]
async fn a_message_that_does_not_end_is_given_up() {
    let server = Server::with(|settings| settings.limits.handler_timeout = Duration::from_millis(200).into()).await;
    let mut socket = server.websocket().await;
    let MaybeTlsStream::Plain(tcp) = socket.get_mut() else { panic!("no TLS here") };
    tcp.write_all(&[0x81, 0xfe, 0x10, 0x00, 1, 2, 3, 4, 5]).await.unwrap(); // 5 of 4096 masked bytes.
    assert_eq!(close_code(&mut socket).await, CloseCode::Policy);
}

#[tokio::test]
async fn a_call_that_waits_long_holds_its_request_no_longer_than_it_needs() {
    let server = Server::with(|settings| {
        settings.limits = Limits { held_per_connection: 4 * MB as u64, ..settings.limits.clone() };
        settings.limits.handler_timeout = Duration::from_millis(500).into();
    })
    .await;
    let mut socket = server.websocket().await;
    let padded = |id| format!("{}{}", call(id, "hold_long", json!([])), " ".repeat(MB));
    for id in 1..=12 {
        send(&mut socket, padded(id)).await;
        until(|| server.bench.held.load(Ordering::SeqCst) == id).await;
        if id % 3 == 0 {
            // By the time that `hold` was given up, the three before it have let go.
            assert_eq!(ask(&mut socket, call(100, "large", json!([1]))).await["result"], "x");
            let mut other = server.websocket().await;
            let held = server.bench.held.load(Ordering::SeqCst);
            assert_eq!(ask(&mut other, call(101, "hold", json!([]))).await["error"]["code"], 1009);
            server.bench.held.store(held, Ordering::SeqCst);
        }
    }
    server.bench.release.notify_waiters();
    for _ in 1..=12 {
        assert_eq!(receive(&mut socket).await["result"], "held");
    }
}

#[tokio::test]
async fn a_ping_is_answered_while_calls_wait() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    send(&mut socket, call(1, "hold_long", json!([]))).await;
    socket.send(Message::Ping("are you there".into())).await.unwrap();
    loop {
        let message = tokio::time::timeout(ALIVE, socket.next()).await.expect("a pong in time").expect("a message").unwrap();
        if let Message::Pong(content) = message {
            assert_eq!(content, "are you there");
            return;
        }
    }
}
