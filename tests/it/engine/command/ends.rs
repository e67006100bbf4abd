use std::borrow::Cow;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use hero::engine::Child;
use hero::engine::frame::{self, FromEngine, Inbox, ToEngine};
use hero::model::{ErrorKind, Limit};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::super::child::freeze;
use super::super::{Numbers, exists, job, supervisor, until};
use super::{AtLine, Bench, bash, command, number, stopped};

/// A process in a session of its own, with the pipes of the job, whose number is logged. The shell goes on when it is there.
const STRAY: &str = "setsid bash -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do sleep 0.01; done; cat pid\n";
/// Far longer than an end takes, far shorter than the processes would live.
const END_TIMEOUT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_command_that_fails_says_how_with_its_last_lines() {
    let mut bench = Bench::with(bash()).await;
    let error = bench.error("echo out; echo one >&2; echo two >&2; exit 3").await;
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Script, "exit code 3: two"));
    assert_eq!(error.data.unwrap().as_str(), r#"{"exit_code":3,"stderr":["one","two"]}"#);
    let error = bench.error("kill -SEGV $$").await;
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Script, "ended by signal 11 (segmentation fault)"));
    // A result does not make a failure good.
    assert_eq!(bench.error("echo 1 >&3; exit 1").await.message, "exit code 1");
}

#[tokio::test]
async fn a_program_that_is_gone_makes_the_job_unavailable() {
    let mut bench = Bench::with(command(&["/nonexistent/program", "{script}"])).await;
    let error = bench.error("").await;
    assert!(error.kind == ErrorKind::Unavailable && error.message.starts_with("/nonexistent/program can't be run"), "{error:?}");
}

#[tokio::test]
async fn a_stop_lets_a_command_clear_up_and_is_reported_as_a_stop() {
    let mut bench = Bench::with(bash()).await;
    let script = job("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    let (ended, log) = stopped(&mut bench, &script).await;
    let error = ended.result.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Stopped, "stopped_by_request"));
    // The shell may also tell of the program that it waited for, on its other output.
    assert!(log[0] == "ready" && log.contains(&"bye".to_owned()), "{log:?}");
    assert!(bench.child.is_alive());
    assert_eq!(bench.text("echo 1 >&3").await, "1");
}

#[tokio::test]
async fn a_command_that_does_not_obey_a_stop_is_killed_and_the_engine_goes_on() {
    let mut bench = Bench::with(bash()).await;
    let began = Instant::now();
    let (ended, _) = stopped(&mut bench, &job("trap '' TERM; echo ready; while :; do sleep 0.01; done")).await;
    assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
    assert!(began.elapsed() < END_TIMEOUT);
    // On a busy machine the engine may have had no time to obey.
    if bench.child.is_alive() {
        assert_eq!(bench.text("echo 1 >&3").await, "1");
    }
}

#[tokio::test]
async fn a_command_is_ended_at_its_timeout() {
    let mut bench = Bench::with(bash()).await;
    let mut endless = job("while :; do sleep 0.01; done");
    endless.timeout = Duration::from_millis(200);
    let ended = bench.run_job(&endless).await;
    let error = ended.result.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Timeout, "timeout"));
    assert!((200..END_TIMEOUT.as_millis() as u64).contains(&ended.usage.run_ms), "{:?}", ended.usage);
}

#[tokio::test]
async fn nothing_that_a_command_started_outlives_it_whatever_session_it_is_in() {
    let mut bench = Bench::with(bash()).await;
    let began = Instant::now();
    let numbers = Numbers::below(bench.child.pid());
    bench.text(STRAY).await;
    let normal = number(&bench);
    assert!(!numbers.exists(normal) && began.elapsed() < END_TIMEOUT, "the stray kept the job's pipes open, and lived");

    let mut job = job(&format!("trap '' TERM; {STRAY} echo ready; while :; do sleep 0.01; done"));
    let (ended, log) = stopped(&mut bench, &job).await;
    assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
    assert!(!numbers.exists(log[0].parse().unwrap()));

    bench.child = Child::start(&bench.spawner, &bash()).await.unwrap();
    let numbers = Numbers::below(bench.child.pid());
    job.timeout = Duration::from_millis(1500);
    assert_eq!(bench.run_job(&job).await.result.unwrap_err().kind, ErrorKind::Timeout);
    let logged: Vec<u32> = bench.log.texts().iter().filter_map(|line| line.parse().ok()).collect();
    assert!(logged.len() == 2 && logged.iter().all(|pid| !numbers.exists(*pid)), "{logged:?}");
}

#[tokio::test]
async fn processes_that_start_each_other_again_end_with_their_job() {
    let mut bench = Bench::with(bash()).await;
    // Each starts its successor in a new session and ends, so whoever was found is gone a moment later.
    let chain =
        "chain() { setsid bash chain & }; echo 'sleep 0.02; setsid bash chain & echo $! >> pids' > chain; chain; echo ready; sleep 1000";
    let (ended, _) = stopped(&mut bench, &job(chain)).await;
    assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
    let supervisor = bench.child.pid();
    assert!(!bench.child.is_alive() || below(supervisor) == 0, "{}", below(supervisor));
}

