//! Jobs in Python: their input and output, their errors, and their isolation from each other.

use std::path::PathBuf;
use std::time::Duration;

use hero::engine::{EngineSettings, Program, Python};
use hero::model::{ErrorKind, Limit, LogLevel, OutputFormat};
use rustix::process::{Pid, Signal, kill_process};

use super::command::{AtLine, number, stopped};
use super::{Bench, Numbers, job, settings, until};

/// The interpreter of this machine. Tests of Python are skipped, and say so, where there is none.
pub(super) fn python() -> Option<Python> {
    let question = "import os, sys; print('\\n'.join([sys.executable, os.path.realpath(sys.executable), sys.prefix, sys.base_prefix]))";
    let said = std::process::Command::new("python3").args(["-I", "-c", question]).output().ok().filter(|said| said.status.success());
    let Some(said) = said else {
        println!("skipped: there is no python3");
        return None;
    };
    let paths: Vec<PathBuf> = String::from_utf8(said.stdout).unwrap().lines().map(PathBuf::from).collect();
    Some(Python { interpreter: paths[0].clone(), readable: paths[1..].to_vec(), memory: 512 << 20 })
}

pub(super) fn with(python: Python) -> EngineSettings {
    let mut settings = settings();
    settings.program = Program::Python(python);
    settings
}

pub(super) async fn bench() -> Option<Bench> {
    Some(Bench::with(with(python()?)).await)
}

