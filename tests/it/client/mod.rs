//! The Rust client, with a server that is killed, and with servers other than hero.

mod lost;

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hero::client::{Client, Error, Followed, Options, Reconnect, State};
use hero::model::{JobSpec, PrivateKey, Status};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{CONTEXT, PATIENCE, Process, free_ports, spec, until};

async fn client(url: &str) -> Client {
    Client::connect_with(url, Options { reconnect: Reconnect::within(PATIENCE), ..Options::default() }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_continue_after_their_server_was_killed_and_restarted() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    // The server comes back to the same port.
    let listen = format!("127.0.0.1:{}", free_ports()[0]);
    let arguments = ["serve", "--pool", "osis=1", "--listen", &listen, "--data", data.to_str().unwrap()];
    let mut server = Process::start(&arguments).until_ready().await;
    let client = client(&server.url()).await;
    let script = "print(`begun`); while ATTEMPT < 2 { sleep(0.05) } for n in 0..50 { print(n) } 42";
    let spec_of_long = JobSpec { retries: 1, ..spec(script) };
    let id = client.create_job(&spec_of_long).await.unwrap();
    client.begin_job(&spec_of_long, &id).await.unwrap();
    let mut log = client.follow_logs(CONTEXT, &id, None).await.unwrap();
    let mut heard = vec![log.next().await.unwrap().item().unwrap()];
    let waiting = tokio::spawn({
        let (client, id) = (client.clone(), id.clone());
        async move { client.wait_job(CONTEXT, &id, PATIENCE).await }
    });
    let mut states = client.states();
    server.kill().await;
    while !matches!(states.next().await, Some(State::Waiting { .. } | State::Connecting { .. })) {}
    // Nobody is there for these.
    let reading = tokio::spawn({
        let (client, id) = (client.clone(), id.clone());
        async move { client.get_job(CONTEXT, &id).await }
    });
    let making = tokio::spawn({
        let client = client.clone();
        async move { client.create_job(&spec("1")).await }
    });
    let server = Process::start(&arguments).until_ready().await;
    assert_eq!(reading.await.unwrap().unwrap().job_id, id);
    let made = making.await.unwrap().unwrap();
    assert_eq!(client.get_status(CONTEXT, &made).await.unwrap(), Status::Created);
    assert_eq!(waiting.await.unwrap().unwrap().output, "42");
    loop {
        match log.next().await.unwrap() {
            Followed::Item(line) => heard.push(line),
            Followed::Lagged => panic!("lines were lost"),
            Followed::Ended => break,
        }
    }
    let all = client.get_logs(CONTEXT, &id, None, 1000).await.unwrap().lines;
    assert_eq!(heard, all, "each line once");
    server.stop().await;
}

/// A server that is none of ours.
struct Odd(TcpListener);

impl Odd {
    async fn new() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        (Self(listener), url)
    }

    async fn accept(&self) -> WebSocketStream<TcpStream> {
        tokio_tungstenite::accept_async(self.0.accept().await.unwrap().0).await.unwrap()
    }
}

/// The next request: its id and its method.
async fn asked(socket: &mut WebSocketStream<TcpStream>) -> (Value, String) {
    loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            let mut request: Value = serde_json::from_str(&text).unwrap();
            let Value::String(method) = request["method"].take() else { panic!("no method: {request}") };
            return (request["id"].take(), method);
        }
    }
}

