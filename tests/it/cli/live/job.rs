//! `hero job`, `hero queue` and `hero actor list`.

use std::io::{BufRead as _, BufReader};

use serde_json::json;

use super::super::{Ended, Hero};
use super::Server;

const NOBODY: &str = "00000000-8f5b-4c7e-9d0a-2b3c4d5e6f70";

#[test]
fn a_job_goes_through_its_life_by_commands() {
    let server = Server::start();
    let id = server.ok(&["job", "create", "-e", "print(\"one\"); print(\"two\"); 40 + 2"]);
    assert_eq!(server.ok(&["job", "status", &id]), "created");
    let waited = server.run(&["job", "wait", &id, "--wait", "0"]);
    assert!(waited.code == 6 && waited.err.contains(&format!("hero job start {id}")), "{}", waited.err);
    assert_eq!(server.ok(&["job", "logs", &id]), "");
    assert_eq!(server.ok(&["job", "start", &id]), "dispatched");
    assert_eq!(server.ok(&["job", "wait", &id]), "42");
    assert_eq!(server.json(&["job", "wait", &id])["value"], 42);
    assert_eq!(server.json(&["job", "status", &id]), json!({ "status": "finished" }));

    let logs = server.ok(&["job", "logs", &id]);
    assert!(logs.lines().map(|line| line.rsplit(' ').next().unwrap()).eq(["one", "two"]), "{logs}");
    assert_eq!(server.ok(&["job", "logs", "-f", &id]), logs);
    let show = server.ok(&["job", "show", &id]);
    for part in ["status             finished", &id, "priority           normal", "actor              osis:default:", "output\n  42"] {
        assert!(show.contains(part), "{show}");
    }
    for again in [["job", "start", &id], ["job", "stop", &id]] {
        let ended = server.run(&again);
        assert!(ended.code == 1 && ended.err.contains("is finished"), "{again:?}: {}", ended.err);
    }
    assert_eq!(server.ok(&["job", "delete", &id]), "deleted");
    for gone in ["status", "show", "wait", "logs", "delete", "start", "stop"] {
        let ended = server.run(&["job", gone, &id]);
        assert!(ended.code == 1 && ended.err.contains("does not exist"), "{gone}: {}", ended.err);
    }
}

#[test]
fn the_attempts_of_a_job_are_shown_with_the_places_of_their_errors() {
    let server = Server::start();
    let script = "if ATTEMPT < 3 { throw `no ${ATTEMPT}` } ATTEMPT";
    let run = server.json(&["run", "-e", script, "--retries", "5", "--retry-backoff", "1ms"]);
    let id = run["job_id"].as_str().unwrap();
    let show = server.ok(&["job", "show", id]);
    let attempts: Vec<&str> = show.lines().skip_while(|line| *line != "attempts").skip(1).take(3).collect();
    assert!(attempts[0].starts_with("  1  osis:default:") && attempts[0].contains("  1:"), "{show}");
    assert!(attempts[0].ends_with("script: no 1") && attempts[1].ends_with("script: no 2") && attempts[2].ends_with(" ms"), "{show}");
    assert_eq!(server.json(&["job", "show", id])["attempts"].as_array().unwrap().len(), 3);
    let explained = server.ok(&["job", "explain", id]);
    assert!(explained.contains("attempt 1  osis:default:") && explained.contains("script: no 2"), "{explained}");
    assert!(explained.contains("attempt 3  osis:default:"), "{explained}");
    let logs = server.ok(&["job", "logs", id]);
    assert!(logs.contains("attempt 1 failed: no 1 (line 1, column ") && logs.contains("attempt 2 failed: no 2"), "{logs}");
}

