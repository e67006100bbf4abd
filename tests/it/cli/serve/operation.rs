//! Operator actions on a server, and the information that the operator gets from it.

use std::net::ToSocketAddrs as _;
use std::os::unix::fs::PermissionsExt as _;

use hero::model::JobSpec;
use rustix::process::Signal;
use serde_json::Value;

use super::{run, spec};
use crate::support::{PATIENCE, Process, Redis, get, until};

#[tokio::test(flavor = "multi_thread")]
async fn sighup_ends_no_server_and_no_actor() {
    let home = tempfile::tempdir().unwrap();
    let redis = Redis::start().await;
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--pool", "none", "--redis", &redis.url()]).await;
    let more = ["actor", "--pool", "osis=1", "--redis", &redis.url(), "--data", data.to_str().unwrap()];
    let actor = Process::start(&more).until_ready().await;
    for process in [&server, &actor] {
        process.signal(Signal::HUP);
        until("a word of it", || async { process.log().contains("SIGHUP changes nothing").then_some(()) }).await;
    }
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    actor.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_listened_on_at_all_its_addresses() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let arguments = ["serve", "--listen", "localhost:0", "--pool", "osis=1", "--data", data.to_str().unwrap()];
    let server = Process::start(&arguments).until_ready().await;
    let listens: Vec<String> = serde_json::from_value(server.client().await.server_info().await.unwrap()["listen"].clone()).unwrap();
    let ports: Vec<&str> = listens.iter().map(|address| address.rsplit(':').next().unwrap()).collect();
    assert!(!ports.is_empty() && ports.iter().all(|port| *port == ports[0]), "{listens:?}");
    // Every address that the name has and that this machine can bind.
    for address in "localhost:0".to_socket_addrs().unwrap() {
        if std::net::TcpListener::bind(address).is_ok() {
            let address = std::net::SocketAddr::new(address.ip(), ports[0].parse().unwrap()).to_string();
            assert!(listens.contains(&address), "{address}: {listens:?}");
            assert_eq!(get(&address, "/healthz").await.0, 200, "{address}");
        }
    }
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_debug_the_log_follows_a_job_by_its_name() {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["--pool", "osis=1", "--log-level", "hero=debug", "--log-format", "json"];
    let server = Process::serve(&home.path().join("data"), &arguments).await;
    let client = server.client().await;
    let good = run(&client, "40 + 2").await.unwrap().job_id;
    let many = client.create_jobs(&[spec("throw 1")]).await.unwrap().remove(0);
    client.start_job(super::CONTEXT, &many).await.unwrap();
    super::is(&client, &many, hero::model::Status::Error).await;
    let log = server.stop().await;
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (job, outcome) in [(&good, "finished"), (&many, "failed")] {
        let of_job: Vec<&Value> = lines.iter().filter(|line| line["job"] == job.as_str()).collect();
        let says = |message: &str, field: &str, value: &str| {
            assert!(of_job.iter().any(|line| line["message"] == message && line[field] == value), "{message}: {of_job:?}");
        };
        says("a job was created", "script_type", "osis");
        says("a job starts", "actor", "osis:default:1");
        says("a job has ended", "actor", "osis:default:1");
        says("a job has ended", "outcome", outcome);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_redis_that_never_answers_is_reported_while_it_is_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("redis-server");
    std::fs::write(&program, "#!/bin/sh\n[ \"$1\" = --version ] && exec echo 'Redis server v=7.0.15 sha=0'\nexec sleep 1000\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths([home.path(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    let data = home.path().join("data");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--pool", "osis=1", "--data", data.to_str().unwrap()];
    let mut server = Process::start_with(&arguments, |command| {
        command.env("PATH", path);
    });
    until("a word of it", || async { server.log().contains("the private Redis has not answered for").then_some(()) }).await;
    // Nor is it waited for when the server is to end.
    server.terminate();
    let (code, log) = server.failure().await;
    assert!(code == Some(0) && log.contains("while the private Redis was starting"), "{code:?} {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ineffective_settings_are_logged_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    let redis = Redis::start().await;
    let more = ["--pool", "none", "--redis", &redis.url(), "--durability", "always", "--mask", "tok_.*,key_*"];
    let log = Process::serve(&home.path().join("data"), &more).await.stop().await;
    let warned = |words: &[&str]| log.lines().filter(|line| line.contains("WARN") && words.iter().all(|word| line.contains(word))).count();
    assert_eq!(warned(&["durability (flag --durability) has no effect"]), 1, "{log}");
    assert_eq!(warned(&["tok_.*", "regular expression"]), 1, "{log}");
    assert_eq!(warned(&["redis_max_memory"]), 0, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_whose_fetches_keep_failing_says_so_once_and_goes_on_when_it_can() {
    let home = tempfile::tempdir().unwrap();
    let redis = Redis::start().await;
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--redis", &redis.url()]).await;
    let said = || server.log().matches("fetching jobs keeps failing, so this pool runs none").count();
    // As an administrator does who forgets what the program needs.
    let _: () = redis.run(&["ACL", "SETUSER", "default", "-@scripting"]).await;
    until("a warning", || async { (said() > 0).then_some(()) }).await;
    let _: () = redis.run(&["ACL", "SETUSER", "default", "+@all"]).await;
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    assert_eq!(said(), 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_takes_no_functions_is_told_of_once_and_what_that_means_for_other_languages() {
    let home = tempfile::tempdir().unwrap();
    let redis = Redis::start().await;
    let _: () = redis.run(&["ACL", "SETUSER", "default", "-function"]).await;
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--redis", &redis.url()]).await;
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    let log = server.stop().await;
    for said in ["scripts do its work", "actors in other languages", "Redis does not load the library"] {
        assert_eq!(log.matches(said).count(), 1, "{said}: {log}");
    }
    assert!(!log.contains("pruner"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_without_its_log_file_where_the_log_directory_cannot_be_used_and_everybody_is_told() {
    let home = tempfile::tempdir().unwrap();
    let logs = home.path().join("logs");
    std::fs::write(&logs, "").unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--log-dir", logs.to_str().unwrap()]).await;
    let client = server.client().await;
    let spec = JobSpec { log_path: Some("a.log".into()), ..spec("print(\"on\"); 40 + 2") };
    for _ in 0..2 {
        let ended = client.run_and_wait(&spec, PATIENCE).await.unwrap();
        assert_eq!(ended.output, "42");
        let log = client.get_logs(super::CONTEXT, &ended.job_id, None, 10).await.unwrap();
        let texts: Vec<&str> = log.lines.iter().map(|line| line.text.as_str()).collect();
        assert!(texts[0].contains("(log_dir) cannot be used") && texts[1] == "on", "{texts:?}");
    }
    let (code, body) = server.get("/readyz").await;
    assert!(code == 200 && body.contains("log files of jobs cannot be written") && body.contains(logs.to_str().unwrap()), "{body}");
    assert!(server.get("/metrics").await.1.contains("hero_log_files_failed_total 2"));
    // A path that can never be is its job's fault, and fails it.
    let outside = JobSpec { log_path: Some("a.log/b.log".into()), ..spec.clone() };

    std::fs::remove_file(&logs).unwrap();
    client.run_and_wait(&spec, PATIENCE).await.unwrap();
    assert!(std::fs::read_to_string(logs.join("a.log")).unwrap().contains("on"));
    until("a word that it works again", || async { (!server.get("/readyz").await.1.contains("log files")).then_some(()) }).await;
    let failed = client.run_and_wait(&outside, PATIENCE).await.unwrap_err().to_string();
    assert!(failed.contains("log_path"), "{failed}");
    let log = server.stop().await;
    assert!(log.lines().any(|line| line.contains("WARN") && line.contains("(log_dir) cannot be used")), "{log}");
    let once = log.matches("log files of jobs cannot be written; jobs continue").count();
    assert!(once == 1 && log.contains("log files of jobs can be written again"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_that_are_confined_alike_are_told_of_in_one_line() {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["--pool", "osis=2,sal=1,osis:a=1", "--contexts", "0-2"];
    let log = Process::serve(&home.path().join("data"), &arguments).await.stop().await;
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("engines are confined")).collect();
    assert_eq!(lines.len(), 1, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_log_nobody_reads_any_more_goes_on_and_ends_when_it_is_told_to() {
    let home = tempfile::tempdir().unwrap();
    let redis = Redis::start().await;
    let (data, url) = (home.path().join("data"), redis.url());
    let mut command = tokio::process::Command::new(crate::support::hero());
    command.args(["serve", "--listen", "127.0.0.1:0", "--pool", "osis=1", "--log-level", "debug", "--redis", &url, "--data"]).arg(&data);
    command.env_clear().stdin(std::process::Stdio::null()).kill_on_drop(true);
    let mut server = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // Each line that it writes from here on fails.
    drop(server.stderr.take());
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(server.stdout.take().unwrap()));
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
    let address = line.split("ready on ").nth(1).unwrap().split(' ').next().unwrap();
    let client = hero::client::Client::connect(address, None).await.unwrap();
    for _ in 0..3 {
        assert_eq!(run(&client, "40 + 2").await.unwrap().output, "42");
        let _ = client.run_and_wait(&spec("throw 1"), PATIENCE).await;
    }
    let pid = rustix::process::Pid::from_raw(server.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    assert!(tokio::time::timeout(PATIENCE, server.wait()).await.unwrap().unwrap().success());
}
