use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, test_kill_process, wait, waitpid};
use rustix::system::sysinfo;

use super::answer::Answer;
use super::ending::Ending;
use super::held::Bounds;
use super::lines::{JobLines, Stream};
use super::process::{Process, Status};
use super::worker::{Said, Worker};
use super::{Lost, usage};
use crate::frame::{FromEngine, ToEngine};
use crate::{EngineJob, Limits};
use hero_model::Usage;
use hero_process::Init;
use hero_process::held::{FIRST_LOOK, LATER_LOOK, LATEST_LOOK, MOST_PROCESSES, pause_after};
use hero_process::tree::{self, Looked};

/// How long the processes of a job have to end by themselves after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);
/// How long they may take to be gone after SIGKILL.
const GONE: Duration = Duration::from_secs(5);
/// How long those who adopted them may take to wait for them, and how often it is looked whether they have.
const WAITED_FOR: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);
/// So many processes can be caught one by one, even while they start others.
const MOST_CAUGHT: usize = 2048;
/// How often what is left is looked for. Mostly that is once.
const MOST_ROUNDS: usize = 3;
/// How long looks are apart when processes are counted and waited for, too, which costs more than most jobs.
const COUNTED: Duration = Duration::from_millis(40);
/// How many times the pipes are read when nobody has their other ends any more: what is in one is less.
const MOST_LEFT: usize = 64;

/// How the process of a job ended.
pub(super) struct Ended {
    /// Why it was ended, if it did not end by itself.
    pub(super) ending: Option<Ending>,
    /// Its status, if that is known.
    pub(super) status: Option<ExitStatus>,
    /// What it wrote to the descriptor of its result.
    pub(super) answer: Answer,
    /// The last lines of its stderr.
    pub(super) last_lines: Vec<String>,
    /// The line of its stderr that tells why it failed, if it did.
    pub(super) cause: Option<String>,
    pub(super) usage: Usage,
}

/// The process of a job while it runs.
pub(super) struct Attempt<'a> {
    pub(super) worker: &'a mut Worker,
    pub(super) limits: &'a Limits,
    pub(super) bounds: Bounds<'a>,
    /// The processes that stay when the job has ended.
    pub(super) spared: &'a [Pid],
    /// Which of them adopts what the processes of the job leave, if that is not this process.
    pub(super) init: Option<&'a Init>,
}

