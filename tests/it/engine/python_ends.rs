//! Ends of jobs in Python: by errors of all kinds, by normal exit while their processes continue, and by force.

use std::time::Duration;

use hero::engine::{Child, Python};
use hero::model::{ErrorKind, Limit, OutputFormat};

use super::command::{number, stopped};
use super::python::{bench, python, with, zygote};
use super::{Bench, Numbers, exists, job, until};

/// A grandchild in a session of its own whose parent has ended: nothing but the supervisor knows it.
const STRAY: &str = "\
import os, signal, sys, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(write, str(os.getpid()).encode())
    time.sleep(1000)
print(os.read(read, 100).decode())
";

#[tokio::test]
async fn an_error_of_syntax_has_line_and_column_and_any_other_its_line_and_says_where_it_was_cut() {
    let Some(mut bench) = bench().await else { return };
    let error = bench.error("x = 1\ny = (x +\nz = 2\n").await;
    assert!(error.message.starts_with("SyntaxError: ") && error.line.is_some() && error.column.is_some(), "{error:?}");
    let error = bench.error("if True:\npass").await;
    assert!(error.message.starts_with("IndentationError: ") && (error.line, error.column) == (Some(2), Some(1)), "{error:?}");
    let error = bench.error("x = 'a\0b'").await;
    assert!(error.message.contains("null byte"), "{error:?}");
    // A mark that editors leave at the beginning of a file.
    assert_eq!(bench.text("\u{feff}import hero; hero.result('ü')").await, "ü");
    let error = bench.error("x = 1\nx.y = lambda: 1\n").await;
    assert_eq!(error.line, Some(2), "{error:?}");
    let error = bench.error("raise ValueError('é' * 3000)").await;
    assert_eq!(error.message, format!("ValueError: {}…", "é".repeat(2000 - "ValueError: ".len())));
    let of_text = "def f():\n    exec('1 +')\n\nf()";
    let error = bench.error(of_text).await;
    assert!(error.message.starts_with("SyntaxError: ") && error.line == Some(2), "{error:?}");
    let error = bench.error("try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('x') from error").await;
    assert_eq!((error.message.as_str(), error.line), ("KeyError: 'x'", Some(4)));
    assert!(bench.log.texts().iter().any(|line| line.contains("direct cause")), "{:?}", bench.log.texts());
}

#[tokio::test]
async fn a_group_of_errors_is_told_with_all_of_them_in_the_log() {
    let Some(mut bench) = bench().await else { return };
    if bench.text("import builtins, hero; hero.result(hasattr(builtins, 'ExceptionGroup'))").await == "false" {
        println!("skipped: this Python has no groups of errors");
        return;
    }
    let error = bench.error("raise ExceptionGroup('many', [ValueError('one'), TypeError('two')])").await;
    assert_eq!((error.message.as_str(), error.line), ("ExceptionGroup: many (2 sub-exceptions)", Some(1)));
    let log = bench.log.texts().join("\n");
    assert!(log.contains("ValueError: one") && log.contains("TypeError: two"), "{log}");
}

