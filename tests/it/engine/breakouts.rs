//! The possible damage by a malicious program in each kind of child. Perl plays a program that broke out of an
//! interpreter: it makes system calls by number. A job is such a program anyway.

use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};

use hero::engine::{Child, Command, EngineSettings, Program, Python};
use hero::model::ErrorKind;
use hero::process::confine::{JobRights, JobUser, Profile};

use super::confinement::{ENGINE, run_with};
use super::held::against_a_neighbour_in;
use super::{Bench, exists, job, settings};
use crate::support::until;

pub(super) const PERL: &str = "/usr/bin/perl";

/// Whether a step is in force in an engine here, and there is somebody to try. Where not, the engine says so, which is tested elsewhere.
pub(super) async fn can_try(step: &str) -> bool {
    if !Path::new(PERL).exists() {
        println!("skipped: there is no {PERL}");
        return false;
    }
    let bench = Bench::start().await;
    let in_force = !bench.child.confinement().contains(&format!("no {step}"));
    if !in_force {
        println!("skipped: {}", bench.child.confinement());
    }
    in_force
}

/// Has Perl run a program: in an engine one from its descriptor 0, because for another it opens a file, and that is refused.
async fn perl(profile: &Profile, code: &str) -> Output {
    if !matches!(profile, Profile::Engine { .. }) {
        return run_with(profile, PERL, &["-e", code], Stdio::null()).await;
    }
    let mut program = tempfile::tempfile().unwrap();
    program.write_all(code.as_bytes()).unwrap();
    program.rewind().unwrap();
    run_with(profile, PERL, &[], Stdio::from(program)).await
}

/// Expects that something is refused to Perl: an expression that is true when it is not.
async fn refused(profile: &Profile, what: &str, attempt: &str) {
    let output = perl(profile, &format!("({attempt}) or do {{ print \"refused: $!\\n\"; exit 7 }};")).await;
    let said = String::from_utf8_lossy(&output.stdout);
    let refusals = ["Operation not permitted", "Permission denied", "No such process", "Function not implemented"];
    assert!(output.status.code() == Some(7) && refusals.iter().any(|refusal| said.contains(refusal)), "{what}: {output:?}");
}

const SOCKETS: [(&str, &str); 6] = [
    ("TCP", "socket(S, 2, 1, 6)"),
    ("UDP", "socket(S, 2, 2, 17)"),
    ("IPv6", "socket(S, 10, 1, 6)"),
    ("a unix socket, be it at a path or abstract", "socket(S, 1, 1, 0)"),
    ("netlink", "socket(S, 16, 3, 0)"),
    ("a packet socket", "socket(S, 17, 3, 768)"),
];

#[tokio::test]
async fn an_engine_makes_no_socket_no_process_and_no_signal_but_to_itself() {
    if !can_try("seccomp").await {
        return;
    }
    for (what, attempt) in SOCKETS.into_iter().chain([
        ("a pair of sockets", "socketpair(A, B, 1, 1, 0)"),
        ("a process", "defined(fork)"),
        ("a signal to its parent", "kill(0, getppid)"),
        ("a signal to everybody", "kill(0, -1)"),
        ("a signal to its group", "kill(0, 0)"),
        ("to be less polite", "setpriority(0, getppid, 19)"),
    ]) {
        refused(&ENGINE, what, attempt).await;
    }
    let own = perl(&ENGINE, "kill(0, $$) or exit 1; print 'fine'").await;
    assert_eq!(String::from_utf8_lossy(&own.stdout), "fine", "{own:?}");
    // It has a limit for its address space, and files have no room at all.
    let greedy = perl(&ENGINE, "my $x = 'a' x 2_000_000_000; print 'had it'").await;
    assert!(!greedy.status.success() && greedy.stdout.is_empty(), "{greedy:?}");
}

/// The rights of a job in a directory, that of root as somebody else.
fn job_in(directory: &Path) -> Profile {
    let user = if rustix::process::geteuid().is_root() { JobUser::Own(0x7fff_fff0) } else { JobUser::Same };
    user.give(directory).unwrap();
    Profile::Job(JobRights::new(directory, 1 << 30, user))
}

