//! `hero mcp`: the whole program, as an assistant starts it.

use std::process::Stdio;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use rmcp::model::{ReadResourceRequestParams, ResourceContents};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio_tungstenite::accept_async;

use super::*;
use crate::support::{Process, free_ports, hero, until};

/// The program, connected to a server.
fn program(server: &str, token: Option<&str>) -> Child {
    let mut command = Command::new(hero());
    command.arg("mcp").env_clear().env("HERO_SERVER", server).env("HOME", "/nonexistent").kill_on_drop(true);
    command.envs(token.map(|token| ("HERO_TOKEN", token)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

async fn assistant(server: &str) -> (Child, Assistant) {
    let mut child = program(server, None);
    let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (child, Assistant::over(pipes).await.unwrap())
}

async fn resource(assistant: &Assistant, uri: &str) -> String {
    let mut read = in_time(assistant.service.read_resource(ReadResourceRequestParams::new(uri))).await;
    match read.contents.remove(0) {
        ResourceContents::TextResourceContents { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_program_gives_an_assistant_tools_resources_and_an_end() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=2"]).await;
    let (mut child, mut assistant) = assistant(&server.url()).await;
    is_served(&mut assistant).await;
    let wrong = assistant.data("check_script", json!({"script": "let x = 1;\nlet y = ;"})).await;
    assert_eq!((&wrong["error"]["line"], &wrong["error"]["kind"]), (&json!(2), &json!("script")));
    assert_eq!(assistant.data("check_script", json!({"script": "loop {}"})).await, json!({}));

    // Of what is long there is the beginning, and what to do for the rest.
    let long = assistant.call("run_and_wait", json!({"script": "let s = \"\"; s.pad(90000, 'x'); s"})).await;
    let told = text(&long);
    assert!(told.len() < 70_000 && told.contains("This was cut: all of it has") && told.contains("get_result"), "{}", told.len());
    assert!(long.structured_content.unwrap()["output"].as_str().unwrap().ends_with('…'));

    // What may be called, and what was logged.
    let resources = in_time(assistant.service.list_all_resources()).await;
    let strings = resources.iter().find(|resource| resource.uri == "hero://functions/strings").unwrap();
    assert!(resource(&assistant, &strings.uri).await.contains("### `"));
    let templates = in_time(assistant.service.list_all_resource_templates()).await;
    assert!(templates[0].uri_template.starts_with("hero://jobs/{job_id}/log"));
    let lines = "for i in 0..2000 { print(`line ${i} ` + \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"); }";
    let job = assistant.data("run_and_wait", json!({"script": lines})).await["job_id"].as_str().unwrap().to_owned();
    let (mut uri, mut all) = (format!("hero://jobs/{job}/log"), String::new());
    let mut parts = 0;
    loop {
        let part = resource(&assistant, &uri).await;
        assert!(part.len() < 70_000);
        parts += 1;
        match part.split_once("(there is more: ") {
            Some((lines, next)) => {
                all += lines;
                uri = next.trim_end().trim_end_matches(')').to_owned();
            }
            None => {
                all += &part;
                break;
            }
        }
    }
    let numbers: Vec<usize> =
        all.lines().map(|line| line.split("line ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, (0..2000).collect::<Vec<_>>());
    assert!(parts > 1);
    let gone =
        assistant.service.read_resource(ReadResourceRequestParams::new("hero://jobs/6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70/log")).await;
    assert!(gone.unwrap_err().to_string().contains("does not exist"));
    let unknown = assistant.service.read_resource(ReadResourceRequestParams::new("hero://nothing")).await;
    assert!(unknown.unwrap_err().to_string().contains("resources/list"));

    // It ends with its assistant.
    assistant.close().await;
    assert!(timeout(PATIENCE, child.wait()).await.unwrap().unwrap().success());
    server.stop().await;
}

#[tokio::test]
async fn cancelling_a_call_stops_its_job_and_what_waits_only_ends_its_wait() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=2"]).await;
    let (_child, mut assistant) = assistant(&server.url()).await;
    let (job, call) = waiting(&mut assistant, ENDLESS).await;
    let wait = assistant.begin("wait_job", json!({"job_id": job})).await;
    assistant.hears("is started").await;
    in_time(wait.cancel(None)).await;
    assert_eq!(assistant.data("get_job", json!({"job_id": job})).await["status"], "started");
    in_time(call.cancel(Some("enough".to_owned()))).await;
    let stopped = becomes(&assistant, &job, "error").await;
    assert_eq!(stopped["error"]["kind"], "stopped");
    // A flow is stopped with its jobs.
    let flow = json!({"jobs": {"a": {"script": ENDLESS, "timeout": 3000}}});
    let call = assistant.begin("run_flow_and_wait", flow).await;
    // Of the job, or of the flow, where that began before it was followed.
    assistant.hears(" is started").await;
    in_time(call.cancel(None)).await;
    until("the flow has ended", || async {
        let flows = assistant.data("list_flows", json!({})).await;
        (flows["flows"][0]["status"] == "error").then_some(())
    })
    .await;
    assistant.close().await;
    server.stop().await;
}

#[tokio::test]
async fn where_no_server_answers_a_call_says_what_to_do_and_the_next_one_finds_it_again() {
    let [port, ..] = free_ports();
    let (home, listen) = (tempfile::tempdir().unwrap(), format!("127.0.0.1:{port}"));
    let (_child, assistant) = assistant(&format!("ws://{listen}")).await;
    let told = assistant.refusal("run_and_wait", json!({"script": "1"})).await;
    assert!(told.contains("no server answers") && told.contains("hero serve"), "{told}");
    let data = home.path().join("data");
    for _ in 0..2 {
        let server =
            Process::start(&["serve", "--listen", &listen, "--data", data.to_str().unwrap(), "--pool", "osis=1"]).until_ready().await;
        assert_eq!(assistant.data("run_and_wait", json!({"script": "40 + 2"})).await["value"], 42);
        server.stop().await;
    }
    assistant.close().await;
}

#[tokio::test]
async fn a_call_that_waits_goes_on_when_its_server_was_killed_and_is_back() {
    let [port, ..] = free_ports();
    let (home, listen) = (tempfile::tempdir().unwrap(), format!("127.0.0.1:{port}"));
    let data = home.path().join("data");
    let arguments = ["serve", "--listen", &listen, "--data", data.to_str().unwrap(), "--pool", "osis=1"];
    let mut server = Process::start(&arguments).until_ready().await;
    let (_child, mut assistant) = assistant(&format!("ws://{listen}")).await;
    let script = "job::progress(50, `half`); while ATTEMPT < 2 { sleep(0.05) } 42";
    let call = assistant.begin("run_and_wait", json!({"script": script, "retries": 1})).await;
    assistant.hears("is started: 50 half").await;
    server.kill().await;
    let server = Process::start(&arguments).until_ready().await;
    let answer = in_time(call.await_response()).await;
    assert!(format!("{answer:?}").contains("42"), "{answer:?}");
    assistant.close().await;
    server.stop().await;
}

#[tokio::test]
async fn what_is_cancelled_or_waited_out_while_its_server_is_away_does_not_run_when_that_is_back() {
    let [port, ..] = free_ports();
    let (home, listen) = (tempfile::tempdir().unwrap(), format!("127.0.0.1:{port}"));
    let data = home.path().join("data");
    let arguments = ["serve", "--listen", &listen, "--data", data.to_str().unwrap(), "--pool", "osis=1"];
    let mut server = Process::start(&arguments).until_ready().await;
    let (_child, assistant) = assistant(&format!("ws://{listen}")).await;
    assert_eq!(assistant.data("list_jobs", json!({})).await["jobs"], json!([]));
    server.kill().await;
    let nobody = "00000000-0000-4000-8000-000000000000";
    let told = assistant.refusal("wait_job", json!({"job_id": nobody, "wait_timeout": 0.2})).await;
    assert!(told.contains("when the wait of 0.2 s ran out"), "{told}");
    let told = assistant.refusal("run_and_wait", json!({"script": "1", "wait_timeout": 0.2})).await;
    assert!(told.contains("when the wait of 0.2 s ran out"), "{told}");
    let call = assistant.begin("run_and_wait", json!({"script": "2"})).await;
    // What is answered behind a message says that this was read.
    assistant.tools().await;
    in_time(call.cancel(None)).await;
    assistant.tools().await;
    let server = Process::start(&arguments).until_ready().await;
    assert_eq!(assistant.data("run_and_wait", json!({"script": "40 + 2"})).await["value"], 42);
    let jobs = assistant.data("list_jobs", json!({})).await;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs}");
    assistant.close().await;
    server.stop().await;
}

#[tokio::test]
async fn a_run_with_a_key_whose_server_does_not_come_back_is_not_told_as_one_that_goes_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_child, assistant) = assistant(&format!("ws://{}", listener.local_addr().unwrap())).await;
    tokio::spawn(async move {
        let mut socket = accept_async(listener.accept().await.unwrap().0).await.unwrap();
        // Here it ends with the first call, and takes no connection any more.
        socket.next().await.unwrap().unwrap();
    });
    let told = assistant.refusal("run_and_wait", json!({"script": "1", "wait_timeout": 0.5, "idempotency_key": "k"})).await;
    assert!(told.contains("whether it was done is not known") && told.contains("check whether it was done before you repeat it"), "{told}");
    assistant.close().await;
}

#[tokio::test]
async fn nothing_but_the_protocol_is_on_stdout() {
    let [port, ..] = free_ports();
    let mut child = program(&format!("ws://127.0.0.1:{port}"), Some("no token"));
    let said = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "nothing"}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {}}),
    ];
    let mut stdin = child.stdin.take().unwrap();
    for message in said {
        stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    stdin.write_all(b"no JSON\n\n").await.unwrap();
    let rounded = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"set_object","arguments":{"n":99999999999999999999}}}"#;
    stdin.write_all(format!("{rounded}\n").as_bytes()).await.unwrap();
    stdin.write_all(format!("{}\n", " ".repeat(17 << 20)).as_bytes()).await.unwrap();
    drop(stdin);
    let mut out = String::new();
    timeout(PATIENCE, child.stdout.take().unwrap().read_to_string(&mut out)).await.unwrap().unwrap();
    assert!(timeout(PATIENCE, child.wait()).await.unwrap().unwrap().success());
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"), "{out}");
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{id}: {out}"));
    assert_eq!(of(1)["result"]["serverInfo"]["name"], "hero");
    assert_eq!(of(2)["result"]["isError"], true);
    assert_eq!(of(3)["error"]["code"], -32601);
    // What is no message, or would be changed on its way, is refused as it is over HTTP.
    assert_eq!(of(4)["error"]["code"], -32602);
    assert!(of(5)["error"]["message"].as_str().unwrap().starts_with("parameter `n` is 99999999999999999999"), "{out}");
    let without: Vec<&Value> = answers.iter().filter(|answer| answer["id"].is_null()).map(|answer| &answer["error"]["code"]).collect();
    assert_eq!(without, [-32700, -32600]);
    // An assistant that goes before it says anything is no failure.
    let mut child = program("ws://127.0.0.1:1", None);
    drop(child.stdin.take());
    assert!(timeout(PATIENCE, child.wait()).await.unwrap().unwrap().success());
}

