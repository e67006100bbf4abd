//! The processes below another one. They are found in `/proc`, in any session and group, and ended so that none starts
//! another.
//!
//! That finds everything if the process above adopts orphans (a *subreaper*), as the supervisors of job processes do.

mod listing;
mod stop;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal};

use self::listing::Snapshot;
use super::proc_file;

pub(crate) use listing::Lister;
pub(crate) use stop::{StopOrder, Stopped, Unstopped};

/// A running process. Its start time distinguishes it from a later one with the same process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    parent: i32,
    started: u64,
    /// The processor time that it has used, in ticks.
    ran: u64,
}

/// The maximum number of searches for new processes to stop.
const MAX_SEARCHES: usize = 50;
/// Pause before the next look at processes that were killed.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

impl Process {
    /// Returns the process with this id, unless it has ended, even if it was not reaped.
    fn read(pid: i32) -> Option<Self> {
        Self::stat(pid).and_then(|(process, runs)| runs.then_some(process))
    }

    /// Returns the process with this id, even one that has ended and was not reaped, and whether it runs.
    fn stat(pid: i32) -> Option<(Self, bool)> {
        let stat = proc_file::read(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may contain anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
        let own: u64 = fields.nth(9)?.parse().ok()?;
        let (ran, threads) = (own.saturating_add(fields.next()?.parse().ok()?), fields.nth(4)?);
        // A process whose first thread has ended may continue with others.
        let runs = !matches!(state, "Z" | "X") || !matches!(threads, "0" | "1");
        Some((Self { pid, parent, ran, started: fields.nth(1)?.parse().ok()? }, runs))
    }

    /// Its identity, which no other process has: its id and its start time.
    fn key(&self) -> (i32, u64) {
        (self.pid, self.started)
    }

    /// Whether it is the first process of a PID namespace other than ours.
    fn is_first(&self) -> bool {
        let status = proc_file::read(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
        numbers.split_whitespace().count() > 1 && numbers.split_whitespace().next_back() == Some("1")
    }

    /// Sends it a signal, and never to another process that got its process id.
    fn signal(&self, signal: Signal) {
        if let Some((_, handle)) = self.open() {
            // The process may have ended just now.
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    /// Returns the process as it is now, with its pidfd, unless it has ended. A signal through the pidfd never reaches
    /// another process.
    fn open(&self) -> Option<(Self, OwnedFd)> {
        let handle = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        let now = Self::read(self.pid).filter(|now| now.started == self.started)?;
        Some((now, handle))
    }
}

/// Returns everything below `roots`, except the spared processes, newest first: a look at one process after another is
/// most likely late for those. Processes below a spared one are included.
fn below(roots: &[Pid], spared: &[Pid]) -> Vec<Process> {
    sort_below(Snapshot::take().running, roots, spared)
}

/// Returns those of all running processes that are below `roots`.
fn sort_below(all: BTreeMap<i32, Process>, roots: &[Pid], spared: &[Pid]) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for process in all.into_values() {
        children.entry(process.parent).or_default().push(process);
    }
    let (mut found, mut parents) = (Vec::new(), roots.iter().map(|root| root.as_raw_nonzero().get()).collect::<Vec<_>>());
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).into_iter().flatten() {
            parents.push(child.pid);
            found.push(child);
        }
    }
    found.retain(|process| !is_spared(process.pid, spared));
    found.sort_by_key(|process| Reverse((process.started, process.pid)));
    found
}

fn is_spared(pid: i32, spared: &[Pid]) -> bool {
    spared.iter().any(|spared| spared.as_raw_nonzero().get() == pid)
}

/// Returns the ids of the processes that run below `root`, without the spared ones.
pub fn pids(root: Pid, spared: &[Pid]) -> Vec<i32> {
    below(&[root], spared).iter().map(|process| process.pid).collect()
}

/// The processes seen last. If none started, ended or ran since, there is little to check.
#[derive(Debug, Default)]
pub struct Looked {
    known: Vec<Process>,
    unchanged: u32,
}

impl Looked {
    /// The number of checks skipped because no process had run. In one tick a process cannot take much, and the checks
    /// miss nothing else.
    const MAX_SKIPPED_CHECKS: u32 = 3;

