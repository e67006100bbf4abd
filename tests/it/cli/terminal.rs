//! Text from a server, a job or another program never controls the terminal that shows it.

use std::process::{Command, Stdio};

use jsonrpsee::server::{RpcModule, Server, ServerHandle, SubscriptionMessage};
use jsonrpsee::types::ErrorObjectOwned;
use serde_json::{Value, json};

use super::{Ended, Hero};
use crate::support::{files_below, root};

const ID: &str = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";
const TIME: &str = "2026-01-01T00:00:00Z";

/// Escape sequences of 7 and 8 bits, DEL, NEL, what turns the direction of writing, and lines that are none of ours.
const HOSTILE: [&str; 4] = [
    "a\x1b]0;owned\x07\x1b[2J\u{9b}2J\u{9d}0;owned\u{9c}b",
    "a\x7f\u{85}\u{8d}\x08\x0b\x0cb\rFORGED",
    "a\u{202e}gpj\u{202c}\u{2066}x\u{2069}\u{200e}\u{200f}\u{61c}\u{2028}FORGED\u{2029}b",
    "a\nFORGED error: all is well\r\nFORGED",
];

/// Every method of the commands, its answers made of one text.
const METHODS: [&str; 19] = [
    "create_job",
    "create_jobs",
    "start_job",
    "wait_job",
    "stop_job",
    "retry_job",
    "get_status",
    "get_job",
    "explain_job",
    "get_logs",
    "list_jobs",
    "delete_job",
    "list_queues",
    "pause_queue",
    "resume_queue",
    "list_actors",
    "create_schedule",
    "list_schedules",
    "delete_schedule",
];

/// Every command that shows text from a server.
const COMMANDS: [&[&str]; 21] = [
    &["run", "a.rhai"],
    &["job", "create", "-e", "1", "--start"],
    &["job", "create-many", "jobs.json", "--start"],
    &["job", "start", ID],
    &["job", "wait", ID],
    &["job", "stop", ID],
    &["job", "retry", ID],
    &["job", "status", ID],
    &["job", "show", ID],
    &["job", "explain", ID],
    &["job", "logs", ID],
    &["job", "logs", ID, "--follow"],
    &["job", "list"],
    &["job", "delete", ID],
    &["queue", "list"],
    &["queue", "pause", "osis"],
    &["actor", "list"],
    &["schedule", "create", "--every", "60", "-e", "1"],
    &["schedule", "list"],
    &["schedule", "show", ID],
    &["schedule", "delete", ID],
];

struct Fake {
    url: String,
    _handle: ServerHandle,
}

impl Fake {
    /// A server that says this text wherever it may; or errors alone that say it.
    async fn saying(text: &'static str, fails: bool) -> Self {
        let mut module = RpcModule::new(());
        for method in METHODS {
            let answer = move |_: jsonrpsee::types::Params<'_>, _: &(), _: &jsonrpsee::Extensions| match fails {
                true => Err(ErrorObjectOwned::owned(1101, text, Some(failure(text)))),
                false => Ok(answer(method, text)),
            };
            module.register_method(method, answer).unwrap();
        }
        module
            .register_subscription("subscribe_logs", "logs", "unsubscribe_logs", async move |_, pending, _, _| {
                let sink = pending.accept().await?;
                for item in [line(text), json!({ "type": "ended" })] {
                    sink.send(SubscriptionMessage::new("logs", sink.subscription_id(), &item)?).await?;
                }
                sink.closed().await;
                Ok(())
            })
            .unwrap();
        let server = Server::builder().build("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", server.local_addr().unwrap());
        Self { url, _handle: server.start(module) }
    }

    fn home(&self) -> Hero {
        let hero = Hero::new().env("HERO_SERVER", &self.url);
        hero.file("a.rhai", "1");
        hero.file("jobs.json", "[{\"script\": \"1\"}]");
        hero
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        tokio::task::block_in_place(|| self.home().run(arguments))
    }
}

fn line(text: &str) -> Value {
    json!({ "type": "line", "cursor": "1", "level": "warn", "text": text })
}

