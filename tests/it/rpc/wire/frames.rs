use super::*;

#[tokio::test]
async fn a_batch_is_answered_in_order_and_at_the_same_time() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let batch = [call(1, "hold", json!([])), call(2, "hold", json!([])), call(3, "subtract", json!([3, 2]))];
    send(&mut socket, format!("[{}]", batch.join(","))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 2).await;
    server.bench.release.notify_waiters();
    let answer = receive(&mut socket).await;
    let ids: Vec<u64> = answer.as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3]);
}

#[tokio::test]
async fn a_batch_of_ten_thousand_is_refused_and_harms_nobody() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let batch = format!("[{}]", vec![call(1, "subtract", json!([1, 1])); 10_000].join(","));
    assert_eq!(ask(&mut socket, batch.clone()).await["error"]["code"], -32010);
    assert_alive(&mut socket).await;
    let (status, body) = server.post(&batch).await;
    assert_eq!((status, &serde_json::from_str::<Value>(&body).unwrap()["error"]["code"]), (200, &json!(-32010)));
    let largest = format!("[{}]", vec![call(1, "subtract", json!([1, 1])); 100].join(","));
    assert_eq!(ask(&mut socket, largest).await.as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn too_large_a_request_is_refused_and_harms_nobody() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let large = call(1, "echo", json!(["x".repeat(2 * 1024 * 1024)]));
    assert_eq!(ask(&mut socket, large.clone()).await["error"]["code"], -32007);
    assert_alive(&mut socket).await;
    let (status, body) = server.post(&large).await;
    assert_eq!((status, &serde_json::from_str::<Value>(&body).unwrap()["error"]["code"]), (413, &json!(-32007)));
}

#[tokio::test]
async fn deep_nesting_is_refused_and_harms_nobody() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let nested = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":{{"any":{open}{close}}}}}"#);
    let answer = ask(&mut socket, nested.clone()).await;
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32602), &json!(1)));
    assert!(answer["error"]["message"].as_str().unwrap().contains("recursion limit"), "{answer}");
    for body in [format!("{open}{close}"), open, format!(r#"{{"id":{}}}"#, r#"{"a":"#.repeat(100_000))] {
        let code = ask(&mut socket, body.clone()).await;
        let code = code.get(0).unwrap_or(&code)["error"]["code"].clone();
        assert!(code == -32700 || code == -32600, "{code}");
        assert_eq!(server.post(&body).await.0, 200);
    }
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn invalid_utf_8_is_refused_and_harms_nobody() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let mut bytes = br#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[""#.to_vec();
    bytes.extend_from_slice(b"\xff\xfe\"]}");
    socket.send(Message::binary(bytes.clone())).await.unwrap();
    let answer = receive(&mut socket).await;
    assert!(answer["error"]["code"] == -32700 || answer["error"]["code"] == -32600, "{answer}");
    assert_alive(&mut socket).await;
    let (status, body) = server.post(&bytes).await;
    assert_eq!((status, &serde_json::from_str::<Value>(&body).unwrap()["error"]["code"]), (200, &json!(-32700)));
}

/// The code with which the server closes a connection that sends this.
async fn close_code(server: &Server, frame: &[u8]) -> u16 {
    let mut tcp = super::readers::upgraded(server).await;
    tcp.write_all(frame).await.unwrap();
    loop {
        let mut head = [0; 2];
        tokio::time::timeout(ALIVE, tcp.read_exact(&mut head)).await.expect("it is closed").unwrap();
        let mut content = vec![0; head[1] as usize];
        tcp.read_exact(&mut content).await.unwrap();
        if head[0] == 0x88 {
            return u16::from_be_bytes([content[0], content[1]]);
        }
    }
}

#[tokio::test]
async fn a_text_that_is_not_utf_8_closes_its_connection_and_no_other() {
    let server = Server::start().await;
    let mut other = server.websocket().await;
    assert_eq!(close_code(&server, &[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]).await, 1007);
    // In two frames, cut within a character that is one, and within one that is none.
    let whole = [[0x01, 0x81, 0, 0, 0, 0, 0xc3], [0x80, 0x81, 0, 0, 0, 0, 0xa4]].concat();
    let mut tcp = super::readers::upgraded(&server).await;
    tcp.write_all(&whole).await.unwrap();
    let mut answer = vec![0; 2];
    while answer[0] != 0x81 {
        tokio::time::timeout(ALIVE, tcp.read_exact(&mut answer)).await.expect("an answer").unwrap();
        let mut content = vec![0; answer[1] as usize];
        tcp.read_exact(&mut content).await.unwrap();
        assert!(answer[0] != 0x81 || String::from_utf8_lossy(&content).contains("-32700"));
    }
    let cut = [[0x01, 0x81, 0, 0, 0, 0, 0xc3], [0x80, 0x81, 0, 0, 0, 0, 0xc3]].concat();
    assert_eq!(close_code(&server, &cut).await, 1007);
    assert_alive(&mut other).await;
}

