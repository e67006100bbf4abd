//! `hero call`, against a server that has every item the document names, and an empty one.

use std::process::Stdio;

use futures_util::{SinkExt as _, StreamExt as _};
use jsonrpsee::PendingSubscriptionSink;
use jsonrpsee::server::{RpcModule, Server, ServerHandle, SubscriptionMessage};
use jsonrpsee::types::{ErrorObjectOwned, Params};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use super::{Ended, Hero};

/// A server that answers each method with its name and parameters.
async fn echo(document: &Value) -> (String, ServerHandle) {
    let mut module = RpcModule::new(());
    let methods = || document["methods"].as_array().unwrap().iter();
    for method in methods() {
        let name: &'static str = method["name"].as_str().unwrap().to_owned().leak();
        if let Some(end) = method["x-subscription"]["unsubscribe"].as_str() {
            let end: &'static str = end.to_owned().leak();
            let follow = move |params: Params<'static>, pending: PendingSubscriptionSink, _, _| async move {
                let sink = pending.accept().await?;
                for item in [json!({ "type": name, "given": params.parse::<Value>()? }), json!({ "type": "ended" })] {
                    sink.send(SubscriptionMessage::new("items", sink.subscription_id(), &item)?).await?;
                }
                sink.closed().await;
                Ok(())
            };
            module.register_subscription(name, "items", end, follow).unwrap();
        }
    }
    for method in methods() {
        let name: &'static str = method["name"].as_str().unwrap().to_owned().leak();
        if module.method(name).is_none() {
            let answer = move |params: Params<'_>, (): &(), _: &_| {
                Ok::<_, ErrorObjectOwned>(json!({ "called": name, "given": params.parse::<Value>()? }))
            };
            module.register_method(name, answer).unwrap();
        }
    }
    let server = Server::builder().build("127.0.0.1:0").await.unwrap();
    (format!("ws://{}", server.local_addr().unwrap()), server.start(module))
}

