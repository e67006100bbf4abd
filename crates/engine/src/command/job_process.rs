use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, test_kill_process, wait, waitpid};
use rustix::system::sysinfo;

use super::answer::Answer;
use super::ending::Ending;
use super::lines::{JobLines, Stream};
use super::process::{Process, Status};
use super::worker_socket::{WorkerMessage, WorkerSocket};
use super::{Lost, usage};
use crate::frame::{FromEngine, ToEngine};
use crate::{EngineJob, Limits};
use hero_model::Usage;
use hero_process::Init;
use hero_process::held::{Checks, FIRST_LOOK, LATER_LOOK, LATEST_LOOK, MOST_PROCESSES, pause_after};
use hero_process::tree;

/// Time for the processes of a job to end by themselves after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);
/// Timeout for them to disappear after SIGKILL.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for their adopters to reap them, and the interval of checks.
const REAP_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Up to this number, processes can be stopped one by one, even while they start others.
const MOST_CAUGHT: usize = 2048;
/// The maximum number of searches for remaining processes. Usually one is enough.
const MOST_ROUNDS: usize = 3;
/// From this interval between checks on, they also count processes and reap orphans, which costs more than most jobs.
const COUNT_FROM_INTERVAL: Duration = Duration::from_millis(40);
/// The maximum number of reads from the pipes after their other ends are closed: a pipe holds less.
const MOST_LEFT: usize = 64;

/// The end of a job's process.
pub(super) struct Ended {
    /// Why it was ended, if it did not end by itself.
    pub(super) ending: Option<Ending>,
    /// Its exit status, if known.
    pub(super) status: Option<ExitStatus>,
    /// Its output on the descriptor of the result.
    pub(super) answer: Answer,
    /// The last lines of its stderr.
    pub(super) last_lines: Vec<String>,
    /// The line of its stderr that explains its failure, if it failed.
    pub(super) cause: Option<String>,
    pub(super) usage: Usage,
}

/// The process of a job while it runs.
pub(super) struct JobProcess<'a> {
    pub(super) worker: &'a mut WorkerSocket,
    pub(super) limits: &'a Limits,
    /// Those of this job have begun.
    pub(super) checks: &'a mut Checks,
    /// The processes that stay when the job has ended.
    pub(super) spared: &'a [Pid],
    /// The one of them that adopts orphans of the job, if this process does not.
    pub(super) init: Option<&'a Init>,
}