#[tokio::test]
async fn a_frame_that_is_far_too_large_closes_its_connection() {
    let server = Server::start().await;
    for length in [u64::MAX >> 1, 1 << 40] {
        let frame = [&[0x81, 0xff][..], &length.to_be_bytes(), &[0; 4], b"{"].concat();
        assert_eq!(close_code(&server, &frame).await, 1009, "{length}");
    }
    // In parts.
    let begin = [&[0x01, 0xff][..], &(3_u64 << 20).to_be_bytes(), &[0; 4], &vec![b' '; 3 << 20]].concat();
    let frame = [&begin, &[0x00, 0xff][..], &(1_u64 << 30).to_be_bytes(), &[0; 4]].concat();
    assert_eq!(close_code(&server, &frame).await, 1009);
    assert_alive(&mut server.websocket().await).await;
}

#[tokio::test]
async fn half_a_frame_and_half_a_request_harm_nobody() {
    let server = Server::start().await;
    let mut halves = Vec::new();
    for _ in 0..8 {
        let mut tcp = server.tcp().await;
        let handshake = "GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
                         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        tcp.write_all(handshake.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        tcp.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 101");
        tcp.write_all(&[0x81, 0xfe, 0x10, 0x00, 1, 2, 3, 4, 5]).await.unwrap(); // 5 of 4096 masked bytes.
        halves.push(tcp);
        let mut tcp = server.tcp().await;
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"json";
        tcp.write_all(head.as_bytes()).await.unwrap();
        halves.push(tcp);
    }
    assert_alive(&mut server.websocket().await).await;
    assert_eq!(server.post(call(1, "get_data", json!([]))).await.0, 200);
    drop(halves);
    assert_alive(&mut server.websocket().await).await;
}

#[tokio::test]
async fn a_frame_in_pieces_is_one_request() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let text = call(5, "subtract", json!([42, 23]));
    let (first, second) = text.split_at(10);
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
    socket.send(Message::Frame(Frame::message(first.to_owned(), OpCode::Data(Data::Text), false))).await.unwrap();
    socket.send(Message::Ping("in between".into())).await.unwrap();
    socket.send(Message::Frame(Frame::message(second.to_owned(), OpCode::Data(Data::Continue), true))).await.unwrap();
    assert_eq!(receive(&mut socket).await["result"], 19);
}

#[tokio::test]
async fn a_panic_is_answered_and_harms_nobody() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let answer = ask(&mut socket, call(3, "panic", json!([]))).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32603)));
    let batch = format!("[{},{}]", call(4, "panic", json!([])), call(5, "subtract", json!([2, 1])));
    let answer = ask(&mut socket, batch.clone()).await;
    assert_eq!((&answer[0]["error"]["code"], &answer[1]["result"]), (&json!(-32603), &json!(1)));
    let (status, body) = server.post(&batch).await;
    assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()), (200, answer));
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn a_call_ends_with_its_connection() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    send(&mut socket, call(1, "hold", json!([]))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    drop(socket);
    until(|| server.bench.dropped.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_shutdown_answers_calls_and_closes_connections() {
    let server = Server::start().await;
    let mut idle = server.websocket().await;
    assert_alive(&mut idle).await;
    let mut busy = server.websocket().await;
    send(&mut busy, call(1, "hold", json!([]))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    server.shutdown.cancel();
    while let Some(Ok(message)) = tokio::time::timeout(ALIVE, idle.next()).await.expect("the idle connection is closed") {
        assert!(message.is_close() || message.is_ping(), "{message}");
    }
    assert!(server.serving.drained(Duration::ZERO).await > 0, "a call is still being answered");
    server.bench.release.notify_waiters();
    assert_eq!(receive(&mut busy).await["result"], "held");
    drop((idle, busy));
    assert_eq!(server.serving.drained(ALIVE).await, 0);
    assert!(TcpStream::connect(server.serving.local_addr()).await.is_err(), "nobody listens");
}