#[test]
fn create_hands_every_flag_on() {
    let server = Server::start();
    server.hero.file("a.rhai", "args.n");
    let flags = [
        ["--type", "sal"],
        ["--arg", "n=3"],
        ["--caller", "ada"],
        ["--group", "g1"],
        ["--instance", "7"],
        ["--priority", "0"],
        ["--timeout", "90s"],
        ["--retries", "2"],
        ["--retry-backoff", "500ms"],
        ["--env", "K=v"],
        ["--run-at", "2100-01-01T00:00:00Z"],
        ["--log-path", "sub/a.log"],
        ["--retention", "1h"],
        ["--name", "n"],
        ["--label", "a=b"],
        ["--worker-id", "w"],
        ["--client-rpc-id", "c"],
        ["--id", NOBODY],
    ];
    let arguments = [&["job", "create", "a.rhai", "--concurrent", "--start"][..], flags.as_flattened()].concat();
    assert_eq!(server.json(&arguments), json!({ "job_id": NOBODY, "status": "scheduled" }));
    let job = server.json(&["job", "show", NOBODY]);
    let expected = json!({
        "job_id": NOBODY, "status": "scheduled", "script_type": "sal", "args": { "n": 3 }, "caller_id": "ada", "group": "g1", "instance": 7,
        "priority": 0, "timeout": 90, "retries": 2, "concurrent": true, "env_vars": { "K": "***" }, "run_at": "2100-01-01T00:00:00.000Z",
        "log_path": "sub/a.log", "name": "n", "labels": { "a": "b" }, "worker_id": "w", "client_rpc_id": "c", "script": "args.n",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&job[name], value, "{name}");
    }
    let taken = server.run(&["job", "create", "-e", "1", "--id", NOBODY]);
    assert!(taken.code == 1 && taken.err.contains("exists already"), "{}", taken.err);
}

#[test]
fn the_same_idempotency_key_gives_the_same_job() {
    let server = Server::start();
    let create = |script| server.run(&["job", "create", "-e", script, "--idempotency-key", "k"]);
    let first = create("1");
    assert_eq!(create("1").out, first.out);
    let other = create("2");
    assert!(other.code == 1 && other.err.contains(first.out.trim()), "{}", other.err);
}

#[test]
fn a_job_is_stopped_in_any_state() {
    let server = Server::start();
    let created = server.ok(&["job", "create", "-e", "1"]);
    let scheduled = server.ok(&["job", "create", "-e", "1", "--run-at", "1h", "--start"]);
    let queued = server.ok(&["job", "create", "-e", "1", "--group", "nobody", "--start"]);
    let running = server.ok(&["job", "create", "-e", "loop {}", "--start"]);
    server.is(&running, "started");
    for (id, was) in [(&created, "created"), (&scheduled, "scheduled"), (&queued, "dispatched"), (&running, "started")] {
        assert_eq!(server.ok(&["job", "status", id]), was);
        assert_eq!(server.ok(&["job", "stop", id]), "stopped", "{was}");
        assert_eq!(server.run(&["job", "wait", id]).code, 4, "{was}");
    }
}

#[test]
fn logs_are_followed_to_the_end_of_the_job() {
    let server = Server::start();
    let id = server.ok(&["job", "create", "-e", "print(\"begun\"); loop {}"]);
    let mut follow = server.piped(&["job", "logs", "--follow", &id, "--json"]);
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    server.ok(&["job", "start", &id]);
    assert!(lines.next().unwrap().unwrap().contains("\"text\":\"begun\""));
    server.ok(&["job", "stop", &id]);
    assert!(lines.next().is_none());
    assert_eq!(follow.wait().unwrap().code(), Some(0));
}

