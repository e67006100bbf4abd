//! Waits for a job while the server restarts.

use std::io::{BufRead as _, BufReader, Read as _};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Hero, Server, signal};
use crate::support::free_ports;

#[test]
fn a_wait_goes_on_when_the_server_is_back() {
    // A restart needs the same port.
    let listen = format!("127.0.0.1:{}", free_ports()[0]);
    let arguments = ["--pool", "osis=1", "--listen", &listen];
    for end in [Signal::TERM, Signal::KILL] {
        let mut server = Server::with(Hero::new(), &arguments);
        let script = "print(JOB_ID); if ATTEMPT < 2 { loop {} } 40 + ATTEMPT";
        let mut run = server.piped(&["run", "-e", script, "--retries", "1", "--timeout", "5s", "--wait", "10m", "--reconnect", "5m"]);
        let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
        let id = lines.next().unwrap().unwrap();
        signal(&server.child, end);
        server.child.wait().unwrap();
        let told = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("goes on; looking for the server"))).unwrap().unwrap();
        assert!(told.contains(&id), "{told}");
        let home = std::mem::replace(&mut server.hero, Hero::new());
        drop(server);
        let _server = Server::with(home, &arguments);
        let mut out = String::new();
        run.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!((run.wait().unwrap().code(), out.as_str()), (Some(0), "42\n"), "{end:?}");
    }
}

#[test]
fn a_server_that_does_not_come_back_is_not_waited_for_without_end() {
    let mut server = Server::with(Hero::new(), &["--pool", "osis=1"]);
    let mut run = server.piped(&["run", "-e", "print(JOB_ID); loop {}", "--reconnect", "500ms"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let id = lines.next().unwrap().unwrap();
    signal(&server.child, Signal::KILL);
    server.child.wait().unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(7));
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(rest.iter().any(|line| line.starts_with("error: ") && line.contains(&id)), "{rest:?}");
}

#[test]
fn who_waits_for_a_flow_goes_on_when_the_server_is_back() {
    let listen = format!("127.0.0.1:{}", free_ports()[0]);
    let arguments = ["--pool", "osis=1", "--listen", &listen];
    for end in [Signal::TERM, Signal::KILL] {
        let mut server = Server::with(Hero::new(), &arguments);
        let script = "jobs:\n  a: { script: 'print(`begun`); if ATTEMPT < 2 { loop {} } 40', retries: 1, timeout: 5s }\n  b: { script: inputs.a + 2, depends_on: [a] }\n";
        let file = server.hero.file("flow.yaml", script);
        let mut run = server.piped(&["flow", "run", &file, "--wait", "10m", "--reconnect", "5m"]);
        let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map_while(Result::ok);
        lines.find(|line| line == "a | begun").expect("its log");
        signal(&server.child, end);
        server.child.wait().unwrap();
        lines.find(|line| line.contains("flow 1 goes on; looking for the server")).expect("what it does");
        let home = std::mem::replace(&mut server.hero, Hero::new());
        drop(server);
        let _server = Server::with(home, &arguments);
        let mut out = String::new();
        run.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!((run.wait().unwrap().code(), out.as_str()), (Some(0), "42\n"), "{end:?}");
        assert!(lines.any(|line| line == "b finished"), "it is shown to its end");
    }
}

#[test]
fn what_a_call_follows_goes_on_when_the_server_is_back_without_a_gap_or_a_repetition() {
    let listen = format!("127.0.0.1:{}", free_ports()[0]);
    let arguments = ["--pool", "osis=1", "--listen", &listen];
    for end in [Signal::TERM, Signal::KILL] {
        let mut server = Server::with(Hero::new(), &arguments);
        let script = "print(`begun`); while ATTEMPT < 2 { sleep(0.05) } for n in 0..50 { print(n) }";
        let made = server.ok(&["call", "create_job", &json!({ "script": script, "retries": 1, "timeout": 5 }).to_string()]);
        let id: String = serde_json::from_str(&made).unwrap();
        let mut log = server.piped(&["call", "subscribe_logs", &json!([id]).to_string()]);
        let mut events = server.piped(&["call", "subscribe_events"]);
        let lines = |child: &mut std::process::Child| {
            let out = BufReader::new(child.stdout.take().unwrap()).lines();
            out.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        };
        let (mut logged, mut heard) = (lines(&mut log), lines(&mut events));
        assert_eq!(heard.next().unwrap()["type"], "began");
        server.ok(&["job", "start", &id]);
        let mut seen = vec![logged.next().unwrap()];
        let mut statuses = vec![];
        while statuses.last().is_none_or(|status| status != "started") {
            statuses.push(heard.next().unwrap()["status"].clone());
        }
        signal(&server.child, end);
        server.child.wait().unwrap();
        for child in [&mut log, &mut events] {
            let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
            told.find(|line| line.contains("goes on; looking for the server")).expect("what it does");
        }
        let home = std::mem::replace(&mut server.hero, Hero::new());
        drop(server);
        let server = Server::with(home, &arguments);
        seen.extend(logged);
        assert_eq!((log.wait().unwrap().code(), seen.pop().unwrap()), (Some(0), json!({ "type": "ended" })), "{end:?}");
        let all = server.json(&["call", "get_logs", &json!({ "job_id": id, "limit": 1000 }).to_string()]);
        let cursors = |lines: &[Value]| lines.iter().map(|line| line["cursor"].clone()).collect::<Vec<_>>();
        assert_eq!(cursors(&seen), cursors(all["lines"].as_array().unwrap()), "{end:?}: each line once");
        while statuses.last().is_none_or(|status| status != "finished") {
            let event = heard.next().unwrap();
            assert_eq!(event["type"], "event");
            statuses.push(event["status"].clone());
        }
        assert_eq!(statuses.iter().filter(|status| **status == "started").count(), 2, "{end:?}: {statuses:?}");
        events.kill().unwrap();
        events.wait().unwrap();
    }
}
