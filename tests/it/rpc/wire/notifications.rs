use super::*;

fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

#[tokio::test]
async fn a_notification_that_fails_is_told_to_nobody() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let failing = [
        notification("nothing", json!([])),
        notification("subtract", json!(["a"])),
        notification("subtract", json!("a")),
        notification("panic", json!([])),
        notification("subscribe_count", json!([0])),
        notification("unsubscribe_count", json!(["nothing"])),
    ];
    for text in failing.iter().cloned().chain([format!("[{}]", failing.join(","))]) {
        assert_eq!(server.post(&text).await, (200, String::new()), "{text}");
        send(&mut socket, text).await;
    }
    send(&mut socket, notification("notify_hello", json!([1]))).await;
    until(|| server.bench.notes().len() == 1).await;
    assert_alive(&mut socket).await;
    assert_eq!(last_words(&server, &mut socket).await, [""; 0]);
}

#[tokio::test]
async fn a_notification_makes_no_subscription() {
    let server = Server::with(|settings| settings.limits.subscriptions_per_connection = 1).await;
    let mut socket = server.websocket().await;
    send(&mut socket, format!("[{},{}]", notification("subscribe_count", json!([0])), call(1, "get_data", json!([])))).await;
    assert_eq!(receive(&mut socket).await[0]["id"], 1);
    // Its place is free.
    assert!(ask(&mut socket, call(2, "subscribe_count", json!([1]))).await["result"].is_string());
}

#[tokio::test]
async fn a_batch_of_too_many_notifications_is_dropped_on_a_websocket_and_refused_over_http() {
    let server = Server::with(|settings| settings.limits.batch = 2).await;
    let mut socket = server.websocket().await;
    let batch = format!("[{}]", vec![notification("notify_hello", json!([1])); 3].join(","));
    send(&mut socket, batch.clone()).await;
    assert_alive(&mut socket).await;
    assert!(server.post(&batch).await.1.contains("--max-batch"));
    assert_eq!(server.bench.notes(), Vec::<Vec<i64>>::new());
    assert_eq!(last_words(&server, &mut socket).await, [""; 0]);
}

#[tokio::test]
async fn a_batch_gives_the_answers_of_its_calls_and_carries_out_its_notifications() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let note = |number: i64| notification("notify_hello", json!([number]));
    let batch = format!("[{},{},{},{}]", note(1), call(1, "get_data", json!([])), note(2), call(2, "get_data", json!([])));
    let answer = ask(&mut socket, batch.clone()).await;
    let ids: Vec<&Value> = answer.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(serde_json::from_str::<Value>(&server.post(&batch).await.1).unwrap(), answer);
    assert_eq!(server.bench.notes(), [[1], [1], [2], [2]]);
}

