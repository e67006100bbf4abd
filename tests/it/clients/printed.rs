//! Runs the examples of `docs/methods` exactly as shown: all examples of one language on a fresh server, in document
//! order.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::interactive::Wscat;
use super::*;
use crate::support::{Made, Process, examples};

/// The programs of one example, by the language that stands above each.
type Programs = BTreeMap<String, String>;

/// The examples of each method, as they are printed.
fn printed() -> BTreeMap<String, Vec<Programs>> {
    let pages = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/methods")).unwrap();
    let mut found = BTreeMap::<String, Vec<Programs>>::new();
    for page in pages {
        let text = std::fs::read_to_string(page.unwrap().path()).unwrap();
        let (mut method, mut label, mut code) = (String::new(), String::new(), None::<String>);
        for line in text.lines() {
            match (line, &mut code) {
                ("```", Some(_)) => {
                    let (all, code) = (found.entry(method.clone()).or_default(), code.take().unwrap());
                    if label == "wscat" {
                        all.push(Programs::new());
                    }
                    all.last_mut().unwrap().insert(label.clone(), code);
                }
                (line, Some(code)) => code.extend([line, "\n"]),
                (line, None) if line.starts_with("```") => code = (!method.is_empty()).then(String::new),
                (line, None) => {
                    if let Some(name) = line.strip_prefix("## ") {
                        method = name.to_owned();
                    }
                    if let Some(language) = line.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")) {
                        label = language.to_owned();
                    }
                }
            }
        }
    }
    found
}

/// Runs the examples of a language one after another. `run` returns the output of a program, or its error.
async fn tell(language: &str, mut run: impl AsyncFnMut(&str) -> Result<Value, String>) {
    let (printed, mut made, mut at) = (printed(), Made::default(), BTreeMap::<String, usize>::new());
    let mut told = 0;
    for example in examples() {
        let name = example.method.as_str();
        let place = at.entry(example.method.clone()).or_default();
        let program = printed[name][*place].get(language);
        *place += 1;
        let follows = name.contains("subscribe_");
        let Some(program) = program else {
            assert!(follows, "{name} has no example for {language}");
            continue;
        };
        told += 1;
        let program = made.written(&example, program);
        let begun = std::time::Instant::now();
        loop {
            let agrees = |answer: Value| match (&example.item, answer.as_str()) {
                (Some(_), Some(id)) => {
                    made.learn(&example.result, id);
                    Ok(())
                }
                // Which item comes first depends on when one asks.
                (Some(item), None) if item["type"] == answer["type"] => Ok(()),
                // The subscription may have ended by itself.
                (None, None) if follows && answer.is_boolean() => Ok(()),
                _ => made.agree(name, &example.result, &answer),
            };
            match run(&program).await.and_then(agrees) {
                Ok(()) => break,
                // Background work of the server may not be done yet.
                Err(_) if example.reads() && begun.elapsed() < PATIENCE => {}
                Err(difference) => panic!("{language}, {name}: {difference}\n{program}"),
            }
        }
    }
    assert!(told > 70, "examples are not found any more: {told}");
}

/// A fresh server, and its temporary directory.
async fn fresh() -> (tempfile::TempDir, Process) {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &[]).await;
    (home, server)
}

/// The result of an answer of JSON-RPC.
fn result(answer: &Value) -> Result<Value, String> {
    answer.get("result").cloned().ok_or_else(|| answer.to_string())
}

/// A program that runs others, one a line.
struct Runner {
    _process: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Runner {
    fn start(command: &mut Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()).lines());
        Self { _process: process, to, from }
    }

    async fn run(&mut self, program: &str) -> Result<Value, String> {
        self.to.write_all(format!("{}\n", json!(program)).as_bytes()).await.unwrap();
        let line = tokio::time::timeout(PROGRAM_TIMEOUT, self.from.next_line()).await.expect("an answer").unwrap();
        result(&serde_json::from_str(&line.expect("it runs on")).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_example_for_wscat_works() {
    let (_home, server) = fresh().await;
    let mut wscat = Wscat::connect(&server.url()).await;
    tell("wscat", async |line| {
        wscat.types(line.trim_end()).await;
        loop {
            let heard = wscat.hears().await;
            if heard.get("method").is_none() {
                return result(&heard);
            }
        }
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_example_for_curl_works() {
    let (_home, server) = fresh().await;
    let url = server.url().replace("ws://", "http://");
    tell("curl", async |line| {
        let said = runs(bare("bash").arg("-c").arg(line.replace("http://127.0.0.1:8700", &url))).await;
        result(&serde_json::from_str(&said).map_err(|error| format!("{error}: {said}"))?)
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_example_in_typescript_works() {
    let (home, server) = fresh().await;
    super::typescript::install(home.path()).await;
    std::fs::copy(super::home().join("printed.mjs"), home.path().join("printed.mjs")).unwrap();
    let mut runner = Runner::start(bare("node").arg(home.path().join("printed.mjs")).arg(server.url()));
    tell("TypeScript", async |program| runner.run(program).await).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_example_in_python_works() {
    let (_home, server) = fresh().await;
    let program = super::home().join("printed.py");
    let mut runner = Runner::start(super::python::program("python").arg(program).arg(server.url()));
    tell("Python", async |program| runner.run(program).await).await;
    server.stop().await;
}
