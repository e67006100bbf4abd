//! Log files are deleted with their jobs, and their total size is limited.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use hero::dispatch::LogSweeper;
use hero::log_file::LogDirectory;
use hero::service::Service as _;

use super::*;

/// The log directory of a house, as its pool has it.
fn logs(house: &House) -> PathBuf {
    house.redis.directory().join("logs")
}

/// A job that wrote a line into this log file, and has ended.
async fn logged(client: &Client, path: &str) -> Value {
    let job = client.ok("run_and_wait", json!({"script": "print(`x`)", "log_path": path})).await;
    job["job_id"].clone()
}

/// Runs one whole round over the log files of a house, with this limit in bytes.
async fn sweep(house: &House, quota: u64) {
    let mut sweeper = LogSweeper::new(vec![(house.store.clone(), LogDirectory::new(logs(house)))], quota);
    // The pause after a round is longer than between its steps.
    while sweeper.tick().await.unwrap() < Duration::from_secs(1) {}
}

async fn forget(house: &House, id: &Value) {
    let _: i64 = house.redis.run(&["DEL", &format!("hero:job:{}", id.as_str().unwrap())]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_file_of_a_deleted_job_is_gone_with_it() {
    let (house, _server, client) = open(1).await;
    let id = logged(&client, "a/b.log").await;
    let file = logs(&house).join("a/b.log");
    assert!(std::fs::read_to_string(&file).unwrap().ends_with("x\n"));
    client.ok("delete_job", json!([id])).await;
    assert!(!file.exists() && !logs(&house).join("a").exists());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_file_goes_when_the_last_job_that_has_it_is_no_longer_kept() {
    let (house, _server, client) = open(1).await;
    let (first, second, third) = (logged(&client, "shared").await, logged(&client, "shared").await, logged(&client, "other").await);
    let exists = |name: &str| logs(&house).join(name).exists();
    std::fs::write(logs(&house).join("mine"), "not a job's").unwrap();
    forget(&house, &first).await;
    sweep(&house, 0).await;
    assert!(exists("shared") && exists("other"));
    forget(&house, &second).await;
    sweep(&house, 0).await;
    assert!(!exists("shared") && exists("other"));
    forget(&house, &third).await;
    sweep(&house, 0).await;
    assert!(!exists("other") && exists("mine"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_file_of_a_job_in_another_redis_stays_with_who_asks_that_one() {
    let (house, _server, client) = open(1).await;
    let id = logged(&client, "theirs").await;
    let other = House::empty().await;
    let shared = || LogDirectory::new(logs(&house));
    let round = async |store: &hero::store::Store| {
        let mut sweeper = LogSweeper::new(vec![(store.clone(), shared())], 0);
        while sweeper.tick().await.unwrap() < Duration::from_secs(1) {}
    };
    round(&other.store).await;
    assert!(logs(&house).join("theirs").exists());
    // One that has log files of its own, and one that lost all it had.
    let gone = hero::model::JobId::random();
    let identity = other.store.health().redis_id().await.unwrap();
    shared().append_for(&identity, &gone, "ours").unwrap().write_line("x").unwrap();
    round(&other.store).await;
    assert_eq!(["theirs", "ours"].map(|name| logs(&house).join(name).exists()), [true, false]);
    let _: () = house.redis.run(&["FLUSHALL"]).await;
    let _: String = house.store.health().redis_id().await.unwrap();
    round(&house.store).await;
    assert!(logs(&house).join("theirs").exists(), "{id} may be in a backup");
    other.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_without_its_log_file_while_somebody_keeps_the_lock() {
    let (house, _server, client) = open(1).await;
    logged(&client, "a").await;
    let lock = std::fs::File::open(logs(&house).join(".jobs/lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let id = logged(&client, "b").await;
    let lines = client.ok("get_logs", json!([id])).await["lines"].clone();
    assert!(lines[0]["text"].as_str().unwrap().contains("log file is not available"), "{lines}");
    assert_eq!((&lines[0]["level"], &lines[1]["text"]), (&json!("warn"), &json!("x")));
    assert!(!logs(&house).join("b").exists());
    drop(lock);
    logged(&client, "b").await;
    assert!(logs(&house).join("b").exists());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limit_of_all_log_files_the_oldest_go() {
    let (house, _server, client) = open(1).await;
    let mut ids = Vec::new();
    for (name, age) in [("old", 300), ("middle", 200), ("new", 100)] {
        ids.push(logged(&client, name).await);
        let file = std::fs::File::options().append(true).open(logs(&house).join(name)).unwrap();
        std::io::Write::write_all(&mut &file, &[b'x'; 40_000]).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }
    std::fs::write(logs(&house).join("mine"), [b'x'; 400_000]).unwrap();
    let left = || ["old", "middle", "new", "mine"].map(|name| logs(&house).join(name).exists());
    sweep(&house, 0).await;
    assert_eq!(left(), [true; 4]);
    sweep(&house, 100_000).await;
    assert_eq!(left(), [false, true, true, true]);
    sweep(&house, 50_000).await;
    assert_eq!(left(), [false, false, true, true]);
    // Their jobs are still there, and say what they logged.
    assert_eq!(client.ok("get_logs", json!([ids[0]])).await["lines"][0]["text"], "x");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn small_files_in_many_directories_count_with_what_is_around_them() {
    let (house, _server, client) = open(1).await;
    let path = |at: i32| format!("{at}/2/3/4/5/6/7/8");
    for at in 0..6 {
        logged(&client, &path(at)).await;
    }
    // Each has a line, but takes ten blocks or so: seven directories, two entries and its own.
    sweep(&house, 100_000).await;
    assert_eq!((0..6).filter(|at| logs(&house).join(path(*at)).exists()).count(), 2);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_file_says_how_each_attempt_failed_as_the_log_does() {
    let (house, _server, client) = open(1).await;
    let script = "print(`x`);\nif ATTEMPT < 3 { throw `no ${env.TOKEN} ${ATTEMPT}` } 42";
    let env_vars = json!({ "TOKEN": "s3cret-key" });
    let job = json!({ "script": script, "log_path": "a.log", "retries": 2, "retry_backoff": 0.01, "env_vars": env_vars });
    let id = client.ok("run_and_wait", job).await["job_id"].clone();
    let file = std::fs::read_to_string(logs(&house).join("a.log")).unwrap();
    let said: Vec<&str> = file.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let expected = [
        "info x",
        "error attempt 1 failed: no *** 1 (line 2, column 18)",
        "info x",
        "error attempt 2 failed: no *** 2 (line 2, column 18)",
        "info x",
    ];
    assert_eq!(said, expected);
    let page = client.ok("get_logs", json!([id])).await;
    let lines: Vec<String> = page["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| format!("{} {}", line["level"].as_str().unwrap(), line["text"].as_str().unwrap()))
        .collect();
    assert!(lines.len() == said.len() && lines.iter().zip(&said).all(|(line, said)| line.starts_with(said)), "{lines:?}");
    house.close().await;
}
