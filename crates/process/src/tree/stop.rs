use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Process, ROUNDS, below};
use crate::proc_file;

/// The time for parents to stop before their children do, and for all to stop.
const IN_ORDER: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_millis(250);
/// Pause before the next look at processes that were told to stop.
const PAUSE: Duration = Duration::from_micros(100);

/// Processes that are stopped until this is dropped. Those that had stopped before stay so.
#[derive(Debug, Default)]
pub(crate) struct Stopped {
    /// Those that were told to stop, parents before their children.
    processes: Vec<Process>,
}

impl Stopped {
    /// Stops everything below `root`, without the spared processes, as far as that can be done in a quarter of a second.
    ///
    /// Parents stop first and go on last. So none sees that a child of it has stopped: `sudo` would stop itself then,
    /// for good, and a shell with job control would give the terminal to another one.
    pub(crate) fn below(root: Pid, spared: &[Pid]) -> Self {
        let (mut stopped, mut known, began) = (Self::default(), BTreeSet::new(), Instant::now());
        for _ in 0..ROUNDS {
            let mut fresh = below(&[root], spared);
            fresh.retain(|process| known.insert((process.pid, process.started)));
            if fresh.is_empty() || began.elapsed() > LONGEST {
                break;
            }
            for generation in generations(fresh) {
                for process in &generation {
                    stopped.add(*process);
                }
                while began.elapsed() < IN_ORDER && generation.iter().any(Process::may_run) {
                    thread::sleep(PAUSE);
                }
            }
        }
        while began.elapsed() < LONGEST && stopped.processes.iter().any(Process::may_run) {
            thread::sleep(PAUSE);
        }
        stopped
    }

    fn add(&mut self, process: Process) {
        if !process.states().contains(&b'T') {
            self.processes.push(process);
            process.signal(Signal::STOP);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for process in self.processes.iter().rev() {
            // That must succeed, even if nothing can be opened now.
            if let Some(pid) = Pid::from_raw(process.pid)
                && Process::read(process.pid).is_none_or(|now| now.started == process.started)
            {
                let _ = kill_process(pid, Signal::CONT);
            }
        }
    }
}

/// Returns the processes in groups, parents before their children.
fn generations(mut processes: Vec<Process>) -> Vec<Vec<Process>> {
    // The newest came first.
    processes.reverse();
    let (mut depths, mut groups) = (BTreeMap::new(), Vec::<Vec<Process>>::new());
    for process in processes {
        let depth = depths.get(&process.parent).map_or(0, |depth| depth + 1);
        depths.insert(process.pid, depth);
        if depth == groups.len() {
            groups.push(Vec::new());
        }
        groups[depth].push(process);
    }
    groups
}

impl Process {
    /// Returns the states of its threads, as a letter each.
    fn states(&self) -> Vec<u8> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten().flatten();
        let state = |stat: String| stat.rsplit_once(')')?.1.trim_start().bytes().next();
        threads.filter_map(|thread| state(proc_file::read(thread.path().join("stat")).ok()?)).collect()
    }

    /// Whether it may run before it is told to go on. One that waits for a device, or for a child that it shares its
    /// memory with, stops at the end of that.
    fn may_run(&self) -> bool {
        self.states().iter().any(|state| matches!(state, b'R' | b'S' | b'I'))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn everything_stops_and_goes_on_except_what_had_stopped() {
        // The shell waits for children that stop, too, and says so.
        let code = "set -m; sleep 600 & echo $!; sleep 600 & kill -STOP $!; wait -f $! & echo $!; cat";
        let mut shell = Command::new("bash");
        let mut shell = shell.args(["-c", code]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (root, mut lines) = (Pid::from_child(&shell), BufReader::new(shell.stdout.take().unwrap()).lines());
        let mut next = || lines.next().unwrap().unwrap().trim().parse::<i32>().unwrap();
        let (sleeper, _waiter) = (next(), next());
        let until = Instant::now() + Duration::from_secs(60);
        let all = || below(&[root], &[]);
        let is_stopped = |process: &Process| process.states().contains(&b'T');
        let await_that = |what: &str, holds: &dyn Fn() -> bool| {
            while !holds() {
                assert!(Instant::now() < until, "{what}: {:?}", all());
                thread::sleep(PAUSE);
            }
        };
        await_that("one has stopped itself", &|| all().iter().filter(|process| is_stopped(process)).count() == 1);
        let stopped = Stopped::below(root, &[]);
        await_that("all stop", &|| all().iter().all(is_stopped));
        assert!(stopped.processes.iter().any(|process| process.pid == sleeper));
        drop(stopped);
        await_that("all but one go on", &|| all().iter().filter(|process| is_stopped(process)).count() == 1);
        assert!(Process::read(sleeper).is_some_and(|sleeper| !is_stopped(&sleeper)));
        for process in all() {
            let _ = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL);
        }
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn parents_come_before_their_children() {
        let process = |pid, parent, started| Process { pid, parent, started, ran: 0 };
        let groups = generations(vec![process(9, 5, 3), process(5, 2, 2), process(4, 2, 2), process(2, 1, 1)]);
        let numbers: Vec<Vec<i32>> = groups.iter().map(|group| group.iter().map(|process| process.pid).collect()).collect();
        assert_eq!(numbers, [vec![2], vec![4, 5], vec![9]]);
    }
}
