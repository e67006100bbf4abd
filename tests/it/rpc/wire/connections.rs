//! Many connections from one address, while probes and other clients must still be served.

use tokio::net::TcpSocket;

use super::*;

#[tokio::test]
async fn probes_are_answered_while_somebody_holds_every_place() {
    let server = Server::with(|settings| settings.limits.connections = 8).await;
    let mut places = Vec::new();
    for _ in 0..4 {
        places.push(server.websocket().await);
    }
    // Half of all is the most that one address has; what it opens beyond waits for a place that it does not get.
    let mut beyond = Vec::new();
    for _ in 0..200 {
        beyond.push(server.tcp().await);
    }
    for _ in 0..3 {
        assert_eq!(server.get("/healthz").await, (200, "ok\n".into()));
        assert_eq!(server.get("/readyz").await.0, 503);
        assert_eq!(server.get("/metrics").await, (200, "hero_up 1\n".into()));
    }
    assert_eq!(server.get("/openrpc.json").await.0, 429);
    assert_eq!(server.post(call(1, "get_data", json!([]))).await.0, 429);
    let evil = server.http("GET /metrics HTTP/1.1\r\nhost: evil.example", b"").await;
    assert_eq!(evil.0, 403);
    for socket in &mut places {
        assert_alive(socket).await;
    }
}

#[tokio::test]
async fn a_connection_beyond_the_limit_is_not_kept() {
    let server = Server::with(|settings| settings.limits.connections = 2).await;
    let mut place = server.websocket().await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(server.tcp().await);
    }
    // The oldest made way for newer ones, long before its time was over.
    let mut nothing = [0];
    let read = tokio::time::timeout(ALIVE, silent[0].read(&mut nothing)).await.expect("the end of the first");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    assert_alive(&mut place).await;
}

#[tokio::test]
async fn a_flood_of_one_address_does_not_push_out_the_probe_of_another() {
    // No address has a place here beyond its one.
    let server = Server::with(|settings| settings.limits.connections = 2).await;
    let from = |host: [u8; 4]| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((host, 0).into()).unwrap();
        socket.connect(server.serving.local_addr())
    };
    let _held = [from([127, 0, 0, 2]).await.unwrap(), server.tcp().await];
    let mut probe = from([127, 0, 0, 2]).await.unwrap();
    probe.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(server.tcp().await);
    }
    // The end of one that came later shows that all before it have been let in.
    let mut nothing = [0];
    let read = tokio::time::timeout(ALIVE, flood[120].read(&mut nothing)).await.expect("the end of one in the flood");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    probe.write_all(b"host: localhost\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(ALIVE, probe.read_to_string(&mut answer)).await.expect("an answer").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
}

#[tokio::test]
async fn an_http_connection_is_kept_open_only_while_there_is_room_for_another() {
    let server = Server::with(|settings| settings.limits.connections = 4).await;
    let body = call(1, "get_data", json!([])).to_string();
    let request =
        format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut asking = server.tcp().await;
    asking.write_all(request.as_bytes()).await.unwrap();
    let mut kept = [0; 4096];
    let length = asking.read(&mut kept).await.unwrap();
    let kept = String::from_utf8_lossy(&kept[..length]).to_lowercase();
    assert!(kept.starts_with("http/1.1 200") && !kept.contains("connection: close"), "{kept}");
    // One address may have two here. Another request now would block the next one.
    let first = server.websocket().await;
    asking.write_all(request.as_bytes()).await.unwrap();
    let mut closed = String::new();
    tokio::time::timeout(ALIVE, asking.read_to_string(&mut closed)).await.expect("the end of the connection").unwrap();
    assert!(closed.to_lowercase().contains("connection: close"), "{closed}");
    for mut socket in [first, server.websocket().await] {
        assert_alive(&mut socket).await;
    }
}