#[tokio::test]
async fn an_exit_code_is_that_of_the_script() {
    let Some(mut bench) = bench().await else { return };
    for (script, message) in [
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import sys; sys.exit(-1)", "exit code 255"),
        ("raise SystemExit('no tea')", "exit code 1: no tea"),
        ("import sys; sys.exit({'a': 1})", "exit code 1: {'a': 1}"),
        ("import threading, os; threading.Thread(target=os._exit, args=(5,)).start()", "exit code 5"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by signal 9 (kill)"),
    ] {
        assert_eq!(bench.error(script).await.message, message, "{script}");
    }
    for script in ["import sys; sys.exit(0)", "import sys; sys.exit(256)", "raise SystemExit(None)", "raise SystemExit(False)"] {
        assert_eq!(bench.run(script).await.result.unwrap().format, OutputFormat::Empty, "{script}");
    }
}

#[tokio::test]
async fn a_script_that_breaks_what_tells_its_end_fails_and_the_next_one_runs() {
    let Some(mut bench) = bench().await else { return };
    for script in [
        "import os; os.closerange(0, 100); raise ValueError('unheard')",
        "import hero, json; hero._send = json.dumps = None; raise ValueError('unheard')",
        "import builtins; builtins.isinstance = builtins.len = builtins.type = None; raise ValueError('unheard')",
        "import sys; sys.modules.clear(); sys.stdout = sys.stderr = None; raise ValueError('unheard')",
        "class Mine(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise Mine",
    ] {
        assert_eq!(bench.error(script).await.kind, ErrorKind::Script, "{script}");
        assert_eq!(bench.text("import hero; hero.result(1)").await, "1");
    }
    let error = bench.error("import os, hero\nos.close(3)\nhero.result(1)").await;
    assert!(error.message.contains("Bad file descriptor") || error.message.starts_with("exit code 1"), "{error:?}");
    // Of what a script replaces nothing is needed for its result.
    assert_eq!(bench.text("import hero, sys, os; hero.result(7); sys.modules['hero'] = None; os.close(1); os.close(2)").await, "7");
}

#[tokio::test]
async fn a_job_ends_when_its_own_process_does_and_its_forks_end_with_it() {
    let Some(mut bench) = bench().await else { return };
    let script = "import hero, os, time\nhero.result(1)\npid = os.fork()\nif pid == 0:\n    time.sleep(1000)\nprint(pid)";
    let numbers = Numbers::below(bench.child.pid());
    assert_eq!(bench.text(script).await, "1");
    assert!(!numbers.exists(number(&bench)));
    assert_eq!(bench.run(STRAY).await.result.unwrap().format, OutputFormat::Empty);
    assert!(!numbers.exists(number(&bench)));
}

#[tokio::test]
async fn a_stop_and_a_timeout_find_a_grandchild_that_has_left_its_session_and_its_parent() {
    let Some(mut bench) = bench().await else { return };
    let numbers = Numbers::below(bench.child.pid());
    let (ended, log) = stopped(&mut bench, &job(&format!("{STRAY}print('ready'); time.sleep(1000)"))).await;
    assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
    assert!(!numbers.exists(log[0].parse().unwrap()), "{log:?}");
    bench.child = Child::start(&bench.spawner, &with(python().unwrap())).await.unwrap();
    let numbers = Numbers::below(bench.child.pid());
    let mut late = job(&format!("{STRAY}time.sleep(1000)"));
    late.timeout = Duration::from_secs(1);
    assert_eq!(bench.run_job(&late).await.result.unwrap_err().kind, ErrorKind::Timeout);
    assert!(!numbers.exists(number(&bench)));
}

#[tokio::test]
async fn a_process_that_a_job_makes_a_child_of_the_one_before_it_ends_and_is_waited_for() {
    let Some(mut bench) = bench().await else { return };
    // clone(2) with CLONE_PARENT, whose number is that of the processor.
    let script = "\
import ctypes, os, platform, signal, time
number = {'x86_64': 56, 'aarch64': 220}[platform.machine()]
child = ctypes.CDLL(None).syscall(number, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0)
if child == 0:
    time.sleep(1000)
print(child)
";
    let numbers = Numbers::below(bench.child.pid());
    let zygote = zygote(&mut bench).await;
    for _ in 0..3 {
        bench.text(script).await;
        let child = number(&bench);
        bench.text("pass").await;
        assert!(!numbers.exists(child), "{child}");
    }
    let children = std::fs::read_to_string(format!("/proc/{zygote}/task/{zygote}/children")).unwrap();
    assert_eq!(children, "");
}

#[tokio::test]
async fn an_interpreter_that_is_gone_is_named_by_the_error_of_the_job() {
    let Some(mut python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (link, real) = (directory.path().join("python"), python.interpreter.clone());
    std::os::unix::fs::symlink(&real, &link).unwrap();
    python.readable.push(real);
    python.interpreter = link.clone();
    let mut bench = Bench::with(with(python)).await;
    let zygote = zygote(&mut bench).await.cast_signed();
    std::fs::remove_file(&link).unwrap();
    // While the one that has started lives, jobs run; a new one cannot be started.
    assert_eq!(bench.text("import hero; hero.result(1)").await, "1");
    rustix::process::kill_process(rustix::process::Pid::from_raw(zygote).unwrap(), rustix::process::Signal::KILL).unwrap();
    until("it has died", || !exists(zygote.unsigned_abs()) || zombie(zygote)).await;
    if !bench.child.confinement().contains("no mount namespace") {
        // Its own root has the link as it was.
        assert_eq!(bench.text("import hero; hero.result(1)").await, "1");
        return;
    }
    let error = bench.error("pass").await;
    assert!(error.kind == ErrorKind::Unavailable && error.message.starts_with(&format!("{} can't be run", link.display())), "{error:?}");
    assert!(bench.child.is_alive());
}

fn zombie(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| status.contains("State:\tZ"))
}

#[tokio::test]
async fn a_result_that_is_allowed_is_given_however_little_may_be_logged_and_however_much_of_it_is_escaped() {
    let Some(python) = python() else { return };
    let mut settings = with(python);
    settings.limits.log = 10_000;
    let mut bench = Bench::with(settings).await;
    let text = bench.text("import hero\nhero.result('line of a report\\n' * 60000)").await;
    assert_eq!(text, "line of a report\n".repeat(60_000));
    assert_eq!(bench.text("import hero\nhero.result(chr(1) * (1 << 20))").await, "\u{1}".repeat(1 << 20));
    let error = bench.error("import hero\nhero._send('r', '\"' + 'x' * (7 << 20) + '\"')").await;
    assert_eq!((error.kind, error.limit), (ErrorKind::Limit, Some(Limit::Result)), "{error:?}");
}

#[tokio::test]
async fn an_error_in_a_fork_is_up_to_the_process_that_waits_for_it() {
    let Some(mut bench) = bench().await else { return };
    let of_fork = |error: &str| {
        format!(
            "import hero, os\npid = os.fork()\nif pid == 0:\n    {error}\n_, status = os.waitpid(pid, 0)\nhero.result(os.WEXITSTATUS(status))"
        )
    };
    assert_eq!(bench.text(&of_fork("raise ValueError('of the fork')")).await, "1");
    assert!(bench.log.texts().contains(&"ValueError: of the fork"), "{:?}", bench.log.texts());
    assert_eq!(bench.text(&of_fork("hero._send = None; raise ValueError('unheard')")).await, "1");
    let script = "import os\nif os.fork() == 0: raise KeyError('of the fork')\nos.wait()\nraise ValueError('its own')";
    assert_eq!(bench.error(script).await.message, "ValueError: its own");
}

#[tokio::test]
async fn what_processes_of_a_job_say_at_once_stays_whole() {
    let Some(mut bench) = bench().await else { return };
    let script = "\
import hero, os, signal
forks = []
for _ in range(3):
    forks.append(os.fork())
    if forks[-1] == 0:
        while True:
            hero.log('x' * 20)
for _ in range(20):
    hero.result('y' * 900_000)
for fork in forks:
    os.kill(fork, signal.SIGKILL)
    os.wait()
";
    assert_eq!(bench.text(script).await, "y".repeat(900_000));
    let texts = bench.log.texts();
    assert!(texts.len() > 1 && texts[..texts.len() - 1].iter().all(|text| *text == "x".repeat(20)), "{:?}", texts.last());
    // One that is killed in the middle of a message, while the pipe is full, keeps nobody from saying more.
    let script = "\
import hero, os, signal
fork = os.fork()
if fork == 0:
    hero._fcntl.lockf(3, hero._fcntl.LOCK_EX)
    os.write(3, b'r\"part of a result')
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(fork, 0)
hero.result('whole')
";
    assert_eq!(bench.text(script).await, "whole");
}

#[tokio::test]
async fn memory_that_forks_share_counts_once_and_their_own_counts_for_each() {
    let Some(python) = python() else { return };
    let mut bench = Bench::with(with(Python { memory: 160 << 20, ..python })).await;
    let script = |of_fork: &str| {
        format!(
            "import os, time\nx = bytearray(100 << 20)\nforks = [os.fork() for _ in range(3)]\nif all(forks):\n    for fork in forks: os.waitpid(fork, 0)\nelse:\n    {of_fork}"
        )
    };
    // There are eight processes, and each is looked at several times.
    bench.text(&script("time.sleep(1)")).await;
    let error = bench.error(&script("for at in range(0, len(x), 4096): x[at] = 1\n    time.sleep(1000)")).await;
    assert!(error.limit == Some(Limit::Memory) && error.message.contains("640 MB of memory in all its processes"), "{error:?}");
}