fn failure(text: &str) -> Value {
    let cause = json!({ "kind": "script", "message": text, "line": 1, "column": 1, "stack": [text] });
    json!({ "job_id": ID, "status": "error", "error": cause, "attempt": 1 })
}

fn answer(method: &str, text: &str) -> Value {
    let job = json!({
        "job_id": ID, "status": "error", "context_id": 0, "name": text, "labels": { text: text }, "caller_id": text, "script": text,
        "args": { "a": text }, "worker_id": text, "priority": 1, "retries": 0, "concurrent": false, "env_vars": { text: "***" }, "log_path": text,
        "client_rpc_id": text, "attempt": 1, "crashes": 0, "actor": text, "output": text, "error": failure(text)["error"],
    });
    let schedule = json!({
        "schedule_id": ID, "name": text, "cron": text, "time_zone": text, "overlap": "skip", "missed": "skip", "missed_limit": 1,
        "created_at": TIME, "next_runs": [TIME], "runs": 0, "skipped_runs": 0, "missed_runs": 0, "job": { "script": text, "name": text },
    });
    match method {
        "create_job" => json!(ID),
        "create_jobs" => json!([ID]),
        "start_job" | "stop_job" | "retry_job" | "get_status" => json!("dispatched"),
        "wait_job" => json!({ "job_id": ID, "status": "finished", "output": text, "value": { text: text }, "attempt": 1 }),
        "get_job" => job,
        "explain_job" => {
            let place = json!({ "queue": text, "position": 1, "depth": 2 });
            let mut said = json!({ "job_id": ID, "status": "dispatched", "reason": "no_live_actor", "message": text });
            said.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
            said
        }
        "get_logs" => json!({ "lines": [line(text)], "ended": true }),
        "list_jobs" => json!({ "jobs": [job.clone(), job_without_name(job)] }),
        "list_queues" => json!([{ "name": text, "script_type": "osis", "priority": 1, "depth": 1, "actors": 0 }]),
        "list_actors" => json!([{
            "script_type": "osis", "group": "default", "instance": 1, "foreign": true, "hostname": text, "version": text, "capabilities": [text],
            "incarnation": text, "confinement": text, "process": text,
        }]),
        "create_schedule" => schedule,
        "list_schedules" => json!({ "schedules": [schedule] }),
        _ => json!(true),
    }
}

/// The list shows the script of such a job.
fn job_without_name(mut job: Value) -> Value {
    job.as_object_mut().unwrap().remove("name");
    job
}

