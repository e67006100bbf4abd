use super::*;

/// The examples of section 7 of the JSON-RPC 2.0 specification, in order: the request and the answer. Null means no
/// answer.
fn examples() -> Vec<(&'static str, Value)> {
    let invalid = || json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null});
    let broken = || json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null});
    // The specification does not require its wording, and our messages say what to do.
    let unknown = |method: &str, id: &str| {
        let message = format!("there is no method {method:?}; rpc.discover lists all");
        json!({"jsonrpc": "2.0", "error": {"code": -32601, "message": message}, "id": id})
    };
    let result = |value: i64, id: Value| json!({"jsonrpc": "2.0", "result": value, "id": id});
    vec![
        (r#"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#, result(19, json!(1))),
        (r#"{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}"#, result(-19, json!(2))),
        (r#"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#, result(19, json!(3))),
        (r#"{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}"#, result(19, json!(4))),
        (r#"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#, Value::Null),
        (r#"{"jsonrpc": "2.0", "method": "foobar"}"#, Value::Null),
        (r#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#, unknown("foobar", "1")),
        (r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, broken()),
        (r#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#, invalid()),
        (r#"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]"#, broken()),
        ("[]", invalid()),
        ("[1]", json!([invalid()])),
        ("[1,2,3]", json!([invalid(), invalid(), invalid()])),
        (
            r#"[
                {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
                {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
                {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
                {"foo": "boo"},
                {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
                {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
            ]"#,
            json!([
                result(7, json!("1")), result(19, json!("2")), invalid(), unknown("foo.get", "5"),
                {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}
            ]),
        ),
        (
            r#"[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]"#,
            Value::Null,
        ),
    ]
}

#[tokio::test]
async fn section_7_of_the_specification_passes_whole_over_http_and_on_a_websocket() {
    let noted = vec![vec![1, 2, 3, 4, 5], vec![1, 2, 4], vec![7], vec![7]];
    let server = Server::start().await;
    for (request, expected) in examples() {
        let (status, body) = server.post(request).await;
        if expected.is_null() {
            assert_eq!((status, body.as_str()), (200, ""), "{request}");
        } else {
            assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()), (200, expected), "{request}");
        }
    }
    assert_eq!(server.bench.notes(), noted);

    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for (request, expected) in examples() {
        send(&mut socket, request).await;
        if !expected.is_null() {
            assert_eq!(receive(&mut socket).await, expected, "{request}");
        }
    }
    until(|| server.bench.notes().len() == noted.len()).await;
    assert_eq!(server.bench.notes(), noted);
    assert_alive(&mut socket).await;
    assert_eq!(last_words(&server, &mut socket).await, [""; 0]);
}

#[tokio::test]
async fn what_is_json_but_no_request_is_an_invalid_request_and_what_is_no_json_a_parse_error() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for (code, texts) in [
        (-32600, &["{}", r#"{"method":1}"#, "1", "-1.5e3", "null", "true", "\"x\"", "  {}  ", r#"{"method":"get_data"}"#][..]),
        (-32600, &[r#"{"jsonrpc":"1.0","method":"get_data"}"#, r#"{"jsonrpc":"2.0","method":"a","method":"b"}"#]),
        (-32700, &["hello", "", " ", "{", "[1,", "nul", "1 2", "{\"a\":1}}"]),
    ] {
        for text in texts {
            let (status, body) = server.post(text).await;
            for answer in [serde_json::from_str::<Value>(&body).unwrap(), ask(&mut socket, *text).await] {
                assert_eq!((status, &answer["error"]["code"], &answer["id"]), (200, &json!(code), &Value::Null), "{text}");
            }
        }
    }
    for id in [json!(5), json!("x"), json!(-2)] {
        let request = json!({"id": id, "method": "get_data"}).to_string();
        let answer = ask(&mut socket, request).await;
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &id));
    }
    let (_, body) = server.post(r#"{"jsonrpc":"2.0","method":1,"id":7}"#).await;
    assert!(body.contains(r#""id":7"#), "an id that can be told is: {body}");
}

#[tokio::test]
async fn every_text_and_number_that_can_be_an_id_comes_back_as_it_was() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for id in ["0", "18446744073709551615", r#""""#, r#""é""#, "null", "-1", "1.5", "1e400", "18446744073709551616", "-0", "1.0"] {
        let request = format!(r#"{{"jsonrpc":"2.0","method":"get_data","id":{id}}}"#);
        let failing = format!(r#"{{"jsonrpc":"2.0","method":"nothing","id":{id}}}"#);
        let batch = format!("[{request},{failing}]");
        let result = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":["hello",5]}}"#);
        for (request, answer) in [(&request, &result), (&batch, &format!("[{result},{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":"))] {
            send(&mut socket, request.clone()).await;
            let text = loop {
                if let Message::Text(text) = tokio::time::timeout(ALIVE, socket.next()).await.unwrap().unwrap().unwrap() {
                    break text.to_string();
                }
            };
            for text in [text, server.post(request).await.1] {
                assert!(text.starts_with(answer), "{text}\n{answer}");
            }
        }
        // jsonrpsee answers these itself.
        let subscribe = format!(r#"{{"jsonrpc":"2.0","method":"subscribe_count","params":[1],"id":{id}}}"#);
        if ["-1", "1.5"].contains(&id) {
            let answer = ask(&mut socket, subscribe).await;
            assert_eq!((answer["id"].to_string().as_str(), &answer["error"]["code"]), (id, &json!(-32600)));
        }
    }
}

#[tokio::test]
async fn a_request_with_an_id_that_is_none_is_refused_and_not_carried_out() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for id in ["true", "{}", "[1]", r#""\ud800""#, r#"1,"id":2"#] {
        let request = format!(r#"{{"jsonrpc":"2.0","method":"notify_hello","params":[1],"id":{id}}}"#);
        let (status, body) = server.post(&request).await;
        let over_http: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status, 200, "{id}");
        for answer in [over_http, ask(&mut socket, request.clone()).await] {
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null), "{id}");
        }
        let batch = format!(r#"[{request},{},{{"jsonrpc":"2.0","method":"x"}}]"#, call(7, "get_data", json!([])));
        let answer: Value = serde_json::from_str(&server.post(&batch).await.1).unwrap();
        assert_eq!(answer.as_array().unwrap().len(), 2, "{id}: {answer}");
        assert_eq!((&answer[0]["error"]["code"], &answer[1]["id"]), (&json!(-32600), &json!(7)), "{id}");
    }
    assert_alive(&mut socket).await;
    assert!(server.bench.notes().is_empty(), "nothing was called");
    assert_eq!(last_words(&server, &mut socket).await, [""; 0]);
}

#[tokio::test]
async fn parameters_are_read_strictly() {
    let server = Server::start().await;
    let mut socket = server.websocket().await;
    for (params, expected) in [
        (json!({"minuend": 1, "subtrahend": 2, "extra": 3}), "unknown parameter `extra`; known: minuend, subtrahend"),
        (json!([1, 2, 3]), "the method has at most 2 parameters (minuend, subtrahend), but got 3"),
        (
            json!([1, "2"]),
            "parameter `subtrahend`: expected a whole number from -9223372036854775808 to 9223372036854775807, but got \"2\"",
        ),
        (json!({"minuend": 1}), "parameter `subtrahend` is missing"),
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
    let whole: Value = serde_json::from_str(&table().document()).unwrap();
    assert_eq!((status, &text), (200, &whole.to_string().replace("//127.0.0.1:8700/", "//localhost/")));
    let mut socket = server.websocket().await;
    let mut answer = ask(&mut socket, call(1, "rpc.discover", json!([]))).await;
    let mut document: Value = serde_json::from_str(&text).unwrap();
    // Each names the address that it was asked for at.
    document["servers"].take();
    answer["result"]["servers"].take();
    assert_eq!(answer["result"], document);
}
