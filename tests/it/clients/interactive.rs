//! wscat at a terminal, as in the README.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::*;

/// wscat with somebody who types.
pub(super) struct Wscat {
    _process: Child,
    keyboard: ChildStdin,
    screen: BufReader<ChildStdout>,
}

impl Wscat {
    pub(super) async fn connect(url: &str) -> Self {
        let program = modules().join("wscat/bin/wscat");
        // It reads lines only after it has connected, and reports this only to a terminal.
        let mut command = bare("script");
        command.args(["-qec", &format!("node '{}' --no-color --connect {url}", program.display()), "/dev/null"]);
        let process = command.env("TERM", "dumb").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = process.expect("there is `script`, of the package bsdutils or util-linux");
        let (keyboard, screen) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut wscat = Self { _process: process, keyboard, screen };
        wscat.shows("Connected").await;
        wscat
    }

    pub(super) async fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The next line of the screen that has this text.
    async fn shows(&mut self, text: &str) -> String {
        let (mut line, mut seen) = (Vec::new(), String::new());
        loop {
            line.clear();
            let read = tokio::time::timeout(PROGRAM_TIMEOUT, self.screen.read_until(b'\n', &mut line)).await;
            let read = read.unwrap_or_else(|_| panic!("{text} never came after {seen}")).unwrap();
            assert!(read > 0, "wscat ended: {seen}");
            let now = String::from_utf8_lossy(&line);
            if now.contains(text) {
                return now.into_owned();
            }
            seen.push_str(&now);
        }
    }

    /// The next message of the server.
    pub(super) async fn hears(&mut self) -> Value {
        let line = self.shows("< {").await;
        let (_, message) = line.split_once("< ").unwrap();
        // The colour is switched off behind it.
        let mut values = serde_json::Deserializer::from_str(message).into_iter();
        values.next().unwrap().unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
}

#[tokio::test]
async fn wscat_calls_is_refused_notifies_and_follows() {
    const JOB: &str = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";
    let (house, server) = open().await;
    let mut wscat = Wscat::connect(&server.url()).await;
    wscat.types(r#"{"jsonrpc":"2.0","id":1,"method":"run_and_wait","params":["40 + 2"]}"#).await;
    let answer = wscat.hears().await;
    assert_eq!((&answer["id"], &answer["result"]["value"]), (&json!(1), &json!(42)), "{answer}");
    wscat.types(r#"{"jsonrpc":"2.0","id":"two","method":"run_and_wiat","params":["40 + 2"]}"#).await;
    let answer = wscat.hears().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("two"), &json!(-32601)), "{answer}");
    wscat.types("run_and_wait 40 + 2").await;
    let answer = wscat.hears().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32700)), "{answer}");

    let spec = json!({"script": "print(\"hello\")", "job_id": JOB});
    wscat.types(&json!({"jsonrpc": "2.0", "id": 3, "method": "create_job", "params": spec}).to_string()).await;
    assert_eq!(wscat.hears().await, json!({"jsonrpc": "2.0", "id": 3, "result": JOB}));
    wscat.types(&json!({"jsonrpc": "2.0", "id": 4, "method": "subscribe_logs", "params": [JOB]}).to_string()).await;
    let subscription = wscat.hears().await;
    assert!(subscription["result"].is_string(), "{subscription}");
    // What comes next is the first line of the job that this starts: nothing answers it.
    wscat.types(&json!({"jsonrpc": "2.0", "method": "start_job", "params": [JOB]}).to_string()).await;
    let item = wscat.hears().await;
    assert_eq!((&item["method"], &item["params"]["result"]["text"]), (&json!("logs"), &json!("hello")), "{item}");
    assert_eq!(item["params"]["subscription"], subscription["result"]);
    house.close().await;
}