/// A character of the output that a terminal does something with, and a line that somebody else began.
fn does_harm(said: &str) -> Option<String> {
    let steers = |c: &char| c.is_control() && !matches!(c, '\n' | '\t') || HOSTILE[2].contains(*c) && !c.is_ascii();
    let steering = said.chars().find(steers).map(|c| format!("{:?}", c));
    steering.or_else(|| said.lines().find(|line| line.starts_with("FORGED")).map(ToOwned::to_owned))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_hands_on_what_steers_a_terminal() {
    for text in HOSTILE {
        for fails in [false, true] {
            let fake = Fake::saying(text, fails).await;
            for command in COMMANDS {
                for json in [&["--json"][..], &[]] {
                    let ended = fake.run(&[json, command].concat());
                    let said = format!("{}{}", ended.out, ended.err);
                    assert_eq!(does_harm(&said), None, "{json:?} {command:?} {text:?}: {said}");
                    assert!(ended.code != 0 || !fails || command.contains(&"--follow"), "{command:?}: {said}");
                    assert!(ended.code == 0 || fails, "{command:?}: {said}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_json_every_text_is_what_the_server_said() {
    for text in HOSTILE {
        let fake = Fake::saying(text, false).await;
        let document = |arguments: &[&str]| serde_json::from_str::<Value>(&fake.run(&[&["--json"], arguments].concat()).out).unwrap();
        assert_eq!(document(&["job", "show", ID])["labels"], json!({ text: text }));
        assert_eq!(document(&["actor", "list"])[0]["hostname"], text);
        assert_eq!(document(&["job", "logs", ID])["text"], text);
        assert_eq!(document(&["job", "wait", ID])["output"], text);
        let failing = Fake::saying(text, true).await.run(&["--json", "job", "show", ID]);
        assert_eq!(serde_json::from_str::<Value>(&failing.out).unwrap()["error"]["message"], text);
    }
}

/// The output of a command whose stdout is a terminal.
fn on_a_terminal(hero: &Hero, arguments: &str) -> String {
    let mut command = Command::new("script");
    let program = format!("{} {arguments} 2>/dev/null", env!("CARGO_BIN_EXE_hero"));
    command.args(["-qec", &program, "/dev/null"]).current_dir(hero.home()).envs(hero.env.iter().map(|(name, value)| (name, value)));
    // Its stdin stays open: at the end of that it would type ^D.
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script, of bsdutils or util-linux");
    let (typing, mut said) = (child.stdin.take(), String::new());
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{arguments}: {said}");
    drop(typing);
    said.replace("\r\n", "\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_goes_into_a_pipe_to_the_byte_and_onto_a_terminal_without_harm() {
    for text in HOSTILE {
        let mut module = RpcModule::new(());
        let result = json!({ "job_id": ID, "status": "finished", "output": text, "value": text, "attempt": 1 });
        module.register_method("wait_job", move |_, (), _| result.clone()).unwrap();
        let server = Server::builder().build("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", server.local_addr().unwrap());
        let fake = Fake { url, _handle: server.start(module) };
        assert_eq!(fake.run(&["job", "wait", ID]).out, format!("{text}\n"));
        let said = tokio::task::block_in_place(|| on_a_terminal(&fake.home(), &format!("job wait {ID}")));
        // Its own lines are its own.
        let said = said.replace("\nFORGED", "\n");
        assert_eq!(does_harm(&said), None, "{text:?}: {said:?}");
        assert!(said.starts_with('a') && said.lines().count() == text.matches('\n').count() + 1, "{said:?}");
    }
}

#[test]
fn arguments_that_are_refused_do_no_harm() {
    // As on a terminal that knows colours.
    let hero = Hero::new().env("CLICOLOR_FORCE", "1");
    for text in HOSTILE {
        let option = format!("--{text}");
        let refused: [&[&str]; 8] = [
            &[text],
            &[&option],
            &["help", text],
            &["job", text],
            &["job", "list", &option],
            &["job", "list", "--status", text],
            &["job", "show", ID, text],
            &["run", "a.rhai", "--timeout", text],
        ];
        for arguments in refused {
            let ended = hero.run(arguments);
            let bare = ["0", "1", "2", "4", "31", "32", "33"]
                .iter()
                .fold(ended.err.clone(), |said, colour| said.replace(&format!("\x1b[{colour}m"), ""));
            assert_eq!((ended.code, does_harm(&bare)), (2, None), "{arguments:?}: {bare:?}");
            assert!(ended.err.len() > bare.len() && ended.out.is_empty(), "{arguments:?}: {:?}", ended.err);
            assert!(bare.contains("FORGED") || bare.contains("owned"), "{arguments:?}: {bare}");
        }
    }
}

#[test]
fn the_command_line_prints_in_one_place_alone() {
    // Clippy refuses these ways of printing elsewhere, unless a file says why: the log writes events that it makes harmless itself.
    let rules = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/clippy.toml")).unwrap();
    for way in ["std::io::stdout", "std::io::stderr", "std::print", "std::println", "std::eprint", "std::eprintln"] {
        assert!(rules.contains(&format!("path = \"{way}\"")), "{way}");
    }
    let files = files_below(&root().join("src"));
    let excepted = files.iter().filter(|(_, text)| text.contains("clippy::disallowed_")).map(|(file, _)| file.as_str());
    assert_eq!(excepted.collect::<Vec<&str>>(), ["cli/output.rs", "server/logging.rs"]);
}
