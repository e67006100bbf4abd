use super::*;

#[tokio::test]
async fn items_follow_the_id_and_the_end_says_why() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let answer = ask(&mut socket, call(1, "subscribe_count", json!([3]))).await;
    let id = answer["result"].as_str().expect("ids are text").to_owned();
    for number in 1..=3 {
        let item = receive(&mut socket).await;
        let expected = json!({"subscription": id, "result": {"number": number, "pad": ""}});
        assert_eq!((&item["method"], &item["params"]), (&json!("count"), &expected));
    }
    let end = receive(&mut socket).await;
    assert_eq!((&end["params"]["subscription"], &end["params"]["error"]["code"]), (&json!(id), &json!(-32603)));
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn unsubscribing_ends_the_items() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let id = ask(&mut socket, call(1, "subscribe_count", json!({}))).await["result"].clone();
    send(&mut socket, call(2, "unsubscribe_count", json!([id]))).await;
    while receive(&mut socket).await.get("id") != Some(&json!(2)) {}
    // Items in flight still arrive; then only calls are answered.
    send(&mut socket, call(3, "get_data", json!([]))).await;
    while receive(&mut socket).await.get("id") != Some(&json!(3)) {}
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn a_subscription_is_ended_by_name_too_and_wrong_parameters_are_said() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for (params, message) in [
        (json!({"subscription": 5}), "parameter `subscription`: expected a text, but got 5"),
        (json!([]), "parameter `subscription` is missing"),
        (json!({"id": "x"}), "unknown parameter `id`; known: subscription"),
        (json!(["x", "y"]), "the method has one parameter (subscription), but got 2"),
        (json!("x"), "params must be an object or an array: subscription"),
    ] {
        let error = ask(&mut socket, call(1, "unsubscribe_count", params)).await["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().starts_with(message), "{error}");
    }
    assert_eq!(ask(&mut socket, call(2, "unsubscribe_count", json!({"subscription": "gone"}))).await["result"], false);
    let id = ask(&mut socket, call(3, "subscribe_count", json!({}))).await["result"].clone();
    send(&mut socket, call(4, "unsubscribe_count", json!({"subscription": id}))).await;
    let answer = loop {
        let message = receive(&mut socket).await;
        if message.get("id") == Some(&json!(4)) {
            break message;
        }
    };
    assert_eq!(answer["result"], true);
}

#[tokio::test]
async fn bad_parameters_are_answered_once() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let answer = ask(&mut socket, call(1, "subscribe_count", json!({"too": 3}))).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32602)));
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn a_subscription_needs_a_websocket() {
    let server = Server::start().await;
    for method in ["subscribe_count", "unsubscribe_count"] {
        let (status, body) = server.post(call(1, method, json!([]))).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &answer["error"]["code"], &answer["id"]), (200, &json!(-32600), &json!(1)));
        assert!(answer["error"]["message"].as_str().unwrap().contains("subscriptions need a WebSocket"), "{answer}");
    }
}

#[tokio::test]
async fn a_subscription_in_a_batch_is_refused_and_answered_once() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let batch = format!("[{},{}]", call(1, "subscribe_count", json!([3])), call(2, "get_data", json!([])));
    let answer = ask(&mut socket, batch).await;
    assert_eq!((&answer[0]["error"]["code"], &answer[1]["result"]), (&json!(-32600), &json!(["hello", 5])));
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn subscriptions_are_limited_by_connection_and_by_address() {
    let server = Server::with(|settings| {
        settings.limits.subscriptions_per_connection = 1;
        settings.limits.subscriptions_per_address = 2;
    })
    .await;
    // Large items fill the way to the client at once, so the subscriptions stay open.
    let subscribe = call(1, "subscribe_count", json!([0, 1_000_000]));
    let mut sockets = Vec::new();
    for _ in 0..3 {
        sockets.push(server.websocket().await);
    }
    for socket in &mut sockets[..2] {
        assert!(ask(socket, subscribe.clone()).await["result"].is_string());
    }
    assert_eq!(ask(&mut sockets[2], subscribe.clone()).await["error"]["code"], 1006);
    send(&mut sockets[0], call(2, "subscribe_count", json!([]))).await;
    loop {
        let message = receive(&mut sockets[0]).await;
        if message.get("id") == Some(&json!(2)) {
            assert_eq!(message["error"]["code"], -32006);
            break;
        }
    }
}

#[tokio::test]
async fn a_reader_that_is_too_slow_loses_its_subscription_and_nobody_else_waits() {
    let server = Server::with(|settings| {
        settings.limits.send_timeout = Duration::from_millis(100).into();
        settings.limits.send_buffer = 4;
    })
    .await;
    let mut slow = server.websocket().await;
    assert!(ask(&mut slow, call(1, "subscribe_count", json!([0, 1_000_000]))).await["result"].is_string());
    let mut other = server.websocket().await;
    assert_alive(&mut other).await;
    // Reading begins only now and then, so the way stays full until the server gives up.
    let end = loop {
        let message = tokio::time::timeout(ALIVE, receive(&mut slow)).await.expect("the end of the subscription");
        if message["params"].get("error").is_some() {
            break message;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    };
    assert_eq!(end["params"]["error"]["code"], 1006);
    assert_alive(&mut slow).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_is_stuck_loses_its_subscription_with_its_role() {
    let house = House::empty().await;
    let authority = Authority::new(house.dispatcher.contexts().stores(), TokenKey::random());
    authority.follow().await.unwrap();
    let guard = Guard::new(authority.clone(), house.dispatcher.clone());
    let server = Server::with(|settings| {
        settings.access = Access::Login(guard);
        settings.limits.send_timeout = Duration::from_secs(3600).into();
        settings.limits.send_buffer = 4;
        settings.limits.subscriptions_per_address = 1;
    })
    .await;
    let reader = async || {
        let identity = authority.create_identity(&IdentityChange::default()).await.unwrap().identity_id;
        authority.set_role(ContextId(0), identity, Role::Reader, true).await.unwrap();
        let token = authority.create_token(identity, None, None, None).await.unwrap();
        let mut request = format!("ws://{}/", server.serving.local_addr()).into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {}", token.secret.reveal()).parse().unwrap());
        (identity, tokio_tungstenite::connect_async(request).await.unwrap().0)
    };
    let ((identity, mut stuck), (_, mut other)) = (reader().await, reader().await);
    // Large items fill the buffers to the client at once, and the client does not read.
    assert!(ask(&mut stuck, call(1, "subscribe_count", json!([0, 1_000_000]))).await["result"].is_string());
    for _ in 0..50 {
        assert_eq!(ask(&mut other, call(1, "subscribe_count", json!([1]))).await["error"]["code"], 1006);
    }
    authority.set_role(ContextId(0), identity, Role::Reader, false).await.unwrap();
    // Its place is free.
    let subscribed = async {
        while ask(&mut other, call(1, "subscribe_count", json!([1]))).await["result"].is_null() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(ALIVE, subscribed).await.expect("the subscription has ended");
}
