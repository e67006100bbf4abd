use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, pidfd_send_signal};

use super::{Process, below};
use crate::proc_file;

/// The time for all to stop.
const STOP_TIMEOUT: Duration = Duration::from_millis(250);
/// Processes that together had a processor for this long after hero told them to stop could have stopped.
const LONG_ENOUGH: Duration = Duration::from_millis(200);
/// The maximum number of lists with a running process. A process that starts others just before it stops is in the
/// second list, and what those start in the third.
const MOST_ROUNDS: usize = 5;
/// Pause before the next look at processes that were told to stop.
const POLL_INTERVAL: Duration = Duration::from_micros(100);
/// Signals that stop a process that does not handle them. The kernel drops pending ones when it continues the process.
const ALSO_STOP: [Signal; 3] = [Signal::TSTP, Signal::TTIN, Signal::TTOU];

/// Processes that are stopped until this is dropped. Those that had stopped before stay stopped.
#[derive(Debug)]
pub(crate) struct Stopped<'a> {
    root: Pid,
    spared: &'a [Pid],
    order: StopOrder,
    /// Those that hero told to stop, parents before their children.
    told: Vec<Told>,
    /// All processes below, once none ran any more.
    all: Threads,
}

/// The order in which hero tells processes to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopOrder {
    /// Each after its parents have stopped. So no parent sees a child stop: `sudo` would then stop itself for good, and
    /// a shell with job control would give the terminal to another process.
    ParentsFirst,
    /// All at once, because children may keep a parent of a lower priority from stopping.
    AllAtOnce,
}

/// Why processes could not be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unstopped {
    /// The processes evaded the stop. In every list a process still ran, or continued although it had taken the signal:
    /// they start or continue each other. Or they had a processor and did not stop, because they are in long system
    /// calls.
    Evaded,
    /// They did not stop in time. On a busy machine some had no processor, which they need to stop.
    TooShort,
}

impl<'a> Stopped<'a> {
    /// Stops everything below `root`, without the spared processes. If that takes more than a quarter of a second, or
    /// nobody awaits it any more, it continues all of them at once.
    ///
    /// It continues parents after their children. It does not wait for a process that another one continues before it
    /// has stopped. It tells the processes below that one to stop next, and then that one again, when none of them can
    /// continue it any more.
    pub(crate) fn below(root: Pid, spared: &'a [Pid], order: StopOrder, is_awaited: &dyn Fn() -> bool) -> Result<Self, Unstopped> {
        let until = Instant::now() + STOP_TIMEOUT;
        let mut stopped = Self { root, spared, order, told: Vec::new(), all: Threads::new() };
        let (mut rounds, mut before) = (0, None);
        loop {
            let (processes, all) = stopped.list();
            let mut running = processes;
            running.retain(|process| all.get(&process.key()).is_some_and(States::may_run));
            if !running.is_empty() {
                rounds += 1;
                if rounds > MOST_ROUNDS {
                    return Err(Unstopped::Evaded);
                }
                stopped.tell(running, &all, until);
                before = None;
            } else if before.as_ref() == Some(&all) {
                stopped.all = all;
                return Ok(stopped);
            } else {
                // One that is about to stop looks as if it had.
                before = Some(all);
                thread::sleep(POLL_INTERVAL);
            }
            if Instant::now() > until {
                let could_have_stopped = stopped.had_processors() || stopped.told.iter().any(Told::is_continued);
                return Err(if could_have_stopped { Unstopped::Evaded } else { Unstopped::TooShort });
            }
            if !is_awaited() {
                return Err(Unstopped::TooShort);
            }
        }
    }

    /// Whether a process has run since all had stopped, even if it has stopped again.
    pub(crate) fn has_run(&self) -> bool {
        let (_, now) = self.list();
        now.iter().any(|(key, now)| self.all.get(key).is_none_or(|before| now.have_run_since(before)))
    }

    /// Whether the processes, together, have had a processor for long since hero told them to stop.
    fn had_processors(&self) -> bool {
        let long_enough = LONG_ENOUGH.as_millis() as u64 * clock_ticks_per_second() / 1000;
        self.told.iter().map(Told::ran_since).sum::<u64>() >= long_enough
    }

    /// Lists the processes below, and the states of their threads.
    fn list(&self) -> (Vec<Process>, Threads) {
        let processes = below(&[self.root], self.spared);
        let states = processes.iter().map(|process| (process.key(), States::of(process.pid))).collect();
        (processes, states)
    }