#[tokio::test]
async fn no_child_looks_into_others_or_changes_the_system() {
    if !can_try("seccomp").await || std::env::consts::ARCH != "x86_64" {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (job, redis) = (job_in(directory.path()), Profile::Redis { writable: Vec::new() });
    for (what, number, arguments) in [
        ("ptrace", 101, "0, 0, 0, 0"),
        ("process_vm_readv", 310, "getppid, 0, 0, 0, 0, 0"),
        ("mount", 165, "0, 0, 0, 0, 0"),
        ("chroot", 161, "0"),
        ("unshare", 272, "0x10000000"),
        ("setns", 308, "0, 0"),
        ("a process in a user namespace", 56, "0x10000011, 0, 0, 0, 0"),
        ("bpf", 321, "0, 0, 0"),
        ("keyctl", 250, "0, 0, 0, 0, 0"),
        ("io_uring_setup", 425, "1, 0"),
        ("userfaultfd", 323, "1"),
        ("perf_event_open", 298, "0, 0, 0, 0, 0"),
        ("the limits of another process", 302, "getppid, 7, 0, 0"),
        ("to outlive its parent", 157, "1, 0, 0, 0, 0"),
        ("the priority of another process", 141, "0, getppid, 19"),
        ("that of its group", 141, "1, 0, 19"),
        ("that of its user", 141, "2, 0, 19"),
        ("the policy of another process", 144, "getppid, 5, my $at = pack('i', 0)"),
        ("its parameters", 142, "getppid, my $at = pack('i', 0)"),
        ("the same in another way", 314, "getppid, my $at = pack('L12', 48, 5), 0"),
        ("the processors of another process", 203, "getppid, 8, my $at = pack('Q', 1)"),
        ("how another process shares the disk", 251, "1, getppid, 0x6000"),
        ("how its user does", 251, "3, 0, 0x6000"),
    ] {
        for profile in [&ENGINE, &job, &redis] {
            refused(profile, what, &format!("syscall({number}, {arguments}) >= 0")).await;
        }
    }
    for (what, attempt) in [("TCP", "socket(S, 2, 1, 6)"), ("UDP", "socket(S, 2, 2, 17)"), ("netlink", "socket(S, 16, 3, 0)")] {
        refused(&redis, what, attempt).await;
    }
}

#[tokio::test]
async fn a_job_makes_processes_and_pairs_of_sockets_but_no_other_socket() {
    if !can_try("seccomp").await {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let job = job_in(directory.path());
    for (what, attempt) in SOCKETS.into_iter().chain([
        // One without a fixed peer can be sent to any path from.
        ("a pair of datagram sockets", "socketpair(A, B, 1, 2, 0)"),
        ("a raw pair", "socketpair(A, B, 1, 3, 0)"),
    ]) {
        refused(&job, what, attempt).await;
    }
    if std::env::consts::ARCH == "x86_64" {
        for (what, attempt) in [
            ("shared memory that stays", "syscall(29, 0, 4096, 0x3ff) >= 0"),
            ("a queue that stays", "syscall(68, 0, 0x3ff) >= 0"),
            ("memory that nobody counts", "do { my $name = \"x\\0\"; syscall(319, $name, 0) >= 0 }"),
            ("memory that nobody else may see", "syscall(447, 0) >= 0"),
            ("a context of asynchronous reads", "do { my $at = \"\\0\" x 8; syscall(206, 100, $at) >= 0 }"),
            ("to be told of what happens in directories", "syscall(294, 0) >= 0"),
            ("the same in another way", "open(D, '<', '/usr/bin') && syscall(72, fileno(D), 1026, 1) >= 0"),
            ("the list of mounts", "do { my $at = \"\\0\" x 4096; syscall(458, $at, $at, 10, 0) >= 0 }"),
            ("a mount", "do { my $at = \"\\0\" x 4096; syscall(457, $at, $at, 4096, 0) >= 0 }"),
            ("a larger pipe", "pipe(A, B) && syscall(72, fileno(A), 1031, 1 << 20) >= 0"),
            ("pages in a pipe", "syscall(278, 1, 0, 0, 0) >= 0"),
            ("descriptors on their way", "syscall(46, 1, 0, 0) >= 0"),
            ("many descriptors on their way", "syscall(307, 1, 0, 0, 0) >= 0"),
            ("a thread with descriptors of its own", "syscall(56, 0x10900, 0, 0, 0, 0) >= 0"),
            ("a larger buffer for a socket", "socketpair(A, B, 1, 1, 0) && setsockopt(A, 1, 7, pack('l', 1 << 20))"),
            ("descriptors of its own", "syscall(436, 900, 900, 2) >= 0"),
            ("to hide what is open", "syscall(157, 4, 0, 0, 0, 0) >= 0"),
        ] {
            refused(&job, what, attempt).await;
        }
    }
    if std::env::consts::ARCH == "x86_64" {
        // Who asks for room at once is told to write.
        let said = perl(&job, "syscall(285, fileno(STDOUT), 1, 0, 1 << 40) >= 0 and exit 1; print 0 + $!").await;
        assert_eq!(String::from_utf8_lossy(&said.stdout), "95", "{said:?}");
        // A byte of a file in a pipe or socket would keep megabytes of it in memory.
        for (what, call) in [
            ("sendfile", "40, fileno(B), fileno(F), 0, 1"),
            ("splice", "275, fileno(F), 0, fileno(B), 0, 1, 0"),
            ("tee", "276, fileno(A), fileno(B), 1, 0"),
        ] {
            let said = perl(&job, &format!("pipe(A, B); open(F, '<', '{PERL}'); syscall({call}) >= 0 and exit 1; print 0 + $!")).await;
            assert_eq!(String::from_utf8_lossy(&said.stdout), "22", "{what}: {said:?}");
        }
    }
    // It may be less demanding itself.
    let polite = perl(&job, "setpriority(0, 0, 5) or exit 1; print getpriority(0, 0)").await;
    assert_eq!(String::from_utf8_lossy(&polite.stdout), "5", "{polite:?}");
    let fine = perl(&job, "socketpair(A, B, 1, 1, 0) or exit 1; my $pid = fork; exit 0 if $pid == 0; waitpid($pid, 0); print 'fine'").await;
    assert_eq!(String::from_utf8_lossy(&fine.stdout), "fine", "{fine:?}");
}

#[tokio::test]
async fn neither_engines_nor_jobs_that_stay_root_change_modes_owners_or_times_of_files_that_are_not_theirs() {
    if !rustix::process::geteuid().is_root() || !can_try("seccomp").await {
        println!("skipped: only root has such jobs");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = JobUser::Root("for this test".into());
    let job = Profile::Job(JobRights::new(directory.path(), 1 << 30, root));
    let victim = tempfile::NamedTempFile::new().unwrap();
    let before = std::fs::metadata(victim.path()).unwrap();
    let path = victim.path().display();
    for profile in [&job, &ENGINE] {
        refused(profile, "a mode", &format!("chmod(0777, '{path}')")).await;
        refused(profile, "an owner", &format!("chown(1, 1, '{path}')")).await;
        refused(profile, "a time", &format!("utime(1, 1, '{path}')")).await;
    }
    refused(&job, "the mode of an open file", "open(F, '<', '/usr/bin/perl') && chmod(0777, *F)").await;
    let after = std::fs::metadata(victim.path()).unwrap();
    assert_eq!((before.permissions(), before.modified().unwrap()), (after.permissions(), after.modified().unwrap()));
    let file = directory.path().join("own").display().to_string();
    let fine = perl(&job, &format!("open(F, '>', '{file}') && utime(undef, undef, *F) && print 'fine'")).await;
    assert_eq!(String::from_utf8_lossy(&fine.stdout), "fine", "{fine:?}");
}

pub(super) fn shell(memory: u64) -> EngineSettings {
    let command = Command { command: vec!["/bin/bash".into(), "{script}".into()], file: "script".into(), readable: Vec::new(), memory };
    EngineSettings { program: Program::Command(command), ..settings() }
}

#[tokio::test]
async fn a_job_signals_neither_its_parents_nor_its_siblings() {
    let (mut bench, sibling) = (Bench::with(shell(512 << 20)).await, Bench::with(shell(512 << 20)).await);
    let said = bench.child.confinement().to_owned();
    if ["no landlock", "no signal rules"].iter().all(|rule| said.contains(rule)) && said.contains("no PID namespace") {
        println!("skipped: {said}");
        return;
    }
    let (own, other, us) = (bench.child.pid(), sibling.child.pid(), std::process::id());
    for number in [own.to_string(), other.to_string(), us.to_string(), "1".to_owned()] {
        let error = bench.error(&format!("kill -KILL {number}; exit $?")).await;
        assert!(error.message.contains("exit code"), "{number}: {error:?}");
    }
    // Everybody whom it can reach is only itself.
    let ended = bench.run("trap '' TERM; kill -TERM -1; kill -KILL -- -1; echo still here >&3").await;
    assert!(ended.result.is_ok() || ended.result.is_err_and(|error| error.message.contains("signal 9")));
    assert!(bench.child.is_alive() && sibling.child.is_alive() && exists(own) && exists(other));
    assert_eq!(bench.text("echo 1 >&3").await, "1");
}

#[tokio::test]
async fn each_engine_of_root_is_a_user_of_its_own_whose_jobs_reach_no_file_of_another() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: these tests do not run as root");
        return;
    }
    let user = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
        line.split_whitespace().map(|number| number.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    let (one, two) = (Bench::start().await, Bench::start().await);
    let users = [&one, &two].map(|bench| user(bench.child.pid()));
    assert!(users.iter().flatten().all(|number| *number != 0) && users[0] != users[1], "{users:?}");

    let mut bench = Bench::with(shell(512 << 20)).await;
    let mut other = Child::start(&bench.spawner, &shell(512 << 20)).await.unwrap();
    for _ in 0..2 {
        bench.text("id -u; id -G; stat -c '%u %a' . script args.json").await;
    }
    other.run(&job("id -u"), &mut bench.log, &bench.stop).await.unwrap().result.unwrap();
    let texts = bench.log.texts();
    let own = texts[0].to_owned();
    assert!(own != "0" && texts[..2] == [&own, &own] && texts[5..7] == texts[..2] && texts[10] != own, "{texts:?}");
    assert_eq!(texts[2..5], [format!("{own} 700"), format!("{own} 700"), format!("{own} 600")]);
    // What root owns may be of a mode that lets everybody read it or not.
    let secret = tempfile::NamedTempFile::new_in("/usr/share").unwrap();
    assert_eq!(std::fs::metadata(secret.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let error = bench.error(&format!("cat {}", secret.path().display())).await;
    assert!(error.message.contains("Permission denied"), "{error:?}");
    let error = bench.error(&format!("chmod 777 {}", secret.path().display())).await;
    assert!(["not permitted", "Read-only"].iter().any(|refusal| error.message.contains(refusal)), "{error:?}");
}

#[tokio::test]
async fn forks_of_one_python_are_the_user_of_their_engine_and_reach_nothing_either() {
    let python = Python { interpreter: "/usr/bin/python3".into(), readable: Vec::new(), memory: 512 << 20 };
    if !python.interpreter.exists() || !can_try("seccomp").await {
        println!("skipped: there is no {}", python.interpreter.display());
        return;
    }
    let mut bench = Bench::with(EngineSettings { program: Program::Python(python), ..settings() }).await;
    let said = bench.child.confinement().to_owned();
    assert!(!said.contains("no setuid"), "{said}");
    let is_private = !said.contains("no mount namespace");
    let user = bench.text("import os, hero; open('f', 'w').write('x'); hero.result([os.getuid(), os.stat('f').st_uid])").await;
    assert!(!rustix::process::geteuid().is_root() || !user.contains("[0"), "{user}");
    for (refused, said) in [
        ("import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "Operation not permitted"),
        ("import socket; socket.socket(socket.AF_UNIX)", "Operation not permitted"),
        ("import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", "Operation not permitted"),
        ("import os; os.kill(os.getppid(), 9)", "not permitted"),
        ("import os; os.kill(1, 9)", "not permitted"),
        ("open('/etc/shadow')", if is_private { "No such file" } else { "Permission denied" }),
        ("open('/tmp/hero-was-here', 'w')", if is_private { "Read-only" } else { "Permission denied" }),
    ] {
        let error = bench.error(refused).await;
        assert!(error.message.contains(said), "{refused}: {error:?}");
    }
    if said.contains("no process limit") {
        return;
    }
    let engine = bench.child.pid();
    let bomb = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)";
    assert_eq!(against_a_neighbour_in(&mut bench, bomb, "import hero; hero.result(1)").await.kind, ErrorKind::Limit);
    if bench.child.pid() == engine {
        assert_eq!(bench.text("import os, hero; hero.result([os.getuid(), os.getuid()])").await, user);
    }
}

#[tokio::test]
async fn jobs_whose_files_are_closed_to_others_run_as_root_and_it_is_said() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: these tests do not run as root");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut settings = shell(512 << 20);
    if let Program::Command(command) = &mut settings.program {
        command.readable.push(directory.path().to_owned());
    }
    std::fs::write(directory.path().join("data"), "42").unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let mut bench = Bench::with(settings.clone()).await;
    let said = bench.child.confinement().to_owned();
    assert!(said.contains(&format!("no setuid ({} is closed to other users)", directory.path().display())), "{said}");
    assert_eq!(bench.text(&format!("cat {}/data >&3", directory.path().display())).await, "42");
    // Root, but with nothing that only root may.
    let capabilities = "while read -r name value; do case $name in CapPrm:|CapEff:) echo $value ;; esac; done < /proc/self/status; id -u";
    bench.text(capabilities).await;
    assert_eq!(bench.log.texts(), ["0000000000000000", "0000000000000000", "0"]);
    let required = EngineSettings { confined: true, ..settings };
    let error = until("an answer of the engine, which is slow beside other tests", || async {
        let error = Child::start(&bench.spawner, &required).await.unwrap_err().to_string();
        (!error.contains("was not ready within")).then_some(error)
    })
    .await;
    assert!(error.contains("setuid") && error.contains("is closed to other users"), "{error}");

    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(directory.path().join("data"), PermissionsExt::from_mode(0o644)).unwrap();
    let mut bench = Bench::with(EngineSettings { confined: false, ..required }).await;
    assert!(!bench.child.confinement().contains("no setuid"), "{}", bench.child.confinement());
    assert_eq!(bench.text(&format!("cat {}/data >&3", directory.path().display())).await, "42");
}
