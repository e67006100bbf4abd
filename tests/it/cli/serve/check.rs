//! `hero serve --check` reports the errors that a start would report, without starting.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::run;
use crate::cli::{Ended, Hero};
use crate::support::Process;

/// Checks these settings of `hero serve` and then starts it: both fail alike. Returns the exit code and the output.
fn refused(hero: &Hero, arguments: &[&str]) -> (i32, String) {
    let look: Ended = hero.run(&[&["serve", "--check"], arguments].concat());
    let start = hero.run(&[&["serve"], arguments].concat());
    assert_eq!(look.code, start.code, "{arguments:?}: {}\n{}", look.err, start.err);
    let last = |said: &str| said.lines().rfind(|line| line.starts_with("error: ")).unwrap_or_default().to_owned();
    assert_eq!(last(&look.err), last(&start.err), "{arguments:?}");
    (look.code, look.err)
}

fn directory(path: &Path, mode: u32) -> String {
    std::fs::create_dir_all(path).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_a_start_refuses_for_its_settings_a_check_refuses_with_2_and_the_same_words() {
    let hero = Hero::new().with_path();
    let data = hero.home().join("data").to_str().unwrap().to_owned();
    let open = directory(&hero.home().join("open"), 0o755);
    std::fs::write(hero.home().join("open/note"), "").unwrap();
    let key = hero.file("token.key", "x");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let no_key = hero.file("node.key", "no key");
    std::fs::set_permissions(&no_key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let missing = hero.file("missing.toml", "pools = [\"node=1\"]\n[script_types.node]\ncommand = [\"no-such-program\", \"{script}\"]\n");
    let unused = hero.file("unused.toml", "pools = [\"osis=1\"]\n[script_types.node]\ncommand = [\"no-such-program\", \"{script}\"]\n");
    let certificate = hero.file("none.pem", "no certificate");
    let common = ["--listen", "127.0.0.1:0", "--pool", "osis=1"];
    for (arguments, says) in [
        (vec!["--data", open.as_str()], "chmod 700"),
        (vec!["--data", &data, "--login", "--token-key-file", &key], "chmod 600"),
        (vec!["--data", &data, "--node-key-file", &no_key], "is no key of a node"),
        (vec!["--data", &data, "--tls-cert", &certificate, "--tls-key", &certificate], "tls_cert, tls_key"),
        (vec!["--data", &data, "--object-schemas", "people=/nonexistent.json"], "object_schemas"),
        (vec!["--data", &data, "--config", &missing, "--listen", "127.0.0.1:0"], "no-such-program"),
        (vec!["--data", &data, "--config", &unused, "--listen", "127.0.0.1:0"], "script_types.node.command"),
    ] {
        let all = if arguments.contains(&"--config") { arguments } else { [&common[..], &arguments].concat() };
        let (code, said) = refused(&hero, &all);
        assert!(code == 2 && said.contains(says), "{all:?}: {code} {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_beside_a_server_that_runs_finds_all_well_and_changes_nothing() {
    let hero = Hero::new().with_path();
    let data = hero.home().join("data");
    let fresh = hero.home().join("fresh");
    let server = Process::serve(&data, &["--pool", "osis=1"]).await;
    let listen = server.url().trim_start_matches("ws://").trim_end_matches('/').to_owned();
    let arguments = ["serve", "--check", "--listen", &listen, "--pool", "osis=1,sal=1", "--data", data.to_str().unwrap()];
    let ended = hero.run(&arguments);
    assert!(ended.code == 0 && ended.out.ends_with("all well: this would start\n"), "{} {}", ended.out, ended.err);
    for said in [
        format!("process {}", server.pid()),
        format!("a hero listens on {listen} now"),
        "osis, sal".to_owned(),
        "control groups: only a start".to_owned(),
    ] {
        assert!(ended.out.contains(&said), "{said}: {}", ended.out);
    }
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    // With a Redis that is not its own nobody has a directory locked, and the one who listens is known by his answer.
    let shared = super::sharing(&data);
    let fresh_data = fresh.to_str().unwrap();
    let ended = hero.run(&super::words(&["serve", "--check", "--listen", &listen, "--pool", "osis=1", "--data", fresh_data], &shared));
    assert!(ended.code == 0 && ended.out.contains("answers and can be used"), "{} {}", ended.out, ended.err);
    assert!(!fresh.exists(), "a check makes nothing");
    server.stop().await;
}

#[test]
fn a_check_names_who_listens_where_a_start_would() {
    let hero = Hero::new().with_path();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let data = hero.home().join("data");
    let ended = hero.run(&["serve", "--check", "--listen", &listen, "--pool", "osis=1", "--data", data.to_str().unwrap()]);
    assert!(ended.code == 1 && ended.err.contains("another program listens there"), "{} {}", ended.code, ended.err);
    assert!(!data.exists());
}