/// The number of job processes below an engine, including the first process of their namespace, which always exists.
fn below(engine: u32) -> usize {
    let of = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let (mut found, mut parents) = (0, vec![supervisor(engine).to_string()]);
    while let Some(parent) = parents.pop() {
        let children = of(&parent);
        // Outside of a supervisor that is not in it there is the first process of the namespace.
        let is_first = |pid: &&str| {
            std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().split(|byte| *byte == 0).any(|word| word == b"--inside")
        };
        found += children.split_whitespace().filter(|pid| !is_first(pid)).count();
        parents.extend(children.split_whitespace().map(ToOwned::to_owned));
    }
    found
}

#[tokio::test]
async fn orphans_that_have_ended_are_waited_for_while_their_job_runs() {
    let mut bench = Bench::with(bash()).await;
    let supervisor = bench.child.pid();
    let stop = CancellationToken::new();
    let has_started = std::cell::Cell::new(false);
    let mut log = AtLine { line: "ready", then: || has_started.set(true), seen: Vec::new() };
    let script = job("for i in {1..100}; do (true &); done; echo ready; sleep 1000");
    let (ended, ()) = tokio::join!(bench.child.run(&script, &mut log, &stop), async {
        until("all are there", || has_started.get()).await;
        // The shell, and what it waits for.
        until("two are left", || below(supervisor) == 2).await;
        stop.cancel();
    });
    assert_eq!(ended.unwrap().result.unwrap_err().kind, ErrorKind::Stopped);
}

#[tokio::test]
async fn more_processes_than_a_job_may_have_end_it() {
    let mut bench = Bench::with(bash()).await;
    let error = bench.error("for i in {1..300}; do sleep 1000 & done; wait").await;
    assert!(error.kind == ErrorKind::Limit && error.message.contains("more than 256 processes"), "{error:?}");
    assert_eq!(bench.text("echo 1 >&3").await, "1");
}

#[tokio::test]
async fn an_engine_that_does_not_obey_is_killed_with_everything_below_it() {
    let mut bench = Bench::with(bash()).await;
    let engine = bench.child.pid();
    let numbers = Numbers::below(engine);
    let script = job(&format!("{STRAY} echo ready; sleep 1000"));
    let frozen = std::cell::Cell::new(false);
    let mut log = AtLine { line: "ready", then: || frozen.set(true), seen: Vec::new() };
    let stop = bench.stop.clone();
    let (ended, ()) = tokio::join!(bench.child.run(&script, &mut log, &bench.stop), async {
        until("the stray is there", || frozen.get()).await;
        freeze(supervisor(engine)).await;
        stop.cancel();
    });
    assert_eq!(ended.unwrap().result.unwrap_err().kind, ErrorKind::Stopped);
    let stray: u32 = log.seen[0].text.parse().unwrap();
    assert!(!exists(engine) && !bench.child.is_alive());
    until("the stray is gone", || !numbers.exists(stray)).await;
}

#[tokio::test]
async fn dropping_an_engine_in_the_middle_of_a_job_leaves_no_process_and_no_file() {
    let mut bench = Bench::with(bash()).await;
    let supervisor = bench.child.pid();
    let (running, numbers) = (Notify::new(), Numbers::below(supervisor));
    let script = job(&format!("{STRAY} pwd; echo ready; sleep 1000"));
    let mut log = AtLine { line: "ready", then: || running.notify_one(), seen: Vec::new() };
    tokio::select! {
        ended = bench.child.run(&script, &mut log, &bench.stop) => panic!("{ended:?}"),
        () = running.notified() => {}
    }
    let (stray, directory) = (log.seen[0].text.parse().unwrap(), std::path::PathBuf::from(&log.seen[1].text));
    assert!(numbers.exists(stray) && directory.exists());
    drop(bench.child);
    until("all is gone", || !exists(supervisor) && !numbers.exists(stray) && !directory.parent().unwrap().exists()).await;
}

