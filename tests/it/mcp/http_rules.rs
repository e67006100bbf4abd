//! `/mcp`: the allowed origins, hosts, bodies and rates, the same as for `POST /`.

use futures_util::future;
use hero::model::{JobSpec, Status};
use hero::rpc::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::support::{CONTEXT, House, Server, spec, texts_in_each_other};

/// Returns the answer to a request with additional header lines.
async fn asked(server: &Server, method: &str, headers: &str, body: &str) -> String {
    let mut tcp = TcpStream::connect(server.address).await.unwrap();
    let head = format!("{method} /mcp HTTP/1.1\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n");
    let head = format!("{head}connection: close\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    tcp.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, tcp.read_to_string(&mut answer)).await.expect("an answer").unwrap();
    answer
}

fn status(answer: &str) -> &str {
    &answer[9..12]
}

const HOST: &str = "host: localhost\r\n";

fn list() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string()
}

#[tokio::test]
async fn an_origin_a_host_and_a_body_that_are_not_allowed_are_refused_there_too() {
    let house = House::empty().await;
    let limits = Limits { request_bytes: 256 * 1024, ..Limits::default() };
    let server = Server::within(&house.dispatcher, limits).await;
    let answer = asked(&server, "POST", HOST, &list()).await;
    assert!(status(&answer) == "200" && answer.contains("run_and_wait"), "{answer}");
    let foreign = asked(&server, "POST", &format!("{HOST}origin: https://evil.example\r\n"), &list()).await;
    assert!(status(&foreign) == "403" && foreign.contains("allowed origins"), "{foreign}");
    let rebound = asked(&server, "POST", "host: evil.example\r\n", &list()).await;
    assert!(status(&rebound) == "403" && rebound.contains("allowed hosts"), "{rebound}");
    let page = asked(&server, "POST", &format!("{HOST}origin: http://localhost:3000\r\n"), &list()).await;
    let lower = page.to_lowercase();
    assert!(lower.contains("access-control-expose-headers: mcp-session-id") && status(&page) == "200", "{page}");
    assert_eq!(status(&asked(&server, "POST", HOST, &" ".repeat(257 * 1024)).await), "413");
    // As data it would take many times its bytes.
    let values =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ping", "arguments": {"a": vec![0; 50_000]}}});
    assert_eq!(status(&asked(&server, "POST", HOST, &values.to_string()).await), "413");
    assert_eq!(status(&asked(&server, "GET", HOST, "").await), "405");
    assert_eq!(status(&asked(&server, "DELETE", HOST, "").await), "405");
}

/// The status of an answer, and the error in its body.
fn error(answer: &str) -> (&str, Value) {
    assert!(answer.to_lowercase().contains("content-type: application/json"), "{answer}");
    let object = answer.find('{').zip(answer.rfind('}')).map(|(from, to)| &answer[from..=to]);
    (status(answer), serde_json::from_str(object.unwrap_or_default()).unwrap_or_else(|_| panic!("{answer}")))
}

#[tokio::test]
async fn what_is_no_message_is_told_so_in_the_words_of_json_rpc() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let long = json!({"jsonrpc": "2.0", "id": "x".repeat(1 << 20), "method": "tools/list"}).to_string();
    for (body, code, id) in [
        ("no JSON", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"method":"#, -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, -32600, Value::Null),
        (&long, -32600, Value::Null),
        // JSON that has an id, and is no message.
        (r#"{"jsonrpc":"1.0","id":7,"method":"tools/list"}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"ping"}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}"#, -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{}}"#, -32602, json!(7)),
    ] {
        let answer = asked(&server, "POST", HOST, body).await;
        let (status, error) = error(&answer);
        assert_eq!((status, &error["error"]["code"], &error["id"]), ("400", &json!(code), &id), "{answer}");
        assert!(answer.len() < 1000, "nothing long is repeated");
    }
    let longest = json!({"jsonrpc": "2.0", "id": "x".repeat(1024), "method": "tools/list"}).to_string();
    assert_eq!(status(&asked(&server, "POST", HOST, &longest).await), "200");
    // A token of progress stands in each notification.
    let told = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "whoami", "arguments": {}, "_meta": {"progressToken": "x".repeat(1025)}}});
    let answer = asked(&server, "POST", HOST, &told.to_string()).await;
    assert!(answer.contains("progressToken: has 1025 bytes") && answer.contains("-32602"), "{answer}");
}