impl JobProcess<'_> {
    /// Watches a process to its end, and ends everything that it started.
    pub(super) fn watch(&mut self, job: &EngineJob, mut process: Process, mut answer: Answer, began: Instant) -> Result<Ended, Lost> {
        let adopter = self.init.map(Init::pid);
        let deadline = began + job.timeout.min(EngineJob::MAX_RUN_TIME);
        let (mut lines, mut gone) = (JobLines::new(self.limits), false);
        let (mut ending, mut kill_at) = (None, deadline);
        let (mut look_at, mut pause, mut peak_memory) = (began + FIRST_LOOK, FIRST_LOOK, 0);
        let mut exceeded = None;
        let time_before = usage::time_of_ended(adopter);
        let threads_before = sysinfo().procs;
        let ended = loop {
            let now = Instant::now();
            if now >= look_at {
                (look_at, pause) = (now + pause, (pause * 2).min(LATER_LOOK));
                if ending.is_none() && self.limits.cpu_time.is_some_and(|most| self.time_so_far(adopter).saturating_sub(time_before) > most)
                {
                    ending = Some(Ending::CpuTime);
                    break false;
                }
                // Counting the tasks of the whole system is cheap, and processes that start each other leave little
                // time.
                let are_many = usize::from(sysinfo().procs.saturating_sub(threads_before)) > MOST_PROCESSES;
                let counts = pause >= COUNT_FROM_INTERVAL || are_many;
                let counted = if counts { self.checks.count(getpid(), self.spared) } else { Ok(true) };
                // If no process has run, none has more memory or has ended.
                if counted != Ok(false) {
                    peak_memory = usage::peak_memory(process.pid).max(peak_memory);
                    if pause >= COUNT_FROM_INTERVAL {
                        self.wait_for_orphans(process.pid);
                    }
                }
                exceeded = exceeded.or(counted.err());
                if counts {
                    look_at = look_at.max(now + pause_after(now.elapsed(), Duration::ZERO, LATEST_LOOK));
                }
            }
            // A job that exceeds a limit is not asked to end, or not waited for any longer.
            if let Some(exceeded) = exceeded {
                ending.get_or_insert(Ending::Exceeded(exceeded));
                break false;
            }
            // A stop sent right after its job may have arrived with it.
            while let Some(said) = self.worker.arrived() {
                match said {
                    WorkerMessage::Frame(ToEngine::Stop) if ending.is_none() => (ending, kill_at) = self.ask_to_end(Ending::Stopped),
                    WorkerMessage::Frame(ToEngine::Answer { answer }) => process.asking.answered(answer),
                    WorkerMessage::Frame(_) | WorkerMessage::Unreadable(_) => {}
                    WorkerMessage::Gone => gone = true,
                }
            }
            self.ask(&mut process, &mut lines, ending.is_some());
            match ending {
                None if now >= deadline => (ending, kill_at) = self.ask_to_end(Ending::Timeout),
                Some(_) if now >= kill_at => break false,
                _ => {}
            }
            let ready = self.wait(&process, kill_at.min(look_at).saturating_duration_since(now));
            exceeded = if ready.looked { self.checks.found().err() } else { None };
            gone |= !self.worker.go_on(ready.worker);
            // Output that the worker does not read in time stays in the job's pipes.
            if self.worker.has_room() {
                Self::read(&mut process, &mut lines, &mut answer);
                self.send(&mut lines);
            }
            if ready.ended || gone {
                break ready.ended;
            }
        };
        self.checks.end();
        let own_time = usage::time_of(process.pid);
        let status = if ended { process.status() } else { None };
        let lost = if ending.is_none() && !gone { self.lost(&process, status.as_ref()) } else { None };
        clear(self.spared, adopter, Some((process.pid, ended)));
        // The zygote's report about a killed process must not be mistaken for that of the next one.
        let status = status.or_else(|| process.status());
        // The pipes have no more data, unless a process has got hold of one in an unknown way.
        for _ in 0..MOST_LEFT {
            if !Self::read(&mut process, &mut lines, &mut answer) {
                break;
            }
            self.send(&mut lines);
        }
        lines.ended();
        self.send(&mut lines);
        if let Some(lost) = lost {
            return Err(lost);
        }
        if ending.is_none() && !gone {
            process.asking.end();
            (ending, gone) = self.ask_the_rest(&mut process, &mut lines, deadline);
        }
        let measured = status.as_ref().and_then(|status| status.measured);
        let time = usage::time_of_ended(adopter).saturating_sub(time_before).max(measured.map_or(own_time, |measured| measured.time));
        let usage = Usage {
            operations: 0,
            peak_memory: measured.map_or(peak_memory, |measured| measured.peak_memory),
            run_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            cpu_us: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        };
        if gone {
            return Err(Lost::Worker);
        }
        Ok(Ended { ending, status: status.map(|status| status.exit), answer, last_lines: lines.last(), cause: lines.cause(), usage })
    }

    /// Returns the processor time of jobs' processes, running and ended.
    fn time_so_far(&self, adopter: Option<Pid>) -> Duration {
        usage::time_of_ended(adopter) + usage::time_of_all(&tree::pids(getpid(), self.spared))
    }

    /// Returns what broke under a process that ended without being told to, before anything else was killed.
    fn lost(&self, process: &Process, status: Option<&Status>) -> Option<Lost> {
        match (self.init, status) {
            // The process had done its work.
            (_, Some(status)) if status.exit.success() => None,
            (Some(init), _) if !init.is_there() => Some(Lost::Engine(Lost::FIRST)),
            (_, None) if process.is_fork() => Some(Lost::Engine(Lost::ZYGOTE)),
            _ => None,
        }
    }

    /// Reaps children that have ended, except the process of the job, whose end is still to be noticed: a long job
    /// could otherwise use up all process ids.
    fn wait_for_orphans(&self, process: Pid) {
        let children = tree::children(getpid()).unwrap_or_default().into_iter().filter_map(Pid::from_raw);
        for orphan in children.filter(|child| *child != process && !self.spared.contains(child)) {
            let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
        }
    }

    /// Asks all processes of the job to end. Returns the reason, and the time at which they are killed.
    fn ask_to_end(&mut self, why: Ending) -> (Option<Ending>, Instant) {
        // One that is stopped for a look hears of it only afterwards.
        self.checks.end();
        tree::signal(getpid(), self.spared, Signal::TERM);
        (Some(why), Instant::now() + GRACE)
    }

    /// Forwards a host call of the process to the worker.
    fn ask(&mut self, process: &mut Process, lines: &mut JobLines, is_ending: bool) {
        let host_call = process.asking.next(is_ending, lines);
        self.send(lines);
        if let Some(host_call) = host_call {
            self.worker.send(vec![FromEngine::Ask { host_call }]);
        }
    }

    /// Forwards host calls that the process sent before it ended. Returns the reason if the job was ended meanwhile,
    /// and whether the worker is gone.
    fn ask_the_rest(&mut self, process: &mut Process, lines: &mut JobLines, deadline: Instant) -> (Option<Ending>, bool) {
        let mut is_stopped = false;
        loop {
            // The answer may have been read when the process ended.
            while let Some(said) = self.worker.arrived() {
                match said {
                    WorkerMessage::Frame(ToEngine::Answer { answer }) => process.asking.answered(answer),
                    WorkerMessage::Frame(ToEngine::Stop) => is_stopped = true,
                    WorkerMessage::Frame(_) | WorkerMessage::Unreadable(_) => {}
                    WorkerMessage::Gone => return (None, true),
                }
            }
            self.ask(process, lines, false);
            let left = deadline.saturating_duration_since(Instant::now());
            match process.asking.is_waiting() {
                // Host calls whose answers nobody would read are skipped.
                false if process.asking.has_more() && !left.is_zero() => continue,
                false => return (None, false),
                true if is_stopped => return (Some(Ending::Stopped), false),
                true if left.is_zero() => return (Some(Ending::Timeout), false),
                true => {}
            }
            let timeout = Timespec::try_from(left).ok();
            let mut watched = [self.worker.awaited()];
            let found = poll(&mut watched, timeout.as_ref()).map(|_| watched[0].revents());
            if found.is_ok_and(|found| !self.worker.go_on(found)) {
                return (None, true);
            }
        }
    }

    /// Waits until there is something to do, at most for `time`.
    fn wait(&self, process: &Process, time: Duration) -> Ready {
        let mut watched = vec![self.worker.awaited(), PollFd::from_borrowed_fd(process.end(), PollFlags::IN), self.checks.awaited()];
        watched.extend(process.asking.awaited().map(|(socket, flags)| PollFd::from_borrowed_fd(socket, flags)));
        let pipes = [process.out.open(), process.err.open(), process.result.open()];
        let pipes = pipes.into_iter().flatten().filter(|_| self.worker.has_room());
        watched.extend(pipes.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
        let timeout = Timespec::try_from(time).ok();
        if poll(&mut watched, timeout.as_ref()).is_err() {
            return Ready { worker: PollFlags::empty(), ended: false, looked: false };
        }
        let is_ready = |at: usize| !watched[at].revents().is_empty();
        Ready { worker: watched[0].revents(), ended: is_ready(1), looked: is_ready(2) }
    }

    /// Reads a piece of each pipe, and returns whether there may be more.
    fn read(process: &mut Process, lines: &mut JobLines, answer: &mut Answer) -> bool {
        let mut more = process.out.read(|bytes| lines.wrote(Stream::Out, bytes));
        more |= process.err.read(|bytes| lines.wrote(Stream::Err, bytes));
        more |= process.result.read(|bytes| answer.wrote(bytes, lines));
        more
    }

    fn send(&mut self, lines: &mut JobLines) {
        let records = lines.take();
        if !records.is_empty() {
            self.worker.send(vec![FromEngine::Log(records)]);
        }
    }
}