#[tokio::test]
async fn an_engine_whose_actor_is_gone_ends_its_job_and_removes_its_files() {
    // As after kill -9 of the server: nobody is left to kill anything.
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let directory = tempfile::tempdir().unwrap().keep();
    let mut supervisor = tokio::process::Command::new(super::super::hero())
        .arg("supervisor")
        .current_dir(&directory)
        .stdin(std::os::fd::OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    let settings = bash();
    let mut frames = Vec::new();
    let (limits, program) = (Cow::Borrowed(&settings.limits), Cow::Borrowed(&settings.program));
    let hello = ToEngine::Hello { limits, capabilities: Cow::default(), program };
    frame::encode(&hello, &mut frames).unwrap();
    let run = ToEngine::Run { job: Cow::Owned(job(&format!("{STRAY} sleep 1000"))), in_repl: false };
    frame::encode(&run, &mut frames).unwrap();
    ours.write_all(&frames).unwrap();
    let mut inbox = Inbox::default();
    let stray: u32 = loop {
        match inbox.take().unwrap() {
            Some(FromEngine::Log(records)) => break records[0].text.parse().unwrap(),
            Some(_) => {}
            None => {
                let mut piece = [0; 4096];
                let read = ours.read(&mut piece).unwrap();
                inbox.room().extend_from_slice(&piece[..read]);
            }
        }
    };
    assert!(exists(stray));
    drop(ours);
    let status = tokio::time::timeout(Duration::from_secs(60), supervisor.wait()).await.unwrap().unwrap();
    assert!(status.success() && !directory.exists() && !exists(stray));
}

/// The first process of the namespace that the jobs of an engine are in, if there is one.
fn first_of(engine: u32) -> Option<Pid> {
    let first = Numbers::below(engine).outside(1).filter(|first| *first != 1).and_then(|pid| Pid::from_raw(pid.cast_signed()));
    if first.is_none() {
        println!("skipped: there is no namespace of jobs");
    }
    first
}

#[tokio::test]
async fn an_engine_leaves_before_the_next_job_when_the_first_process_of_its_namespace_has_ended() {
    let mut bench = Bench::with(bash()).await;
    assert_eq!(bench.text("echo 1 >&3").await, "1");
    let Some(first) = first_of(bench.child.pid()) else { return };
    kill_process(first, Signal::KILL).unwrap();
    until("the death is noticed", || !bench.child.is_alive()).await;
    let died = bench.child.run(&job("echo 1 >&3"), &mut bench.log, &bench.stop).await.unwrap_err();
    assert!(!died.had_job, "{died:?}");
}

#[tokio::test]
async fn a_job_whose_namespace_is_ended_by_somebody_else_has_no_outcome() {
    let mut bench = Bench::with(bash()).await;
    let Some(first) = first_of(bench.child.pid()) else { return };
    let mut log = AtLine { line: "ready", then: || kill_process(first, Signal::KILL).unwrap(), seen: Vec::new() };
    let died = bench.child.run(&job("echo ready; exec sleep 1000"), &mut log, &bench.stop).await.unwrap_err();
    // It is the supervisor itself, where that has a `/proc` of its own.
    let how = if bench.child.confinement().contains("no own /proc") { "first process of the namespace" } else { "signal 9" };
    assert!(died.had_job && died.how.contains(how), "{died:?}");
    assert!(!bench.child.is_alive());
}

#[tokio::test]
async fn the_processes_of_a_job_die_with_its_supervisor() {
    die_with_the_supervisor("echo ready; exec sleep 1000").await;
    // Those that are stopped do, too, as during a look.
    die_with_the_supervisor("kill -STOP $(cat pid); (kill -STOP $$; echo ready) & wait").await;
}

async fn die_with_the_supervisor(rest: &str) {
    let mut bench = Bench::with(bash()).await;
    let supervisor = Pid::from_raw(bench.child.pid().try_into().unwrap()).unwrap();
    let numbers = Numbers::below(bench.child.pid());
    let in_namespace = !bench.child.confinement().contains("no PID namespace");
    let mut log = AtLine { line: "ready", then: || kill_process(supervisor, Signal::KILL).unwrap(), seen: Vec::new() };
    let script = job(&format!("{STRAY} echo $$; {rest}"));
    let died = bench.child.run(&script, &mut log, &bench.stop).await.unwrap_err();
    assert!(died.how.contains("signal 9"), "{died}");
    let [stray, process] = [0, 1].map(|line: usize| log.seen[line].text.parse().unwrap());
    let runs = |number| {
        let status = numbers.outside(number).and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/status")).ok());
        status.is_some_and(|status| !status.contains("State:\tZ"))
    };
    until("the process is gone", || !runs(process)).await;
    if in_namespace {
        until("what it had started is gone, too", || !runs(stray)).await;
    } else {
        println!("skipped: a process in another session outlives a supervisor that is killed where there is no PID namespace");
        let _ = numbers.outside(stray).map(|pid| kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL));
    }
}

#[tokio::test]
async fn a_result_that_is_too_long_with_its_escapes_is_an_error_and_the_engine_goes_on() {
    let mut settings = bash();
    settings.limits.result = 4 << 20;
    let mut bench = Bench::with(settings).await;
    let error = bench.error("head -c 4000000 /dev/zero | tr '\\0' '\\1' >&3").await;
    assert!(error.limit == Some(Limit::Result) && error.message.contains("16 MB as JSON, with its escapes"), "{error:?}");
    assert_eq!(bench.text("head -c 2000000 /dev/zero | tr '\\0' '\\1' >&3").await.len(), 2_000_000);
}
