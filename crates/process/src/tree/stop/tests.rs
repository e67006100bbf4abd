use std::cell::Cell;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::process::kill_process;

use super::*;

/// A bash that runs a script, and what it says.
struct Shell {
    bash: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Shell {
    fn run(script: &str) -> Self {
        let mut bash = Command::new("bash");
        bash.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut bash = bash.spawn().unwrap();
        let lines = BufReader::new(bash.stdout.take().unwrap()).lines();
        Self { bash, lines }
    }

    fn root(&self) -> Pid {
        Pid::from_child(&self.bash)
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap().trim().to_owned()
    }

    fn pid(&mut self) -> i32 {
        self.line().parse().unwrap()
    }

    fn all(&self) -> Vec<Process> {
        below(&[self.root()], &[])
    }

    /// Stops everything below. On a busy machine that takes more than one try.
    fn stop(&self) -> Stopped<'static> {
        let mut stopped = Err(Unstopped::TooShort);
        until("all stop", || {
            stopped = Stopped::below(self.root(), &[], StopOrder::ParentsFirst, &|| true);
            assert_ne!(stopped.as_ref().err(), Some(&Unstopped::Evaded));
            stopped.is_ok()
        });
        stopped.unwrap()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        super::super::end(self.root(), &[], Duration::from_secs(30));
        let _ = self.bash.kill();
        self.bash.wait().unwrap();
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(POLL_INTERVAL);
    }
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn has_stopped(pid: i32) -> bool {
    States::of(pid).have_stopped()
}

#[test]
fn everything_stops_and_goes_on_except_what_had_stopped() {
    // The shell waits for children that stop, too, and says so.
    let mut shell = Shell::run("set -m; sleep 600 & echo $!; sleep 600 & kill -STOP $!; wait -f $! & echo $!; cat");
    let (sleeper, _waiter) = (shell.pid(), shell.pid());
    let number = || shell.all().iter().filter(|process| has_stopped(process.pid)).count();
    until("one has stopped itself", || number() == 1);
    let stopped = shell.stop();
    assert!(shell.all().iter().all(|process| has_stopped(process.pid)));
    assert!(stopped.told.iter().any(|told| told.process.pid == sleeper) && !stopped.has_run());
    drop(stopped);
    until("all but one go on", || number() == 1);
    assert!(!has_stopped(sleeper));
}

#[test]
fn who_is_continued_by_another_meanwhile_is_noticed_even_if_it_stops_again() {
    let mut shell = Shell::run("sleep 600 & echo $!; wait");
    let sleeper = shell.pid();
    let stopped = shell.stop();
    assert!(!stopped.has_run());
    send(sleeper, Signal::CONT);
    assert!(stopped.has_run());
    until("it sleeps", || States::of(sleeper).may_run());
    send(sleeper, Signal::STOP);
    until("it has stopped again", || has_stopped(sleeper));
    assert!(stopped.has_run());
}

#[test]
fn who_starts_meanwhile_is_noticed() {
    let mut shell = Shell::run("sleep 600 & echo $!; read; sleep 600 & echo $!; cat");
    let _sleeper = shell.pid();
    let stopped = shell.stop();
    // The shell is above those that stop.
    shell.bash.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    shell.pid();
    assert!(stopped.has_run());
}

#[test]
fn a_child_that_continues_its_parent_all_the_time_stops_like_it() {
    let mut shell = Shell::run("bash -c '(while :; do kill -CONT $$; done) & echo; exec sleep 600'; cat");
    shell.line();
    until("both are there", || shell.all().len() == 2);
    let stopped = shell.stop();
    assert!(shell.all().iter().all(|process| !States::of(process.pid).may_run()) && !stopped.has_run());
}

#[test]
fn who_is_continued_before_all_have_stopped_is_told_again() {
    let mut shell = Shell::run("sleep 600 & echo $!; wait");
    let sleeper = shell.pid();
    let mut stopped = Err(Unstopped::TooShort);
    until("it stops", || {
        let is_first = Cell::new(true);
        stopped = Stopped::below(shell.root(), &[], StopOrder::ParentsFirst, &|| {
            if is_first.replace(false) {
                until("it has stopped", || has_stopped(sleeper));
                send(sleeper, Signal::CONT);
                until("it goes on", || States::of(sleeper).may_run());
            }
            true
        });
        stopped.as_ref().err() != Some(&Unstopped::TooShort)
    });
    let stopped = stopped.unwrap();
    assert!(has_stopped(sleeper) && stopped.told[0].is_told_again && !stopped.has_run());
}

#[test]
fn who_is_continued_without_end_evades_a_stop() {
    let mut shell = Shell::run("sleep 600 & echo $!; wait");
    let sleeper = shell.pid();
    let continues = Shell::run(&format!("while kill -CONT {sleeper}; do :; done"));
    // It may seem to stop while nothing continues it, and on a busy machine it takes too long.
    until("it evades", || match Stopped::below(shell.root(), &[], StopOrder::ParentsFirst, &|| true) {
        Ok(stopped) => {
            until("it goes on", || stopped.has_run());
            false
        }
        Err(why) => why == Unstopped::Evaded,
    });
    drop(continues);
    drop(shell.stop());
    until("it goes on", || States::of(sleeper).may_run());
}

#[test]
fn what_a_job_stops_itself_stays_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let told = directory.path().join("told");
    let handles = format!("trap 'echo > {}' TSTP; echo $BASHPID; sleep 600 & while :; do wait; done", told.display());
    let mut shell = Shell::run(&format!("sleep 600 & echo $!; ({handles}) & wait"));
    let (sleeper, handler) = (shell.pid(), shell.pid());
    until("the last sleeps", || shell.all().len() == 3);
    // It may have been told twice on a busy machine, and then nobody knows who told it.
    until("it stays stopped", || {
        let stopped = shell.stop();
        send(sleeper, Signal::STOP);
        send(handler, Signal::TSTP);
        let is_known = stopped.told.iter().any(|told| told.process.pid == sleeper && !told.is_told_again);
        drop(stopped);
        // What it handles it handles after the stop.
        until("it is told", || fs::remove_file(&told).is_ok());
        assert_eq!(has_stopped(sleeper), is_known);
        is_known
    });
    drop(shell.stop());
    assert!(has_stopped(sleeper));
    send(sleeper, Signal::CONT);
    until("it goes on", || States::of(sleeper).may_run());
}

