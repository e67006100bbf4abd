//! Many connections of one address, and those who have to get through all the same.

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