#[tokio::test]
async fn a_parameter_that_is_given_twice_or_would_be_rounded_is_named_as_in_any_other_call() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    for (arguments, said) in [
        (r#"{"job_id":"a","job_id":"b"}"#, "parameter `job_id` is given twice"),
        (
            r#"{"job_id":99999999999999999999}"#,
            "parameter `job_id` is 99999999999999999999, beyond the integers of scripts \
             (-9223372036854775808 to 9223372036854775807); give it as a text, or as a fraction",
        ),
        (r#"{"filter":{"status":"error","status":"error"}}"#, "parameter `filter.status` is given twice"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"list_jobs","arguments":{arguments}}}}}"#);
        let answer = asked(&server, "POST", HOST, &body).await;
        let (status, error) = error(&answer);
        assert_eq!((status, &error["error"]["code"], &error["error"]["message"]), ("400", &json!(-32602), &json!(said)), "{answer}");
        assert_eq!(error["id"], 7);
    }
}

#[tokio::test]
async fn calls_under_one_id_are_all_cancelled_by_their_client_and_by_no_other() {
    let house = House::open(4).await;
    let server = Server::of(&house).await;
    let named = |name: &str| format!("{HOST}mcp-session-id: {name}\r\n");
    let run = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "run_and_wait", "arguments": {"script": ENDLESS, "timeout": 3000}}})
    .to_string();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}).to_string();
    let client = server.connect().await;
    let started = async |count: usize| {
        crate::support::until("jobs run", || async {
            let jobs = client.ok("list_jobs", json!({"filter": {"status": "started"}})).await;
            let jobs: Vec<Value> = jobs["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].clone()).collect();
            (jobs.len() == count).then_some(jobs)
        })
        .await
    };
    let (mine, other) = (named("mine"), named("other"));
    let (first, second) = (asked(&server, "POST", &mine, &run), asked(&server, "POST", &mine, &run));
    // Another client, and one that has no name, use the same id.
    let (third, fourth) = (asked(&server, "POST", &other, &run), asked(&server, "POST", HOST, &run));
    let cancels = async {
        started(4).await;
        assert_eq!(status(&asked(&server, "POST", HOST, &cancel).await), "202");
        assert_eq!(status(&asked(&server, "POST", &mine, &cancel).await), "202");
        for job in started(2).await {
            client.ok("stop_job", json!([job])).await;
        }
    };
    let (answers, ()) = tokio::join!(future::join_all([first, second, third, fourth]), cancels);
    let is_cancelled: Vec<bool> = answers.iter().map(|answer| answer.contains("because the call was cancelled")).collect();
    assert_eq!(is_cancelled, [true, true, false, false], "{answers:?}");
    house.close().await;
}

#[tokio::test]
async fn whoever_is_nobody_is_told_to_show_a_token() {
    let house = House::empty().await;
    let (server, _) = Server::guarded(&house.dispatcher).await;
    for headers in [HOST.to_owned(), format!("{HOST}authorization: Bearer none\r\n")] {
        let answer = asked(&server, "POST", &headers, &list()).await;
        assert!(status(&answer) == "401" && answer.to_lowercase().contains("www-authenticate: bearer"), "{answer}");
    }
}

#[tokio::test]
async fn requests_above_the_rate_of_an_address_are_refused_there_too() {
    let house = House::empty().await;
    let limits = Limits { calls_per_second: 2, ..Limits::default() };
    let (server, authority) = Server::guarded_within(&house.dispatcher, hero::access::TokenKey::random(), limits).await;
    let (secret, _) = super::http::token(&authority, &[]).await;
    let (headers, body) = (format!("{HOST}authorization: Bearer {secret}\r\n"), list());
    crate::support::until("a refusal", || async {
        let answers = future::join_all((0..20).map(|_| asked(&server, "POST", &headers, &body))).await;
        assert!(answers.iter().all(|answer| matches!(status(answer), "200" | "429")), "{answers:?}");
        answers.iter().any(|answer| status(answer) == "429").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_name_that_the_server_gives_a_client_keeps_nothing_and_another_name_cancels_nothing() {
    let house = House::open(1).await;
    let server = Server::of(&house).await;
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let answer = asked(&server, "POST", HOST, &hello.to_string()).await;
    let session = |answer: &str| {
        let line = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        line.map(str::trim).map(str::to_owned)
    };
    let mine = session(&answer).unwrap_or_else(|| panic!("{answer}"));
    assert_ne!(session(&asked(&server, "POST", HOST, &hello.to_string()).await), Some(mine.clone()));
    // Any server knows any name, also one that has just started.
    let other = format!("{HOST}mcp-session-id: never-given\r\n");
    assert_eq!(status(&asked(&server, "POST", &other, &list()).await), "200");
    let run = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "run_and_wait", "arguments": {"script": ENDLESS, "timeout": 3000}}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}).to_string();
    let headers = format!("{HOST}mcp-session-id: {mine}\r\n");
    let run = run.to_string();
    let call = asked(&server, "POST", &headers, &run);
    tokio::pin!(call);
    let cancels = async {
        let job = crate::support::until("a job runs", || async {
            let client = server.connect().await;
            let jobs = client.ok("list_jobs", json!({"filter": {"status": "started"}})).await;
            jobs["jobs"][0]["job_id"].as_str().map(str::to_owned)
        })
        .await;
        assert_eq!(status(&asked(&server, "POST", &other, &cancel).await), "202");
        assert_eq!(server.connect().await.ok("get_status", json!([job])).await, "started");
        assert_eq!(status(&asked(&server, "POST", &headers, &cancel).await), "202");
    };
    let (answer, ()) = tokio::join!(call, cancels);
    assert!(answer.contains("was stopped, because the call was cancelled"), "{answer}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn json_in_texts_in_each_other_ends_no_server() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let nested = texts_in_each_other(60);
    let call = |tool: &str, arguments: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#)
    };
    let answer = asked(&server, "POST", HOST, &call("create_job", &format!(r#"{{"script":"args","args":{nested}}}"#))).await;
    let (_, refused) = error(&answer);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(refused["error"]["code"] == -32602 && message.contains("has a name that is reserved here"), "{refused}");
    // Others store it, and an assistant reads it.
    let job = JobSpec { args: Some(nested.into()), ..spec("args") };
    let id = house.dispatcher.jobs().create(job).await.unwrap();
    let told = asked(&server, "POST", HOST, &call("get_job", &json!({ "job_id": id }).to_string())).await;
    assert!(status(&told) == "200" && told.contains("RawValue"), "{}", &told[..told.len().min(500)]);
    assert_eq!(house.dispatcher.jobs().status(CONTEXT, &id).await.unwrap(), Status::Created);
    assert_eq!(status(&asked(&server, "POST", HOST, &list()).await), "200");
}
