//! `hero backup` and `hero restore`.

use std::path::Path;

use hero::client::Client;
use hero::model::{JobId, Status};

use super::{CONTEXT, end, is, run, spec, start};
use crate::cli::Hero;
use crate::support::Process;

fn backup(hero: &Hero, data: &Path, to: &Path) -> crate::cli::Ended {
    hero.run(&["backup", to.to_str().unwrap(), "--data", data.to_str().unwrap()])
}

fn restore(hero: &Hero, from: &Path, data: &Path) -> crate::cli::Ended {
    hero.run(&["restore", from.to_str().unwrap(), "--data", data.to_str().unwrap()])
}

/// A client by the operator's socket.
async fn operator(data: &Path) -> Client {
    Client::connect(&format!("unix://{}", data.join("hero.sock").display()), None).await.unwrap()
}

/// Creates jobs as fast as the server takes them, until it is told to end. Gives those that were acknowledged, in order.
async fn load(client: Client, ended: tokio::sync::watch::Receiver<bool>) -> Vec<JobId> {
    let mut made = Vec::new();
    while !*ended.borrow() {
        made.push(client.create_job(&spec("40 + 2")).await.unwrap());
    }
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_server_under_load_has_everything_that_was_acknowledged_before_and_runs() {
    let hero = Hero::new().with_path();
    let (data, copy, again) = (hero.home().join("data"), hero.home().join("copy"), hero.home().join("again"));
    let server = Process::serve(&data, &["--pool", "osis=1,sal=1", "--login"]).await;
    let client = operator(&data).await;
    let ended = run(&client, "osis::set(\"people\", #{id: \"ada\"}); 40 + 2").await.unwrap().job_id;
    let runs = start(&client, spec("loop { sleep(0.01) }")).await;
    is(&client, &runs, Status::Started).await;
    let before = client.create_job(&spec("1 + 1")).await.unwrap();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let loading = tokio::spawn(load(operator(&data).await, stopped));
    let made = backup(&hero, &data, &copy);
    assert_eq!(made.code, 0, "{}", made.err);
    stop.send(true).unwrap();
    assert!(!loading.await.unwrap().is_empty());
    assert!(made.out.contains("checked"), "{}", made.out);
    let left: Vec<_> =
        std::fs::read_dir(&data).unwrap().filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".rdb")).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!data.join("backup.lock").exists());
    drop(server);

    let restored = restore(&hero, &copy, &again);
    assert_eq!(restored.code, 0, "{}", restored.err);
    let server = Process::serve(&again, &["--pool", "osis=1,sal=1", "--login"]).await;
    let client = operator(&again).await;
    assert_eq!(client.get_result(CONTEXT, &ended).await.unwrap().output, "42");
    assert_eq!(client.get_status(CONTEXT, &before).await.unwrap(), Status::Created);
    // What ran at the time of the copy runs again.
    is(&client, &runs, Status::Started).await;
    client.stop_job(CONTEXT, &runs).await.unwrap();
    client.start_job(CONTEXT, &before).await.unwrap();
    assert_eq!(end(&client, &before).await.output, "2");
    assert_eq!(run(&client, "osis::get(\"people\", \"ada\").id").await.unwrap().output, "ada");
    server.stop().await;
    // The log of who did what goes on where it was.
    let verified = hero.run(&["audit", "verify", again.join("audit").to_str().unwrap()]);
    assert_eq!(verified.code, 0, "{} {}", verified.out, verified.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_run_is_copied_too_and_starts_meanwhile_nowhere() {
    let hero = Hero::new().with_path();
    let (data, copy, again) = (hero.home().join("data"), hero.home().join("copy"), hero.home().join("again"));
    let server = Process::serve(&data, &["--pool", "osis=1"]).await;
    let ended = run(&server.client().await, "40 + 2").await.unwrap().job_id;
    server.stop().await;
    assert_eq!(backup(&hero, &data, &copy).code, 0);
    assert_eq!(restore(&hero, &copy, &again).code, 0);
    let server = Process::serve(&again, &["--pool", "osis=1"]).await;
    assert_eq!(server.client().await.get_result(CONTEXT, &ended).await.unwrap().output, "42");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_was_changed_or_is_not_whole_is_refused_and_nothing_is_overwritten() {
    let hero = Hero::new().with_path();
    let (data, copy, again) = (hero.home().join("data"), hero.home().join("copy"), hero.home().join("again"));
    Process::serve(&data, &["--pool", "none"]).await.stop().await;
    assert_eq!(backup(&hero, &data, &copy).code, 0);
    let once_more = backup(&hero, &data, &copy);
    assert!(once_more.code == 2 && once_more.err.contains("is there already"), "{}", once_more.err);
    let elsewhere = backup(&hero, &hero.home().join("none"), &hero.home().join("copy2"));
    assert!(elsewhere.code == 2 && elsewhere.err.contains("--data"), "{}", elsewhere.err);
    let inside = backup(&hero, &data, &data.join("copy"));
    assert!(inside.code == 2 && inside.err.contains("elsewhere"), "{}", inside.err);

    let full = restore(&hero, &copy, &data);
    assert!(full.code == 2 && full.err.contains("is not empty"), "{}", full.err);
    let none = restore(&hero, &data, &again);
    assert!(none.code == 1 && none.err.contains("no copy that `hero backup` made"), "{}", none.err);
    let key = copy.join("node.key");
    let text = std::fs::read(&key).unwrap();
    for (spoil, says) in [(Some(&b"other"[..]), "node.key was changed"), (None, "node.key is missing")] {
        std::fs::remove_file(&key).unwrap();
        if let Some(other) = spoil {
            std::fs::write(&key, other).unwrap();
        }
        let refused = restore(&hero, &copy, &again);
        assert!(refused.code == 1 && refused.err.contains(says), "{}", refused.err);
        assert!(!again.exists());
        std::fs::write(&key, &text).unwrap();
    }
    std::fs::write(copy.join("more"), "x").unwrap();
    assert!(restore(&hero, &copy, &again).err.contains("more was added"));
    std::fs::remove_file(copy.join("more")).unwrap();
    // What is no file is not waited for, and a link leads nowhere.
    rustix::fs::mknodat(rustix::fs::CWD, copy.join("more"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let pipe = restore(&hero, &copy, &again);
    assert!(pipe.code == 1 && pipe.err.contains("more is no file, directory or link"), "{}", pipe.err);
    std::fs::remove_file(copy.join("more")).unwrap();
    std::fs::remove_file(&key).unwrap();
    std::os::unix::fs::symlink(data.join("node.key"), &key).unwrap();
    let link = restore(&hero, &copy, &again);
    assert!(link.code == 1 && link.err.contains("node.key is a link"), "{}", link.err);
    std::fs::remove_file(&key).unwrap();
    std::fs::write(&key, &text).unwrap();
    std::os::unix::fs::symlink("nowhere", &again).unwrap();
    let link = restore(&hero, &copy, &again);
    assert!(link.code == 2 && link.err.contains("is a link"), "{}", link.err);
    std::fs::remove_file(&again).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(copy.join("appendonlydir"), Some(4711), Some(4712)).unwrap();
    }
    assert_eq!(restore(&hero, &copy, &again).code, 0);
    assert!(!is_root || std::os::unix::fs::MetadataExt::uid(&again.metadata().unwrap()) == 4711);
    let leavings = std::fs::read_dir(hero.home()).unwrap().any(|entry| entry.unwrap().file_name().to_string_lossy().contains("unfinished"));
    assert!(!leavings);
}
