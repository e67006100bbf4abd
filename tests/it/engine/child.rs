use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use hero::engine::frame::{self, FromEngine};
use hero::engine::{Answer, Child, EngineSettings, Error, Host, HostCall, LogRecord, ObjectCall, RunResult};
use hero::model::{ErrorKind, LogLevel, Output, OutputFormat, Usage};
use hero::process::Spawner;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Bench, Log, exists, job, settings, until};
use crate::support::{DEADLY, DEADLY_LEVELS};

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

/// Stops the process of an engine: it does not go on until it is killed.
pub(super) async fn freeze(pid: u32) {
    signal(pid, Signal::STOP);
    let stopped = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status")).unwrap().contains("State:\tT");
    until("all threads have stopped", || std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().all(|task| stopped(task.unwrap()))).await;
}

/// Runs an action at the first line that a script logs, and remembers the time.
struct AtFirstLine<F>(F, Option<Instant>);

impl<F: FnMut()> Host for AtFirstLine<F> {
    fn log(&mut self, _: Vec<LogRecord>) {
        if self.1.is_none() {
            self.1 = Some(Instant::now());
            self.0();
        }
    }
}

/// Runs a script, stops it at its first line, and says how long it took to end.
async fn stopped(bench: &mut Bench, script: &str) -> (RunResult, Duration) {
    let stop = CancellationToken::new();
    let mut log = AtFirstLine(|| stop.cancel(), None);
    let ended = bench.child.run(&job(script), &mut log, &stop).await.unwrap();
    (ended, log.1.unwrap().elapsed())
}

