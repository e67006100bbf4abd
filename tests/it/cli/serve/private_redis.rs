use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{CONTEXT, run, start};
use crate::support::{Kin, PATIENCE, Process};

/// Serves from a directory, is killed, and serves again.
async fn serves_twice(data: &Path) {
    let arguments = ["--pool", "osis=1", "--durability", "always"];
    let mut server = Process::serve(data, &arguments).await;
    let id = run(&server.client().await, "40 + 2").await.unwrap().job_id;
    let kin = server.children();
    server.kill().await;
    let again = Process::serve(data, &arguments).await;
    assert_eq!(again.client().await.get_result(CONTEXT, &id).await.unwrap().output, "42");
    again.stop().await;
    Kin::all_gone(&kin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_path_may_hold_spaces_and_signs() {
    let home = tempfile::tempdir().unwrap();
    serves_twice(&home.path().join("with a space/ü 100% #1? \"q\" 'x' \\n")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_path_too_long_for_a_socket_has_it_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("d".repeat(100)).join("e".repeat(100));
    serves_twice(&data).await;
    let server = Process::serve(&data, &["--pool", "osis=1"]).await;
    let line = server.out().remove(0);
    let socket = line.split("unix://").nth(1).and_then(|rest| rest.split(',').next()).unwrap().to_owned();
    assert!(socket.len() < 100 && Path::new(&socket).exists(), "{line}");
    let directory = Path::new(&socket).parent().unwrap();
    assert_eq!(std::fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::read_link(data.join("redis.sock")).unwrap(), Path::new(&socket));
    server.stop().await;
    assert!(!directory.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_is_in_a_file_for_the_owner_and_nowhere_else() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--pool", "osis=1,sal=1", "--log-level", "trace"]).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join("redis.secret")), mode(&data.join("redis.sock"))), (0o700, 0o600, 0o700));
    let secret = std::fs::read_to_string(data.join("redis.secret")).unwrap();
    let secret = secret.trim();
    assert!(secret.len() >= 32);
    run(&server.client().await, "40 + 2").await.unwrap();
    let kin = server.children();
    assert_eq!(kin.len(), 3);
    for one in kin {
        assert!(!one.command().contains(secret) && !one.environment().contains(secret), "{one:?}");
    }
    assert!(server.engines().iter().all(|engine| !engine.environment().contains("PATH=")));
    let said = [server.out().join("\n"), server.stop().await].concat();
    assert!(!said.contains(secret));
    let log = std::fs::read_to_string(data.join("redis.log")).unwrap();
    assert!(!log.contains(secret));
}

/// Everything in a directory that others may do something with, links aside.
fn open_to_others(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries: Vec<_> = std::fs::read_dir(directory).unwrap().map(Result::unwrap).collect();
    let below = entries.iter().filter(|entry| entry.file_type().unwrap().is_dir()).flat_map(|entry| open_to_others(&entry.path()));
    let open = |entry: &&std::fs::DirEntry| {
        !entry.file_type().unwrap().is_symlink() && entry.metadata().unwrap().permissions().mode() & 0o077 != 0
    };
    below.chain(entries.iter().filter(open).map(std::fs::DirEntry::path)).collect()
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_others_may_look_into_is_refused_with_the_line_that_mends_it() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("the data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("note"), "").unwrap();
    let line = format!("chmod 700 '{}'", data.canonicalize().unwrap().display());
    for mode in [0o755, 0o750, 0o701, 0o710, 0o777] {
        chmod(&data, mode);
        let (code, log) = Process::serving(&data, &["--pool", "none"]).failure().await;
        assert!(code == Some(2) && log.contains(&line), "{mode:o}: {code:?} {log}");
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 1, "a refusal leaves nothing behind");
    }
    assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
    Process::serve(&data, &["--pool", "none"]).await.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_directory_of_ones_own_is_closed_instead_of_refused() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    chmod(&data, 0o755);
    Process::serve(&data, &["--pool", "none"]).await.stop().await;
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_the_data_directory_is_open_to_others() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    // What an earlier version, or a copy, left open. The password may have been read.
    std::fs::create_dir_all(data.join("appendonlydir")).unwrap();
    chmod(&data, 0o700);
    let old = "0123456789".repeat(7);
    for (name, text) in [("redis.secret", old.as_str()), ("redis.log", "old\n"), ("dump.rdb.old", "x"), ("appendonlydir/old", "x")] {
        std::fs::write(data.join(name), text).unwrap();
        chmod(&data.join(name), 0o644);
    }
    let server = Process::serve(&data, &["--pool", "osis=1"]).await;
    let spec = hero::model::JobSpec { log_path: Some("a/b.log".into()), ..super::spec("print(1)") };
    server.client().await.run_and_wait(&spec, PATIENCE).await.unwrap();
    let _: String = super::command(&data, &["SAVE"]).await;
    let _: String = super::command(&data, &["BGREWRITEAOF"]).await;
    crate::support::until("the end of the rewrite", || async {
        super::command::<String>(&data, &["INFO", "persistence"]).await.contains("aof_rewrite_in_progress:0").then_some(())
    })
    .await;
    crate::support::until("the size of the log files", || async {
        server.get("/metrics").await.1.contains("\nhero_log_files_bytes ").then_some(())
    })
    .await;
    assert!(data.join("logs/a/b.log").exists() && data.join("dump.rdb").exists());
    assert_eq!(open_to_others(&data), Vec::<std::path::PathBuf>::new());
    assert_ne!(std::fs::read_to_string(data.join("redis.secret")).unwrap().trim(), old);
    server.stop().await;
    assert_eq!(open_to_others(&data), Vec::<std::path::PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_without_the_password_is_not_let_in() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--pool", "none"]).await;
    let client = redis::Client::open(format!("unix://{}", data.join("redis.sock").display())).unwrap();
    let refused = match crate::support::connection(&client).await {
        Ok(mut connection) => redis::cmd("KEYS").arg("*").query_async::<Vec<String>>(&mut connection).await.unwrap_err(),
        Err(error) => error,
    };
    assert!(refused.to_string().contains("NOAUTH"), "{refused}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_in_use_is_refused_with_its_holder() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--pool", "osis=1"]).await;
    let (code, log) = Process::serving(&data, &["--pool", "osis=1"]).failure().await;
    assert_eq!(code, Some(1));
    assert!(log.contains(&format!("process {}", server.pid())) && log.contains("--redis unix://"), "{log}");
    let client = server.client().await;
    let id = start(&client, super::spec("1")).await;
    assert_eq!(client.wait_job(CONTEXT, &id, PATIENCE).await.unwrap().output, "1");
    server.stop().await;
}