    /// Returns the ids of the processes that run below `root`, without the spared ones, unless the check is to be
    /// skipped.
    pub fn fresh(&mut self, root: Pid, spared: &[Pid]) -> Option<Vec<i32>> {
        let now = below(&[root], spared);
        if self.unchanged < Self::MAX_SKIPPED_CHECKS && now == self.known {
            self.unchanged += 1;
            return None;
        }
        let numbers = now.iter().map(|process| process.pid).collect();
        *self = Self { known: now, unchanged: 0 };
        Some(numbers)
    }
}

/// Returns the processes that run below `roots`, without the first processes of namespaces, which are ours.
pub fn list(roots: &[Pid]) -> Vec<Pid> {
    below(roots, &[]).iter().filter(|process| !process.is_first()).filter_map(|process| Pid::from_raw(process.pid)).collect()
}

/// Sends a signal to the chosen processes below `root`, and returns their number.
pub fn signal_some(root: Pid, signal: Signal, chosen: impl Fn(Pid) -> bool) -> usize {
    let mut processes = below(&[root], &[]);
    processes.retain(|process| Pid::from_raw(process.pid).is_some_and(&chosen) && !process.is_first());
    processes.iter().for_each(|process| process.signal(signal));
    processes.len()
}

/// Sends a signal to everything below `root`, except the spared processes.
pub fn signal(root: Pid, spared: &[Pid], signal: Signal) {
    below(&[root], spared).iter().for_each(|process| process.signal(signal));
}

/// Kills everything below `root`, except the spared processes. Returns true if nothing was left in time.
///
/// If there is a PID namespace below, and its first process is not spared, the system kills everything in it at once.
/// It stops all others before it kills any, so that none starts another when it sees one die. The process above has to
/// reap them.
pub fn end(root: Pid, spared: &[Pid], within: Duration) -> bool {
    let until = Instant::now() + within;
    // A killed first process waits until its children are reaped, so nobody waits for it here.
    let mut spared = spared.to_vec();
    for child in children(root).unwrap_or_default() {
        if let Some(first) = Process::read(child).filter(|child| !is_spared(child.pid, &spared) && child.is_first()) {
            first.signal(Signal::KILL);
            spared.extend(Pid::from_raw(child));
        }
    }
    let mut stopped = BTreeSet::new();
    for _ in 0..MAX_SEARCHES {
        let fresh: Vec<_> = below(&[root], &spared).into_iter().filter(|process| stopped.insert((process.pid, process.started))).collect();
        if fresh.is_empty() {
            break;
        }
        fresh.iter().for_each(|process| process.signal(Signal::STOP));
    }
    let mut was_empty = false;
    loop {
        let left = below(&[root], &spared);
        // The next look finds a process that was between two parents, or was not there yet.
        if left.is_empty() && was_empty {
            return true;
        }
        was_empty = left.is_empty();
        if Instant::now() > until {
            return was_empty;
        }
        left.iter().for_each(|process| process.signal(Signal::KILL));
        thread::sleep(POLL_INTERVAL);
    }
}

/// Whether this process is the first of its PID namespace.
pub fn is_first() -> bool {
    getpid() == Pid::INIT
}

/// Kills everything in the PID namespace whose first process this is. The system does it at once, so none starts
/// another meanwhile, whatever their number.
pub fn end_all() {
    // There may be no process left.
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), nix::sys::signal::Signal::SIGKILL);
}

/// Kills a process and everything below it. The process must adopt orphans, so this only stops it meanwhile.
pub fn end_with(root: Pid, within: Duration) {
    let _ = kill_process(root, Signal::STOP);
    end(root, &[], within);
    let _ = kill_process(root, Signal::KILL);
}

/// Returns the ids of a process's children, including ended ones. `None` if the kernel does not list them.
pub fn children(pid: Pid) -> Option<Vec<i32>> {
    let pid = pid.as_raw_nonzero();
    let list = proc_file::read(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    list.split_whitespace().map(|child| child.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_has_not_run_is_looked_at_less_often() {
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", "sleep 600 & echo $!; wait"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (root, sleeper) = (Pid::from_child(&shell), line.trim().parse().unwrap());
        let mut looked = Looked::default();
        assert_eq!(looked.fresh(root, &[]), Some(vec![sleeper]));
        // It may still be starting.
        let until = Instant::now() + Duration::from_secs(30);
        let mut skipped = 0;
        while skipped < Looked::MAX_SKIPPED_CHECKS && Instant::now() < until {
            skipped = if looked.fresh(root, &[]).is_none() { skipped + 1 } else { 0 };
        }
        assert_eq!((skipped, looked.fresh(root, &[])), (Looked::MAX_SKIPPED_CHECKS, Some(vec![sleeper])));
        let _ = kill_process(Pid::from_raw(sleeper).unwrap(), Signal::KILL);
        shell.wait().unwrap();
        assert_eq!(looked.fresh(root, &[]), Some(Vec::new()));
    }
}
