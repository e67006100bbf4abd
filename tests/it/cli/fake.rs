//! Client commands against a small fake server, whose answers the test chooses.

use std::net::SocketAddr;

use hero::client::{Client, Error, Followed, Options, Reconnect, code};
use hero::model::{ContextId, JobId};
use jsonrpsee::server::{RpcModule, Server, ServerHandle, SubscriptionMessage};
use jsonrpsee::types::{ErrorObjectOwned, Params};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Ended, Hero};

const ID: &str = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";
/// A job whose first lines are gone.
const LOST: &str = "00000000-8f5b-4c7e-9d0a-2b3c4d5e6f70";
/// One whose subscription the server ends by an error after each line; and one of which it says nothing else.
const CUT: [&str; 2] = ["00000000-8f5b-4c7e-9d0a-2b3c4d5e6f71", "00000000-8f5b-4c7e-9d0a-2b3c4d5e6f72"];
const SCRIPT: &str = "let a = 1;\nlet b = c;\n";

/// A server whose jobs all end as `wait_job` says.
struct Fake {
    address: SocketAddr,
    _handle: ServerHandle,
}

fn line(number: u32) -> Value {
    json!({ "type": "line", "cursor": number.to_string(), "level": "info", "text": format!("line {number}") })
}

fn error(code: i32, message: &str, data: Value) -> ErrorObjectOwned {
    ErrorObjectOwned::owned(code, message.to_owned(), Some(data))
}

fn failed(code: i32, kind: &str) -> Result<Value, ErrorObjectOwned> {
    let cause = json!({ "kind": kind, "message": "Variable not found: c", "line": 2, "column": 9 });
    Err(error(code, "the job failed", json!({ "job_id": ID, "status": "error", "error": cause, "attempt": 1 })))
}

