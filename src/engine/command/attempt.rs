use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

use super::actor::{Actor, Said};
use super::answer::Answer;
use super::held::Bounds;
use super::lines::{JobLines, Stream};
use super::process::Process;
use super::usage;
use crate::engine::frame::{FromEngine, ToEngine};
use crate::engine::{EngineJob, Limits};
use crate::model::Usage;
use crate::process::tree;

/// How long the processes of a job have to end by themselves after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);
/// How long they may take to be gone after SIGKILL.
const GONE: Duration = Duration::from_secs(5);
/// How long those who adopted them may take to wait for them, and how often it is looked whether they have.
const WAITED_FOR: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);
/// So many processes can be caught one by one, even while they start others.
const MOST_CAUGHT: usize = 2048;
/// How often it is looked what a job uses: soon at first, as most jobs are short.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LATER_LOOK: Duration = Duration::from_millis(250);
/// How many times longer than a look takes the next one waits, and at most.
const LOOKING: u32 = 4;
const LATEST_LOOK: Duration = Duration::from_secs(1);

/// Why a job was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Stopped,
    Timeout,
    Processes,
    /// More than so many bytes.
    Memory(u64),
    Disk,
}

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
    pub(super) usage: Usage,
    /// Whether the actor has closed its end.
    pub(super) gone: bool,
}

/// The process of a job while it runs.
pub(super) struct Attempt<'a> {
    pub(super) actor: &'a mut Actor,
    pub(super) limits: &'a Limits,
    pub(super) bounds: Bounds<'a>,
    /// The processes that stay when the job has ended.
    pub(super) spared: &'a [Pid],
    /// Which of them adopts what the processes of the job leave, if that is not this process.
    pub(super) adopter: Option<Pid>,
}

impl Attempt<'_> {
    /// Watches a process to its end, and ends everything that it started.
    pub(super) fn watch(&mut self, job: &EngineJob, mut process: Process, mut answer: Answer, began: Instant) -> Ended {
        let deadline = began + job.timeout.min(EngineJob::LONGEST);
        let (mut lines, mut gone) = (JobLines::new(self.limits), false);
        let (mut ending, mut kill_at) = (None, deadline);
        let (mut look_at, mut pause, mut peak_memory) = (began + FIRST_LOOK, FIRST_LOOK, 0);
        let time_before = usage::time_of_ended(self.adopter);
        let ended = loop {
            let now = Instant::now();
            if now >= look_at {
                (look_at, pause) = (now + pause, (pause * 2).min(LATER_LOOK));
                peak_memory = usage::peak_memory(process.pid).max(peak_memory);
                if pause == LATER_LOOK && ending.is_none() {
                    ending = self.bounds.exceeded(&tree::pids(getpid(), self.spared));
                    if ending.is_some() {
                        // Who takes so much is not asked.
                        break false;
                    }
                    look_at = look_at.max(now + (now.elapsed() * LOOKING).min(LATEST_LOOK));
                }
            }
            // A stop that was sent right after its job may have arrived with it.
            while let Some(said) = self.actor.arrived() {
                match said {
                    Said::Frame(ToEngine::Stop) if ending.is_none() => (ending, kill_at) = self.ask_to_end(Ending::Stopped),
                    Said::Frame(_) | Said::Unreadable(_) => {}
                    Said::Gone => gone = true,
                }
            }
            match ending {
                None if now >= deadline => (ending, kill_at) = self.ask_to_end(Ending::Timeout),
                Some(_) if now >= kill_at => break false,
                _ => {}
            }
            let ready = self.wait(&process, kill_at.min(look_at).saturating_duration_since(now));
            Self::read(&mut process, &mut lines, &mut answer);
            self.send(&mut lines);
            gone |= ready.actor && !self.actor.read();
            if ready.ended || gone {
                break ready.ended;
            }
        };
        let own_time = usage::time_of(process.pid);
        let status = if ended { process.status() } else { None };
        clear(self.spared, self.adopter);
        // What the zygote tells of a process that was killed must not be taken for the next one.
        let status = status.or_else(|| process.status());
        // Nobody has the other ends any more, so what is in the pipes is all.
        while Self::read(&mut process, &mut lines, &mut answer) {
            self.send(&mut lines);
        }
        lines.ended();
        self.send(&mut lines);
        let measured = status.as_ref().and_then(|status| status.measured);
        let time = usage::time_of_ended(self.adopter).saturating_sub(time_before).max(measured.map_or(own_time, |measured| measured.time));
        let usage = Usage {
            operations: 0,
            peak_memory: measured.map_or(peak_memory, |measured| measured.peak_memory),
            run_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            cpu_us: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        };
        Ended { ending, status: status.map(|status| status.exit), answer, last_lines: lines.last(), usage, gone }
    }

    /// Asks all processes of the job to end. Gives why, and when they are killed.
    fn ask_to_end(&self, why: Ending) -> (Option<Ending>, Instant) {
        tree::signal(getpid(), self.spared, Signal::TERM);
        (Some(why), Instant::now() + GRACE)
    }

    /// Waits until there is something to do, at most so long.
    fn wait(&self, process: &Process, time: Duration) -> Ready {
        let mut watched = vec![PollFd::new(&*self.actor, PollFlags::IN), PollFd::from_borrowed_fd(process.end(), PollFlags::IN)];
        let pipes = [process.out.open(), process.err.open(), process.result.open()];
        watched.extend(pipes.into_iter().flatten().map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
        let timeout = Timespec::try_from(time).ok();
        if poll(&mut watched, timeout.as_ref()).is_err() {
            return Ready::default();
        }
        Ready { actor: !watched[0].revents().is_empty(), ended: !watched[1].revents().is_empty() }
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
            self.actor.send(&[FromEngine::Log(records)]);
        }
    }
}

#[derive(Default)]
struct Ready {
    actor: bool,
    ended: bool,
}

/// Ends what a job left, and waits for the dead. Orphans have become children of this process, or of the adopter, which is one of the spared.
///
/// If they are too many to be caught, all of the adopter's namespace ends at once, and nothing can be started any more.
pub(super) fn clear(spared: &[Pid], adopter: Option<Pid>) {
    let has_children = |pid: Pid| {
        let children = tree::children(pid);
        children.is_none_or(|children| children.iter().any(|child| !spared.iter().any(|pid| pid.as_raw_nonzero().get() == *child)))
    };
    wait_for_dead();
    if !has_children(getpid()) && !spared.iter().any(|pid| has_children(*pid)) {
        return;
    }
    let too_many = adopter.is_some() && tree::pids(getpid(), spared).len() > MOST_CAUGHT;
    let ended = !too_many && tree::end(getpid(), spared, GONE);
    wait_for_dead();
    let until = Instant::now() + WAITED_FOR;
    if let Some(adopter) = adopter.filter(|_| !ended) {
        let _ = kill_process(adopter, Signal::KILL);
        // It waits until its dead were waited for.
        while tree::children(getpid()).is_none_or(|children| !children.is_empty()) && Instant::now() < until {
            thread::sleep(PAUSE);
            wait_for_dead();
        }
        return;
    }
    // Whoever adopted them waits for them, and only then it is known what they used.
    let waits = |pid: &Pid| tree::children(*pid).is_some_and(|children| !children.is_empty());
    while spared.iter().any(waits) && Instant::now() < until {
        thread::sleep(PAUSE);
    }
}

fn wait_for_dead() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}
