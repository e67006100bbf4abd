//! What the client does when a server sends it elsewhere, is lost for good, or has too many calls.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hero::client::{Client, Error, Followed, Options, Reconnect};
use hero::model::JobSpec;
use hero::model::api::LOGGED_OUT;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::{Odd, answer, asked, client};
use crate::support::{CONTEXT, PATIENCE, Process, spec};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_elsewhere_is_not_followed() {
    let (there, target) = Odd::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    let location = format!("{target}/jobs");
    let said = format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(said.as_bytes()).await;
        }
    });
    let error = Client::connect(&url, Some("secret")).await.err().unwrap();
    assert!(matches!(&error, Error::Redirected { url: asked, to } if *asked == url && *to == location), "{error:?}");
    assert_eq!(error.to_string(), format!("the server at {url} sends to {location}, which is not followed"));
    let came = tokio::time::timeout(Duration::from_millis(100), there.0.accept()).await;
    assert!(came.is_err(), "the other server was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_created_together_may_name_each_other() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let arguments = ["serve", "--pool", "osis=1", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let server = Process::start(&arguments).until_ready().await;
    let client = client(&server.url()).await;
    let jobs = [JobSpec { job_id: Some(first_id()), ..spec("1") }, JobSpec { prerequisites: vec![first_id()], ..spec("2") }];
    let ids = client.create_jobs(&jobs).await.unwrap();
    assert_eq!((ids.len(), &ids[0]), (2, &first_id()));
    assert_eq!(client.get_job(CONTEXT, &ids[1]).await.unwrap().prerequisites, [first_id()]);
    server.stop().await;
}

fn first_id() -> hero::model::JobId {
    "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_was_sent_to_a_server_that_does_not_come_back_is_not_called_unsent() {
    let (odd, url) = Odd::new().await;
    tokio::spawn(async move {
        let mut socket = odd.accept().await;
        asked(&mut socket).await;
        // Here it ends, and takes no connection any more.
    });
    let reconnect =
        Reconnect { patience: Duration::from_millis(300), shortest: Duration::from_millis(50), longest: Duration::from_millis(50) };
    let client = Client::connect_with(&url, Options { reconnect, ..Options::default() }).await.unwrap();
    let error = client.create_job(&keyed()).await.unwrap_err();
    assert!(matches!(&error, Error::Unknown { method, keys, .. } if method == "create_job" && keys == &["k1"]), "{error:?}");
    // It is not known to be away: nothing was sent.
    let error = client.create_job(&keyed()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. } | Error::Closed(_)), "{error:?}");
}

/// Refuses a call with this code.
async fn refuse(socket: &mut WebSocketStream<TcpStream>, id: Value, code: i32) {
    let said = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "not now" } }).to_string();
    socket.send(Message::Text(said.into())).await.unwrap();
}