impl Fake {
    async fn start(wait: Result<Value, ErrorObjectOwned>) -> Self {
        let mut module = RpcModule::new(wait);
        module.register_method("create_job", |_, _, _| ID).unwrap();
        module.register_method("start_job", |_, _, _| "dispatched").unwrap();
        module.register_method("wait_job", |_, wait, _| wait.clone()).unwrap();
        module
            .register_method("get_logs", |params: Params<'_>, _, _| {
                let read: u32 = params.parse::<Value>().unwrap()["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
                json!({ "lines": (read + 1..=3).map(line).collect::<Vec<_>>(), "next_cursor": null, "ended": true })
            })
            .unwrap();
        // Gives one line after the cursor, then says that the rest was lost; from line 2 on it says that this was all.
        module
            .register_subscription("subscribe_logs", "logs", "unsubscribe_logs", async |params, pending, _, _| {
                let params = params.parse::<Value>()?;
                let read: u32 = params["cursor"].as_str().map_or(Ok(0), str::parse)?;
                let sink = pending.accept().await?;
                let is_cut = CUT.iter().any(|id| params["job_id"] == *id);
                let lagged = |cursor: &str| json!({ "type": "lagged", "cursor": cursor });
                let items = match (params["job_id"] == LOST, read) {
                    _ if params["job_id"] == CUT[1] => vec![],
                    _ if is_cut && read < 3 => vec![line(read + 1)],
                    (true, 0..7) => vec![lagged("7")],
                    (true, 7) => vec![lagged("7"), line(8), json!({ "type": "ended" })],
                    (false, 0..2) => vec![line(read + 1), lagged("99")],
                    _ => vec![json!({ "type": "ended" })],
                };
                for item in items {
                    sink.send(SubscriptionMessage::new("logs", sink.subscription_id(), &item)?).await?;
                }
                if is_cut && read < 3 {
                    return Err("the store cannot be read now".into());
                }
                sink.closed().await;
                Ok(())
            })
            .unwrap();
        let server = Server::builder().build("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        Self { address, _handle: server.start(module) }
    }

    fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Runs the program against this server.
    fn hero(&self, arguments: &[&str]) -> Ended {
        let hero = Hero::new().env("HERO_SERVER", &self.url());
        hero.file("a.rhai", SCRIPT);
        tokio::task::block_in_place(|| hero.run(arguments))
    }
}

fn finished(value: &Value) -> Result<Value, ErrorObjectOwned> {
    let output = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(json!({ "job_id": ID, "status": "finished", "output": output, "value": value, "attempt": 1 }))
}

#[tokio::test(flavor = "multi_thread")]
async fn run_shows_every_log_line_once_and_prints_the_value() {
    let fake = Fake::start(finished(&json!({ "n": 42 }))).await;
    let ended = fake.hero(&["run", "a.rhai"]);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, "{\"n\":42}\n", "line 1\nline 2\nline 3\n"));
    let text = Fake::start(finished(&json!("hello"))).await.hero(&["run", "a.rhai"]);
    assert_eq!(text.out, "hello\n");
    let nothing = Fake::start(finished(&Value::Null)).await.hero(&["run", "a.rhai"]);
    assert_eq!(nothing.out, "");
    let document = fake.hero(&["--json", "run", "a.rhai"]);
    assert_eq!(serde_json::from_str::<Value>(&document.out).unwrap()["value"], json!({ "n": 42 }));
    assert!(document.err.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", document.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_printed_as_it_was_written() {
    for (output, value, printed) in
        [("0.30", json!(0.3), "0.30\n"), ("{\"a\": 1e2}", json!({ "a": 1e2 }), "{\"a\": 1e2}\n"), ("0.30", json!("0.30"), "0.30\n")]
    {
        let end = json!({ "job_id": ID, "status": "finished", "output": output, "value": value, "attempt": 1 });
        let fake = Fake::start(Ok(end)).await;
        for arguments in [&["run", "a.rhai"][..], &["job", "wait", ID]] {
            assert_eq!(fake.hero(arguments).out, printed, "{arguments:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_script_is_shown_with_its_line_and_a_caret() {
    let ended = Fake::start(failed(code::JOB_FAILED, "script")).await.hero(&["run", "a.rhai"]);
    assert_eq!((ended.code, ended.out.as_str()), (3, ""));
    insta::assert_snapshot!(ended.err, @r"
    line 1
    line 2
    line 3
    a.rhai:2:9: script: Variable not found: c
      2 | let b = c;
        |         ^
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_says_how_the_job_ended() {
    let denied = Err(error(code::DENIED, "denied", Value::Null));
    let waited = Err(error(code::WAIT_RAN_OUT, "still dispatched", json!({ "job_id": ID, "status": "dispatched" })));
    for (answer, exit) in [
        (finished(&json!(1)), 0),
        (Err(error(1009, "store unavailable", Value::Null)), 1),
        (failed(code::JOB_FAILED, "script"), 3),
        (failed(code::JOB_FAILED, "limit"), 3),
        (failed(code::JOB_STOPPED, "stopped"), 4),
        (failed(code::JOB_FAILED, "timeout"), 5),
        (waited, 6),
        (denied, 8),
    ] {
        let fake = Fake::start(answer).await;
        for arguments in [&["run", "a.rhai", "--wait", "1"][..], &["job", "wait", ID, "--wait", "1"]] {
            let ended = fake.hero(arguments);
            assert_eq!(ended.code, exit, "{arguments:?}: {}", ended.err);
        }
    }
}

/// A server that takes connections, opens them as WebSockets if it is asked to, and says nothing more.
async fn silent(opens: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            match opens {
                true => open.push(tokio_tungstenite::accept_async(stream).await.map_err(drop)),
                false => drop(tokio::spawn(async move { tokio::io::copy(&mut stream.into_split().0, &mut tokio::io::sink()).await })),
            }
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_told_soon_after_a_short_wait() {
    let mut module = RpcModule::new(());
    let never = async |_: Params<'static>, _: std::sync::Arc<()>, _| std::future::pending::<Value>().await;
    module.register_async_method("wait_job", never).unwrap();
    let server = Server::builder().build("127.0.0.1:0").await.unwrap();
    let waits = Fake { address: server.local_addr().unwrap(), _handle: server.start(module) };
    for (url, arguments, told) in [
        (silent(false).await, &["run", "a.rhai", "--wait", "0"][..], "nothing was heard from ws://"),
        (silent(true).await, &["run", "a.rhai", "--wait", "0"], "the server does not answer: `hero run` had no answer"),
        (silent(false).await, &["flow", "run", "a.yaml", "--wait", "0"], "nothing was heard from ws://"),
        (silent(true).await, &["flow", "run", "a.yaml", "--wait", "0"], "the server does not answer: `hero flow run` had no answer"),
        (waits.url(), &["job", "wait", ID, "--wait", "0"], "the server does not answer: `hero job wait` had no answer"),
    ] {
        let hero = Hero::new().env("HERO_SERVER", &url);
        hero.file("a.rhai", SCRIPT);
        hero.file("a.yaml", "jobs: {one: {script: '1'}}\n");
        let ended = tokio::task::block_in_place(|| hero.run(arguments));
        let said = ended.err.replace("\n       ", " ");
        assert!(ended.code == 7 && said.contains(told) && said.contains("within 5 s"), "{arguments:?}: {} {said}", ended.code);
        assert!(said.contains("whether the server hangs"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_runs_out_says_how_to_go_on() {
    let waited = Err(error(code::WAIT_RAN_OUT, "still dispatched", json!({ "job_id": ID, "status": "dispatched" })));
    let ended = Fake::start(waited).await.hero(&["job", "wait", ID, "--wait", "1"]);
    assert!(ended.err.contains(&format!("hero job wait {ID}")), "{}", ended.err);
}

#[tokio::test]
async fn a_follower_goes_on_where_it_was_after_a_gap() {
    let fake = Fake::start(Ok(Value::Null)).await;
    let client = Client::connect(&fake.url(), None).await.unwrap();
    let id: JobId = ID.parse().unwrap();
    let mut logs = client.follow_logs(ContextId(0), &id, None).await.unwrap();
    for expected in ["line 1", "line 2"] {
        assert_eq!(logs.next().await.unwrap().item().unwrap().text, expected);
    }
    assert_eq!(logs.cursor(), Some("2"));
    assert_eq!(logs.next().await.unwrap(), Followed::Ended);
}

#[tokio::test]
async fn a_follower_takes_what_is_left_where_the_rest_is_lost_for_good() {
    let fake = Fake::start(Ok(Value::Null)).await;
    let client = Client::connect(&fake.url(), None).await.unwrap();
    // The gap of the second one begins at its own cursor.
    for cursor in ["1", "7"] {
        let mut logs = client.follow_logs(ContextId(0), &LOST.parse().unwrap(), Some(cursor)).await.unwrap();
        assert_eq!(logs.next().await.unwrap(), Followed::Lagged);
        assert_eq!(logs.next().await.unwrap().item().unwrap().text, "line 8");
        assert_eq!(logs.next().await.unwrap(), Followed::Ended);
    }
}

#[tokio::test]
async fn a_follower_goes_on_where_the_server_ended_its_subscription_by_an_error_and_tells_one_that_lasts() {
    let fake = Fake::start(Ok(Value::Null)).await;
    let client = Client::connect(&fake.url(), None).await.unwrap();
    let mut logs = client.follow_logs(ContextId(0), &CUT[0].parse().unwrap(), None).await.unwrap();
    for expected in ["line 1", "line 2", "line 3"] {
        assert_eq!(logs.next().await.unwrap().item().unwrap().text, expected);
    }
    assert_eq!(logs.next().await.unwrap(), Followed::Ended);
    let mut logs = client.follow_logs(ContextId(0), &CUT[1].parse().unwrap(), None).await.unwrap();
    assert!(matches!(logs.next().await, Err(Error::Broken { topic }) if topic == "logs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn call_follows_as_a_follower_does() {
    let fake = Fake::start(Ok(Value::Null)).await;
    let follow = |params: Value| {
        let ended = fake.hero(&["call", "subscribe_logs", &params.to_string()]);
        let items: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (ended.code, items, ended.err)
    };
    let end = || json!({ "type": "ended" });
    // A server that ends it by an error after each line; by its name and by its place.
    for params in [json!({ "job_id": CUT[0] }), json!([CUT[0]])] {
        let (code, items, err) = follow(params);
        assert_eq!((code, items, err.as_str()), (0, vec![line(1), line(2), line(3), end()], ""));
    }
    let (code, items, err) = follow(json!({ "job_id": LOST, "cursor": "1" }));
    assert_eq!((code, items, err.as_str()), (0, vec![json!({ "type": "lagged", "cursor": "7" }), line(8), end()], ""));
    let (code, items, err) = follow(json!({ "job_id": CUT[1], "cursor": "1" }));
    assert!(code == 1 && items.is_empty() && err.contains("several times in a row"), "{code} {items:?} {err}");
    assert!(err.contains("subscribe again behind the last item, with the cursor \"1\""), "{err}");
}

#[tokio::test]
async fn an_error_of_the_client_says_which_kind_it_is() {
    let fake = Fake::start(Ok(json!("no result"))).await;
    let client = Client::connect(&fake.url(), None).await.unwrap();
    let id: JobId = ID.parse().unwrap();
    let wait = std::time::Duration::from_secs(1);
    assert!(matches!(client.wait_job(ContextId(0), &id, wait).await, Err(Error::Shape { .. })));
    assert!(client.ping().await.unwrap_err().has_code(-32601));
    assert!(matches!(Client::connect("ws://127.0.0.1:1", None).await, Err(Error::Unreachable { .. })));
    assert!(matches!(Client::connect("wxs://127.0.0.1:1", None).await, Err(Error::Address { .. })));
    assert!(matches!(Client::connect(&fake.url(), Some("a\nb")).await, Err(Error::Token { .. })));
    let options = Options { reconnect: Reconnect::NEVER, ..Options::default() };
    let client = Client::connect_with(&fake.url(), options).await.unwrap();
    drop(fake);
    assert!(matches!(client.ping().await, Err(Error::Closed(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_storing_is_uncertain_is_named() {
    let mut module = RpcModule::new(());
    let unsure = || Err::<Value, _>(error(1009, "the store is unavailable and more", json!({ "outcome": "unknown", "job_id": ID })));
    module.register_method("create_job", move |_, _, _| unsure()).unwrap();
    let server = Server::builder().build("127.0.0.1:0").await.unwrap();
    let fake = Fake { address: server.local_addr().unwrap(), _handle: server.start(module) };
    let ended = fake.hero(&["run", "a.rhai"]);
    assert!(ended.code == 1 && ended.err.contains("Redis does not answer the server and more"), "{}", ended.err);
    assert!(ended.err.contains(&format!("`hero job show {ID}`")), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_a_large_request_is_understood() {
    let mut module = RpcModule::new(());
    let refused = || Err::<Value, _>(error(-32007, "Request is too big", json!("Exceeded max limit of 1048576")));
    module.register_method("create_job", move |_, _, _| refused()).unwrap();
    let server = Server::builder().build("127.0.0.1:0").await.unwrap();
    let fake = Fake { address: server.local_addr().unwrap(), _handle: server.start(module) };
    let ended = fake.hero(&["run", "a.rhai"]);
    assert!(ended.code == 1 && ended.err.contains("1048576") && ended.err.contains("--max-request"), "{}", ended.err);
}
