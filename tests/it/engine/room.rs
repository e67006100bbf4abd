//! The view of the system from a supervisor and its jobs: their own root and processes.

use std::os::unix::fs::PermissionsExt;

use hero::engine::{Command, EngineSettings, Program};

use super::{Bench, Numbers, settings};

fn shell() -> EngineSettings {
    let command =
        Command { command: vec!["/bin/bash".into(), "{script}".into()], file: "script".into(), readable: Vec::new(), memory: 512 << 20 };
    EngineSettings { program: Program::Command(command), ..settings() }
}

/// An engine, if the system supports these steps. Otherwise it prints the reason.
async fn with(steps: &[&str]) -> Option<Bench> {
    let bench = Bench::with(shell()).await;
    let said = bench.child.confinement().to_owned();
    let missing = hero::process::confine::left_out(&said);
    for step in steps {
        let why = missing.iter().find_map(|name| name.strip_prefix(step)?.strip_prefix(" (")?.strip_suffix(')'));
        if let Some(why) = why {
            assert!(!why.is_empty(), "{said}");
            println!("skipped: {said}");
            return None;
        }
        let done = said.split_once("; ").map_or(&*said, |(_, done)| done);
        assert!(done.split(',').any(|done| done == *step), "{step}: {said}");
    }
    Some(bench)
}

#[tokio::test]
async fn a_job_has_a_root_of_its_own_with_what_it_needs_to_read_and_nothing_else() {
    let Some(mut bench) = with(&["mount namespace"]).await else { return };
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::set_permissions(secret.path(), PermissionsExt::from_mode(0o666)).unwrap();
    let path = secret.path().display();
    for reach in ["cat", "chmod 600", "ls -l", "touch", "rm -f"].map(|word| format!("{word} {path} && exit 0; exit 7")) {
        let ended = bench.run(&reach).await;
        assert!(secret.path().exists() && (reach.starts_with("rm") || ended.result.is_err()), "{reach}");
    }
    assert_eq!(secret.as_file().metadata().unwrap().permissions().mode() & 0o777, 0o666);
    // By no name, whatever is asked: it would be refused if it were there.
    for nothing in ["/root", "/home", "/var", "/run", "/boot", "/srv", "/etc/shadow", "/dev/shm", "/dev/tty", "/sys/kernel"] {
        assert_eq!(bench.text(&format!("[ -e {nothing} ] && echo there >&3; exit 0")).await, "", "{nothing}");
    }
    bench.text("for d in /usr /etc /dev /tmp; do [ -w $d ] && exit 1; done; echo x > f && cat f; [ -r /etc/passwd ]").await;
    assert_eq!(bench.text("/usr/bin/env true < /dev/null > /dev/null && echo fine >&3").await, "fine");
}

#[tokio::test]
async fn a_job_sees_only_processes_of_its_engine() {
    let Some(mut bench) = with(&["PID namespace", "own /proc"]).await else { return };
    // The supervisor and its two other threads, the shell, and what lists them.
    let numbers = bench.text("for n in {1..999}; do [ -e /proc/$n ] && echo -n \"$n \"; done >&3; exit 0").await;
    let numbers: Vec<u32> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
    assert!(numbers.contains(&1) && numbers.len() <= 5, "{numbers:?}");
}

#[tokio::test]
async fn a_program_that_nobody_may_read_ends_with_its_job() {
    let Some(mut bench) = with(&["PID namespace"]).await else { return };
    let numbers = Numbers::below(bench.child.pid());
    let stray = "cp /bin/sleep hidden && chmod 111 hidden && (setsid ./hidden 1000 & echo $! > pid); echo $(cat pid) >&3";
    let number: u32 = bench.text(stray).await.trim().parse().unwrap();
    assert!(!numbers.exists(number), "it goes on");
    // And what it holds is counted.
    let many = "cp /bin/sleep hidden && chmod 111 hidden && for i in {1..300}; do setsid ./hidden 1000 & done; wait";
    assert!(bench.error(many).await.message.contains("more than 256 processes"));
}
