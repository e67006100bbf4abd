//! Terminal output during a wait for a job, and after a wait that fails.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::super::Hero;
use super::{Server, signal};
use crate::support::Redis;

/// Each line that a terminal shows for a moment, as it is seen.
fn frames(said: &str) -> Vec<String> {
    said.split("\r\x1b[2K").map(|frame| frame.trim_end().to_owned()).filter(|frame| !frame.is_empty()).collect()
}

#[test]
fn at_60_columns_the_wait_is_one_line_that_says_its_reason() {
    let server = Server::start();
    server.ok(&["queue", "pause", "osis", "--group", "a-group-with-a-name-that-takes-all-the-columns-there-are"]);
    let group = ["--group", "a-group-with-a-name-that-takes-all-the-columns-there-are"];
    let id = server.ok(&[&["job", "create", "-e", "40 + 2", "--start"], &group[..]].concat());
    let program = format!("stty cols 60; exec {} job wait {id} --wait 10m", env!("CARGO_BIN_EXE_hero"));
    let mut command = Command::new("script");
    command.args(["-qec", &program, "/dev/null"]).env_clear().env("PATH", super::path()).env("HOME", server.hero.home());
    command.envs(server.hero.env.iter().map(|(name, value)| (name, value))).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("script, of bsdutils or util-linux");
    let (mut out, mut said, mut buffer) = (child.stdout.take().unwrap(), Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&said).contains("waiting: place 1 of 1, the queue of osis") {
        let read = out.read(&mut buffer).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&said));
        said.extend_from_slice(&buffer[..read]);
    }
    server.ok(&["job", "stop", &id]);
    out.read_to_end(&mut said).unwrap();
    child.wait().unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    let (shown, error) = said.rsplit_once("\r\x1b[2K").unwrap();
    let shown = frames(shown);
    assert!(shown.iter().all(|line| line.chars().count() < 60 && !line.contains('\n')), "{shown:?}");
    assert!(shown.iter().any(|line| line.contains("waiting: place 1 of 1, the queue of osis")), "{shown:?}");
    assert!(error.contains("stopped"), "{error}");
}

