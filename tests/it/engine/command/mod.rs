//! Jobs that are processes: their input, their ends, and that none of their processes survives them.

mod asking;
mod ends;
mod rights;

use std::path::Path;

use hero::engine::{Command, EngineJob, EngineSettings, Host, LogRecord, Program, RunResult};
use hero::model::{ErrorKind, LogLevel, OutputFormat};
use tokio_util::sync::CancellationToken;

use super::{Bench, job, settings};

/// Engines whose jobs are run by this command.
fn command(command: &[&str]) -> EngineSettings {
    let mut settings = settings();
    settings.program = Program::Command(Command {
        command: command.iter().map(ToString::to_string).collect(),
        file: "script".into(),
        readable: Vec::new(),
        memory: 512 << 20,
    });
    settings
}

fn bash() -> EngineSettings {
    command(&["/bin/bash", "{script}"])
}

/// Runs an action at the first line of a log.
pub(super) struct AtLine<F> {
    pub(super) line: &'static str,
    pub(super) then: F,
    pub(super) seen: Vec<LogRecord>,
}

impl<F: FnMut()> Host for AtLine<F> {
    fn log(&mut self, records: Vec<LogRecord>) {
        if records.iter().any(|record| record.text == self.line) {
            (self.then)();
        }
        self.seen.extend(records);
    }
}

/// Runs a job and stops it when it has logged `ready`.
pub(super) async fn stopped(bench: &mut Bench, job: &EngineJob) -> (RunResult, Vec<String>) {
    let stop = CancellationToken::new();
    let mut log = AtLine { line: "ready", then: || stop.cancel(), seen: Vec::new() };
    let ended = bench.child.run(job, &mut log, &stop).await.unwrap();
    (ended, log.seen.into_iter().map(|record| record.text).collect())
}