#[test]
fn a_signal_to_stop_that_waits_already_is_left_to_the_job() {
    if !Command::new("python3").arg("-V").output().is_ok_and(|said| said.status.success()) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    // It waits for a child that shares its memory, which waits for somebody to open the other end.
    let spawns = "import os, sys\nprint(os.getpid(), flush=True)\n\
                  os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])";
    let mut shell = Shell::run(&format!("python3 -c \"{spawns}\" {} & cat", fifo.display()));
    let waits = shell.pid();
    let has_child = || super::super::children(Pid::from_raw(waits).unwrap()).is_some_and(|children| !children.is_empty());
    until("it waits", || has_child() && !States::of(waits).may_run());
    send(waits, Signal::STOP);
    assert!(States::of(waits).await_signal(Signal::STOP) && !has_stopped(waits));
    let stopped = shell.stop();
    assert!(!stopped.told.is_empty() && stopped.told.iter().all(|told| told.process.pid != waits));
    drop(stopped);
    let _writes = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    until("it has stopped", || has_stopped(waits));
}

/// A parent that spends its time in long system calls, and its child, if there is what runs it.
fn busy_parent() -> Option<(Shell, i32, i32)> {
    if !Command::new("python3").arg("-V").output().is_ok_and(|said| said.status.success()) {
        return None;
    }
    // MADV_POPULATE_READ of 8 GiB that are all the same page ends early only for who is killed.
    let busy = "import ctypes, os, subprocess\n\
                print(os.getpid(), subprocess.Popen([\"sleep\", \"600\"]).pid, sep=\"\\n\", flush=True)\n\
                libc, size = ctypes.CDLL(None), ctypes.c_size_t(8 << 30)\nlibc.mmap.restype = ctypes.c_void_p\n\
                while True:\n at = ctypes.c_void_p(libc.mmap(None, size, 1, 0x4022, -1, ctypes.c_long(0)))\n \
                libc.madvise(at, size, 22)\n libc.munmap(at, size)";
    let mut shell = Shell::run(&format!("python3 -c '{busy}' & cat"));
    let (parent, child) = (shell.pid(), shell.pid());
    Some((shell, parent, child))
}

#[test]
fn who_has_a_processor_and_does_not_stop_is_told_from_who_gets_none() {
    let Some((shell, parent, child)) = busy_parent() else { return };
    let stopping = |pids: &[i32]| {
        let mut stopping = Stopped { root: shell.root(), spared: &[], order: StopOrder::AllAtOnce, told: Vec::new(), all: Threads::new() };
        pids.iter().for_each(|pid| stopping.tell_one(&Process::read(*pid).unwrap()));
        stopping
    };
    let (mut all, sleeper) = (None, stopping(&[child]));
    // On a busy machine it has little of a processor. To be told again excuses nobody. A parent that is told at the end
    // of a system call stops at once, so the next one is told.
    until("it has a processor", || {
        if has_stopped(parent) {
            all = None;
        }
        let all = all.get_or_insert_with(|| stopping(&[parent, child]));
        all.tell_one(&Process::read(parent).unwrap());
        all.had_processors()
    });
    assert!(!sleeper.had_processors());
}

#[test]
fn children_are_told_to_stop_with_their_parents_if_that_is_asked_for() {
    let Some((shell, parent, child)) = busy_parent() else { return };
    let (root, has_seen) = (shell.root(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            until("the child stops before its parent", || {
                drop(Stopped::below(root, &[], StopOrder::AllAtOnce, &|| true));
                has_seen.load(Relaxed)
            });
        });
        let runs = || States::of(parent).may_run();
        until("the child stops before its parent", || runs() && has_stopped(child) && runs());
        has_seen.store(true, Relaxed);
    });
}

#[test]
fn nobody_stops_for_a_look_that_is_not_awaited() {
    let mut shell = Shell::run("sleep 600 & echo $!; wait");
    let sleeper = shell.pid();
    assert_eq!(Stopped::below(shell.root(), &[], StopOrder::ParentsFirst, &|| false).err(), Some(Unstopped::TooShort));
    assert!(!has_stopped(sleeper));
}

#[test]
fn parents_come_before_their_children() {
    let process = |pid, parent, started| Process { pid, parent, started, ran: 0 };
    let groups = generations(vec![process(9, 5, 3), process(5, 2, 2), process(4, 2, 2), process(2, 1, 1)]);
    let numbers: Vec<Vec<i32>> = groups.iter().map(|group| group.iter().map(|process| process.pid).collect()).collect();
    assert_eq!(numbers, [vec![2], vec![4, 5], vec![9]]);
}

#[test]
fn signals_that_come_meanwhile_keep_nobody_from_being_stopped() {
    let mut shell = Shell::run("exec 3<&0; cat <&3 & echo $!; wait");
    let pid = shell.pid();
    let stopped = shell.stop();
    let before = States::of(pid);
    send(pid, Signal::USR1);
    assert_eq!(States::of(pid), before);
    assert!(!stopped.has_run());
}