struct Ready {
    /// The events on the worker's socket.
    worker: PollFlags,
    ended: bool,
    /// True if a look has ended.
    looked: bool,
}

/// Ends everything that a job left behind, and reaps it. Orphans have become children of this process, or of the
/// adopter, which is one of the spared processes.
///
/// `job` has the job's process and whether it has ended. Its process group is killed at once. So even processes that
/// start each other as fast as they can do not escape, unless they leave the group. If there are too many to stop one
/// by one, or one cannot be found, the system kills the whole namespace at once. If this process is the first of the
/// namespace, it continues without the spared processes. If another one is, nothing can be started any more.
pub(super) fn clear(spared: &[Pid], adopter: Option<Pid>, job: Option<(Pid, bool)>) {
    let has_children = |pid: Pid| {
        let children = tree::children(pid);
        children.is_none_or(|children| children.iter().any(|child| !spared.iter().any(|pid| pid.as_raw_nonzero().get() == *child)))
    };
    wait_for_dead();
    if !has_children(getpid()) && !spared.iter().any(|pid| has_children(*pid)) {
        return;
    }
    if let Some((process, has_ended)) = job {
        // The id of an ended process is still that of its group, unless another process has got it.
        if !has_ended || test_kill_process(process) == Err(Errno::SRCH) {
            let _ = kill_process_group(process, Signal::KILL);
        }
    }
    let too_many = (adopter.is_some() || tree::is_first()) && tree::pids(getpid(), spared).len() > MOST_CAUGHT;
    // Process ids are reused, so a process may start unnoticed during the search.
    let ended = !too_many
        && (0..MOST_ROUNDS).any(|_| {
            let ended = tree::end(getpid(), spared, KILL_TIMEOUT);
            wait_for_dead();
            ended && !has_children(getpid())
        });
    if ended {
        // The usage of processes is only known after their adopter has reaped them.
        let until = Instant::now() + REAP_TIMEOUT;
        let waits = |pid: &Pid| tree::children(*pid).is_some_and(|children| !children.is_empty());
        while spared.iter().any(waits) && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        // A child that it still has was not found: `/proc` may hide it.
        if !adopter.as_ref().is_some_and(waits) {
            return;
        }
    }
    match adopter {
        Some(adopter) => drop(kill_process(adopter, Signal::KILL)),
        None if tree::is_first() => tree::end_all(),
        None => return,
    }
    // They are gone once they are reaped.
    let until = Instant::now() + REAP_TIMEOUT;
    while tree::children(getpid()).is_none_or(|children| !children.is_empty()) && Instant::now() < until {
        thread::sleep(POLL_INTERVAL);
        wait_for_dead();
    }
}

fn wait_for_dead() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}