    /// Tells those of these processes to stop that are not stopping already, in the given order.
    fn tell(&mut self, running: Vec<Process>, all: &Threads, until: Instant) {
        let mut generations = generations(running);
        if self.order == StopOrder::AllAtOnce {
            generations = vec![generations.concat()];
        }
        for generation in generations {
            for process in &generation {
                if !all.get(&process.key()).is_some_and(States::stop) {
                    self.tell_one(process);
                }
            }
            let is_about_to_stop = |process: &Process| {
                let states = States::of(process.pid);
                states.may_run() && states.stop()
            };
            while generation.iter().any(is_about_to_stop) {
                if Instant::now() > until {
                    return;
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
    }

    fn tell_one(&mut self, process: &Process) {
        if let Some(told) = self.told.iter_mut().find(|told| told.process.key() == process.key()) {
            told.is_told_again = true;
            return told.send(Signal::STOP);
        }
        let Some((now, handle)) = process.open() else { return };
        let told = Told { process: now, handle, is_told_again: false };
        told.send(Signal::STOP);
        self.told.push(told);
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.told.iter().rev().for_each(Told::go_on);
    }
}

/// A process that hero told to stop.
#[derive(Debug)]
struct Told {
    /// Its state just before hero told it for the first time.
    process: Process,
    /// Kept open, because hero must be able to continue it even if it can open nothing then.
    handle: OwnedFd,
    is_told_again: bool,
}

impl Told {
    /// Whether it continues although it took the signal. A process that takes the signal during this check has stopped
    /// when it is checked again.
    fn is_continued(&self) -> bool {
        let goes_on = || {
            let states = States::of(self.process.pid);
            states.may_run() && !states.stop()
        };
        goes_on() && goes_on()
    }

    /// The processor time that it has used since it was told to stop, in ticks.
    fn ran_since(&self) -> u64 {
        let now = Process::read(self.process.pid).filter(|now| now.key() == self.process.key());
        now.map_or(0, |now| now.ran.saturating_sub(self.process.ran))
    }

    fn send(&self, signal: Signal) {
        // It may have ended.
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    /// Continues it, unless somebody else has told it to stop, too. The kernel keeps one such signal and not their
    /// number, so a second pending one is ours if we sent two.
    fn go_on(&self) {
        let states = States::of(self.process.pid);
        if !self.is_told_again && states.have_stopped() && states.await_signal(Signal::STOP) {
            return;
        }
        self.send(Signal::CONT);
        ALSO_STOP.into_iter().filter(|signal| states.await_signal(*signal)).for_each(|signal| self.send(signal));
    }
}

/// The threads of processes, by their keys.
type Threads = BTreeMap<(i32, u64), States>;

/// The states of a process's threads at some time.
#[derive(Debug, Default, PartialEq, Eq)]
struct States {
    /// Each thread, by its id.
    threads: BTreeMap<i32, State>,
    /// The pending signals of them among [`Self::AWAITED_SIGNALS`], as a bit each. Other signals, of timers for
    /// example, arrive while all stay stopped.
    signals: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// It has stopped, and had got a processor this number of times. The number is higher if it has run since.
    Stopped(u64),
    /// It may run before hero continues it.
    MayRun,
    /// It has ended. Or it waits for a device, or for a child that shares its memory, and stops after that.
    Waits,
}

impl States {
    /// The signals that the checks look for, as a bit each.
    const AWAITED_SIGNALS: u64 = {
        let [a, b, c] = ALSO_STOP;
        Self::bit(Signal::STOP) | Self::bit(a) | Self::bit(b) | Self::bit(c)
    };

    const fn bit(signal: Signal) -> u64 {
        1 << (signal.as_raw() - 1)
    }

    fn of(pid: i32) -> Self {
        let mut states = Self::default();
        for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let Some(id) = thread.file_name().to_str().and_then(|id| id.parse().ok()) else { continue };
            let Ok(status) = proc_file::read(thread.path().join("status")) else { continue };
            let (mut letter, mut switches) = (b'X', 0_u64);
            for (name, value) in status.lines().filter_map(|line| line.split_once(":\t")) {
                match name {
                    "State" => letter = value.bytes().next().unwrap_or(b'X'),
                    "SigPnd" | "ShdPnd" => states.signals |= u64::from_str_radix(value, 16).unwrap_or(0) & Self::AWAITED_SIGNALS,
                    "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => switches += value.parse::<u64>().unwrap_or(0),
                    _ => {}
                }
            }
            let state = match letter {
                b'T' => State::Stopped(switches),
                b'R' | b'S' | b'I' => State::MayRun,
                _ => State::Waits,
            };
            states.threads.insert(id, state);
        }
        states
    }

    fn may_run(&self) -> bool {
        self.threads.values().any(|state| *state == State::MayRun)
    }

    fn have_stopped(&self) -> bool {
        self.threads.values().any(|state| matches!(state, State::Stopped(_)))
    }

    fn await_signal(&self, signal: Signal) -> bool {
        self.signals & Self::bit(signal) != 0
    }

    /// Whether it stops without another signal: it has not taken the signal yet, or one thread has and the others
    /// follow.
    fn stop(&self) -> bool {
        self.have_stopped() || self.await_signal(Signal::STOP)
    }

    fn have_run_since(&self, before: &Self) -> bool {
        let has_run =
            |(id, before): (&i32, &State)| matches!(before, State::Stopped(_)) && self.threads.get(id).is_some_and(|now| now != before);
        before.threads.iter().any(has_run) || self.may_run() && !self.stop()
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

#[cfg(test)]
mod tests;
