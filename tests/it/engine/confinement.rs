use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use hero::process::Spawner;
use hero::process::confine::{self, Profile};

use super::{Bench, exists, hero, until};

pub(super) const ENGINE: Profile = Profile::Engine { address_space: 1 << 30 };

/// Runs a program under a profile and returns its output.
async fn run(profile: &Profile, program: &str, args: &[&str]) -> Output {
    run_with(profile, program, args, Stdio::null()).await
}

/// The same with something to read.
pub(super) async fn run_with(profile: &Profile, program: &str, args: &[&str], input: Stdio) -> Output {
    let mut command = confine::command(&hero(), profile, Path::new(program), args);
    command.env("SECRET", "hunter2").stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Spawner::start().unwrap();
    let output = child.spawn(command).await.unwrap().wait_with_output();
    tokio::time::timeout(Duration::from_secs(60), output).await.unwrap().unwrap()
}

/// Whether this kernel can restrict files. Where it can't, the engines say `weak`, which is all there is to test.
async fn landlocked() -> bool {
    let said = run(&ENGINE, "/usr/bin/env", &[]).await;
    String::from_utf8_lossy(&said.stdout).contains("landlock:")
}

/// The steps that this kernel and this user do not support, each with its reason.
fn missing(said: &str) -> Vec<&str> {
    hero::process::confine::left_out(said)
}

#[tokio::test]
async fn an_engine_says_how_it_is_confined() {
    let bench = Bench::start().await;
    let said = bench.child.confinement();
    let steps = said.split_once("; ").map_or(said, |(_, steps)| steps);
    let done: Vec<&str> = steps.split(',').map(|step| step.split(':').next().unwrap()).collect();
    // Each step is in force, or it is said why it is not.
    let root = rustix::process::geteuid().is_root();
    let of_user = if root { "setuid" } else { "user namespace" };
    for step in [
        "process_group",
        "umask",
        "environment",
        "descriptors",
        "rlimits",
        "no_new_privs",
        "parent_death_signal",
        "network namespace",
        "IPC namespace",
        "landlock",
        "seccomp",
        "process limit",
        of_user,
    ] {
        let why = missing(said).into_iter().find_map(|name| name.strip_prefix(step)?.strip_prefix(" (")?.strip_suffix(')'));
        assert_eq!(done.contains(&step), why.is_none_or(str::is_empty), "{step}: {said}");
    }
    for always in ["process_group", "umask", "environment", "descriptors", "rlimits", "no_new_privs", "parent_death_signal"] {
        assert!(done.contains(&always), "{always}: {said}");
    }
    assert_eq!(done.contains(&"landlock"), landlocked().await, "{said}");
}

#[tokio::test]
async fn what_an_engine_says_is_missing_is_missing() {
    let bench = Bench::start().await;
    let said = bench.child.confinement();
    let of = |pid: u32, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let line = |text: String, name: &str| text.lines().find(|line| line.starts_with(name)).map(ToOwned::to_owned);
    let namespace = |pid: u32, kind: &str| std::fs::read_link(format!("/proc/{pid}/ns/{kind}")).unwrap();
    let (own, engine) = (std::process::id(), bench.child.pid());
    // What it has as the test has it, it did not get of its own.
    let same = |file: &str, name: &str| line(of(own, file), name) == line(of(engine, file), name);
    assert_eq!(said.contains("no seccomp"), same("status", "Seccomp_filters"), "{said}");
    for (kind, name) in [("net", "network"), ("ipc", "IPC")] {
        assert_eq!(said.contains(&format!("no {name} namespace")), namespace(own, kind) == namespace(engine, kind), "{said}");
    }
    let is_root = line(of(engine, "status"), "Uid:").unwrap().split_whitespace().any(|number| number == "0");
    assert_eq!(said.contains("no setuid"), is_root, "{said}");
    assert_eq!(line(of(engine, "status"), "CapPrm:").unwrap().split_whitespace().nth(1), Some("0000000000000000"));
    assert_eq!(line(of(engine, "status"), "Umask:").unwrap().split_whitespace().nth(1), Some("0077"));
}

#[tokio::test]
async fn the_steps_are_in_force_in_the_engine() {
    let bench = Bench::start().await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", bench.child.pid())).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", bench.child.pid())).unwrap();
    for (name, value) in [("Max core file size", "0"), ("Max open files", "64"), ("Max file size", "0"), ("Max address space", "805306368")]
    {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        assert_eq!(line.split_whitespace().next(), Some(value), "{name}");
    }
    for file in std::fs::read_dir(format!("/proc/{}/fd", bench.child.pid())).unwrap() {
        let number: u32 = file.unwrap().file_name().to_str().unwrap().parse().unwrap();
        assert!(number <= 3, "descriptor {number} was handed on");
    }
    let environment = std::fs::read_to_string(format!("/proc/{}/environ", bench.child.pid())).unwrap();
    assert!(environment.starts_with("HERO_CONFINED=") && environment.matches('=').count() == 1, "{environment}");
    let group = rustix::process::getpgid(rustix::process::Pid::from_raw(bench.child.pid().try_into().unwrap())).unwrap();
    assert_eq!(group.as_raw_nonzero().get().unsigned_abs(), bench.child.pid());
}

