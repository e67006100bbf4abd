use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{CONTEXT, run, spec, start};
use crate::support::{PATIENCE, Process};

/// `hero serve` with only these directories to find programs in.
fn with_path(data: &Path, path: &[&Path]) -> Process {
    let path = std::env::join_paths(path).unwrap();
    let arguments: [&OsStr; 7] = [
        "serve".as_ref(),
        "--listen".as_ref(),
        "127.0.0.1:0".as_ref(),
        "--pool".as_ref(),
        "osis=1".as_ref(),
        "--data".as_ref(),
        data.as_ref(),
    ];
    Process::start_with(&arguments, |command| {
        command.env("PATH", path);
    })
}

/// A program called redis-server that is none.
fn toy(directory: &Path, body: &str) -> PathBuf {
    std::fs::create_dir_all(directory).unwrap();
    let program = directory.join("redis-server");
    std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_redis_server_the_packages_are_named() {
    let home = tempfile::tempdir().unwrap();
    let (code, log) = with_path(&home.path().join("data"), &[home.path()]).failure().await;
    assert_eq!(code, Some(1));
    assert!(["apt-get install redis-server", "dnf install valkey", "--redis"].iter().all(|word| log.contains(word)), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_toy_of_the_same_name_is_passed_over() {
    let home = tempfile::tempdir().unwrap();
    // One says nonsense, two are too old, one does not know --version and serves for ever.
    let old = ["echo 'Redis server v=5.0.7 sha=0'", "echo 'Redis server v=6.2.14 sha=0'"];
    let toys = [("a", "echo mini-redis 0.4.1"), ("b", old[0]), ("d", old[1]), ("c", "exec sleep 1000")];
    let directories: Vec<PathBuf> =
        toys.iter().map(|(name, body)| toy(&home.path().join(name), body).parent().unwrap().to_owned()).collect();
    let mut path: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
    // The last needs sleep, and there is no real Redis beside it here.
    let only = home.path().join("only");
    std::fs::create_dir(&only).unwrap();
    std::os::unix::fs::symlink(std::fs::canonicalize("/bin/sleep").unwrap(), only.join("sleep")).unwrap();
    path.push(&only);
    let (code, log) = with_path(&home.path().join("refused"), &path).failure().await;
    assert_eq!(code, Some(1));
    for (name, why) in [("a", "is no Redis server"), ("b", "is version 5.0"), ("d", "is version 6.2"), ("c", "is no Redis server")] {
        let said = format!("{} {why}", home.path().join(name).join("redis-server").display());
        assert!(log.contains(&said), "{said}: {log}");
    }

    let real: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
    path.extend(real.iter().map(PathBuf::as_path));
    let server = with_path(&home.path().join("data"), &path).until_ready().await;
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_address_needs_the_word_insecure() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    for address in ["0.0.0.0:0", "[::]:0"] {
        let (code, log) = Process::serving(&data, &["--listen", address]).failure().await;
        assert!(code == Some(2) && log.contains("listen"), "{code:?} {log}");
    }
    let serve = |listen, more: &'static [&str]| {
        let mut all = vec!["serve", "--listen", listen, "--pool", "none", "--data", data.to_str().unwrap()];
        all.extend(more);
        Process::start(&all)
    };
    let (code, log) = serve("0.0.0.0:0", &[]).failure().await;
    assert!(code == Some(2) && log.contains("--insecure") && log.contains("0.0.0.0:0"), "{code:?} {log}");
    assert!(!data.exists(), "a refusal leaves nothing behind");
    let server = serve("0.0.0.0:0", &["--insecure"]).until_ready().await;
    assert!(server.out()[0].contains("ws://0.0.0.0:"), "{:?}", server.out());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_use_is_named_with_what_to_do_and_nothing_is_left_running() {
    let home = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = home.path().join("data");
    let mut server = Process::start(&["serve", "--listen", &address, "--pool", "osis=1", "--data", data.to_str().unwrap()]);
    let (code, log) = server.failure().await;
    assert!(code == Some(1) && log.contains(&address), "{code:?} {log}");
    let port = address.rsplit(':').next().unwrap();
    for part in ["another program listens there", "--listen", &format!("`ss -ltnp sport = :{port}`")] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains("os error"), "{log}");
    assert!(!data.join("redis.sock").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_are_what_they_are_said_to_be() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    for (pool, word) in [("osis=1,osis=2", "twice"), ("cobol=1", "cobol"), ("osis=0", "no instances"), ("osis", "osis")] {
        let (code, log) = Process::serving(&data, &["--pool", pool]).failure().await;
        assert!(matches!(code, Some(1 | 2)) && log.contains(word), "{pool}: {code:?} {log}");
    }
    let server = Process::serve(&data, &["--pool", "osis=2", "--pool", "sal:io=1,sal=1"]).await;
    let client = server.client().await;
    let actors = client.list_actors(CONTEXT).await.unwrap();
    let posts: Vec<String> = actors.iter().map(|actor| format!("{}:{}:{}", actor.script_type, actor.group, actor.instance)).collect();
    assert_eq!(posts, ["osis:default:1", "osis:default:2", "sal:default:1", "sal:io:1"]);
    let sal = hero::model::JobSpec { script_type: "sal".parse().unwrap(), group: Some("io".parse().unwrap()), ..spec("1") };
    let id = start(&client, sal).await;
    client.wait_job(CONTEXT, &id, PATIENCE).await.unwrap();
    assert_eq!(client.get_job(CONTEXT, &id).await.unwrap().actor.as_deref(), Some("sal:io:1"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_log_format_json_every_line_of_the_log_is_an_object() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--log-format", "json", "--log-level", "debug"]).await;
    run(&server.client().await, "40 + 2").await.unwrap();
    let log = server.stop().await;
    assert!(log.contains("shutting down"), "{log}");
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line["level"].is_string() && line["message"].is_string() && line["timestamp"].is_string(), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_admit_every_origin_or_host_are_warned_of() {
    let home = tempfile::tempdir().unwrap();
    let loud = |log: &str| log.lines().filter(|line| line.contains(" MAY ") || line.contains("ANY NAME")).count();
    for (name, arguments, lines) in [
        ("none", &[][..], 0),
        ("some", &["--allowed-origins", "https://app.example", "--allowed-hosts", "hero.example"], 0),
        ("pages", &["--allowed-origins", "*"], 1),
        ("both", &["--allowed-origins", "https://app.example,*", "--allowed-hosts", "*"], 2),
    ] {
        let log = Process::serve(&home.path().join(name), &[&["--pool", "none"], arguments].concat()).await.stop().await;
        assert_eq!(loud(&log), lines, "{arguments:?}: {log}");
        assert_eq!(log.contains("ANY WEB PAGE MAY RUN SCRIPTS HERE"), name == "pages" || name == "both", "{log}");
    }
}
