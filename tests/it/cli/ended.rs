//! Commands that a signal, or the loss of the server, ends where they have already left something behind.

use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use super::Hero;
use crate::support::PATIENCE;

const ID: &str = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";

/// How the server goes on at the call that it does not answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    IsSilent,
    IsGone,
}

/// A server that runs each job and flow at once, until a method is called for this time.
struct Fake {
    hero: Hero,
    stopped: Arc<Notify>,
}

impl Fake {
    async fn until(method: &'static str, mut times: u32, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let hero = Hero::new().env("HERO_SERVER", &format!("ws://{}", listener.local_addr().unwrap()));
        hero.file("a.rhai", "42");
        hero.file("a.yaml", "jobs: {one: {script: '1'}}\n");
        let stopped = Arc::new(Notify::new());
        let stops = Arc::clone(&stopped);
        tokio::spawn(async move {
            let mut socket = tokio_tungstenite::accept_async(listener.accept().await.unwrap().0).await.unwrap();
            while let Some(Ok(message)) = socket.next().await {
                let Ok(request) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else { continue };
                times -= u32::from(request["method"] == method);
                if times == 0 {
                    stops.notify_one();
                    match then {
                        Then::IsGone => return,
                        Then::IsSilent => std::future::pending().await,
                    }
                }
                let result = match request["method"].as_str().unwrap() {
                    "create_job" => json!(ID),
                    "create_flow" => json!(7),
                    "start_job" => json!("dispatched"),
                    "wait_job" => json!({ "job_id": ID, "status": "finished", "output": "42", "value": 42, "attempt": 1 }),
                    "get_logs" => json!({ "lines": [], "next_cursor": null, "ended": true }),
                    _ => json!("s"),
                };
                let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
                socket.send(Message::Text(answer.to_string().into())).await.unwrap();
            }
        });
        Self { hero, stopped }
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::from(self.hero.command(arguments));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
    }

    /// Waits until the server stops to answer, and sends this signal to the command.
    async fn signal(&self, child: &Child, signal: Signal) {
        timeout(PATIENCE, self.stopped.notified()).await.expect("the call");
        // Long enough that the command looks for a server that is gone.
        tokio::time::sleep(Duration::from_millis(100)).await;
        kill_process(Pid::from_raw(child.id().unwrap().cast_signed()).unwrap(), signal).unwrap();
    }
}

/// The exit code of a command that ends soon, and what it printed to stdout and to stderr on one line.
async fn ended(child: Child) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = timeout(PATIENCE, child.wait_with_output()).await.expect("its end").unwrap();
    let said = String::from_utf8(stderr).unwrap().replace("\n       ", " ");
    (status.code(), String::from_utf8(stdout).unwrap(), said)
}

#[tokio::test]
async fn a_signal_ends_a_command_that_looks_for_its_server_and_names_what_it_leaves() {
    for (arguments, method, told, advice) in [
        (
            ["flow", "run", "a.yaml"].as_slice(),
            "subscribe_flow",
            "flow 7 is stored, but whether it was started is not known",
            "`hero flow show 7`",
        ),
        (&["flow", "run", "a.yaml"], "start_flow", "flow 7 is stored, but whether it was started is not known", "`hero flow show 7`"),
        (&["run", "a.rhai"], "start_job", "is stored, but whether it was started is not known", "`hero job show 6f1c4d1e"),
        (&["run", "a.rhai"], "create_job", "whether the job is stored is not known", ""),
    ] {
        for (signal, exit, why) in [(Signal::INT, 130, "interrupted; "), (Signal::TERM, 1, "ended by SIGTERM; ")] {
            let fake = Fake::until(method, 1, Then::IsGone).await;
            let child = fake.start(&[arguments, &["--reconnect", "5m"]].concat());
            fake.signal(&child, signal).await;
            let (code, _, said) = ended(child).await;
            assert_eq!(code, Some(exit), "{arguments:?}: {said}");
            assert!(said.contains(why) && said.contains(told) && said.contains(advice), "{arguments:?}: {said}");
            assert_eq!(said.matches("not known").count(), 1, "{said}");
        }
    }
}

#[tokio::test]
async fn a_command_whose_server_is_gone_before_the_start_names_what_is_stored() {
    for (arguments, method, told, data) in [
        (
            ["flow", "run", "a.yaml"].as_slice(),
            "subscribe_flow",
            "flow 7 is stored, but whether it was started is not known",
            json!({ "flow_id": 7 }),
        ),
        (
            &["run", "a.rhai"],
            "start_job",
            "is stored, but whether it was started is not known",
            json!({ "job_ids": [ID], "not_started": [ID] }),
        ),
    ] {
        let arguments = [arguments, &["--reconnect", "100ms"]].concat();
        let (code, _, said) = ended(Fake::until(method, 1, Then::IsGone).await.start(&arguments)).await;
        assert!(code == Some(7) && said.contains(told), "{arguments:?}: {code:?} {said}");
        let (_, out, _) = ended(Fake::until(method, 1, Then::IsGone).await.start(&[&["--json"], arguments.as_slice()].concat())).await;
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["error"]["data"], data, "{out}");
    }
}

#[tokio::test]
async fn a_known_result_is_printed_although_the_end_of_the_log_is_missing() {
    for (then, signal) in [(Then::IsSilent, Some(Signal::INT)), (Then::IsSilent, Some(Signal::TERM)), (Then::IsGone, None)] {
        let fake = Fake::until("get_logs", 1, then).await;
        let child = fake.start(&["run", "a.rhai", "--reconnect", if signal.is_some() { "5m" } else { "100ms" }]);
        if let Some(signal) = signal {
            fake.signal(&child, signal).await;
        }
        let (code, out, said) = ended(child).await;
        assert_eq!((code, out.as_str()), (Some(0), "42\n"), "{said}");
        assert!(said.contains("-- the end of the log is missing: "), "{said}");
    }
}

#[tokio::test]
async fn a_signal_ends_watch_in_any_round() {
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 1)] {
        let fake = Fake::until("create_job", 2, Then::IsSilent).await;
        let mut child = fake.start(&["run", "--watch", "a.rhai"]);
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        while !timeout(PATIENCE, said.next_line()).await.unwrap().unwrap().unwrap().contains("to change") {}
        fake.hero.file("a.rhai", "42 + 0");
        fake.signal(&child, signal).await;
        assert_eq!(ended(child).await.0, Some(exit), "{signal:?}");
    }
    // While nothing runs.
    let fake = Fake::until("create_job", 2, Then::IsSilent).await;
    let mut child = fake.start(&["run", "--watch", "a.rhai"]);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    while !timeout(PATIENCE, said.next_line()).await.unwrap().unwrap().unwrap().contains("to change") {}
    fake.stopped.notify_one();
    fake.signal(&child, Signal::TERM).await;
    assert_eq!(ended(child).await.0, Some(1));
}