#[tokio::test]
async fn the_environment_is_cleared() {
    let said = run(&ENGINE, "/usr/bin/env", &[]).await;
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.starts_with("HERO_CONFINED=") && said.lines().count() == 1, "{said}");
    let redis = Profile::Redis { writable: vec![] };
    let said = String::from_utf8(run(&redis, "/usr/bin/env", &[]).await.stdout).unwrap();
    assert!(said.contains("PATH=") && !said.contains("SECRET") && !said.contains("HOME="), "{said}");
}

#[tokio::test]
async fn an_engine_reaches_no_file_and_no_network() {
    if !landlocked().await {
        return;
    }
    let denied = |output: Output| {
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("Permission denied") || said.contains("not permitted"), "{said}");
    };
    denied(run(&ENGINE, "/bin/cat", &["/etc/passwd"]).await);
    denied(run(&ENGINE, "/bin/cat", &["/proc/self/environ"]).await);
    denied(run(&ENGINE, "/bin/ls", &["/"]).await);
    denied(run(&ENGINE, "/bin/bash", &["-c", ": > /tmp/hero-was-here"]).await);
    denied(run(&ENGINE, "/bin/bash", &["-c", "exec /bin/ls"]).await);

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port());
    denied(run(&ENGINE, "/bin/bash", &["-c", &connect]).await);
    denied(run(&ENGINE, "/bin/bash", &["-c", &format!("kill -0 {}", std::process::id())]).await);
}

#[tokio::test]
async fn redis_runs_in_its_directory_and_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let profile = Profile::Redis { writable: vec![directory.path().into()] };
    let write = format!("echo x > {0}/a && mkdir {0}/d && mv {0}/a {0}/d/b && cat {0}/d/b", directory.path().display());
    let output = run(&profile, "/bin/bash", &["-c", &write]).await;
    assert!(output.status.success() && output.stdout == b"x\n", "{output:?}");
    if landlocked().await {
        for elsewhere in ["> /tmp/hero-was-here", "cat /root/.profile", "cat /proc/1/environ", "cat /etc/shadow"] {
            assert!(!run(&profile, "/bin/bash", &["-c", elsewhere]).await.status.success(), "{elsewhere}");
        }
    }
    let Some(redis) = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].into_iter().find(|path| Path::new(path).exists()) else {
        return;
    };
    let path = directory.path().display();
    let socket = format!("{path}/redis.sock");
    let mut command = confine::command(&hero(), &profile, Path::new(redis), &["-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let spawner = Spawner::start().unwrap();
    let mut child = spawner.spawn(command).await.unwrap();
    let config = format!("port 0\nunixsocket \"{socket}\"\ndir \"{path}\"\nappendonly yes\nsave \"\"\n");
    tokio::io::AsyncWriteExt::write_all(&mut child.stdin.take().unwrap(), config.as_bytes()).await.unwrap();
    // The socket is there before anybody listens at it.
    until("redis listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok()).await;
    let client = redis::Client::open(format!("unix://{socket}")).unwrap();
    let mut connection = crate::support::connection(&client).await.unwrap();
    let () = redis::cmd("SET").arg("a").arg(1).query_async(&mut connection).await.unwrap();
    // A rewrite renames files between its directories.
    let _: String = redis::cmd("BGREWRITEAOF").query_async(&mut connection).await.unwrap();
    until("the append-only file is rewritten", || {
        std::fs::read_dir(directory.path().join("appendonlydir"))
            .unwrap()
            .any(|file| file.unwrap().file_name().to_string_lossy().contains(".2.base"))
    })
    .await;
    let info: String = redis::cmd("INFO").query_async(&mut connection).await.unwrap();
    assert!(info.contains("aof_last_bgrewrite_status:ok") && !info.contains("used_memory_rss:0"), "{info}");
    let pid = child.id().unwrap();
    drop(child);
    until("redis is gone", || !exists(pid)).await;
}

#[tokio::test]
async fn a_child_whose_parent_is_another_does_not_start() {
    let output = tokio::process::Command::new(hero())
        .args(["exec", "engine", "--parent", "1", "--address-space", "1000000000", "--", "/bin/echo", "x"])
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("parent 1 is gone"));
}

#[tokio::test]
async fn a_child_dies_with_its_parent() {
    // The shell is the parent: it starts a confined sleep and dies by kill -9.
    let script = format!("{:?} exec engine --parent $$ --address-space 1000000000 -- /bin/sleep 1000 & echo $!; wait", hero());
    let mut shell = std::process::Command::new("/bin/bash").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut pid = String::new();
    let mut said = shell.stdout.take().unwrap();
    let mut byte = [0];
    while said.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        pid.push(char::from(byte[0]));
    }
    let pid: u32 = pid.parse().unwrap();
    until("the child has become sleep", || std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")).await;
    shell.kill().unwrap();
    shell.wait().unwrap();
    until("the child is gone", || {
        std::fs::read_to_string(format!("/proc/{pid}/status")).map_or(true, |status| status.contains("State:\tZ"))
    })
    .await;
}

#[tokio::test]
async fn an_engine_ends_when_its_socket_is_closed() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut engine = tokio::process::Command::new(hero()).arg("engine").stdin(std::os::fd::OwnedFd::from(theirs)).spawn().unwrap();
    drop(ours);
    let status = tokio::time::timeout(Duration::from_secs(60), engine.wait()).await.unwrap().unwrap();
    assert!(status.success());
}
