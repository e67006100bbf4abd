//! Jobs that are only stored, and jobs that end or are refused before they start.

use serde_json::{Value, json};

use super::super::Hero;
use super::Server;

#[test]
fn a_job_whose_prerequisite_is_in_error_ends_with_it_whatever_command_starts_it() {
    let server = Server::start();
    let failed = server.ok(&["job", "create", "-e", "throw 1", "--start"]);
    assert_eq!(server.run(&["job", "wait", &failed]).code, 3);
    let ended = server.run(&["run", "-e", "1", "--after", &failed]);
    assert!(ended.code == 3 && ended.err.contains(&format!("prerequisite {failed} ended in error")), "{} {}", ended.code, ended.err);
    let created = server.json(&["job", "create", "-e", "1", "--after", &failed, "--start"]);
    assert_eq!(created["status"], "error");
    let id = server.ok(&["job", "create", "-e", "1", "--after", &failed, "--start"]);
    assert_eq!(server.ok(&["job", "status", &id]), "failed");
}

#[test]
fn a_job_that_is_stored_but_not_started_is_named_and_can_be_started_later() {
    let server = Server::with(Hero::new(), &["--pool", "osis=1", "--queue-length", "1"]);
    server.ok(&["queue", "pause", "osis"]);
    let first = server.ok(&["job", "create", "-e", "1", "--start"]);

    let run = server.run(&["run", "-e", "2", "--name", "run"]);
    let id = server.json(&["job", "list", "--name", "run"])["jobs"][0]["job_id"].as_str().unwrap().to_owned();
    assert!(run.code == 1 && run.err.contains(&format!("job {id} is stored, but was not started: ")), "{}", run.err);
    assert!(run.err.contains(&format!("`hero job start {id}` starts it later")) && !run.err.contains("try again"), "{}", run.err);

    let create = server.run(&["job", "create", "-e", "3", "--start"]);
    let id = create.out.trim();
    assert!(create.code == 1 && create.err.contains(&format!("`hero job start {id}` starts it later")), "{}", create.err);
    let document: Value = serde_json::from_str(&server.run(&["--json", "job", "create", "-e", "4", "--start"]).out).unwrap();
    let data = &document["error"]["data"];
    assert!(data["not_started"] == data["job_ids"] && data["job_ids"][0].is_string() && data["retry_after_ms"].is_u64(), "{document}");

    server.hero.file("jobs.json", r#"[{"script": "5"}, {"script": "6", "script_type": "sal"}, {"script": "7"}]"#);
    let many = server.run(&["job", "create-many", "jobs.json", "--start"]);
    let ids: Vec<&str> = many.out.lines().collect();
    assert!(many.code == 1 && ids.len() == 3 && many.err.contains("all 3 jobs are stored, but 2 were not started: "), "{}", many.err);
    assert!(many.err.contains(&format!("`hero job start ID` starts one of them later: {} {}", ids[0], ids[2])), "{}", many.err);
    assert_eq!(server.ok(&["job", "status", ids[1]]), "dispatched", "a queue that is full holds up no other");

    server.ok(&["queue", "resume", "osis"]);
    assert_eq!(server.ok(&["job", "wait", &first]), "1");
    server.ok(&["job", "start", id]);
    assert_eq!(server.ok(&["job", "wait", id]), "3");
    assert_eq!(server.json(&["job", "status", ids[0]]), json!({ "status": "created" }));
}
