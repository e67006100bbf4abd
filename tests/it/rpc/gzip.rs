//! Long answers are compressed for clients that accept it.

use std::io::Read as _;

use super::*;
use crate::support::request;

/// A body as it was before it was compressed.
fn unpacked(body: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(body).read_to_string(&mut text).unwrap();
    text
}

fn call(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Posts a body with these headers: the head of the answer, and its body.
async fn post(server: &Server, headers: &str, body: &Value) -> (String, Vec<u8>) {
    let body = body.to_string();
    let head = format!("POST / HTTP/1.1\r\ncontent-type: application/json\r\n{headers}content-length: {}", body.len());
    request(&server.address.to_string(), "localhost", &head, &body).await
}

const TAKES: &str = "accept-encoding: gzip\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn long_answers_are_compressed_for_those_who_take_it() {
    let (_house, server, _client) = open(0).await;
    let long = call("list_functions", &json!({}));
    let (head, plain) = post(&server, "", &long).await;
    assert!(!head.contains("content-encoding") && plain.len() > 10_000, "{head}");
    let (head, packed) = post(&server, TAKES, &long).await;
    assert!(head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"), "{head}");
    assert!(packed.len() < plain.len() / 3, "{} of {}", packed.len(), plain.len());
    assert_eq!(unpacked(&packed).into_bytes(), plain);
    let (head, short) = post(&server, TAKES, &call("ping", &json!({}))).await;
    assert!(!head.contains("content-encoding"), "{head}");
    assert_eq!(short, br#"{"jsonrpc":"2.0","id":1,"result":"pong"}"#);
    let (head, packed) = post(&server, TAKES, &call("rpc.discover", &json!({}))).await;
    assert!(head.contains("content-encoding: gzip"), "{head}");
    let discovered: Value = serde_json::from_str(&unpacked(&packed)).unwrap();
    let (head, packed) = request(&server.address.to_string(), "localhost", "GET /openrpc.json HTTP/1.1\r\naccept-encoding: gzip", "").await;
    assert!(head.contains("content-encoding: gzip") && head.contains(&format!("content-length: {}\r\n", packed.len())), "{head}");
    let text = unpacked(&packed);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), discovered["result"]);
    assert_eq!(text, discovered["result"].to_string(), "it has no space that says nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_with_a_token_is_not_compressed_whatever_is_sent_with_it() {
    let (_house, server, client) = open(0).await;
    client.ok("create_identity", json!({})).await;
    let batch = json!([call("create_token", &json!([1])), call("list_functions", &json!({}))]);
    let (head, body) = post(&server, TAKES, &batch).await;
    assert!(!head.contains("content-encoding"), "{head}");
    let answers: Value = serde_json::from_slice(&body).unwrap();
    assert!(answers[0]["result"]["secret"].as_str().unwrap().starts_with("hero_"), "{}", answers[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_compressed_once_and_has_one_weak_tag_however_it_is_coded() {
    let (_house, server, _client) = open(0).await;
    let address = server.address.to_string();
    let get = async |path: &str, headers: &str| {
        let (head, body) = request(&address, "localhost", &format!("GET {path} HTTP/1.1\r\n{headers}connection: close"), "").await;
        let field = |name: &str| {
            let given: Vec<String> = head.lines().filter_map(|line| line.strip_prefix(&format!("{name}: "))).map(str::to_owned).collect();
            assert!(given.len() < 2, "{name} twice: {head}");
            given.into_iter().next().unwrap_or_default()
        };
        (head[9..12].to_owned(), ["etag", "vary", "content-encoding"].map(field), body)
    };
    for path in ["/openrpc.json", "/docs/flows.html", "/docs/search-index.js"] {
        let (status, [tag, vary, coding], plain) = get(path, "").await;
        assert_eq!((&*status, &*vary, &*coding), ("200", "accept-encoding, origin", ""), "{path}");
        assert!(tag.starts_with("W/\""), "{path}: {tag}");
        let (status, [same, vary, coding], packed) = get(path, TAKES).await;
        assert_eq!((&*status, &same, &*vary, &*coding), ("200", &tag, "accept-encoding, origin", "gzip"), "{path}");
        assert!(packed.len() < plain.len() / 2 && unpacked(&packed).into_bytes() == plain, "{path}");
        // What is compressed for each answer has random bytes. This was compressed once.
        for _ in 0..5 {
            assert!(get(path, TAKES).await.2 == packed, "{path}");
        }
        for headers in ["", TAKES] {
            let (status, [same, vary, coding], body) = get(path, &format!("{headers}if-none-match: \"x\", {tag}\r\n")).await;
            assert_eq!((&*status, &same, &*vary, &*coding, &*body), ("304", &tag, "accept-encoding, origin", "", &b""[..]), "{path}");
        }
        let (_, [_, vary, _], _) = get(path, "origin: http://localhost:3000\r\n").await;
        assert_eq!(vary, "accept-encoding, origin", "{path}");
    }
    // Under another name it is another document.
    let named = async |host: &str| {
        let (head, body) = request(&address, host, &format!("GET /openrpc.json HTTP/1.1\r\n{TAKES}connection: close"), "").await;
        let text = unpacked(&body);
        assert!(text.contains(&format!("\"http://{host}/\"")), "{head}");
        head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned()
    };
    assert_ne!(named("localhost:81").await, named("localhost:82").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_for_the_document_gets_what_was_compressed_before_with_its_own_id() {
    let (_house, server, _client) = open(0).await;
    let asked = async |id: Value| {
        let (head, body) = post(&server, TAKES, &json!({"jsonrpc": "2.0", "id": id, "method": "rpc.discover"})).await;
        assert!(head.contains("content-encoding: gzip"), "{head}");
        let answer: Value = serde_json::from_str(&unpacked(&body)).unwrap();
        assert_eq!((&answer["id"], answer["result"]["openrpc"].is_string()), (&id, true));
        body
    };
    let first = asked(json!(1)).await;
    for _ in 0..5 {
        assert!(asked(json!(1)).await == first);
    }
    for id in [json!("x".repeat(1000)), json!("\u{7}\u{7}"), json!(-1.5), Value::Null] {
        asked(id).await;
    }
}
