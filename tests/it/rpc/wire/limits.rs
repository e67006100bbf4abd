use super::*;

#[tokio::test]
async fn every_entry_of_a_batch_counts_as_a_call() {
    let server = Server::with(|settings| {
        settings.access = login(); // Without it loopback is not limited.
        settings.limits.calls_per_second = 5;
    })
    .await;
    let mut socket = server.websocket().await;
    let batch = format!("[{}]", vec![call(1, "rpc.discover", json!([])); 8].join(","));
    let answer = ask(&mut socket, batch).await;
    let limited: Vec<&Value> = answer.as_array().unwrap().iter().filter(|one| one["error"]["code"] == 1006).collect();
    assert!((1..=3).contains(&limited.len()), "{}", limited.len());
    let wait = limited[0]["error"]["data"]["retry_after_ms"].as_u64().unwrap();
    assert!((1..=1000).contains(&wait), "{wait}");
}

#[tokio::test]
async fn calls_of_one_connection_at_once_are_limited() {
    let server = Server::with(|settings| settings.limits.calls_per_connection = 2).await;
    let (mut socket, mut other) = (server.websocket().await, server.websocket().await);
    for id in 1..=2 {
        send(&mut socket, call(id, "hold", json!([]))).await;
    }
    until(|| server.bench.held.load(Ordering::SeqCst) == 2).await;
    assert_eq!(ask(&mut socket, call(3, "get_data", json!([]))).await["error"]["code"], 1006);
    assert_alive(&mut other).await;
    server.bench.release.notify_waiters();
    assert_eq!(receive(&mut socket).await["result"], "held");
    assert_eq!(receive(&mut socket).await["result"], "held");
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn calls_of_one_address_at_once_are_limited() {
    let server = Server::with(|settings| settings.limits.calls_per_address = 1).await;
    let (mut socket, mut other) = (server.websocket().await, server.websocket().await);
    send(&mut socket, call(1, "hold", json!([]))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    assert_eq!(ask(&mut other, call(2, "get_data", json!([]))).await["error"]["code"], 1006);
    drop(socket);
    until(|| server.bench.dropped.load(Ordering::SeqCst) == 1).await;
    assert_alive(&mut other).await;
}

#[tokio::test]
async fn a_handler_that_takes_too_long_is_given_up() {
    let server = Server::with(|settings| settings.limits.handler_timeout = Duration::from_millis(50).into()).await;
    let mut socket = server.websocket().await;
    let answer = ask(&mut socket, call(1, "hold", json!([]))).await;
    assert_eq!((&answer["error"]["code"], &answer["error"]["data"]["outcome"]), (&json!(1009), &json!("unknown")));
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn a_wait_that_was_asked_for_is_not_cut_short() {
    let server = Server::with(|settings| settings.limits.handler_timeout = Duration::from_millis(50).into()).await;
    let mut socket = server.websocket().await;
    send(&mut socket, call(1, "hold_long", json!([]))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    assert_eq!(ask(&mut socket, call(2, "hold", json!([]))).await["error"]["code"], 1009);
    server.bench.release.notify_waiters();
    assert_eq!(receive(&mut socket).await, json!({"jsonrpc": "2.0", "id": 1, "result": "held"}));
}

#[tokio::test]
async fn too_large_a_response_is_an_error() {
    let server = Server::with(|settings| settings.limits.response_bytes = 1024).await;
    let mut socket = server.websocket().await;
    let error = ask(&mut socket, call(1, "echo", json!(["x".repeat(2000)]))).await["error"].clone();
    assert_eq!((&error["code"], &error["data"]), (&json!(1008), &json!({"limit": 1024})));
    let batch = format!("[{}]", vec![call(1, "echo", json!(["x".repeat(600)])); 2].join(","));
    assert_eq!(ask(&mut socket, batch).await["error"]["code"], -32011);
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn connections_are_limited_and_their_places_are_freed() {
    let server = Server::with(|settings| settings.limits.connections_per_address = 2).await;
    let (mut first, _second) = (server.websocket().await, server.websocket().await);
    assert!(tokio_tungstenite::connect_async(format!("ws://{}/", server.serving.local_addr())).await.is_err());
    assert_alive(&mut first).await;
    first.close(None).await.unwrap();
    drop(first);
    let reconnect = async {
        loop {
            if let Ok((socket, _)) = tokio_tungstenite::connect_async(format!("ws://{}/", server.serving.local_addr())).await {
                return socket;
            }
        }
    };
    assert_alive(&mut tokio::time::timeout(ALIVE, reconnect).await.expect("the place is free again")).await;
}

#[tokio::test]
async fn an_idle_http_connection_is_closed() {
    let server = Server::with(|settings| settings.limits.idle_timeout = Duration::from_millis(100).into()).await;
    let mut tcp = server.tcp().await;
    tcp.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(ALIVE, tcp.read_to_end(&mut answer)).await.expect("the connection is closed").unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn a_websocket_is_pinged_and_closed_when_nobody_answers() {
    let server = Server::with(|settings| settings.limits.ping_interval = Duration::from_millis(100).into()).await;
    let mut socket = server.websocket().await;
    let pinged = async { while !socket.next().await.unwrap().unwrap().is_ping() {} };
    tokio::time::timeout(ALIVE, pinged).await.expect("a ping");
    // This one sends its handshake and never a pong.
    let mut tcp = server.tcp().await;
    let handshake = "GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
                     sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    tcp.write_all(handshake.as_bytes()).await.unwrap();
    let mut all = Vec::new();
    tokio::time::timeout(ALIVE, tcp.read_to_end(&mut all)).await.expect("the connection is closed").unwrap();
}
