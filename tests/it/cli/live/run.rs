//! `hero run`.

use std::io::{BufRead as _, BufReader};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Server, signal};

const FAILING: &str = "fn price(item) {\n    throw `no price for ${item}`;\n}\nprice(\"plum\")\n";

#[test]
fn run_prints_the_result_on_stdout_and_the_log_on_stderr() {
    let server = Server::start();
    server.hero.file("a.rhai", "print(\"hello\"); log_warn(\"careful\"); 40 + 2");
    let ended = server.run(&["run", "a.rhai"]);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, "42\n", "hello\nwarn: careful\n"));

    let ended = server.run(&["--json", "run", "a.rhai"]);
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&document["status"], &document["value"]), (&json!("finished"), &json!(42)));
    let texts: Vec<Value> = ended.err.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].clone()).collect();
    assert_eq!(texts, ["hello", "careful"]);
}

#[test]
fn run_takes_its_script_and_its_arguments_from_everywhere() {
    let server = Server::start();
    let script = "[args, env.KEY, CALLER_ID, CONTEXT_ID]";
    let ended = server.feed(
        &[
            "run",
            "-",
            "--type",
            "sal",
            "--args",
            "{\"a\":1,\"b\":2}",
            "--arg",
            "b=[3]",
            "--arg",
            "c=text",
            "--env",
            "KEY=secret",
            "--caller",
            "ada",
        ],
        script,
    );
    assert_eq!((ended.code, ended.out.as_str()), (0, "[{\"a\":1,\"b\":[3],\"c\":\"text\"},\"secret\",\"ada\",0]\n"), "{}", ended.err);
    assert_eq!(server.feed(&["run", "-"], "()").out, "");
    assert_eq!(server.feed(&["run", "-"], "\"two\\nlines\"").out, "two\nlines\n");
    assert_eq!(server.feed(&["run", "-", "--env", "KEY=secret"], "print(env.KEY)").err, "***\n");
}