#[tokio::test]
async fn notifications_wait_for_permits_where_calls_are_refused_and_hold_no_more_than_their_own() {
    let server = Server::with(|settings| settings.limits.calls_per_connection = 1).await;
    let mut socket = server.websocket().await;
    send(&mut socket, call(1, "hold", json!([]))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    // More than a connection may have under way.
    for number in 0..300 {
        send(&mut socket, notification("notify_hello", json!([number]))).await;
    }
    let (status, _) = server.post(notification("notify_hello", json!([300]))).await;
    assert_eq!((status, server.bench.notes()), (200, vec![vec![300]]), "those of another connection do not wait");
    server.bench.release.notify_waiters();
    assert_eq!(receive(&mut socket).await["result"], "held");
    until(|| server.bench.notes().len() == 301).await;
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn a_notification_is_carried_out_although_its_sender_has_left() {
    let server = Server::with(|settings| settings.limits.calls_per_address = 1).await;
    let mut socket = server.websocket().await;
    // Later calls wait for the place of the first, whose sender is gone before it is released.
    send(&mut socket, notification("hold", json!([]))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    send(&mut socket, notification("notify_hello", json!([1]))).await;
    assert_eq!(ask(&mut socket, call(1, "hold", json!([]))).await["error"]["code"], 1006, "the one before was read, too");
    drop(socket);
    let mut other = server.websocket().await;
    assert_eq!(ask(&mut other, call(2, "get_data", json!([]))).await["error"]["code"], 1006, "the address is busy");
    server.bench.release.notify_waiters();
    until(|| server.bench.notes() == [[1]]).await;
    assert_eq!(server.bench.dropped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn of_the_notifications_that_an_address_leaves_behind_a_bounded_number_waits() {
    const BOUND: usize = 1024;
    let server = Server::with(|settings| settings.limits.calls_per_address = 1).await;
    let mut holder = server.websocket().await;
    send(&mut holder, call(1, "hold", json!([]))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    for _ in 0..20 {
        let mut socket = server.websocket().await;
        for number in 0..100 {
            send(&mut socket, notification("notify_hello", json!([number]))).await;
        }
        assert_eq!(ask(&mut socket, call(2, "get_data", json!([]))).await["error"]["code"], 1006, "those before were read, too");
    }
    server.bench.release.notify_waiters();
    assert_eq!(receive(&mut holder).await["result"], "held");
    until(|| server.bench.notes().len() == BOUND).await;
    assert_alive(&mut holder).await;
    assert_eq!(server.bench.notes().len(), BOUND);
}

#[tokio::test]
async fn a_notification_needs_the_permissions_of_a_call() {
    let server = Server::with(|settings| settings.access = login()).await;
    let batch = format!("[{},{}]", notification("notify_hello", json!([1])), call(1, "rpc.discover", json!([])));
    let answer = ask(&mut server.websocket().await, batch).await;
    assert!(answer[0]["id"] == 1 && answer[0]["result"].is_object(), "all has been done that was sent");
    assert_eq!(server.bench.notes(), Vec::<Vec<i64>>::new());
}

#[tokio::test]
async fn the_notifications_of_a_batch_are_carried_out_in_their_order() {
    let server = Server::start().await;
    let batch: Vec<String> = (0..50).rev().map(|number| notification("notify_hello", json!([number]))).collect();
    assert_eq!(server.post(format!("[{}]", batch.join(","))).await.0, 200);
    let expected: Vec<Vec<i64>> = (0..50).rev().map(|number| vec![number]).collect();
    assert_eq!(*server.bench.notes.lock().unwrap(), expected);
}

#[tokio::test]
async fn results_of_notifications_are_neither_sent_nor_held() {
    let server = Server::with(|settings| settings.limits.held_per_connection = 4_000_000).await;
    let mut socket = server.websocket().await;
    for _ in 0..40 {
        send(&mut socket, notification("large", json!([1_000_000]))).await;
    }
    until(|| server.bench.made.load(Ordering::SeqCst) == 40).await;
    assert_alive(&mut socket).await;
    assert_eq!(last_words(&server, &mut socket).await, [""; 0]);
}

#[tokio::test]
async fn a_shutdown_waits_for_what_notifications_began() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    send(&mut socket, notification("hold", json!([]))).await;
    until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
    drop(socket);
    server.shutdown.cancel();
    assert!(server.serving.drained(Duration::ZERO).await > 0, "a notification is being carried out");
    server.bench.release.notify_waiters();
    assert_eq!(server.serving.drained(ALIVE).await, 0);
    assert_eq!(server.bench.dropped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn jsonrpsees_own_client_outlives_its_notifications() {
    use jsonrpsee::core::client::ClientT;
    use jsonrpsee::rpc_params;
    let server = Server::start().await;
    let client = jsonrpsee::ws_client::WsClientBuilder::new().build(format!("ws://{}", server.serving.local_addr())).await.unwrap();
    let held = client.request::<Value, _>("hold", rpc_params![]);
    let notify = async {
        until(|| server.bench.held.load(Ordering::SeqCst) == 1).await;
        for number in 0..10 {
            client.notification("notify_hello", rpc_params![number]).await.unwrap();
            client.notification("nothing", rpc_params![]).await.unwrap();
        }
        until(|| server.bench.notes().len() == 10).await;
        assert_eq!(client.request::<i64, _>("subtract", rpc_params![42, 23]).await.unwrap(), 19);
        server.bench.release.notify_waiters();
    };
    let (held, ()) = tokio::join!(held, notify);
    assert_eq!(held.unwrap(), "held");
    assert!(client.is_connected());
}
