//! Who waits for a job when the server goes away and comes back.

use std::io::{BufRead as _, BufReader, Read as _};

use rustix::process::Signal;

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