#[tokio::test]
async fn a_job_in_python_knows_its_args_and_gives_a_result() {
    let Some(mut bench) = bench().await else { return };
    let mut of_values = job("import hero, os\n\
         print('hello', hero.args['name'])\n\
         hero.log('careful', level='warn')\n\
         hero.result({'sum': sum(hero.args['numbers']), 'big': hero.args['big'], 'env': [hero.env['LANG'], os.environ['LANG']],\n\
         'who': [hero.job_id == os.environ['HERO_JOB_ID'], hero.caller_id, hero.context_id, hero.attempt]})");
    of_values.args = Some(serde_json::from_str(r#"{"name": "Ada", "numbers": [1, 2.5], "big": 9223372036854775807}"#).unwrap());
    let output = bench.run_job(&of_values).await.result.unwrap();
    assert_eq!(output.text, r#"{"sum":3.5,"big":9223372036854775807,"env":["de","de"],"who":[true,"alice",7,1]}"#);
    let logged: Vec<_> = bench.log.0.iter().map(|record| (record.level, record.text.as_str())).collect();
    assert_eq!(logged, [(LogLevel::Info, "hello Ada"), (LogLevel::Warn, "careful")]);
    for (script, text, format) in [
        ("", "", OutputFormat::Empty),
        ("import hero; hero.result(None)", "", OutputFormat::Empty),
        ("import hero; hero.result('a \"text\" ü')", "a \"text\" ü", OutputFormat::Text),
        ("import hero; hero.result(1); hero.result([True, None, 1.5])", "[true,null,1.5]", OutputFormat::Json),
        ("import hero; hero.result(hero.args)", "{}", OutputFormat::Json),
        ("import sys; sys.exit()", "", OutputFormat::Empty),
        ("import os, hero; hero.result(1); os._exit(0)", "1", OutputFormat::Json),
        ("if __name__ == '__main__':\n    import hero; hero.result(__file__)", "script.py", OutputFormat::Text),
    ] {
        let output = bench.run(script).await.result.unwrap_or_else(|error| panic!("{script}: {error:?}"));
        assert_eq!((output.text.as_str(), output.format), (text, format), "{script}");
    }
}

#[tokio::test]
async fn an_error_has_its_line_its_functions_and_its_traceback_in_the_log() {
    let Some(mut bench) = bench().await else { return };
    let error = bench.error("def share(total, people):\n    return total / people\n\ndef main():\n    share(1, 0)\n\nmain()\n").await;
    assert_eq!((error.kind, error.message.as_str(), error.line), (ErrorKind::Script, "ZeroDivisionError: division by zero", Some(2)));
    assert_eq!(error.stack, ["share (line 2)", "main (line 5)"]);
    let log = bench.log.texts();
    assert!(
        log[0].starts_with("Traceback") && log.contains(&"  File \"script.py\", line 2, in share") && !log.concat().contains("runner.py")
    );
    assert!(bench.log.0.iter().all(|record| record.level == LogLevel::Error));

    let error = bench.error("x = 1\nif x\n    pass\n").await;
    assert!(error.message.starts_with("SyntaxError: ") && error.line == Some(2) && error.column.is_some(), "{error:?}");
    let error = bench.error("import json\n\njson.loads('{')").await;
    assert!(error.message.starts_with("json.decoder.JSONDecodeError: ") && error.line == Some(3), "{error:?}");
    assert!(error.stack.iter().any(|function| function.starts_with("loads (__init__.py:")), "{:?}", error.stack);
    let error = bench.error("class Mine(Exception): pass\nraise Mine()").await;
    assert_eq!((error.message.as_str(), error.line), ("Mine", Some(2)));
    let error = bench.error("import sys\nsys.exit('no more tea')").await;
    assert_eq!((error.message.as_str(), error.line), ("exit code 1: no more tea", None));
    assert_eq!(bench.error("import os\nos._exit(3)").await.message, "exit code 3");
    assert_eq!(bench.error("import os\nos.abort()").await.message, "ended by signal 6 (abort)");
    assert_eq!(bench.text("import hero; hero.result(1)").await, "1");
}

#[tokio::test]
async fn what_is_no_result_is_an_error_with_its_line() {
    let Some(mut bench) = bench().await else { return };
    for (value, said) in [
        ("{1, 2}", "Object of type set is not JSON serializable"),
        ("float('nan')", "nothing that JSON can say"),
        ("{'a': [0, 2**63]}", "result.a[1] is beyond the integers of 64 bits"),
    ] {
        let error = bench.error(&format!("import hero\nhero.result({value})")).await;
        assert!(error.kind == ErrorKind::Script && error.message.contains(said) && error.line == Some(2), "{value}: {error:?}");
    }
    assert_eq!(
        bench.text("import hero\nhero.result([2**63 - 1, -2**63, '9' * 30])").await,
        format!("[{},{},\"{}\"]", i64::MAX, i64::MIN, "9".repeat(30))
    );
    let error = bench.error("import hero\nhero.result('x' * 2000000)").await;
    assert_eq!((error.kind, error.limit, error.line), (ErrorKind::Limit, Some(Limit::Result), Some(2)));
    assert_eq!(error.message, "the result has more than 1 MB (script_result)");
    let deep = "import hero\nx = 1\nfor _ in range(80): x = [x]\nhero.result(x)";
    let error = bench.error(deep).await;
    assert!(error.limit == Some(Limit::Result) && error.message.contains("nested deeper than 64"), "{error:?}");
}

#[tokio::test]
async fn a_stop_and_a_timeout_end_the_whole_tree_of_a_job_in_python() {
    let Some(mut bench) = bench().await else { return };
    let numbers = Numbers::below(bench.child.pid());
    let stray = "import subprocess, sys, time\n\
                 stray = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n\
                 print(stray.pid); print('ready'); ";
    let (ended, log) = stopped(&mut bench, &job(&format!("{stray}time.sleep(1000)"))).await;
    assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
    assert!(!numbers.exists(log[0].parse().unwrap()));

    let mut late = job(&format!("{stray}time.sleep(1000)"));
    late.timeout = Duration::from_secs(1);
    assert_eq!(bench.run_job(&late).await.result.unwrap_err().kind, ErrorKind::Timeout);
    assert!(!numbers.exists(bench.log.texts()[0].parse().unwrap()));

    // On a machine that does much else an engine may take so long to end a job that it is ended, too.
    let (mut bench, numbers) = if bench.child.is_alive() {
        (bench, numbers)
    } else {
        let Some(fresh) = self::bench().await else { return };
        let numbers = Numbers::below(fresh.child.pid());
        (fresh, numbers)
    };
    bench.log.0.clear();
    bench.text(&format!("{stray}\nprint(stray.pid)")).await;
    assert!(!numbers.exists(number(&bench)));
    assert_eq!(bench.text("import hero; hero.result(1)").await, "1");
}

#[tokio::test]
async fn a_job_in_python_finds_nothing_of_the_one_before_it() {
    let Some(mut bench) = bench().await else { return };
    let mut first = job("import json, builtins, os, hero\n\
         json.left = builtins.left = hero.left = 'behind'; os.mkdir('deep'); open('deep/left', 'w').write('x'); print(os.getcwd())");
    first.env = [("TOKEN".to_owned(), "hunter-two-2".to_owned())].into();
    bench.run_job(&first).await.result.unwrap();
    let directory = bench.log.texts()[0].to_owned();
    assert!(!std::path::Path::new(&directory).exists());
    let search = r#"
import json, builtins, os, hero
hero.result([hasattr(json, "left"), hasattr(builtins, "left"), hasattr(hero, "left"), "TOKEN" in os.environ, sorted(os.listdir("."))])"#;
    assert_eq!(bench.text(search).await, r#"[false,false,false,false,["args.json","script.py"]]"#);
    // A job begins with the memory of the process that it was forked from, in which no secret of an earlier job may be.
    let zygote = zygote(&mut bench).await;
    assert!(has_in_memory(zygote, b"Confines the fork of a job"), "what is there is found");
    assert!(!has_in_memory(zygote, b"hunter-two-2"), "a secret of an earlier job is in the memory of later ones");
}

/// The number of the process that jobs are forked from.
pub(super) async fn zygote(bench: &mut Bench) -> u32 {
    let told = bench.text("import hero, os; hero.result(os.getppid())").await.parse().unwrap();
    Numbers::below(bench.child.pid()).outside(told).unwrap()
}

/// Whether these bytes are somewhere in the memory that a process may write to.
fn has_in_memory(pid: u32, bytes: &[u8]) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let places = maps.lines().filter_map(|line| {
        let (place, rest) = line.split_once(' ')?;
        let (start, end) = place.split_once('-').filter(|_| rest.starts_with("rw"))?;
        Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
    });
    places.into_iter().any(|(start, end)| {
        let mut place = vec![0; usize::try_from(end - start).unwrap()];
        // Some of it cannot be read, such as what belongs to the kernel.
        let read = std::os::unix::fs::FileExt::read_at(&memory, &mut place, start).unwrap_or(0);
        place[..read].windows(bytes.len()).any(|window| window == bytes)
    })
}

#[tokio::test]
async fn a_job_in_python_writes_only_in_its_directory_and_reaches_no_other_process() {
    let Some(mut bench) = bench().await else { return };
    let said = bench.child.confinement().to_owned();
    bench.text("import os\nopen('f', 'w').write('x'); os.mkdir('d'); os.rename('f', 'd/f'); open('/dev/null', 'w').write('x')").await;
    if said.contains("no landlock") {
        return;
    }
    for forbidden in
        ["open('/tmp/hero-was-here', 'w')", "open('../hero-was-here', 'w')", "open('/etc/shadow')", "import os; os.mknod('x', 0o60600, 1)"]
    {
        let error = bench.error(forbidden).await;
        // What is not seen is not there.
        let refusals = ["PermissionError", "FileNotFoundError", "OSError: [Errno 30]"];
        assert!(refusals.iter().any(|refusal| error.message.starts_with(refusal)), "{forbidden}: {error:?}");
    }
    let error = bench.error("import socket; socket.create_connection(('127.0.0.1', 1))").await;
    assert!(["Permission denied", "not permitted"].iter().any(|refusal| error.message.contains(refusal)), "{error:?}");
    if !said.contains("no signal rules") {
        for forbidden in ["os.kill(os.getppid(), 9)", "open(f'/proc/{os.getppid()}/mem', 'rb')"] {
            assert!(bench.error(&format!("import os; {forbidden}")).await.message.starts_with("PermissionError"), "{forbidden}");
        }
    }
}

#[tokio::test]
async fn jobs_in_python_are_forks_of_one_process_and_go_on_without_it() {
    let Some(mut bench) = bench().await else { return };
    let parent = "import hero, os; hero.result(os.getppid())";
    let zygote = bench.text(parent).await;
    assert_eq!(bench.text(parent).await, zygote);
    let numbers = Numbers::below(bench.child.pid());
    let outside = |number: &str| Pid::from_raw(numbers.outside(number.parse().unwrap()).unwrap().cast_signed()).unwrap();
    kill_process(outside(&zygote), Signal::KILL).unwrap();
    let next = bench.text(parent).await;
    assert!(next != zygote && outside(&next).as_raw_nonzero().get().cast_unsigned() != bench.child.pid(), "{next}");

    // The job dies with it and has no result, so that it runs again.
    let pid = outside(&next);
    let mut log = AtLine { line: "ready", then: || kill_process(pid, Signal::KILL).unwrap(), seen: Vec::new() };
    let script = job("import os, time; print(os.getpid()); print('ready'); time.sleep(1000)");
    let lost = bench.child.run(&script, &mut log, &bench.stop).await.unwrap_err();
    assert!(lost.had_job && lost.how.contains("forked from was ended"), "{lost:?}");
    let died: u32 = log.seen[0].text.parse().unwrap();
    until("the job has died", || !numbers.exists(died)).await;
}

#[tokio::test]
async fn where_no_process_can_be_forked_each_job_starts_its_own() {
    let Some(mut python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let stand_in = directory.path().join("python");
    let text = format!("#!/bin/sh\ncase \"$*\" in *serve*) exit 1 ;; esac\nexec '{}' \"$@\"\n", python.interpreter.display());
    std::fs::write(&stand_in, text).unwrap();
    std::fs::set_permissions(&stand_in, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    python.readable.push(python.interpreter.clone());
    python.interpreter = stand_in;
    let mut bench = Bench::with(with(python)).await;
    // A parent outside of its namespace has no number, and the first in it has that.
    let parent = bench.text("import hero, os; hero.result(os.getppid())").await;
    assert!(parent == "0" || parent == "1" || parent == bench.child.pid().to_string(), "{parent}");
    let error = bench.error("def f():\n    raise ValueError('x')\nf()").await;
    assert_eq!((error.message.as_str(), error.line, error.stack), ("ValueError: x", Some(2), vec!["f (line 2)".to_owned()]));
    let (ended, _) = stopped(&mut bench, &job("import time; print('ready'); time.sleep(1000)")).await;
    assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
}

#[tokio::test]
async fn what_a_job_in_python_used_is_measured() {
    let Some(mut bench) = bench().await else { return };
    let usage = bench.run("x = bytearray(50_000_000)\nfor i in range(500_000): pass").await.usage;
    assert!(usage.cpu_us > 1000 && usage.peak_memory > 50 << 20, "{usage:?}");
    let error = bench.error("x = bytearray(600_000_000)").await;
    assert_eq!(error.message, "MemoryError");
    let usage = bench.run("pass").await.usage;
    assert!(usage.peak_memory < 50 << 20, "{usage:?}");
}

#[tokio::test]
async fn threads_and_what_is_to_be_done_at_the_end_are_waited_for() {
    let Some(mut bench) = bench().await else { return };
    let script = "import atexit, threading, time\n\
                  threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()\n\
                  atexit.register(print, 'at exit')\n\
                  print('no line yet', end='')";
    bench.text(script).await;
    assert_eq!(bench.log.texts(), ["no line yetthread", "at exit"]);
}