fn call(url: &str, arguments: &[&str]) -> Ended {
    let hero = Hero::new().env("HERO_SERVER", url);
    tokio::task::block_in_place(|| hero.run(&[&["call"], arguments].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn call_reaches_every_method_and_every_subscription_of_the_document() {
    let document: Value = serde_json::from_str(include_str!("../../../openrpc.json")).unwrap();
    let (url, _server) = echo(&document).await;
    for method in document["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        let ended = call(&url, &[name, r#"{"n": 1234567890123456789}"#]);
        let given = r#""given":{"n":1234567890123456789}"#;
        let expected = match name.split_once('_') {
            Some(("subscribe", _)) => format!("{{\"type\":\"{name}\",{given}}}\n{{\"type\":\"ended\"}}\n"),
            // It ends nothing that is open on this connection.
            Some(("unsubscribe", _)) => "false\n".to_owned(),
            _ => format!("{{\"called\":\"{name}\",{given}}}\n"),
        };
        // What is run and waited for is known before it is answered.
        let out = ended.out.split_once(r#""job_id":""#).filter(|_| name == "run_and_wait").map_or(ended.out.clone(), |(head, rest)| {
            let (id, tail) = rest.split_once("\",").unwrap();
            assert!(id.parse::<hero::model::JobId>().is_ok(), "{id}");
            head.to_owned() + tail
        });
        assert_eq!((ended.code, out), (0, expected), "{name}: {}", ended.err);
    }
    assert!(call(&url, &["ping"]).out.contains(r#""given":{}"#), "parameters may be left out");
    let twice = call(&url, &["ping", r#"{"n":1,"m":2,"\u006e":3}"#]);
    assert!(twice.code == 2 && twice.err.contains(r#"the name "n" stands there twice"#), "{}", twice.err);
    for wrong in ["40 + 2", "\"text\"", "[1", r#"{"n":[99999999999999999999]}"#] {
        assert_eq!(call(&url, &["ping", wrong]).code, 2, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_another_version_is_told_with_what_to_do() {
    let (url, _server) = echo(&json!({ "methods": [{ "name": "server_info" }] })).await;
    let ended = call(&url, &["list_queues"]);
    assert!(ended.code == 1 && ended.err.contains("another version"), "{}", ended.err);
    assert!(ended.err.replace('\n', " ").contains(env!("CARGO_PKG_VERSION")), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn call_speaks_of_methods_and_parameters_as_they_are_sent() {
    let mut module = RpcModule::new(());
    let refuse = |_: Params<'_>, (): &(), _: &_| {
        Err::<Value, _>(ErrorObjectOwned::owned(-32602, "unknown parameter x; known: parent_id, env_vars", None::<()>))
    };
    module.register_method("list_jobs", refuse).unwrap();
    module.register_method("ping", |params: Params<'_>, (), _| params.parse::<Value>().unwrap()).unwrap();
    let server = Server::builder().build("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    let _server = server.start(module);
    let url = format!("ws://{address}");
    let refused = call(&url, &["list_jobs"]);
    assert!(refused.code == 2 && refused.err.contains("parent_id") && refused.err.contains("env_vars"), "{}", refused.err);
    let unknown = call(&url, &["list_job"]);
    assert!(unknown.code == 2 && unknown.err.contains("did you mean list_jobs?"), "{}", unknown.err);
    // What resembles none is not taken for one.
    let unknown = call(&url, &["jobs"]);
    assert!(unknown.code == 2 && unknown.err.contains("rpc.discover") && !unknown.err.contains("did you mean"), "{}", unknown.err);
    // The address in whatever way, and parameters from a file.
    for url in [url.clone(), format!("http://{address}"), address.to_string(), format!("WS://{address}"), format!("HTTP://{address}")] {
        let hero = Hero::new().env("HERO_SERVER", &url);
        hero.file("p.json", r#"{"n": 1}"#);
        let ended = tokio::task::block_in_place(|| hero.run(&["call", "ping", "@p.json"]));
        assert_eq!((ended.code, ended.out.as_str()), (0, "{\"n\":1}\n"), "{url}: {}", ended.err);
    }
}

/// A WebSocket server that reads a message of each connection, says something, if it has something to say, and leaves.
async fn stranger(says: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            socket.next().await;
            if let Some(says) = says {
                socket.send(Message::text(says)).await.unwrap();
                socket.next().await;
            }
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_hero_server_and_one_that_leaves_in_mid_call_are_told_apart() {
    let ended = call(&stranger(Some("hello there")).await, &["ping"]);
    assert!(ended.code == 7 && ended.err.contains("no hero server") && ended.err.contains("check that the address"), "{}", ended.err);
    let ended = call(&stranger(None).await, &["ping"]);
    assert!(ended.code == 7 && ended.err.contains("was lost") && ended.err.contains("still runs"), "{}", ended.err);
}

const ID: &str = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_ctrl_c_leaves_names_what_goes_on_and_how_it_is_stopped() {
    let (asked, mut asks) = mpsc::unbounded_channel::<Value>();
    let mut module = RpcModule::new(asked);
    for method in ["run_and_wait", "wait_job", "wait_flow", "run_flow_and_wait"] {
        let wait =
            async |params: Params<'static>, asked: std::sync::Arc<mpsc::UnboundedSender<Value>>, _| -> Result<Value, ErrorObjectOwned> {
                asked.send(params.parse()?).unwrap();
                std::future::pending().await
            };
        module.register_async_method(method, wait).unwrap();
    }
    let server = Server::builder().build("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", server.local_addr().unwrap());
    let _server = server.start(module);
    for (options, method, params, told) in [
        (&[][..], "wait_job", json!({ "job_id": ID }), format!("job {ID} goes on, unless it has ended; `hero job stop {ID}` stops it")),
        (&[], "wait_job", json!([ID, 60, 3]), format!("`hero job stop {ID} --context 3` stops it")),
        (&[], "wait_flow", json!({ "flow_id": 7 }), "flow 7 goes on, unless it has ended; `hero flow stop 7` stops it".to_owned()),
        (
            &[],
            "run_flow_and_wait",
            json!({ "jobs": {} }),
            "its flow goes on, if the server took the call; `hero flow list` shows".to_owned(),
        ),
        (
            &[],
            "run_and_wait",
            json!({ "script": "1", "idempotency_key": "k" }),
            "the same call waits on for it, and create_job with".to_owned(),
        ),
        (
            &[],
            "run_and_wait",
            json!({ "script": "1" }),
            "job ID goes on, if the server took the call; `hero job stop ID` stops it".to_owned(),
        ),
        (&["--json"], "wait_job", json!({ "job_id": ID }), format!("`hero job stop {ID}`")),
    ] {
        let hero = Hero::new().env("HERO_SERVER", &url);
        let params = params.to_string();
        let mut command = hero.command(&[options, &["call", method, &params]].concat());
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let given = asks.recv().await.unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let ended: Ended = tokio::task::block_in_place(|| child.wait_with_output()).unwrap().into();
        let told = told.replace("ID", given["job_id"].as_str().unwrap_or("ID"));
        let said = if options.is_empty() { ended.err } else { ended.out };
        assert!(ended.code == 130 && said.contains("interrupted; ") && said.contains(&told), "{method}: {} {said}", ended.code);
    }
}
