//! The whole program: killed servers and actors, and the commands that read the log.

use std::process::Output;

use super::*;
use crate::support::{Process, Redis, hero};

/// A data directory, and the program on it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.data().join("audit")
    }

    /// A server whose log is on, without login.
    async fn serve(&self, more: &[&str]) -> Process {
        Process::serve(&self.data(), &[&["--pool", "osis=1", "--audit"][..], more].concat()).await
    }

    /// `hero audit …` as the user of this data directory.
    fn audit(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = std::process::Command::new(hero());
        command.arg("audit").args(arguments).env_clear().env("HOME", "/nonexistent").env("HERO_DATA", self.data());
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    /// The content of all files of the log.
    fn bytes(&self) -> String {
        let entries = std::fs::read_dir(self.log()).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chain_goes_on_after_a_server_was_killed() {
    let home = Home::new();
    let mut jobs = Vec::new();
    for round in 0..3 {
        let mut server = home.serve(&[]).await;
        let client = server.client().await;
        for _ in 0..20 {
            jobs.push(client.call_named::<String>("create_job", json!({ "script": "1" })).await.unwrap());
        }
        client.call_named::<Value>("grant", json!({ "identity_id": 7, "role": "reader" })).await.unwrap_err();
        // What was asked last waited for its record, and with it for all before.
        server.kill().await;
        let (code, out, err) = home.audit(&["verify"]);
        assert_eq!(code, 0, "round {round}: {out}{err}");
    }
    let entries = entries(&home.log());
    let made: Vec<String> = entries.iter().filter(|entry| entry.what == "create_job").filter_map(|entry| entry.object.clone()).collect();
    assert_eq!(made, jobs.iter().map(|job| format!("job:{job}")).collect::<Vec<_>>());
    assert_eq!(entries.iter().filter(|entry| entry.what == "audit_start").count(), 3);
    assert!(entries.iter().zip(1..).all(|(entry, seq)| entry.seq == seq));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_and_no_content_is_in_a_record() {
    let home = Home::new();
    let server = Process::serve(&home.data(), &["--pool", "osis=1", "--login"]).await;
    let operator = hero::client::Client::connect(&format!("unix://{}", home.data().join("hero.sock").display()), None).await.unwrap();
    let identity = operator.create_identity(None, &[]).await.unwrap().identity_id;
    let made = operator.create_token(identity, Some("N4ME"), None).await.unwrap();
    operator.set_role(identity, hero::model::Role::Caller, CONTEXT, true).await.unwrap();
    let client = hero::client::Client::connect(&server.url(), Some(&made.secret)).await.unwrap();
    let job = json!({ "script": "/* SCR1PT */ print(\"L0G\"); args.a + \"R3SULT\"", "args": { "a": "4RG" }, "env_vars": { "E": "3NV" }, "name": "J0B" });
    client.call_named::<Value>("run_and_wait", job).await.unwrap();
    client.call_named::<Value>("run_and_wait", json!({ "script": "throw \"M3SSAGE\"" })).await.unwrap_err();
    client.call_named::<Value>("set_object", json!(["people", { "id": "ada", "born": "C0NTENT" }])).await.unwrap();
    client.call_named::<Value>("create_job", json!({ "script": "1", "caller_id": "SOMEB0DY" })).await.unwrap_err();
    assert!(hero::client::Client::connect(&server.url(), Some("hero_WR0NG")).await.is_err());
    server.stop().await;
    let (text, key) = (home.bytes(), std::fs::read_to_string(home.data().join("audit.key")).unwrap());
    assert!(text.contains("run_and_wait") && text.contains("object:people/ada") && text.contains("\"who\":\"operator\""), "{text}");
    for secret in
        ["SCR1PT", "L0G", "R3SULT", "4RG", "3NV", "J0B", "M3SSAGE", "C0NTENT", "N4ME", "SOMEB0DY", "WR0NG", &made.secret, key.trim()]
    {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let (code, out, _) = home.audit(&["verify"]);
    assert!(code == 0 && out.contains("are as they were written"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_show_records_and_say_which_was_changed() {
    let home = Home::new();
    let (code, _, err) = home.audit(&["tail"]);
    assert!(code == 1 && err.contains("there is no audit log in") && err.contains("--audit"), "{err}");
    let server = home.serve(&[]).await;
    let client = server.client().await;
    client.call_named::<Value>("run_and_wait", json!(["40 + 2"])).await.unwrap();
    client
        .call_named::<Value>(
            "create_schedule",
            json!({ "job": { "script": "1" }, "every": 1, "schedule_id": "9b2e6f0a-3c1d-4e5f-8a7b-6c5d4e3f2a10" }),
        )
        .await
        .unwrap();
    let fired = until("a run", || async { entries(&home.log()).into_iter().find(|entry| entry.what == "fire") }).await;
    assert_eq!((&*fired.who, &*fired.outcome), ("schedule:9b2e6f0a-3c1d-4e5f-8a7b-6c5d4e3f2a10", "ok"));
    let (_, ready) = server.get("/metrics").await;
    assert!(ready.contains("hero_audit_records_total"), "{ready}");
    server.stop().await;
    let (code, out, err) = home.audit(&["tail", "-n", "1000"]);
    assert!(code == 0 && out.contains("run_and_wait") && out.contains("actor:osis:default:1") && out.contains("finished"), "{out}{err}");
    let (_, out, _) = home.audit(&["tail", "--what", "execute", "-n", "1", "--json"]);
    let line: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&line["what"], out.lines().count()), (&json!("execute"), 1));
    assert!(home.bytes().contains(out.trim_end()));
    let (_, out, err) = home.audit(&["tail", "--who", "nobody"]);
    assert!(out.is_empty() && err.contains("no such records"), "{out}{err}");
    // The data directory may be named, too.
    let (code, _, err) = home.audit(&["tail", "--data", "/nonexistent"]);
    assert!(code == 1 && err.contains("there is no audit log in /nonexistent/audit"), "{err}");
    let (code, out, err) = home.audit(&["tail", "--data", home.data().to_str().unwrap()]);
    assert!(code == 0 && out.contains("run_and_wait"), "{out}{err}");
    // From anywhere, by its name: the key is beside it.
    let (code, out, _) = home.audit(&["verify", home.log().to_str().unwrap()]);
    assert_eq!(code, 0, "{out}");
    let noted = out.lines().last().unwrap().strip_prefix("last ").unwrap().to_owned();
    assert_eq!(home.audit(&["verify", "--expect", &noted]).0, 0);
    assert_eq!(home.audit(&["verify", "--expect", "1:00"]).0, 2);
    let file = home.log().join("audit-000000000001.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("anonymous", "somebodys", 1)).unwrap();
    let (code, out, _) = home.audit(&["verify"]);
    assert!(code == 1 && out.starts_with("audit-000000000001.jsonl:2 (record 2): the record is not what was written"), "{out}");
    let (code, out, _) = home.audit(&["verify", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["faults"][0]["seq"], &report["faults"][0]["line"]), (1, &json!(2), &json!(2)));
    std::fs::remove_file(home.data().join("audit.key")).unwrap();
    let (code, _, err) = home.audit(&["verify"]);
    assert!(code == 1 && err.contains("the key of the audit log is not there") && err.contains("--key"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_log_cannot_be_written_says_so_and_goes_on_later() {
    let home = Home::new();
    let server = home.serve(&[]).await;
    let client = server.client().await;
    let away = home.data().join("away");
    std::fs::rename(home.log(), &away).unwrap();
    std::fs::write(home.log(), "in the way").unwrap();
    let refused = until("a refusal", || async { client.call_named::<Value>("create_job", json!({ "script": "1" })).await.err() }).await;
    assert_eq!(refused.rpc().unwrap().code, 1009, "{refused}");
    assert!(client.call_named::<Value>("list_jobs", json!({})).await.is_ok());
    let (status, reasons) = server.get("/readyz").await;
    assert!(status == 503 && reasons.contains("the audit log cannot be used"), "{reasons}");
    std::fs::remove_file(home.log()).unwrap();
    std::fs::rename(&away, home.log()).unwrap();
    until("it works", || async { client.call_named::<Value>("run_and_wait", json!(["1"])).await.ok() }).await;
    let log = server.stop().await;
    assert_eq!(log.matches("changes are refused until it can be written").count(), 1, "{log}");
    assert!(log.contains("the audit log can be written again"), "{log}");
    assert_eq!(home.audit(&["verify"]).0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_and_actors_have_logs_of_their_own() {
    let (redis, home, other, of_actor) = (Redis::start().await, Home::new(), Home::new(), Home::new());
    let mut servers = Vec::new();
    for home in [&home, &other] {
        servers.push(Process::serve(&home.data(), &["--redis", &redis.url(), "--pool", "none", "--audit"]).await);
    }
    let data = of_actor.data().display().to_string();
    let url = redis.url();
    let actor = Process::start(&["actor", "--redis", &url, "--data", &data, "--pool", "osis=1", "--audit"]).until_ready().await;
    for server in &servers {
        server.client().await.call_named::<Value>("run_and_wait", json!(["40 + 2"])).await.unwrap();
    }
    // The same directory is refused, by name.
    let mut second = Process::start(&["actor", "--redis", &url, "--data", &data, "--pool", "osis=1", "--audit"]);
    let (code, log) = second.failure().await;
    assert!(code == Some(1) && log.contains("another process writes the audit log in"), "{log}");
    actor.stop().await;
    for server in servers {
        server.stop().await;
    }
    let whats = |home: &Home| told(&entries(&home.log())).into_iter().map(|(_, what, _)| what).collect::<Vec<_>>();
    assert_eq!((whats(&home), whats(&other)), (vec!["run_and_wait".to_owned()], vec!["run_and_wait".to_owned()]));
    assert_eq!(whats(&of_actor), ["execute", "execute"]);
    for home in [&home, &other, &of_actor] {
        assert_eq!(home.audit(&["verify"]).0, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_login_the_log_is_on_and_without_it_is_off_until_it_is_asked_for() {
    for (arguments, is_on) in
        [(&[][..], false), (&["--login"][..], true), (&["--login", "--audit=false"][..], false), (&["--audit"][..], true)]
    {
        let home = Home::new();
        Process::serve(&home.data(), &[&["--pool", "none"][..], arguments].concat()).await.stop().await;
        assert_eq!(home.log().exists(), is_on, "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_sees_what_comes_also_in_the_next_file() {
    let home = Home::new();
    let server = home.serve(&["--audit-file-size", "4KB"]).await;
    let client = server.client().await;
    client.call_named::<Value>("create_job", json!({ "script": "1" })).await.unwrap();
    let data = home.data().display().to_string();
    let follows = Process::start_with(&["audit", "tail", "--follow", "--json", "-n", "0"], |command| {
        command.env("HERO_DATA", &data);
    });
    // What it has not seen when it begins it does not show.
    let created = until("the first", || async {
        client.call_named::<String>("create_job", json!({ "script": "1" })).await.unwrap();
        (!follows.out().is_empty()).then_some(())
    });
    created.await;
    let mut last = String::new();
    while !home.log().join("audit-000000000001.jsonl").exists() || std::fs::read_dir(home.log()).unwrap().count() < 5 {
        last = client.call_named::<String>("create_job", json!({ "script": "1" })).await.unwrap();
    }
    until("the last", || async { follows.out().iter().any(|line| line.contains(&last)).then_some(()) }).await;
    let seqs: Vec<u64> = follows.out().iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap()).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_server_was_killed_is_recorded_by_the_one_that_takes_it() {
    let (redis, first, second) = (Redis::start().await, Home::new(), Home::new());
    let serve = async |home: &Home| {
        let more = ["--redis", &redis.url(), "--pool", "osis=1", "--audit", "--lease", "5s"];
        Process::serve(&home.data(), &more).await
    };
    let mut server = serve(&first).await;
    let client = server.client().await;
    let job: String = client.call_named("create_job", json!({ "script": "if ATTEMPT == 1 { loop {} } else { 42 }" })).await.unwrap();
    client.call_named::<Value>("start_job", json!([job])).await.unwrap();
    until("it runs", || async { (client.call_named::<Value>("get_status", json!([job])).await.unwrap() == "started").then_some(()) }).await;
    server.kill().await;
    let server = serve(&second).await;
    let ends = until("both attempts", || async {
        let ends: Vec<Entry> = entries(&second.log()).into_iter().filter(|entry| entry.what == "execute").collect();
        (ends.len() >= 2).then_some(ends)
    });
    let ends = ends.await;
    let of_job = |entry: &Entry| {
        let named = (&*entry.who, entry.object.as_deref(), entry.caller.as_deref());
        named == ("actor:osis:default:1", Some(&*format!("job:{job}")), Some("anonymous"))
    };
    assert!(ends.iter().all(of_job), "{ends:?}");
    let told: Vec<(u32, &str)> = ends.iter().map(|entry| (entry.attempt.unwrap(), entry.end.as_deref().unwrap())).collect();
    assert_eq!(told, [(1, "lost"), (2, "finished")]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_a_message_are_recorded_with_the_message_and_the_ids_that_they_have_here() {
    let home = Home::new();
    let server = home.serve(&[]).await;
    let client = server.client().await;
    let job = json!([{ "id": 2001, "script": "40 + 2", "script_type": "osis" }]);
    let sent: Value = client
        .call_named("send_message", json!({ "message_type": "job", "job": job, "address": "here", "target_context": 0 }))
        .await
        .unwrap();
    let run = until("its job", || async { entries(&home.log()).into_iter().find(|entry| entry.what == "execute") }).await;
    let all = entries(&home.log());
    let of = |what: &str| all.iter().find(|entry| entry.what == what).unwrap_or_else(|| panic!("{what}: {all:?}"));
    assert_eq!(of("send_message").object, Some(format!("message:0:{} target:0", sent["message_id"])));
    let came = of("receive");
    let named: Vec<&str> = came.object.as_deref().unwrap().split(' ').collect();
    assert!(named.len() == 3 && named[0].starts_with("message:0:") && named[1] == "job:0:2001", "{named:?}");
    assert_eq!((&*came.who, &*came.outcome, Some(named[2])), ("node:here", "ok", run.object.as_deref()));
    server.stop().await;
    assert_eq!(home.audit(&["verify"]).0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_would_steer_a_terminal_are_escaped_in_the_log_and_what_is_shown_of_it_is_json() {
    let home = Home::new();
    let server = home.serve(&[]).await;
    let id = "a\u{202e}b\u{2028}c";
    server.client().await.call_named::<Value>("set_object", json!(["people", { "id": id }])).await.unwrap();
    server.stop().await;
    let (code, out, err) = home.audit(&["tail", "--what", "set_object", "--json"]);
    assert!(code == 0 && !out.contains('\u{202e}') && !out.contains('\u{2028}') && home.bytes().contains(out.trim_end()), "{out}{err}");
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["object"], format!("object:people/{id}"));
    assert_eq!(home.audit(&["verify"]).0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_taken_away_as_a_whole_is_a_fault_of_the_next_one() {
    let home = Home::new();
    home.serve(&[]).await.stop().await;
    assert_eq!(home.audit(&["verify"]).0, 0);
    std::fs::remove_dir_all(home.log()).unwrap();
    let (code, _, err) = home.audit(&["verify"]);
    assert!(code == 1 && err.contains("there is no audit log in") && err.contains("all its records are missing"), "{err}");
    let log = home.serve(&[]).await.stop().await;
    assert!(log.contains("all its records are missing"), "{log}");
    let (code, out, _) = home.audit(&["verify"]);
    assert!(code == 1 && out.contains("all its records are missing"), "{out}");
    // Whoever wants a new one takes the mark away, too.
    std::fs::remove_dir_all(home.log()).unwrap();
    std::fs::remove_file(home.data().join("audit.begun")).unwrap();
    home.serve(&[]).await.stop().await;
    assert_eq!(home.audit(&["verify"]).0, 0);
}
