//! Long answers are compressed for clients that take that.

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