#[tokio::test]
async fn a_stop_ends_a_running_script_at_once_and_the_engine_goes_on() {
    let mut bench = Bench::start().await;
    for script in [
        "print(1); loop {}",
        "print(1); sleep(1000)",
        "print(1); let a = []; a.pad(9000, 0); loop { a.map(|x| x + 1); }",
        "print(1); loop { try { sleep(1000) } catch { } }",
        "print(1); loop { print(2); sleep(0.02); }",
    ] {
        // On a busy machine it may get no processor for so long that it is killed; then another try.
        let mut obeyed = false;
        for _ in 0..20 {
            let (ended, took) = stopped(&mut bench, script).await;
            let error = ended.result.unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Stopped, "stopped_by_request"), "{script}");
            assert!(took < Duration::from_secs(10), "{script}: {took:?}");
            obeyed = bench.child.is_alive();
            if obeyed {
                break;
            }
            bench.child = Child::start(&bench.spawner, &settings()).await.unwrap();
        }
        assert!(obeyed, "{script}");
    }
    assert_eq!(bench.text("40 + 2").await, "42");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_run_side_by_side_on_any_task() {
    let spawner = Spawner::start().unwrap();
    let tasks: Vec<_> = (0..4)
        .map(|n| {
            let spawner = spawner.clone();
            tokio::spawn(async move {
                let mut child = Child::start(&spawner, &settings()).await.unwrap();
                for i in 0..50 {
                    let ended = child.run(&job(&format!("{n} * {i}")), &mut Log::default(), &CancellationToken::new()).await.unwrap();
                    assert_eq!(ended.result.unwrap().text, (n * i).to_string());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_stop_that_comes_before_the_job_ends_it_too() {
    let mut bench = Bench::start().await;
    bench.stop.cancel();
    assert_eq!(bench.error("loop {}").await.kind, ErrorKind::Stopped);
}

#[tokio::test]
async fn an_engine_that_does_not_obey_a_stop_is_killed() {
    let mut bench = Bench::start().await;
    let pid = bench.child.pid();
    freeze(pid).await;
    bench.stop.cancel();
    assert_eq!(bench.error("1").await.kind, ErrorKind::Stopped);
    assert!(!bench.child.is_alive() && !exists(pid));
}

#[tokio::test]
async fn an_engine_that_does_not_keep_the_timeout_is_killed() {
    let mut settings = settings();
    settings.grace = Duration::from_millis(100);
    let mut bench = Bench::with(settings).await;
    let pid = bench.child.pid();
    freeze(pid).await;
    let mut job = job("1");
    job.timeout = Duration::from_millis(100);
    let error = bench.run_job(&job).await.result.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Timeout, "timeout"));
    assert!(!bench.child.is_alive() && !exists(pid));
}

#[tokio::test]
async fn an_engine_that_dies_says_how() {
    let mut bench = Bench::start().await;
    let pid = bench.child.pid();
    let mut log = AtFirstLine(|| signal(pid, Signal::ABORT), None);
    let died = bench.child.run(&job("print(1); loop {}"), &mut log, &bench.stop).await.unwrap_err();
    assert!(died.how.contains("signal 6"), "{died}");
    assert!(!bench.child.is_alive() && !exists(pid));
    assert!(bench.child.run(&job("1"), &mut log, &bench.stop).await.is_err());
}

#[tokio::test]
async fn an_engine_that_died_between_jobs_is_noticed() {
    let bench = Bench::start().await;
    assert!(bench.child.is_alive());
    signal(bench.child.pid(), Signal::KILL);
    until("the death is noticed", || !bench.child.is_alive()).await;
}

#[tokio::test]
async fn an_engine_that_is_gone_says_that_it_did_not_get_the_job() {
    let mut bench = Bench::start().await;
    signal(bench.child.pid(), Signal::KILL);
    until("the death is noticed", || !bench.child.is_alive()).await;
    let died = bench.child.run(&job("1"), &mut bench.log, &bench.stop).await.unwrap_err();
    assert!(!died.had_job && died.how.contains("signal 9"), "{died:?}");
}

#[tokio::test]
async fn running_out_of_stack_kills_only_the_engine() {
    let mut settings = settings();
    settings.limits.call_levels = DEADLY_LEVELS;
    let mut bench = Bench::with(settings.clone()).await;
    let died = bench.child.run(&job(DEADLY), &mut bench.log, &bench.stop).await.unwrap_err();
    assert!(died.how.contains("signal 6") && died.how.contains("stack overflow"), "{died}");
    assert!(!bench.child.is_alive());
    bench.child = Child::start(&bench.spawner, &settings).await.unwrap();
    assert_eq!(bench.text("40 + 2").await, "42");
}

#[tokio::test]
async fn dropping_an_engine_leaves_no_process_even_in_the_middle_of_a_job() {
    let mut bench = Bench::start().await;
    let pid = bench.child.pid();
    let running = Notify::new();
    let (script, mut log) = (job("print(1); loop {}"), AtFirstLine(|| running.notify_one(), None));
    tokio::select! {
        ended = bench.child.run(&script, &mut log, &bench.stop) => panic!("{ended:?}"),
        () = running.notified() => {}
    }
    assert!(!bench.child.is_alive(), "a run that was given up leaves it busy");
    assert!(exists(pid));
    drop(bench.child);
    until("the process is gone", || !exists(pid)).await;
}

#[tokio::test]
async fn an_engine_wears_out_by_jobs_age_and_memory() {
    let mut by_jobs = settings();
    by_jobs.recycle_after_jobs = 2;
    let mut bench = Bench::with(by_jobs).await;
    bench.text("1").await;
    assert!(!bench.child.worn_out());
    bench.text("1").await;
    assert!(bench.child.worn_out() && bench.child.is_alive());

    let mut by_age = settings();
    by_age.recycle_after = Duration::ZERO;
    assert!(Bench::with(by_age).await.child.worn_out());

    let mut by_memory = settings();
    by_memory.recycle_above_bytes = 4 << 20;
    let mut bench = Bench::with(by_memory).await;
    bench.text("1").await;
    assert!(!bench.child.worn_out(), "{}", bench.child.bytes());
    // A cycle of closures that Rhai never frees.
    for _ in 0..100 {
        bench.text("let s = \"x\"; s.pad(90000, 'x'); let a = []; let f = || a; a = [s, f]; 1").await;
    }
    assert!(bench.child.worn_out(), "{}", bench.child.bytes());
}

#[tokio::test]
async fn a_job_too_large_for_a_frame_is_refused_and_the_engine_stays() {
    let mut bench = Bench::start().await;
    let mut large = job("1");
    large.args = Some("x".repeat(17 << 20).into());
    assert_eq!(bench.run_job(&large).await.result.unwrap_err().kind, ErrorKind::Limit);
    large.args = Some("x".repeat(9 << 20).into());
    large.script = "args.len()".into();
    assert_eq!(bench.run_job(&large).await.result.unwrap().text, "9437184");
    let deep = (0..130).fold(serde_json::Value::Null, |inner, _| serde_json::json!([inner]));
    large.args = Some(deep.into());
    assert_eq!(bench.run_job(&large).await.result.unwrap_err().kind, ErrorKind::Unavailable);
    assert_eq!(bench.text("40 + 2").await, "42");
}

#[tokio::test]
async fn a_program_that_is_no_engine_is_not_waited_for() {
    let spawner = hero::process::Spawner::start().unwrap();
    let mut settings = settings();
    settings.hero = "/nonexistent/hero".into();
    assert!(matches!(Child::start(&spawner, &settings).await, Err(Error::Spawn(_))));
    settings.hero = "/bin/false".into();
    assert!(matches!(Child::start(&spawner, &settings).await, Err(Error::Died(_))));
}

/// Counts the lines of an engine that was taken over.
struct Counted(usize);

impl Host for Counted {
    fn log(&mut self, records: Vec<LogRecord>) {
        self.0 += records.len();
        assert!(self.0 < 1_000_000, "nobody counts empty lines");
    }
}

/// A program in place of an engine: it says frames by `say NAME`.
fn impostor(frames: &[(&str, FromEngine)], script: &str) -> (tempfile::TempDir, EngineSettings) {
    let directory = tempfile::tempdir().unwrap();
    for (name, frame) in frames {
        let mut bytes = Vec::new();
        frame::encode(frame, &mut bytes).unwrap();
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    let (at, engine) = (directory.path().display(), directory.path().join("engine"));
    std::fs::write(&engine, format!("#!/bin/sh\nsay() {{ cat {at}/$1 >&0; }}\nsay ready\n{script}\n")).unwrap();
    std::fs::set_permissions(&engine, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    (directory, EngineSettings { hero: engine, ..settings() })
}

fn ready() -> FromEngine {
    FromEngine::Ready { pid: 1, confinement: String::new() }
}

#[tokio::test]
async fn an_engine_that_logs_empty_lines_without_end_is_killed() {
    let empty = LogRecord { level: LogLevel::Info, text: String::new() };
    let frames = [("ready", ready()), ("empty", FromEngine::Log(vec![empty; 1000]))];
    let (_directory, settings) = impostor(&frames, "while say empty; do :; done");
    let mut bench = Bench::with(settings).await;
    let mut counted = Counted(0);
    let died = bench.child.run(&job("1"), &mut counted, &bench.stop).await.unwrap_err();
    assert!(died.to_string().contains("it logged far more than its limit"), "{died}");
}

/// What it would read next is the rest of the frame, which says anything.
#[tokio::test]
async fn an_engine_that_did_not_read_its_answer_to_the_end_runs_no_other_job() {
    let host_call = HostCall::Objects(ObjectCall::Has { collection: "a".parse().unwrap(), id: "b".parse().unwrap() });
    let output = Output { text: "7".into(), format: OutputFormat::Json };
    let done = FromEngine::Done { result: Ok(output), usage: Usage::default(), allocated: 0 };
    let frames = [("ready", ready()), ("ask", FromEngine::Ask { host_call }), ("done", done)];
    let (_directory, settings) = impostor(&frames, "say ask; head -c 100000 <&0 >/dev/null; say done; exec sleep 1000");
    let mut bench = Bench::with(settings).await;
    let ended = bench.child.run(&job("1"), &mut Long, &bench.stop).await.unwrap();
    assert_eq!(ended.result.unwrap().text, "7");
    assert!(!bench.child.is_alive());
}

/// Returns long answers.
struct Long;

impl Host for Long {
    fn log(&mut self, _: Vec<LogRecord>) {}

    fn answer(&mut self, _: HostCall) -> BoxFuture<'static, Answer> {
        Box::pin(std::future::ready(Ok(serde_json::json!("x".repeat(3 << 20)).into())))
    }
}
