//! Limits for clients without a token: they may send little, and never delay clients with a token.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hero::access::TokenKey;
use hero::model::PrivateKey;
use hero::rpc::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;

use super::*;
use crate::support::PATIENCE;

const MB: usize = 1024 * 1024;

/// A server that holds 4 MB for all, for as long as a call takes at most.
async fn narrow() -> Guarded {
    let house = House::empty().await;
    let held = 4 * MB as u64;
    let handler_timeout = Duration::from_secs(600).into();
    let limits = Limits { held, held_per_address: held, held_per_connection: held, handler_timeout, ..Limits::default() };
    let (server, authority) = Server::guarded_within(&house.dispatcher, TokenKey::random(), limits).await;
    Guarded { house, server, authority }
}

/// A connection from this address of the machine.
async fn from(local: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((local, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// The head of a `POST` with these lines more.
fn head(lines: &str) -> String {
    format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{lines}\r\n\r\n")
}

/// Reads until the end of a JSON-RPC response.
async fn answered(tcp: &mut TcpStream) -> String {
    let (mut answer, mut bytes) = (Vec::new(), [0; 4096]);
    while !answer.ends_with(b"}") {
        let read = tokio::time::timeout(PATIENCE, tcp.read(&mut bytes)).await.expect("an answer").unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&bytes[..read]);
    }
    String::from_utf8(answer).unwrap()
}

/// A call followed by this number of bytes of white space.
fn padded(method: &str, bytes: usize) -> String {
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": { "script": "1" } });
    format!("{call}{}", " ".repeat(bytes))
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_nobody_that_stall_keep_nobody_waiting_who_has_a_token() {
    let guarded = narrow().await;
    let secret = guarded.secret(guarded.identity(&[Role::Caller]).await).await;
    let mut stalled = Vec::new();
    for number in 0..32 {
        let mut tcp = from([127, 0, 0, 1 + number % 4], guarded.server.address).await;
        let body = [head(&format!("content-length: {}", 2 * MB - 1)), " ".repeat(MB)].concat();
        // It reads nothing, and sends as much as the server accepts.
        stalled.push(tokio::spawn(async move {
            let _ = tcp.write_all(body.as_bytes()).await;
            std::future::pending::<()>().await;
        }));
    }
    for _ in 0..8 {
        let (status, answer) = guarded.server.post_with(&format!("Bearer {secret}"), &padded("create_job", 300_000)).await;
        assert!(status == 200 && answer.contains("result"), "{status} {answer}");
    }
    stalled.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_large_request_of_nobody_is_refused_by_its_head_or_after_a_few_kilobytes() {
    let guarded = Guarded::open().await;
    let unauthorized = |answer: &str| {
        let lower = answer.to_lowercase();
        assert!(answer.starts_with("HTTP/1.1 401") && lower.contains("www-authenticate: bearer"), "{answer}");
        assert!(answer.contains("1005") && answer.contains("needs a token"), "{answer}");
    };
    // Nothing of the body is sent.
    let mut tcp = TcpStream::connect(guarded.server.address).await.unwrap();
    tcp.write_all(head("content-length: 20000").as_bytes()).await.unwrap();
    unauthorized(&answered(&mut tcp).await);
    // Its length is not announced.
    let mut tcp = TcpStream::connect(guarded.server.address).await.unwrap();
    tcp.write_all(head("transfer-encoding: chunked").as_bytes()).await.unwrap();
    let begun = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"list_jobs","params":{{{}"#, " ".repeat(20_000));
    tcp.write_all(format!("{:x}\r\n{begun}\r\n", begun.len()).as_bytes()).await.unwrap();
    let answer = answered(&mut tcp).await;
    unauthorized(&answer);
    assert!(answer.contains(r#""id":7"#), "{answer}");
    // The client sends all of it before it reads the answer, and then the next request on the same connection.
    let mut tcp = TcpStream::connect(guarded.server.address).await.unwrap();
    tcp.write_all(head(&format!("content-length: {MB}")).as_bytes()).await.unwrap();
    tcp.write_all(&vec![b' '; MB]).await.unwrap();
    unauthorized(&answered(&mut tcp).await);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    tcp.write_all([head(&format!("content-length: {}", ping.len())), ping.to_owned()].concat().as_bytes()).await.unwrap();
    assert!(answered(&mut tcp).await.starts_with("HTTP/1.1 200"));
    // A login needs less, and a caller with a token may send up to the limit.
    assert_eq!(guarded.server.post(&format!("{ping}{}", " ".repeat(10_000))).await.0, 200);
    let secret = guarded.secret(guarded.identity(&[Role::Caller]).await).await;
    let (status, answer) = guarded.server.post_with(&format!("Bearer {secret}"), &padded("create_job", MB)).await;
    assert!(status == 200 && answer.contains("result"), "{answer}");
}

#[tokio::test]
async fn a_large_message_of_nobody_is_refused_by_its_id_until_the_connection_has_logged_in() {
    let guarded = Guarded::open().await;
    let key = PrivateKey::random();
    let change = IdentityChange { pubkey: Some(key.public_key()), address: None };
    let identity = guarded.authority.create_identity(&change).await.unwrap().identity_id;
    guarded.authority.set_role(CONTEXT, identity, Role::Caller, true).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::connect_async(guarded.server.url()).await.unwrap();
    let mut ask = async |text: String| {
        socket.send(Message::text(text)).await.unwrap();
        loop {
            let message = tokio::time::timeout(PATIENCE, socket.next()).await.expect("an answer").unwrap().unwrap();
            if let Message::Text(text) = message {
                return serde_json::from_str::<Value>(&text).unwrap();
            }
        }
    };
    let refused = ask(padded("create_job", 20_000)).await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(1005)), "{refused}");
    let call = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let nonce = ask(call("fetch_nonce", json!([key.public_key()]))).await["result"].as_str().unwrap().to_owned();
    let login = ask(call("authenticate", json!([key.public_key(), key.sign(&nonce), nonce]))).await;
    assert!(login["result"]["token"].is_string(), "{login}");
    let made = ask(padded("create_job", 20_000)).await;
    assert!(made["result"].is_string(), "{made}");
}

#[tokio::test]
async fn a_token_that_is_no_text_and_two_tokens_are_refused() {
    let guarded = Guarded::open().await;
    let secret = guarded.secret(guarded.identity(&[]).await).await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let status = async |lines: &[&[u8]]| {
        let mut tcp = TcpStream::connect(guarded.server.address).await.unwrap();
        let end = format!("\r\ncontent-length: {}\r\n\r\n{ping}", ping.len());
        let begin = head("");
        let request = [begin.trim_end().as_bytes(), &lines.concat(), end.as_bytes()].concat();
        tcp.write_all(&request).await.unwrap();
        answered(&mut tcp).await[9..12].parse::<u16>().unwrap()
    };
    assert_eq!(status(&[]).await, 200);
    let good = format!("\r\nauthorization: Bearer {secret}").into_bytes();
    assert_eq!(status(&[&good]).await, 200);
    for wrong in [&b"\r\nauthorization: Bearer \xff\xfe"[..], b"\r\nauthorization: bearer", b"\r\nAuthorization: Bearer \xc3"] {
        assert_eq!(status(&[wrong]).await, 401, "{}", String::from_utf8_lossy(wrong));
    }
    for two in [&good, &b"\r\nauthorization: Bearer hero_wrong".to_vec(), &b"\r\nauthorization: Basic eA==".to_vec()] {
        assert_eq!((status(&[&good, two]).await, status(&[two, &good]).await), (400, 400));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_over_http_that_their_token_ends_under_are_answered_by_their_ids() {
    let guarded = Guarded::open().await;
    let identity = guarded.identity(&[Role::Caller]).await;
    let client = guarded.client(identity).await;
    let wait = |id: Value, job: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "wait_job", "params": { "job_id": job, "wait_timeout": 600 } });
    for (ids, status) in [(vec![json!("mine")], 401), (vec![json!(-2.5)], 401), (vec![json!(1), json!("p"), json!(2)], 200)] {
        let secret = guarded.secret(identity).await;
        let token = guarded.authority.tokens(identity).await.unwrap().pop().unwrap().token_id;
        let jobs = [job(&client).await, job(&client).await];
        let body = match &ids[..] {
            [id] => wait(id.clone(), &jobs[0]),
            _ => json!([wait(json!(1), &jobs[0]), { "jsonrpc": "2.0", "id": "p", "method": "ping" }, wait(json!(2), &jobs[1])]),
        };
        let awaited = if body.is_array() { &jobs[..] } else { &jobs[..1] };
        let revoking = async {
            crate::support::until("all wait", || async {
                let waiting = guarded.house.store.inbox().older_than(Duration::ZERO);
                awaited.iter().all(|job| waiting.iter().any(|id| id.as_str() == job)).then_some(())
            })
            .await;
            guarded.authority.revoke_token(&token).await.unwrap();
        };
        let (bearer, text) = (format!("Bearer {secret}"), body.to_string());
        let (answer, ()) = tokio::join!(guarded.server.post_with(&bearer, &text), revoking);
        assert_eq!(answer.0, status, "{}", answer.1);
        let answers: Value = serde_json::from_str(&answer.1).unwrap();
        let answers = if answers.is_array() { answers.as_array().unwrap().clone() } else { vec![answers] };
        assert_eq!(answers.iter().map(|answer| answer["id"].clone()).collect::<Vec<_>>(), ids);
        for ended in answers.iter().filter(|answer| answer["id"] != "p") {
            let error = &ended["error"];
            assert!(error["code"] == 1005 && error["message"].as_str().unwrap().contains("was revoked or has expired"), "{ended}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_without_a_login_make_way_for_whoever_has_a_token() {
    let house = House::empty().await;
    let limits = Limits { connections: 8, ..Limits::default() };
    let (server, authority) = Server::guarded_within(&house.dispatcher, TokenKey::random(), limits).await;
    let guarded = Guarded { house, server, authority };
    let secret = guarded.secret(guarded.identity(&[Role::Caller]).await).await;
    let address = guarded.server.address;
    // Somebody works already. One connection was opened before and sent nothing, the others ask again and again.
    let mut silent = from([127, 0, 0, 2], address).await;
    let mine = Client::connect(&guarded.server.url(), Some(&secret)).await.unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut others = Vec::new();
    for number in 0..40 {
        let mut tcp = from([127, 0, 0, 1 + number % 4], address).await;
        others.push(tokio::spawn(async move {
            loop {
                let request = [head(&format!("content-length: {}", ping.len())), ping.to_owned()].concat();
                let mut answer = [0; 1024];
                if tcp.write_all(request.as_bytes()).await.is_err() || !matches!(tcp.read(&mut answer).await, Ok(1..)) {
                    break;
                }
            }
        }));
    }
    // Its address has all that it may have, and the server, too.
    let mut clients = Vec::new();
    for _ in 0..2 {
        let (status, answer) = guarded.server.post_with(&format!("Bearer {secret}"), &padded("create_job", 0)).await;
        assert!(status == 200 && answer.contains("result"), "{status} {answer}");
        let client = Client::connect(&guarded.server.url(), Some(&secret)).await.unwrap();
        job(&client).await;
        clients.push(client);
    }
    let mut nothing = [0];
    let closed = tokio::time::timeout(PATIENCE, silent.read(&mut nothing)).await.expect("the oldest has made way");
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    // No client with a login was closed.
    for client in clients.iter().chain([&mine]) {
        job(client).await;
    }
    others.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_connection_that_stays_open_may_log_in_later() {
    let house = House::empty().await;
    let limits = Limits { connections: 4, ..Limits::default() };
    let (server, authority) = Server::guarded_within(&house.dispatcher, TokenKey::random(), limits).await;
    let key = PrivateKey::random();
    let change = IdentityChange { pubkey: Some(key.public_key()), address: None };
    let identity = authority.create_identity(&change).await.unwrap().identity_id;
    authority.set_role(CONTEXT, identity, Role::Caller, true).await.unwrap();
    let browser = Client::connect(&server.url(), None).await.unwrap();
    let nonce: String = browser.call_named("fetch_nonce", json!([key.public_key()])).await.unwrap();
    let login: Value = browser.call_named("authenticate", json!([key.public_key(), key.sign(&nonce), nonce])).await.unwrap();
    assert!(login["token"].is_string());
    let mut others = Vec::new();
    for number in 0..20 {
        others.push(from([127, 0, 0, 1 + number % 4], server.address).await);
    }
    // The end of one that came later shows that all before it have been let in.
    let mut nothing = [0];
    let closed = tokio::time::timeout(PATIENCE, others[8].read(&mut nothing)).await.expect("it has made way");
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    job(&browser).await;
}