impl Attempt<'_> {
    /// Watches a process to its end, and ends everything that it started.
    pub(super) fn watch(&mut self, job: &EngineJob, mut process: Process, mut answer: Answer, began: Instant) -> Result<Ended, Lost> {
        let adopter = self.init.map(Init::pid);
        let deadline = began + job.timeout.min(EngineJob::LONGEST);
        let (mut lines, mut gone) = (JobLines::new(self.limits), false);
        let (mut ending, mut kill_at) = (None, deadline);
        let (mut look_at, mut pause, mut peak_memory) = (began + FIRST_LOOK, FIRST_LOOK, 0);
        let mut looked = Looked::default();
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
                // Those of the whole system can be counted at once, and processes that start each other leave little time.
                let are_many = usize::from(sysinfo().procs.saturating_sub(threads_before)) > MOST_PROCESSES;
                let counts = ending.is_none() && (pause >= COUNTED || are_many);
                let fresh = if counts { looked.fresh(getpid(), self.spared) } else { None };
                // Where nothing has run, nobody has more memory or has ended.
                if fresh.is_some() || !counts {
                    peak_memory = usage::peak_memory(process.pid).max(peak_memory);
                    if pause >= COUNTED {
                        self.wait_for_orphans(process.pid);
                    }
                }
                if counts {
                    ending = fresh.and_then(|processes| self.bounds.exceeded(&processes));
                    if ending.is_some() {
                        // Who takes so much is not asked.
                        break false;
                    }
                    look_at = look_at.max(now + pause_after(now.elapsed(), Duration::ZERO, LATEST_LOOK));
                }
            }
            // A stop that was sent right after its job may have arrived with it.
            while let Some(said) = self.worker.arrived() {
                match said {
                    Said::Frame(ToEngine::Stop) if ending.is_none() => (ending, kill_at) = self.ask_to_end(Ending::Stopped),
                    Said::Frame(ToEngine::Answer { answer }) => process.asking.answered(answer),
                    Said::Frame(_) | Said::Unreadable(_) => {}
                    Said::Gone => gone = true,
                }
            }
            self.ask(&mut process, &mut lines, ending.is_some());
            match ending {
                None if now >= deadline => (ending, kill_at) = self.ask_to_end(Ending::Timeout),
                Some(_) if now >= kill_at => break false,
                _ => {}
            }
            let ready = self.wait(&process, kill_at.min(look_at).saturating_duration_since(now));
            gone |= !self.worker.go_on(ready.worker);
            // What a job writes faster than its worker reads waits in its pipes.
            if self.worker.has_room() {
                Self::read(&mut process, &mut lines, &mut answer);
                self.send(&mut lines);
            }
            if ready.ended || gone {
                break ready.ended;
            }
        };
        let own_time = usage::time_of(process.pid);
        let status = if ended { process.status() } else { None };
        let lost = if ending.is_none() && !gone { self.lost(&process, status.as_ref()) } else { None };
        clear(self.spared, adopter, Some((process.pid, ended)));
        // What the zygote tells of a process that was killed must not be taken for the next one.
        let status = status.or_else(|| process.status());
        // What is in the pipes is all, unless somebody got one by a way that nobody knows.
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

    /// The processor time of the processes of jobs, of those that run and of those that have ended.
    fn time_so_far(&self, adopter: Option<Pid>) -> Duration {
        usage::time_of_ended(adopter) + usage::time_of_all(&tree::pids(getpid(), self.spared))
    }

    /// What has broken under a process that nobody has ended, before anything else was killed.
    fn lost(&self, process: &Process, status: Option<&Status>) -> Option<Lost> {
        match (self.init, status) {
            // It had done its work.
            (_, Some(status)) if status.exit.success() => None,
            (Some(init), _) if !init.is_there() => Some(Lost::Engine(Lost::FIRST)),
            (_, None) if process.is_fork() => Some(Lost::Engine(Lost::ZYGOTE)),
            _ => None,
        }
    }

    /// Waits for those of its children that have ended, but for the process of the job, whose end is still to be seen: a long job could
    /// leave so many that no number is left for others.
    fn wait_for_orphans(&self, process: Pid) {
        let children = tree::children(getpid()).unwrap_or_default().into_iter().filter_map(Pid::from_raw);
        for orphan in children.filter(|child| *child != process && !self.spared.contains(child)) {
            let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
        }
    }

    /// Asks all processes of the job to end. Gives why, and when they are killed.
    fn ask_to_end(&self, why: Ending) -> (Option<Ending>, Instant) {
        tree::signal(getpid(), self.spared, Signal::TERM);
        (Some(why), Instant::now() + GRACE)
    }

    /// Asks the worker what the process asks.
    fn ask(&mut self, process: &mut Process, lines: &mut JobLines, is_ending: bool) {
        let host_call = process.asking.next(is_ending, lines);
        self.send(lines);
        if let Some(host_call) = host_call {
            self.worker.send(vec![FromEngine::Ask { host_call }]);
        }
    }

    /// Asks what the process asked before it ended and nobody has asked yet. Gives whether the job was ended, or the worker is gone, before that was done.
    fn ask_the_rest(&mut self, process: &mut Process, lines: &mut JobLines, deadline: Instant) -> (Option<Ending>, bool) {
        let mut is_stopped = false;
        loop {
            // The answer may have been read when the process ended.
            while let Some(said) = self.worker.arrived() {
                match said {
                    Said::Frame(ToEngine::Answer { answer }) => process.asking.answered(answer),
                    Said::Frame(ToEngine::Stop) => is_stopped = true,
                    Said::Frame(_) | Said::Unreadable(_) => {}
                    Said::Gone => return (None, true),
                }
            }
            self.ask(process, lines, false);
            let left = deadline.saturating_duration_since(Instant::now());
            match process.asking.is_waiting() {
                // What nobody would hear is not asked.
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

    /// Waits until there is something to do, at most so long.
    fn wait(&self, process: &Process, time: Duration) -> Ready {
        let mut watched = vec![self.worker.awaited(), PollFd::from_borrowed_fd(process.end(), PollFlags::IN)];
        watched.extend(process.asking.awaited().map(|(socket, flags)| PollFd::from_borrowed_fd(socket, flags)));
        let pipes = [process.out.open(), process.err.open(), process.result.open()];
        let pipes = pipes.into_iter().flatten().filter(|_| self.worker.has_room());
        watched.extend(pipes.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
        let timeout = Timespec::try_from(time).ok();
        if poll(&mut watched, timeout.as_ref()).is_err() {
            return Ready { worker: PollFlags::empty(), ended: false };
        }
        Ready { worker: watched[0].revents(), ended: !watched[1].revents().is_empty() }
    }

    /// Reads a piece of each pipe, and gives whether there may be more.
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
    /// What is possible with the socket of the worker.
    worker: PollFlags,
    ended: bool,
}

/// Ends what a job left, and waits for the dead. Orphans have become children of this process, or of the adopter, which is one of the spared.
///
/// Of the job's process it has to be known whether it has ended. Its group is killed at once: so not even processes that start each other as
/// quickly as they can escape, unless they leave the group. If they are too many to be caught, or one cannot be found, the system ends all of the
/// namespace at once. If this process is its first, it goes on, and without the spared ones; if another is, nothing can be started any more.
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
        // The number of a process that has ended is that of its group, as long as nobody else has it.
        if !has_ended || test_kill_process(process) == Err(Errno::SRCH) {
            let _ = kill_process_group(process, Signal::KILL);
        }
    }
    let too_many = (adopter.is_some() || tree::is_first()) && tree::pids(getpid(), spared).len() > MOST_CAUGHT;
    // Numbers of processes begin anew, so one may start behind the back of whoever looks for all.
    let ended = !too_many
        && (0..MOST_ROUNDS).any(|_| {
            let ended = tree::end(getpid(), spared, GONE);
            wait_for_dead();
            ended && !has_children(getpid())
        });
    if ended {
        // Whoever adopted them waits for them, and only then it is known what they used.
        let until = Instant::now() + WAITED_FOR;
        let waits = |pid: &Pid| tree::children(*pid).is_some_and(|children| !children.is_empty());
        while spared.iter().any(waits) && Instant::now() < until {
            thread::sleep(PAUSE);
        }
        // What it still waits for was not found: a `/proc` may hide it.
        if !adopter.as_ref().is_some_and(waits) {
            return;
        }
    }
    match adopter {
        Some(adopter) => drop(kill_process(adopter, Signal::KILL)),
        None if tree::is_first() => tree::end_all(),
        None => return,
    }
    // They are gone when they were waited for.
    let until = Instant::now() + WAITED_FOR;
    while tree::children(getpid()).is_none_or(|children| !children.is_empty()) && Instant::now() < until {
        thread::sleep(PAUSE);
        wait_for_dead();
    }
}

fn wait_for_dead() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}