#[test]
fn a_script_that_fails_is_shown_with_its_place_and_a_caret() {
    let server = Server::start();
    server.hero.file("shop.rhai", FAILING);
    let ended = server.run(&["run", "shop.rhai"]);
    assert_eq!((ended.code, ended.out.as_str()), (3, ""));
    insta::assert_snapshot!(ended.err, @r"
    shop.rhai:2:5: script: no price for plum
      2 |     throw `no price for ${item}`;
        |     ^
      in price
    ");
    let wrong = server.feed(&["run", "-", "--name", "wrong"], "1 +");
    assert!(wrong.code == 2 && wrong.err.starts_with("stdin:1:"), "{} {}", wrong.code, wrong.err);
    assert_eq!(server.json(&["job", "list", "--name", "wrong"])["jobs"], json!([]), "it was refused before a job was made of it");
    let document: Value = serde_json::from_str(&server.run(&["run", "shop.rhai", "--json"]).out).unwrap();
    assert_eq!((&document["exit_code"], &document["error"]["code"]), (&json!(3), &json!(1101)));
    assert_eq!(document["error"]["data"]["error"]["line"], 2);
}

#[test]
fn the_exit_code_of_run_says_how_it_went() {
    let server = Server::start();
    server.hero.file("ok.rhai", "1");
    server.hero.file("bad.rhai", "throw 1");
    server.hero.file("endless.rhai", "loop {}");
    for (arguments, exit) in [
        (&["ok.rhai"][..], 0),
        (&["missing.rhai"], 2),
        (&["ok.rhai", "--type", "unheard-of"], 1),
        (&["ok.rhai", "--log-path", "../up.log"], 2),
        (&["bad.rhai"], 3),
        (&["endless.rhai", "--timeout", "200ms"], 5),
        (&["ok.rhai", "--group", "nobody", "--wait", "100ms"], 6),
    ] {
        let ended = server.run(&[&["run"], arguments].concat());
        assert_eq!(ended.code, exit, "{arguments:?}: {}", ended.err);
        assert_eq!(ended.err.is_empty(), exit == 0, "{arguments:?}: {}", ended.err);
    }
    let nobody = server.run(&["run", "ok.rhai", "--group", "nobody", "--wait", "0"]);
    assert!(nobody.err.contains("no live actor") && nobody.err.contains("hero job wait "), "{}", nobody.err);
    let (hero, _) = server.stop();
    assert_eq!(hero.run(&["run", "ok.rhai"]).code, 7);
}

#[test]
fn a_script_that_fails_is_told_with_where_it_came_from_and_its_limits() {
    let server = Server::start();
    let ended = server.run(&["run", "-e", "|x| x"]);
    assert!(ended.code == 3 && ended.err.starts_with("-e: ") && ended.err.contains("closure"), "{}", ended.err);
    let ended = server.run(&["run", "-e", "loop {}", "--timeout", "250ms"]);
    assert!(ended.code == 5 && ended.err.contains("longer than its timeout (0.25 s, --timeout)"), "{}", ended.err);
    let id = server.ok(&["job", "create", "-e", "1;\nlet a = b;", "--start"]);
    let ended = server.run(&["job", "wait", &id]);
    assert!(ended.code == 3 && ended.err.contains("not found: b (line 2, column 9)"), "{}", ended.err);
}

#[test]
fn ctrl_c_stops_the_job_that_run_started() {
    let server = Server::start();
    server.hero.file("endless.rhai", "print(\"begun\");\nloop {}");
    let mut run = server.piped(&["run", "endless.rhai", "--name", "mine"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "begun");
    signal(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(4));
    assert!(lines.next().unwrap().unwrap().ends_with("stopped: by request"));
    assert_eq!(server.json(&["job", "list", "--name", "mine"])["jobs"][0]["status"], "error");
}

#[test]
fn who_is_ended_while_his_job_runs_says_which_it_is() {
    let server = Server::start();
    let mut run = server.piped(&["run", "-e", "print(JOB_ID); loop {}"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let id = lines.next().unwrap().unwrap();
    signal(&run, Signal::TERM);
    assert_eq!(run.wait().unwrap().code(), Some(1));
    assert_eq!(lines.next().unwrap().unwrap(), format!("error: ended by SIGTERM; job {id} goes on"));
    assert_eq!(server.ok(&["job", "stop", &id]), "stopped");
}

#[test]
fn a_job_that_somebody_else_stops_ends_run_with_4() {
    let server = Server::start();
    server.hero.file("endless.rhai", "print(JOB_ID);\nloop {}");
    let mut run = server.piped(&["run", "endless.rhai"]);
    let id = BufReader::new(run.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    server.ok(&["job", "stop", &id]);
    assert_eq!(run.wait().unwrap().code(), Some(4));
}

#[test]
fn run_says_which_job_it_lost_sight_of() {
    let server = Server::start();
    server.hero.file("endless.rhai", "print(JOB_ID);\nloop {}");
    let mut run = server.piped(&["run", "endless.rhai", "--reconnect", "0"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let id = lines.next().unwrap().unwrap();
    let mut server = server;
    signal(&server.child, Signal::KILL);
    server.child.wait().unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(7));
    assert!(lines.next().unwrap().unwrap().contains(&id));
}

#[test]
fn watch_runs_a_script_again_when_it_changes() {
    let server = Server::start();
    let path = server.hero.file("a.rhai", "1");
    let mut watch = server.piped(&["run", "--watch", "a.rhai"]);
    let mut out = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut err = BufReader::new(watch.stderr.take().unwrap()).lines();
    let mut say = || err.next().unwrap().unwrap();
    assert_eq!(out.next().unwrap().unwrap(), "1");
    assert!(say().contains("waiting for a.rhai"));
    std::fs::write(&path, "throw \"no\"").unwrap();
    assert!(say().contains("script: no"));
    while !say().contains("waiting for") {}
    std::fs::write(&path, "3").unwrap();
    assert_eq!(out.next().unwrap().unwrap(), "3");
    assert!(say().contains("waiting for"));
    signal(&watch, Signal::INT);
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}
