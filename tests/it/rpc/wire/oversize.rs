use super::*;

/// A request of more than two megabytes, with these members behind and before its parameters.
fn large(before: &str, behind: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{before}"method":"echo","params":["{}"]{behind}}}"#, "x\\\"".repeat(700_000))
}

fn assert_told(answer: &Value, id: Value) {
    let error = &answer["error"];
    assert_eq!((&answer["id"], &error["code"]), (&id, &json!(-32007)), "{answer}");
    assert_eq!(error["data"], json!({"limit": 2_097_152, "setting": "--max-request"}));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("2097152 bytes") && message.contains("--max-request"), "{message}");
}

#[tokio::test]
async fn who_sends_too_much_is_told_the_limit_the_setting_and_which_request() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for (before, behind, id) in [
        (r#""id":5,"#, "", json!(5)),
        ("", r#","id":"last""#, json!("last")),
        (r#""id":-2,"#, "", json!(-2)),
        (r#""id":null,"#, "", json!(null)),
    ] {
        let text = large(before, behind);
        assert_told(&ask(&mut socket, text.clone()).await, id.clone());
        let (status, body) = server.post(&text).await;
        assert_eq!(status, 413);
        assert_told(&serde_json::from_str(&body).unwrap(), id);
    }
    assert_told(&ask(&mut socket, format!("[{}]", large(r#""id":5,"#, ""))).await, Value::Null);
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn a_notification_that_is_too_large_is_not_answered_on_a_websocket() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    send(&mut socket, large("", "")).await;
    assert_alive(&mut socket).await;
    assert_eq!(last_words(&server, &mut socket).await, [""; 0]);
}

#[tokio::test]
async fn a_message_in_many_frames_that_is_too_large_is_told_by_its_id() {
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let text = large("", r#","id":77"#).into_bytes();
    let pieces: Vec<&[u8]> = text.chunks(99_999).collect();
    for (at, piece) in pieces.iter().enumerate() {
        let kind = if at == 0 { Data::Text } else { Data::Continue };
        socket.send(Message::Frame(Frame::message(piece.to_vec(), OpCode::Data(kind), at + 1 == pieces.len()))).await.unwrap();
    }
    assert_told(&receive(&mut socket).await, json!(77));
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn a_batch_that_is_too_long_is_told_with_the_setting() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    let error = ask(&mut socket, format!("[{}]", vec!["1"; 101].join(","))).await["error"].clone();
    assert_eq!((&error["code"], &error["data"]), (&json!(-32010), &json!({"limit": 100, "setting": "--max-batch"})));
}

#[tokio::test]
async fn who_asks_before_sending_too_much_need_not_send_it() {
    let server = Server::start().await;
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\nconnection: close\r\n\
                content-length: 3000000\r\n\r\n";
    let answer = server.raw(head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("--max-request"), "{answer}");
}

#[tokio::test]
async fn what_is_not_sent_by_post_is_told_what_is_allowed() {
    let server = Server::start().await;
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        let answer = server.raw(format!("{method} / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 405") && answer.to_lowercase().contains("\r\nallow: post\r\n"), "{answer}");
        let answer = server.raw(format!("{} /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", "PUT").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 405") && answer.to_lowercase().contains("\r\nallow: get"), "{answer}");
    }
}