/// The last line that the job logged, as a number.
pub(super) fn number(bench: &Bench) -> u32 {
    bench.log.texts().last().unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn what_a_command_writes_is_the_log_and_its_result_is_on_a_descriptor_of_its_own() {
    let mut bench = Bench::with(bash()).await;
    let ended = bench.run("echo one; echo two >&2; echo '{ \"a\": [1, 2.5] }' >&$HERO_RESULT_FD; echo three").await;
    let output = ended.result.unwrap();
    assert_eq!((output.text.as_str(), output.format), (r#"{"a":[1,2.5]}"#, OutputFormat::Json));
    let of = |level| bench.log.0.iter().filter(|record| record.level == level).map(|record| record.text.as_str()).collect::<Vec<_>>();
    assert_eq!((of(LogLevel::Info), of(LogLevel::Error)), (vec!["one", "three"], vec!["two"]));
    for (script, text, format) in [
        ("echo hello you >&3", "hello you", OutputFormat::Text),
        ("printf 42 >&3", "42", OutputFormat::Json),
        ("echo not a result", "", OutputFormat::Empty),
        ("", "", OutputFormat::Empty),
    ] {
        let output = bench.run(script).await.result.unwrap();
        assert_eq!((output.text.as_str(), output.format), (text, format), "{script}");
    }
}

#[tokio::test]
async fn a_command_finds_its_script_its_args_and_who_asked_in_files_and_variables() {
    let mut bench = Bench::with(command(&["/bin/bash", "{script}", "of {args}"])).await;
    let mut job = job("cat $HERO_ARGS; echo; pwd; echo $0; echo $1; echo $HERO_JOB_ID $HERO_CALLER_ID $HERO_CONTEXT_ID $HERO_ATTEMPT");
    job.args = Some(serde_json::from_str(r#"{"big": 9223372036854775807, "exact": 1.5}"#).unwrap());
    bench.run_job(&job).await.result.unwrap();
    let texts = bench.log.texts();
    let home = texts[1];
    assert_eq!(texts[0], r#"{"big":9223372036854775807,"exact":1.5}"#);
    assert_eq!(texts[2..4], [format!("{home}/script"), format!("of {home}/args.json")]);
    assert_eq!(texts[4], format!("{} alice 7 1", job.job_id));
    assert!(!Path::new(home).exists(), "{home} is still there");
    bench.log.0.clear();
    bench.text("cat $HERO_ARGS").await;
    assert_eq!(bench.log.texts(), ["{}"]);
}

#[tokio::test]
async fn the_environment_is_that_of_the_job_and_nothing_of_the_server() {
    let mut bench = Bench::with(bash()).await;
    let mut job = job("exec /usr/bin/env");
    job.env = [("PATH", "/bin"), ("SECRET", "a\nb=c"), ("HERO_JOB_ID", "forged")].map(|(name, value)| (name.into(), value.into())).into();
    bench.run_job(&job).await.result.unwrap();
    let texts = bench.log.texts();
    let mut names: Vec<&str> = texts.iter().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    let known =
        ["HERO_ARGS", "HERO_ASK_FD", "HERO_ATTEMPT", "HERO_CALLER_ID", "HERO_CONFINED", "HERO_CONTEXT_ID", "HERO_JOB_ID", "HERO_RESULT_FD"];
    let of_shell = ["HOME", "LANG", "OLDPWD", "PATH", "PWD", "SECRET", "SHLVL", "TMPDIR", "_", "b"];
    let extra: Vec<_> = names.iter().filter(|name| !known.contains(name) && !of_shell.contains(name)).collect();
    assert!(extra.is_empty() && texts.contains(&"SECRET=a") && texts.contains(&"PATH=/bin"), "{names:?}");
    assert!(texts.contains(&format!("HERO_JOB_ID={}", job.job_id).as_str()), "{texts:?}");
}

#[tokio::test]
async fn variables_of_a_job_mean_nothing_before_it_is_confined() {
    let mut bench = Bench::with(command(&["/bin/true", "{script}"])).await;
    let mut job = job("");
    job.env = [("LD_PRELOAD".into(), "/nonexistent/break_out.so".into())].into();
    bench.run_job(&job).await.result.unwrap();
    // The loader says it once for each program that it loads.
    assert_eq!(bench.log.texts().iter().filter(|line| line.contains("break_out")).count(), 1, "{:?}", bench.log.texts());
}

#[tokio::test]
async fn variables_that_no_process_can_be_given_are_told() {
    let mut bench = Bench::with(bash()).await;
    let mut job = job("");
    job.env = [("A".into(), "x".repeat(1 << 20))].into();
    let error = bench.run_job(&job).await.result.unwrap_err();
    assert!(error.kind == ErrorKind::Limit && error.message.contains("env_vars has"), "{error:?}");
    job.env = [("A".into(), "x\0y".into())].into();
    let error = bench.run_job(&job).await.result.unwrap_err();
    assert!(error.kind == ErrorKind::Unavailable && error.message.contains("zero byte"), "{error:?}");
    assert_eq!(bench.text("echo 1 >&3").await, "1");
}

#[tokio::test]
async fn the_log_and_the_result_are_bounded_and_the_command_goes_on() {
    let mut bench = Bench::with(bash()).await;
    assert_eq!(bench.text("yes | head -n 3000000; echo done >&3").await, "done");
    let last = bench.log.0.last().unwrap();
    assert!(last.level == LogLevel::Warn && last.text.contains("more than 1 MB (script_log)"), "{last:?}");
    bench.log.0.clear();
    assert_eq!(bench.text("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end; echo done >&3").await, "done");
    let texts = bench.log.texts();
    assert_eq!((texts.iter().map(|line| line.len()).sum::<usize>(), texts.last()), (300_003, Some(&"end")));
    assert!(texts.iter().all(|line| line.len() <= 16 << 10));
    let error = bench.error("head -c 3000000 /dev/zero | tr '\\0' x >&3; echo done").await;
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Limit, "the result has more than 1 MB (script_result)"));
    assert_eq!(bench.log.texts().last(), Some(&"done"));
}

#[tokio::test]
async fn what_is_no_text_is_logged_all_the_same() {
    let mut bench = Bench::with(bash()).await;
    bench.text("printf 'a\\xff\\r\\nb'").await;
    assert_eq!(bench.log.texts(), ["a\u{fffd}", "b"]);
    assert!(bench.error("printf '\\xff' >&3").await.message.contains("the result is not UTF-8 text"));
}

#[tokio::test]
async fn a_script_may_be_run_by_what_its_first_line_names() {
    let mut bench = Bench::with(command(&["/usr/bin/env", "{script}"])).await;
    assert_eq!(bench.text("#!/bin/bash\necho ${BASH_VERSION:+bash} >&3").await, "bash");
    // Without one it is for the shell, as everywhere.
    assert_eq!(bench.text("echo 1 >&3").await, "1");
    let error = bench.error("#!/no/such/program\n").await;
    assert!(error.message.starts_with("exit code 127: ") && error.message.contains("No such file"), "{error:?}");
    let mut bench = Bench::with(command(&["/bin/sh", "-c", "chmod 600 {script}; {script}"])).await;
    let error = bench.error("#!/bin/sh").await;
    assert!(error.message.starts_with("exit code 126: ") && error.message.contains("denied"), "{error:?}");
}

#[tokio::test]
async fn node_runs_scripts_where_it_is_installed() {
    let Some(node) = ["/usr/bin/node", "/usr/local/bin/node"].into_iter().find(|path| Path::new(path).exists()) else {
        println!("skipped: there is no node");
        return;
    };
    let mut bench = Bench::with(command(&[node, "{script}"])).await;
    let mut job = job(include_str!("../../../../examples/commands/report.js"));
    job.args = Some(serde_json::from_str(r#"{"items": [{"name": "tea", "price": 2.5}, {"name": "milk", "price": 1.25}]}"#).unwrap());
    let ended = bench.run_job(&job).await;
    assert_eq!(ended.result.unwrap().text, r#"{"items":2,"total":3.75}"#, "{:?}", bench.log.texts());
    assert_eq!(bench.log.texts(), ["tea: 2.5", "milk: 1.25"]);
    for (script, told) in [
        ("throw new Error('bad day')", "Error: bad day"),
        // The error stands above more calls than there are lines in the data.
        ("function f(n) { if (n == 0) { throw new TypeError('bad day'); } f(n - 1); } f(20)", "TypeError: bad day"),
        ("require('not-there')", "Error: Cannot find module 'not-there'"),
        ("Promise.reject(new RangeError('bad day'))", "RangeError: bad day"),
        ("let x = ;", "SyntaxError: Unexpected token ';'"),
        ("throw 'bad day'", "bad day"),
        ("console.error('one\\n\\ntwo'); process.exit(1)", "two"),
    ] {
        let error = bench.error(script).await;
        assert_eq!(error.message, format!("exit code 1: {told}"), "{script}: {error:?}");
    }
}