fn keyed() -> JobSpec {
    JobSpec { idempotency_key: Some("k1".to_owned()), ..spec("1") }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_refusal_of_a_create_that_was_lost_before_says_nothing_of_that_time() {
    for code in [1003, 1006, 1007, 1009, 1010] {
        let (odd, url) = Odd::new().await;
        let serving = tokio::spawn(async move {
            let mut socket = odd.accept().await;
            asked(&mut socket).await;
            drop(socket);
            let mut socket = odd.accept().await;
            for _ in 0..2 {
                let (id, method) = asked(&mut socket).await;
                assert_eq!(method, "create_job");
                refuse(&mut socket, id, code).await;
            }
        });
        let client = client(&url).await;
        let error = client.create_job(&keyed()).await.unwrap_err();
        if code == 1010 {
            // This is about what the key created.
            assert!(error.has_code(code), "{error:?}");
        } else {
            let is_unknown =
                matches!(&error, Error::Unknown { method, why, keys } if method == "create_job" && why == "not now" && keys == &["k1"]);
            assert!(is_unknown, "{code}: {error:?}");
        }
        // One that was not lost is only refused.
        let error = client.create_job(&keyed()).await.unwrap_err();
        assert!(error.has_code(code), "{code}: {error:?}");
        serving.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_without_an_answer_tells_its_keys() {
    let (odd, url) = Odd::new().await;
    tokio::spawn(async move {
        let mut socket = odd.accept().await;
        asked(&mut socket).await;
        asked(&mut socket).await;
        let end = CloseFrame { code: LOGGED_OUT.0.into(), reason: LOGGED_OUT.1.into() };
        let _ = socket.close(Some(end)).await;
        while socket.next().await.is_some_and(|message| message.is_ok()) {}
    });
    let client = client(&url).await;
    let params = || json!({ "script": "1", "idempotency_key": "k1" });
    let error = client.call_named_within::<Value>(Duration::from_millis(100), "create_job", params()).await.unwrap_err();
    assert!(matches!(&error, Error::Timeout { method, keys, .. } if method == "create_job" && keys == &["k1"]), "{error:?}");
    let error = client.create_job(&keyed()).await.unwrap_err();
    let told = matches!(&error, Error::LoggedOut { why, method: Some(method), keys } if why == LOGGED_OUT.1 && method == "create_job" && keys == &["k1"]);
    assert!(told && error.to_string().ends_with("whether create_job was done is not known"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_read_leaves_the_outcome_of_a_change_unknown_and_that_of_a_read_is_told_as_it_is() {
    let (odd, url) = Odd::new().await;
    let serving = tokio::spawn(async move {
        for answer in [r#"{"jsonrpc":"2.0","result":1}"#.to_owned(), "<html>".to_owned(), "x".repeat(65 << 20)] {
            for _ in ["create_job", "delete_job", "get_status"] {
                let mut socket = odd.accept().await;
                let (id, _) = asked(&mut socket).await;
                self::answer(&mut socket, id, json!("pong")).await;
                asked(&mut socket).await;
                // The client ends it where it sees what comes.
                let _ = socket.send(Message::Text(answer.clone().into())).await;
                while socket.next().await.is_some_and(|message| message.is_ok()) {}
            }
        }
    });
    let client = client(&url).await;
    for _ in 0..3 {
        client.ping().await.unwrap();
        let error = client.create_job(&keyed()).await.unwrap_err();
        assert!(matches!(&error, Error::Unknown { method, keys, .. } if method == "create_job" && keys == &["k1"]), "{error:?}");
        client.ping().await.unwrap();
        let error = client.delete_job(CONTEXT, &first_id()).await.unwrap_err();
        assert!(matches!(&error, Error::Unknown { method, keys, .. } if method == "delete_job" && keys.is_empty()), "{error:?}");
        client.ping().await.unwrap();
        let error = client.get_status(CONTEXT, &first_id()).await.unwrap_err();
        assert!(matches!(error, Error::Foreign(_) | Error::AnswerTooLarge { .. }), "{error:?}");
    }
    serving.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_sent_and_whose_wait_ends_without_its_server_is_not_said_to_go_on() {
    let (odd, url) = Odd::new().await;
    tokio::spawn(async move {
        let mut socket = odd.accept().await;
        asked(&mut socket).await;
        // Here it ends, and takes no connection any more.
    });
    let client = client(&url).await;
    let error = client.run_and_wait(&spec("1"), Duration::from_millis(300)).await.unwrap_err();
    // The client made the key, and nobody else has it.
    let is_unknown = matches!(&error, Error::Unknown { method, keys, .. } if method == "run_and_wait" && keys.len() == 1);
    assert!(is_unknown && !error.is_wait_run_out() && error.to_string().contains("was away when the wait"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_goes_on_after_a_server_with_too_many_calls() {
    let (odd, url) = Odd::new().await;
    // This server would not send a line again that was lost with its connection.
    let (read, mut is_read) = tokio::sync::mpsc::channel::<()>(2);
    let serving = tokio::spawn(async move {
        let (mut cursors, mut subscribed) = (0, Vec::new());
        for refused in [0, 2] {
            let mut socket = odd.accept().await;
            for _ in 0..refused {
                let (id, method) = asked(&mut socket).await;
                subscribed.push(method);
                let error = json!({ "code": 1006, "message": "too many calls", "data": { "retry_after_ms": 20 } });
                let said = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
                socket.send(Message::Text(said.into())).await.unwrap();
            }
            let (id, method) = asked(&mut socket).await;
            subscribed.push(method);
            answer(&mut socket, id, json!("s")).await;
            cursors += 1;
            let item = json!({ "type": "line", "cursor": cursors.to_string(), "level": "info", "text": format!("line {cursors}") });
            let notice = json!({ "jsonrpc": "2.0", "method": "logs", "params": { "subscription": "s", "result": item } });
            socket.send(Message::Text(notice.to_string().into())).await.unwrap();
            is_read.recv().await.unwrap();
            if cursors == 2 {
                while socket.next().await.is_some_and(|message| message.is_ok()) {}
            }
        }
        subscribed
    });
    let client = client(&url).await;
    let mut log = client.follow_logs(CONTEXT, &first_id(), None).await.unwrap();
    for text in ["line 1", "line 2"] {
        match tokio::time::timeout(PATIENCE, log.next()).await.unwrap().unwrap() {
            Followed::Item(line) => assert_eq!(line.text, text),
            other => panic!("{other:?}"),
        }
        read.send(()).await.unwrap();
    }
    drop((log, client));
    let subscribed: Vec<String> = serving.await.unwrap();
    assert_eq!(subscribed, ["subscribe_logs"; 4]);
}
