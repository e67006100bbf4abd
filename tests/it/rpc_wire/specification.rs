use super::*;

/// The examples of section 7 of the JSON-RPC 2.0 specification: what is sent, what HTTP answers, what a WebSocket answers.
/// Where the two differ, jsonrpsee has lost the id; `rpc` documents it.
fn examples() -> Vec<(&'static str, Value, Value)> {
    let invalid = || json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid request"}, "id": null});
    let broken = || json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null});
    let result = |id: u32| json!({"jsonrpc": "2.0", "result": 19, "id": id});
    let same = |request, answer: Value| (request, answer.clone(), answer);
    vec![
        same(r#"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#, result(1)),
        same(r#"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#, result(3)),
        same(r#"{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}"#, result(4)),
        (r#"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#, Value::Null, invalid()),
        (r#"{"jsonrpc": "2.0", "method": "foobar"}"#, Value::Null, invalid()),
        same(
            r#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#,
            json!({
                "jsonrpc": "2.0", "id": "1",
                "error": {"code": -32601, "message": "there is no method \"foobar\"; rpc.discover lists all"},
            }),
        ),
        same(r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, broken()),
        (r#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#, invalid(), broken()),
        same(r#"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method""#, broken()),
        same("[]", invalid()),
        same("[1]", json!([invalid()])),
        same("[1,2,3]", json!([invalid(), invalid(), invalid()])),
        (
            r#"[
                {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": 1},
                {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
                {"foo": "boo"},
                {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
            ]"#,
            json!([result(1), invalid(), {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}]),
            json!([result(1), invalid(), invalid(), {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}]),
        ),
        (
            r#"[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]"#,
            Value::Null,
            json!([invalid(), invalid()]),
        ),
    ]
}

#[tokio::test]
async fn http_answers_the_examples_of_the_specification() {
    let server = Server::start().await;
    for (request, expected, _) in examples() {
        let (status, body) = server.post(request).await;
        if expected.is_null() {
            assert_eq!((status, body.as_str()), (204, ""), "{request}");
        } else {
            assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()), (200, expected), "{request}");
        }
    }
}

#[tokio::test]
async fn a_websocket_answers_the_examples_of_the_specification() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for (request, _, expected) in examples() {
        assert_eq!(ask(&mut socket, request).await, expected, "{request}");
    }
}

#[tokio::test]
async fn ids_that_cannot_be_kept_are_answered_all_the_same() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for id in ["-1", "1.5", "true", "{}", "[1]", "1e400", r#""\ud800""#, r#"1,"id":2"#] {
        let request = format!(r#"{{"jsonrpc":"2.0","method":"get_data","id":{id}}}"#);
        let answers = [ask(&mut socket, request.clone()).await, serde_json::from_str(&server.post(&request).await.1).unwrap()];
        for answer in answers {
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null), "{id}");
        }
        let batch = format!(r#"[{request},{{"jsonrpc":"2.0","method":"get_data","id":7}},{{"jsonrpc":"2.0","method":"x"}}]"#);
        let answer: Value = serde_json::from_str(&server.post(&batch).await.1).unwrap();
        assert_eq!(answer.as_array().unwrap().len(), 2, "{id}: {answer}");
        assert_eq!((&answer[0]["error"]["code"], &answer[1]["id"]), (&json!(-32600), &json!(7)), "{id}");
    }
    for id in [json!(0), json!(u64::MAX), json!(""), json!("é"), Value::Null] {
        let request = json!({"jsonrpc": "2.0", "method": "get_data", "id": id}).to_string();
        assert_eq!(ask(&mut socket, request).await["id"], id);
    }
}

#[tokio::test]
async fn parameters_are_read_strictly() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for (params, expected) in [
        (json!({"minuend": 1, "subtrahend": 2, "extra": 3}), "unknown parameter `extra`; known: minuend, subtrahend"),
        (json!([1, 2, 3]), "3 parameters, but at most 2 are known: minuend, subtrahend"),
        (json!([1, "2"]), "parameter `subtrahend`: invalid type: string \"2\", expected i64"),
        (json!({"minuend": 1}), "missing field `subtrahend`"),
        (json!("x"), "params must be an object or an array: minuend, subtrahend"),
    ] {
        let answer = ask(&mut socket, call(1, "subtract", params.clone())).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(expected), "{params}: {message}");
    }
    let answer = ask(&mut socket, r#"{"jsonrpc":"2.0","id":1,"method":"get_data"}"#).await;
    assert_eq!(answer["result"], json!(["hello", 5]));
}

#[tokio::test]
async fn discovery_and_the_route_give_the_same_document() {
    let server = Server::start().await;
    let (status, text) = server.get("/openrpc.json").await;
    assert_eq!((status, &text), (200, &table().document().replace("//127.0.0.1:8700/", "//localhost/")));
    let mut socket = server.websocket().await;
    let mut answer = ask(&mut socket, call(1, "rpc.discover", json!([]))).await;
    let mut document: Value = serde_json::from_str(&text).unwrap();
    // Each names the address that it was asked for at.
    document["servers"].take();
    answer["result"]["servers"].take();
    assert_eq!(answer["result"], document);
}