#[test]
fn list_finds_jobs_by_what_they_are() {
    let server = Server::start();
    let red = server.ok(&["job", "create", "-e", "1", "--name", "red", "--label", "x=1", "--caller", "ada", "--group", "g", "--start"]);
    let blue = server.ok(&["job", "create", "-e", "throw 1", "--name", "blue", "--label", "x=2", "--type", "sal", "--start"]);
    assert_eq!(server.run(&["job", "wait", &blue]).code, 3);
    let ids = |filter: &[&str]| -> Vec<String> {
        let page = server.json(&[&["job", "list"], filter].concat());
        page["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&[]), [blue.clone(), red.clone()]);
    for (filter, found) in [
        (["--status", "error"], &blue),
        (["--status", "dispatched"], &red),
        (["--type", "sal"], &blue),
        (["--caller", "ada"], &red),
        (["--group", "g"], &red),
        (["--name", "red"], &red),
        (["--label", "x=2"], &blue),
    ] {
        assert_eq!(ids(&filter), std::slice::from_ref(found), "{filter:?}");
    }
    assert!(ids(&["--until", "1h"]).is_empty() && ids(&["--since", "1h"]).len() == 2);

    let first = server.run(&["job", "list", "--limit", "1"]);
    assert!(first.out.starts_with("ID ") && first.out.contains(&blue) && !first.out.contains(&red), "{}", first.out);
    let cursor = first.err.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(ids(&["--cursor", &cursor]), [red]);
    assert_eq!(server.run(&["job", "list", "--cursor", "nonsense"]).code, 2);
}

#[test]
fn queues_and_actors_are_listed() {
    let server = Server::start();
    server.ok(&["job", "create", "-e", "1", "--group", "nobody", "--priority", "2", "--start"]);
    let queues = server.json(&["queue", "list"]);
    let waiting = queues.as_array().unwrap().iter().find(|queue| queue["group"] == "nobody").unwrap();
    assert_eq!((&waiting["depth"], &waiting["actors"], &waiting["priority"]), (&json!(1), &json!(0), &json!(2)));
    assert_eq!(waiting["name"], "hero:q:work:type:osis:group:nobody:prio:2");
    let table = server.ok(&["queue", "list"]);
    assert!(table.starts_with("TYPE ") && table.contains("nobody  -         low"), "{table}");

    let actors = server.json(&["actor", "list"]);
    let names: Vec<_> = actors
        .as_array()
        .unwrap()
        .iter()
        .map(|actor| (actor["script_type"].as_str().unwrap(), actor["instance"].as_u64().unwrap()))
        .collect();
    assert_eq!(names, [("osis", 1), ("osis", 2), ("sal", 1)]);
    assert_eq!(server.ok(&["actor", "list"]).lines().count(), 4);
}

#[test]
fn jobs_are_created_in_bulk_explained_and_run_again() {
    let server = Server::start();
    server.hero.file("jobs.json", r#"[{"script": "throw 1", "name": "a"}, {"script": "2", "name": "b", "group": "nobody"}]"#);
    let ids = server.ok(&["job", "create-many", "jobs.json", "--start"]);
    let [failing, waiting] = ids.lines().collect::<Vec<_>>()[..] else { panic!("{ids}") };
    server.is(failing, "failed");
    assert!(server.ok(&["job", "explain", waiting]).starts_with("dispatched: no live actor takes jobs of osis, group nobody"));
    assert_eq!(server.json(&["job", "explain", waiting])["position"], 1);
    let again = server.json(&["job", "retry", failing]);
    assert!(again["status"] == "dispatched", "{again}");
    let refused = server.run(&["job", "retry", waiting]);
    assert!(refused.code == 1 && refused.err.contains("is dispatched"), "{}", refused.err);
    server.hero.file("bad.json", r#"[{"script": "1"}, {"script": "1", "script_type": "python"}]"#);
    let refused = server.run(&["job", "create-many", "bad.json"]);
    assert!(refused.code == 1 && refused.err.contains("jobs[1]"), "{}", refused.err);
    server.hero.file("bad.json", r#"[{"script": "1"}, ["1", "osis"]]"#);
    let refused = server.run(&["job", "create-many", "bad.json"]);
    assert!(refused.code == 2 && refused.err.contains("`jobs[1]`: expected an object, but got an array"), "{}", refused.err);
    server.hero.file("bad.json", "[\n  {\"script\": 1},\n]");
    let refused = server.run(&["job", "create-many", "bad.json"]);
    assert!(refused.code == 2 && refused.err.contains("at line 3 column 1"), "{}", refused.err);
    server.hero.file("bad.json", r#"[{"script": "1", "labels": {"a": 1}}]"#);
    let refused = server.run(&["job", "create-many", "bad.json"]);
    assert!(refused.code == 2 && refused.err.contains("`jobs[0].labels.a`: expected"), "{}", refused.err);
}

#[test]
fn a_queue_is_paused_and_resumed() {
    let server = Server::start();
    assert_eq!(server.ok(&["queue", "pause", "osis"]), "paused");
    let id = server.ok(&["job", "create", "-e", "40 + 2", "--start"]);
    assert!(server.ok(&["job", "explain", &id]).starts_with("paused: the queue of osis"));
    assert_eq!(server.json(&["job", "explain", &id])["reason"], "paused");
    let continuation = server.ok(&["job", "create", "-e", "1", "--after", &id, "--start"]);
    let explained = server.ok(&["job", "explain", &continuation]);
    assert!(explained.starts_with("waiting: ") && !explained.contains("waiting_for_prerequisites"), "{explained}");
    let table = server.ok(&["queue", "list"]);
    assert!(table.lines().any(|line| line.contains(" yes ") && line.ends_with("hero:q:work:type:osis")), "{table}");
    assert_eq!(server.json(&["queue", "resume", "osis"]), json!({ "paused": false }));
    assert_eq!(server.ok(&["job", "wait", &id]), "42");
}

#[test]
fn a_pause_that_nobody_notices_says_so() {
    let server = Server::start();
    let pause = |more: &[&str]| server.run(&[&["queue", "pause", "osis"], more].concat());
    let (known, typo) = (pause(&[]), pause(&["--group", "typo"]));
    assert_eq!((known.code, known.err.as_str()), (0, ""));
    assert!(typo.code == 0 && typo.out == "paused\n" && typo.err.contains("`hero queue list`"), "{}", typo.err);
}

#[test]
fn ids_are_read_in_any_case_and_integers_that_would_be_rounded_are_refused() {
    let server = Server::start();
    let upper = "6F1C4D1E-8F5B-4C7E-9D0A-2B3C4D5E6F70";
    assert_eq!(server.ok(&["job", "create", "-e", "1", "--id", upper]), upper.to_lowercase());
    assert_eq!(server.ok(&["job", "start", upper]), "dispatched");
    assert_eq!(server.ok(&["job", "wait", upper]), "1");
    assert!(server.ok(&["job", "show", upper]).contains(&upper.to_lowercase()));
    let large = "18446744073709551616";
    for arguments in [["--args", &format!("{{\"n\": {large}}}")], ["--arg", &format!("n={large}")]] {
        let ended = server.run(&[&["job", "create", "-e", "1"][..], &arguments].concat());
        assert!(ended.code == 2 && ended.err.contains(large), "{arguments:?}: {} {}", ended.code, ended.err);
    }
    server.hero.file("jobs.json", &format!("[{{\"script\": \"1\", \"args\": {large}}}]"));
    let ended = server.run(&["job", "create-many", "jobs.json"]);
    assert!(ended.code == 2 && ended.err.contains(large), "{} {}", ended.code, ended.err);
    server.hero.file("jobs.json", "[{\"script\": \"1\", \"args\": null, \"labels\": null, \"priority\": null}]");
    server.ok(&["job", "create-many", "jobs.json"]);
}

#[test]
fn jobs_are_sorted_by_what_they_used() {
    let server = Server::start();
    for (name, script) in
        [("small", "1"), ("long", "sleep(1.5)"), ("busy", "for i in 0..1000000 {}"), ("large", "let s = ``; s.pad(200000, `x`); s.len()")]
    {
        server.ok(&["run", "-e", script, "--name", name]);
    }
    for (what, head, first) in
        [("cpu", "CPU", "busy"), ("operations", "OPERATIONS", "busy"), ("memory", "MEMORY", "large"), ("time", "RAN", "long")]
    {
        let list = server.ok(&["job", "list", "--sort", what]);
        let (names, rest) = list.split_once('\n').unwrap();
        assert!(names.contains(head) && rest.lines().next().unwrap().ends_with(first), "{what}: {list}");
        let page = server.json(&["job", "list", "--sort", what]);
        assert_eq!(page["jobs"][0]["name"], first, "{what}");
    }
    assert_eq!(server.run(&["job", "list", "--sort", "beauty"]).code, 2);
}

#[test]
fn the_operator_drains_the_server_of_his_data_directory_without_naming_it() {
    let mut server = Server::with(Hero::new(), &["--pool", "osis=1", "--login"]);
    let mut command = server.hero.command(&["drain"]);
    let ended: Ended = command.env_remove("HERO_SERVER").env("HERO_DATA", "data").output().unwrap().into();
    assert_eq!((ended.code, ended.out.as_str()), (0, "the server has ended\n"), "{}", ended.err);
    assert!(server.child.wait().unwrap().success());
}