async fn answer(socket: &mut WebSocketStream<TcpStream>, id: Value, result: Value) {
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    socket.send(Message::Text(answer.into())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reads_is_sent_again_and_a_change_is_not_whose_answer_was_lost() {
    let (odd, url) = Odd::new().await;
    let serving = tokio::spawn(async move {
        let mut methods = Vec::new();
        for _ in 0..2 {
            let mut socket = odd.accept().await;
            methods.push(asked(&mut socket).await.1);
        }
        let mut socket = odd.accept().await;
        let (id, method) = asked(&mut socket).await;
        answer(&mut socket, id, json!("pong")).await;
        methods.push(method);
        methods
    });
    let client = client(&url).await;
    let lost = client.call_named::<Value>("start_job", json!({ "job_id": "x" })).await.unwrap_err();
    assert!(matches!(&lost, Error::Unknown { method, .. } if method == "start_job"), "{lost:?}");
    assert_eq!(client.call_named::<Value>("ping", json!({})).await.unwrap(), "pong");
    assert_eq!(serving.await.unwrap(), ["start_job", "ping", "ping"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_never_to_come_back_says_so_as_often_as_it_is_asked() {
    let (odd, url) = Odd::new().await;
    tokio::spawn(async move { drop(odd.accept().await) });
    let client = Client::connect_with(&url, Options { reconnect: Reconnect::NEVER, ..Options::default() }).await.unwrap();
    for _ in 0..3 {
        let ended = tokio::time::timeout(PATIENCE, client.call_named::<Value>("ping", json!({}))).await.expect("an answer");
        assert!(matches!(ended, Err(Error::Closed(_))), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_large_says_so_and_the_next_call_finds_the_server_again() {
    let (odd, url) = Odd::new().await;
    tokio::spawn(async move {
        let mut socket = odd.accept().await;
        let (id, _) = asked(&mut socket).await;
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": "x".repeat(65 << 20) }).to_string();
        // The client ends it where it sees how long it is.
        drop(socket.send(Message::Text(answer.into())).await);
        let mut socket = odd.accept().await;
        let (id, _) = asked(&mut socket).await;
        self::answer(&mut socket, id, json!("pong")).await;
        while socket.next().await.is_some() {}
    });
    let client = client(&url).await;
    let error = client.call_named::<Value>("ping", json!({})).await.unwrap_err();
    assert!(matches!(error, Error::AnswerTooLarge { size, limit } if size > limit && limit == 64 << 20), "{error:?}");
    assert!(error.to_string().contains("67108864") || error.to_string().contains("64"), "{error}");
    assert_eq!(client.call_named::<Value>("ping", json!({})).await.unwrap(), "pong");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_not_waited_for_without_end() {
    let (odd, url) = Odd::new().await;
    let serving = tokio::spawn(async move {
        let mut socket = odd.accept().await;
        while socket.next().await.is_some_and(|message| message.is_ok()) {}
    });
    let client = client(&url).await;
    let error = client.call_named_within::<Value>(Duration::from_millis(100), "ping", json!({})).await.unwrap_err();
    assert!(matches!(&error, Error::Timeout { method, .. } if method == "ping"), "{error:?}");
    drop(client);
    // Dropping the last clone closes the connection.
    until("the end of the connection", || async { serving.is_finished().then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_answered_within_the_time_of_any_call() {
    let (odd, url) = Odd::new().await;
    tokio::spawn(async move {
        let mut socket = odd.accept().await;
        while socket.next().await.is_some_and(|message| message.is_ok()) {}
    });
    let answer = Duration::from_millis(300);
    let client = Client::connect_with(&url, Options { answer, ..Options::default() }).await.unwrap();
    let error = client.log_in(&PrivateKey::random()).await.unwrap_err();
    assert!(matches!(&error, Error::Timeout { method, after, .. } if method == "fetch_nonce" && *after == answer), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_is_no_longer_than_was_said_where_its_server_does_not_come_back() {
    let (odd, url) = Odd::new().await;
    tokio::spawn(async move {
        let mut socket = odd.accept().await;
        asked(&mut socket).await;
        // Here it ends, and takes no connection any more.
    });
    let client = client(&url).await;
    let id = "00000000-0000-4000-8000-000000000000".parse().unwrap();
    let error = client.wait_job(CONTEXT, &id, Duration::from_millis(300)).await.unwrap_err();
    assert!(matches!(error, Error::WaitedOut { after } if after == Duration::from_millis(300)), "{error:?}");
    assert!(error.is_wait_run_out());
    let error = Error::WaitedOut { after: Duration::from_nanos(2_999_997_384) };
    assert!(error.to_string().contains(" 3 s "), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_comes_during_a_search_begins_no_other() {
    let (odd, url) = Odd::new().await;
    let serving = tokio::spawn(async move { drop(odd.accept().await) });
    let reconnect = Reconnect { patience: Duration::from_secs(1), shortest: Duration::from_millis(50), longest: Duration::from_millis(50) };
    let client = Client::connect_with(&url, Options { reconnect, ..Options::default() }).await.unwrap();
    serving.await.unwrap();
    let attempts =
        || client.states().filter_map(async |state| if let State::Waiting { attempt, .. } = state { Some(attempt) } else { None });
    std::pin::pin!(attempts()).next().await.unwrap();
    let (mut seen, mut after) = (Vec::new(), std::pin::pin!(attempts()));
    let mut call = std::pin::pin!(client.call_named::<Value>("ping", json!({})));
    loop {
        tokio::select! {
            biased;
            answer = &mut call => break assert!(answer.is_err()),
            attempt = after.next() => seen.push(attempt.unwrap()),
        }
    }
    assert!(seen.len() > 2 && seen.is_sorted(), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_answers_and_is_no_hero_server_is_told_for_what_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.write_all(b"-ERR unknown command\r\n\r\n").await;
        }
    });
    let error = Client::connect(&format!("ws://{address}"), None).await.err().unwrap();
    assert!(matches!(error, Error::Foreign(_)), "{error:?}");
    let error = Client::connect(&format!("wss://{address}"), None).await.err().unwrap();
    assert!(matches!(&error, Error::Address { reason, .. } if reason.contains("no TLS; use ws://")), "{error:?}");
}