#[test]
fn without_a_terminal_a_line_says_soon_why_a_job_waits() {
    let server = Server::start();
    server.ok(&["queue", "pause", "osis"]);
    let mut run = server.piped(&["run", "-e", "40 + 2"]);
    let line = BufReader::new(run.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(line.starts_with("-- ") && line.contains("place 1 of 1") && line.contains("is paused") && line.ends_with(" s) --"), "{line}");
    server.ok(&["queue", "resume", "osis"]);
    assert_eq!(run.wait().unwrap().code(), Some(0));
    // One that is to be tried again waits, too.
    let mut run = server.piped(&["run", "-e", "throw `no`", "--retries", "1", "--retry-backoff", "1h"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("-- ")).unwrap();
    assert!(line.starts_with("-- waiting: ") && line.contains("attempt 2 is due at "), "{line}");
    signal(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(4));
}

#[test]
fn watch_stops_a_running_script_when_its_file_is_saved_and_runs_it_again() {
    let server = Server::start();
    let path = server.hero.file("a.rhai", "print(\"begun\");\nloop {}");
    let mut watch = server.piped(&["run", "--watch", "a.rhai", "--name", "watched"]);
    let mut out = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut err = BufReader::new(watch.stderr.take().unwrap()).lines();
    assert_eq!(err.next().unwrap().unwrap(), "begun");
    std::fs::write(&path, "40 + 2").unwrap();
    let said = err.next().unwrap().unwrap();
    assert!(said.contains("a.rhai has changed: stopping job "), "{said}");
    assert_eq!(out.next().unwrap().unwrap(), "42");
    assert!(err.next().unwrap().unwrap().contains("waiting for a.rhai"));
    signal(&watch, Signal::INT);
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    let jobs = server.json(&["job", "list", "--name", "watched"]);
    let ends: Vec<_> = jobs["jobs"].as_array().unwrap().iter().map(|job| job["status"].as_str().unwrap()).collect();
    assert_eq!(ends, ["finished", "error"]);
}

#[test]
fn a_second_ctrl_c_ends_a_command_whose_server_does_not_answer_the_first() {
    let server = Server::start();
    let mut run = server.piped(&["run", "-e", "print(`begun`); loop {}", "--timeout", "1h"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "begun"));
    signal(&server.child, Signal::STOP);
    // Signals that come close together are one.
    let code = loop {
        signal(&run, Signal::INT);
        std::thread::yield_now();
        if let Some(ended) = run.try_wait().unwrap() {
            break ended.code();
        }
    };
    signal(&server.child, Signal::CONT);
    let said: Vec<String> = lines.collect();
    assert!(code == Some(130) && said.iter().any(|line| line.ends_with(" is being stopped")), "{code:?} {said:?}");
}

#[test]
fn a_wait_that_ctrl_c_ends_says_that_its_job_goes_on_and_ends_as_a_call_does() {
    let server = Server::start();
    server.ok(&["queue", "pause", "osis"]);
    let id = server.ok(&["job", "create", "-e", "40 + 2", "--start"]);
    let mut wait = server.piped(&["job", "wait", &id]);
    let mut lines = BufReader::new(wait.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("-- waiting: ")));
    signal(&wait, Signal::INT);
    assert_eq!(wait.wait().unwrap().code(), Some(130));
    let said: Vec<String> = lines.collect();
    assert!(said.iter().any(|line| *line == format!("error: interrupted; job {id} goes on")), "{said:?}");
    assert_eq!(server.ok(&["job", "status", &id]), "dispatched");
}

#[test]
fn the_same_key_gives_the_same_job_or_its_result() {
    let server = Server::start();
    let run = |script: &str, key: &str| server.run(&["run", "-e", script, "-k", key]);
    for _ in 0..2 {
        let ended = run("print(\"once\"); JOB_ID", "good");
        assert_eq!((ended.code, ended.err.as_str()), (0, "once\n"), "{}", ended.out);
        let failed = run("throw \"no plums\"", "bad");
        assert!(failed.code == 3 && failed.err.contains("script: no plums"), "{}", failed.err);
    }
    assert_eq!(run("print(\"once\"); JOB_ID", "good").out, run("print(\"once\"); JOB_ID", "good").out);
    let create = || server.json(&["job", "create", "-e", "loop {}", "-k", "long", "--start"]);
    let first = create();
    let id = first["job_id"].as_str().unwrap();
    server.is(id, "started");
    assert_eq!(create(), serde_json::json!({ "job_id": id, "status": "started" }));
    server.ok(&["job", "stop", id]);
    server.is(id, "stopped");
    assert_eq!(create(), serde_json::json!({ "job_id": id, "status": "error" }));
    server.hero.file("jobs.json", r#"[{"script": "1", "idempotency_key": "many"}]"#);
    let many = || server.ok(&["job", "create-many", "jobs.json", "--start"]);
    let created = many();
    server.is(&created, "finished");
    assert_eq!(many(), created);
    // Other parameters are another matter.
    assert!(run("2", "good").err.contains("other parameters"));
    assert_eq!(server.json(&["job", "list"])["jobs"].as_array().unwrap().len(), 4);
}

#[test]
fn a_request_above_the_limit_is_told_with_the_limit_and_its_setting() {
    let server = Server::with(Hero::new(), &["--pool", "osis=1", "--max-request", "300KB", "--script-source", "300KB"]);
    let large = format!("let a = \"{}\"; 42", "a".repeat(200 << 10));
    assert_eq!(server.feed(&["run", "-"], &large).out, "42\n");
    let larger = format!("{large}//{}", "a".repeat(300 << 10));
    let refused = server.feed(&["run", "-"], &larger);
    assert_eq!(refused.code, 1, "{}", refused.err);
    for part in ["307200", "max_request", "--max-request"] {
        assert!(refused.err.contains(part), "{}", refused.err);
    }
    assert!(!refused.err.contains("lost") && !refused.err.contains("hero serve`"), "{}", refused.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_redis_down_the_command_says_so_and_run_names_its_job() {
    let mut redis = Redis::start().await;
    tokio::task::block_in_place(|| {
        let server = Server::with(Hero::new(), &["--pool", "osis=1", "--redis", &redis.url()]);
        let mut run = server.piped(&["run", "-e", "print(JOB_ID); loop {}", "--timeout", "1h", "--reconnect", "0"]);
        let mut err = BufReader::new(run.stderr.take().unwrap()).lines();
        let id = err.next().unwrap().unwrap();
        redis.kill();
        for arguments in [&["queue", "list"][..], &["job", "status", &id], &["job", "create", "-e", "1"], &["run", "-e", "1"]] {
            let ended = server.run(arguments);
            assert!(ended.code == 1 && ended.err.contains("Redis does not answer the server"), "{arguments:?}: {}", ended.err);
            assert!(ended.err.contains("/readyz") && !ended.err.contains("hero serve`"), "{arguments:?}: {}", ended.err);
            let only_reads = matches!(arguments, ["queue", "list"] | ["job", "status", _]);
            assert!(!only_reads || !ended.err.contains("is unknown"), "{arguments:?}: {}", ended.err);
            // Each thing once, and no advice that this command has no option for.
            for word in ["hero job show", "try again", "Redis does not answer", "/readyz", "look at", "look for"] {
                assert!(ended.err.matches(word).count() <= 1, "{word}: {}", ended.err);
            }
            assert!(!ended.err.contains("idempotency") && !ended.err.contains("hero job status"), "{}", ended.err);
        }
        // The wait itself goes on, whoever leaves it is told which job it was.
        signal(&server.child, Signal::KILL);
        assert_eq!(run.wait().unwrap().code(), Some(7));
        let said: String = err.map_while(Result::ok).collect();
        assert_eq!(said.matches(&format!("hero job show {id}")).count(), 1, "{said}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn while_redis_hangs_the_server_is_not_blamed_and_what_was_asked_for_is_named() {
    let redis = Redis::start().await;
    tokio::task::block_in_place(|| {
        let server = Server::with(Hero::new(), &["--pool", "osis=1", "--redis", &redis.url()]);
        redis.halt(true);
        let ended = server.run(&["run", "-e", "1", "--wait", "0"]);
        redis.halt(false);
        assert_eq!(ended.code, 7, "{}", ended.err);
        for told in
            ["error: the server is not ready: Redis does not answer", "the job could not be created, or it is not known whether it was"]
        {
            assert!(ended.err.contains(told), "{told}: {}", ended.err);
        }
        for wrong in ["hero job create", "hangs or is stopped", "create_job"] {
            assert!(!ended.err.contains(wrong), "{wrong}: {}", ended.err);
        }
    });
}

#[test]
fn bench_shows_its_steps_and_removes_its_jobs_from_a_server_of_others() {
    let server = Server::start();
    let kept = server.ok(&["job", "create", "-e", "1", "--group", "nobody", "--start"]);
    let ended = server.run(&["bench", "--jobs", "200", "--related", "20"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80), "{}", ended.out);
    for step in ["warming up: done", "run and wait, 64 callers: done", "running: jobs that wait for one: done", "removing the jobs: done"] {
        assert!(ended.err.contains(step), "{step}: {}", ended.err);
    }
    let left: Value = server.json(&["job", "list", "--limit", "1000"]);
    let left: Vec<_> = left["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].as_str().unwrap()).collect();
    assert_eq!(left, [kept]);
}

#[test]
fn a_wait_that_runs_out_says_each_thing_once() {
    let server = Server::start();
    let created = server.ok(&["job", "create", "-e", "1"]);
    let queued = server.ok(&["job", "create", "-e", "1", "--group", "nobody", "--start"]);
    for (id, command) in [(&created, "hero job start"), (&queued, "hero job wait")] {
        let ended = server.run(&["job", "wait", id, "--wait", "0"]);
        assert_eq!((ended.code, ended.err.lines().count()), (6, 2), "{}", ended.err);
        assert!(ended.err.contains(&format!("`{command} {id}`")), "{}", ended.err);
        assert_eq!((ended.err.matches("hero job").count(), ended.err.matches("waiting").count() <= 1), (1, true), "{}", ended.err);
    }
    // On the wire, where nobody else advises, the server still does.
    let told = server.run(&["--json", "job", "wait", &queued, "--wait", "0"]);
    assert!(told.out.contains("; wait_job waits on"), "{}", told.out);
}

#[test]
fn a_script_that_is_too_long_is_told_with_the_limit_and_its_setting() {
    let server = Server::start();
    let long = " ".repeat(70_000) + "1";
    server.hero.file("long.rhai", &long);
    server.hero.file("jobs.json", &serde_json::json!([{ "script": "1" }, { "script": long }]).to_string());
    for arguments in [
        &["run", "long.rhai"][..],
        &["job", "create", "long.rhai"],
        &["job", "create-many", "jobs.json"],
        &["schedule", "create", "long.rhai", "--every", "1h"],
    ] {
        let ended = server.run(arguments);
        assert!(ended.code == 1 && ended.err.contains("script has 70001 bytes, the limit is 65536 (script_source)"), "{}", ended.err);
        assert!(ended.err.contains("--script-source"), "{}", ended.err);
        assert_eq!(ended.err.contains("jobs[1]"), arguments.contains(&"create-many"), "{}", ended.err);
    }
}

#[test]
fn what_a_call_that_was_left_names_is_what_runs() {
    let server = Server::start();
    let script = "print(`begun`); loop {}";
    let running = || server.json(&["job", "list", "--status", "started"])["jobs"].as_array().unwrap().clone();
    for key in [None, Some("k")] {
        let mut params = serde_json::json!({ "script": script, "timeout": 3600, "wait_timeout": 3600 });
        if let Some(key) = key {
            params["idempotency_key"] = key.into();
        }
        let call = server.piped(&["call", "run_and_wait", &params.to_string()]);
        let id = loop {
            if let [job] = running().as_slice() {
                break job["job_id"].as_str().unwrap().to_owned();
            }
        };
        signal(&call, Signal::INT);
        let ended: super::super::Ended = call.wait_with_output().unwrap().into();
        assert_eq!(ended.code, 130, "{}", ended.err);
        if key.is_some() {
            params.as_object_mut().unwrap().remove("wait_timeout");
            assert_eq!(server.ok(&["call", "create_job", &params.to_string()]), format!("\"{id}\""), "{}", ended.err);
        } else {
            assert!(ended.err.contains(&format!("`hero job stop {id}`")), "{}", ended.err);
        }
        assert_eq!(running().len(), 1, "it goes on");
        server.ok(&["job", "stop", &id]);
        server.is(&id, "stopped");
    }
}