/// What opens the session of a client.
fn opening() -> [Value; 2] {
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client});
    [initialize, json!({"jsonrpc": "2.0", "method": "notifications/initialized"})]
}

/// Opens a session of a program, says all of this, and gives what it answers until it ends.
async fn answers(child: Child, said: &[Value]) -> Vec<Value> {
    spoken(child, &[&opening(), said].concat()).await
}

/// Says all of this to a program, closes its stdin and gives what it answers until it ends.
async fn spoken(mut child: Child, said: &[Value]) -> Vec<Value> {
    let mut stdin = child.stdin.take().unwrap();
    for message in said {
        stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    drop(stdin);
    let mut out = String::new();
    timeout(PATIENCE, child.stdout.take().unwrap().read_to_string(&mut out)).await.unwrap().unwrap();
    assert!(timeout(PATIENCE, child.wait()).await.unwrap().unwrap().success());
    out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

#[tokio::test]
async fn each_request_that_is_wrong_is_answered_by_its_id_and_no_notification_is() {
    let wrong = [
        (json!({"jsonrpc": "2.0", "method": "ping", "params": 5}), -32602, "`params`"),
        (json!({"jsonrpc": "2.0", "method": "tools/list", "params": []}), -32602, "`params`"),
        (json!({"jsonrpc": "2.0", "method": "tools/list", "params": {"_meta": 5}}), -32602, "`_meta`"),
        (json!({"jsonrpc": "1.0", "method": "tools/list"}), -32600, "`jsonrpc`"),
        (json!({"method": "tools/list"}), -32600, "`jsonrpc`"),
        (json!({"jsonrpc": "2.0"}), -32600, "`method`"),
        (json!({"jsonrpc": "2.0", "method": "resources/read", "params": {}}), -32602, "`uri`"),
    ];
    // Each as a notification, and with an id.
    let mut said: Vec<Value> = wrong.iter().map(|(message, ..)| message.clone()).filter(|message| message["method"].is_string()).collect();
    for (id, (message, ..)) in (2..).zip(&wrong) {
        let mut message = message.clone();
        message["id"] = json!(id);
        said.push(message);
    }
    let answers = answers(program("ws://127.0.0.1:1", None), &said).await;
    assert_eq!(answers.len(), 1 + wrong.len(), "{answers:?}");
    for (id, (message, code, named)) in (2..).zip(&wrong) {
        let answer = answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{message}: {answers:?}"));
        let error = &answer["error"];
        assert!(error["code"] == *code && error["message"].as_str().unwrap().contains(named), "{message}: {answer}");
    }
}

#[tokio::test]
async fn nobody_answers_an_answer_and_what_comes_before_the_session_ends_nothing() {
    let answers_of_a_client = [
        json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 7, "error": 5}),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}, "error": {"code": 1, "message": "x"}}),
        json!({"id": 7, "error": 5}),
        json!({"result": {}}),
    ];
    let early = [
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}),
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}),
    ];
    let late = [
        json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "nothing/at/all"}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "ping"}),
    ];
    let session = [&answers_of_a_client[..], &early, &opening(), &answers_of_a_client, &late].concat();
    let answers = spoken(program("ws://127.0.0.1:1", None), &session).await;
    assert_eq!(answers.len(), 6, "{answers:?}");
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{id}: {answers:?}"));
    assert_eq!(of(8)["error"], json!({"code": -32600, "message": "Invalid Request: initialize first"}));
    assert!([1, 4, 9].iter().all(|id| of(*id)["result"].is_object()), "{answers:?}");
    for (id, method) in [(2, "prompts/list"), (3, "nothing/at/all")] {
        assert_eq!(of(id)["error"], json!({"code": -32601, "message": format!("there is no method {method:?}")}));
    }
}

/// As long as a call of a tool, and longer than a server is looked for.
#[tokio::test]
async fn a_resource_is_awaited_after_the_end_of_the_input_where_the_server_is_there() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut socket = tokio_tungstenite::accept_async(listener.accept().await.unwrap().0).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            let Ok(request) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else { continue };
            if request["method"] == "get_logs" {
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "lines": [], "ended": true } });
            socket.send(tokio_tungstenite::tungstenite::Message::Text(answer.to_string().into())).await.unwrap();
        }
    });
    let uri = "hero://jobs/6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70/log";
    let read = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": uri}});
    let answers = answers(program(&url, None), &[read]).await;
    let answer = answers.iter().find(|answer| answer["id"] == 2).unwrap_or_else(|| panic!("{answers:?}"));
    assert_eq!(answer["result"]["contents"][0]["uri"], uri, "{answer}");
}

#[tokio::test]
async fn a_program_that_looks_for_its_server_ends_with_its_input() {
    // The system accepts connections for it, and nobody answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let log = "hero://jobs/6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70/log";
    let said = [
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": log}}),
    ];
    let answers = answers(program(&format!("ws://{}", listener.local_addr().unwrap()), None), &said).await;
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{id}: {answers:?}"));
    assert!(of(2)["result"]["isError"] == true && of(2).to_string().contains("the call was not made"), "{answers:?}");
    assert!(of(3)["error"]["message"].as_str().unwrap().contains("has left"), "{answers:?}");
}
